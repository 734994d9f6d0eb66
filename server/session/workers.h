/* Workers by name: where they are, when they were seen last and how many jobs they claim. In
 * RAM only; the store knows which jobs a worker holds. A claim without a name costs nothing
 * here. */
#ifndef DUEQ_WORKERS_H
#define DUEQ_WORKERS_H

#include "storage/slice.h"

#include <stddef.h>
#include <stdint.h>

struct server;
struct session;

enum {
    WORKERS_MAX = 10000, /* of more, those that were seen last */
    WORKER_PERIODS = 7,
    WORKER_PERIOD_MS = 10 * 1000
};

struct worker;

struct workers {
    struct worker *by_name; /* (uthash) */
    struct worker *list;    /* in order of their last claim by another connection (utlist) */
};

/* What Q.WORKERS tells. */
struct worker_view {
    struct dueq_slice name;
    const char *address; /* of the connection that claimed last, perhaps gone */
    size_t connections;
    uint64_t claims; /* in the last 60 to 70 s */
    int64_t idle;    /* ms since the last request of one of its connections */
};

/* The session claims under this name, which is not empty, and has got so many jobs. O(1). */
void workers_note(struct server *server, struct session *session, struct dueq_slice name,
                  uint64_t jobs);
/* The session ends. O(1). */
void workers_leave(struct server *server, struct session *session);
void workers_release(struct server *server);

size_t workers_count(const struct workers *workers);
/* NULL: there is none. */
const struct worker *workers_find(const struct workers *workers, struct dueq_slice name);
const struct worker *workers_next(const struct workers *workers, const struct worker *worker);
struct dueq_slice workers_name(const struct worker *worker); /* valid as that of a view */
/* Valid until the next call that changes them. O(connections of the worker). */
struct worker_view workers_view(const struct server *server, const struct worker *worker);

#endif
