/* Recent requests that took long, newest first, for SLOWLOG. */
#ifndef DUEQ_SLOWLOG_H
#define DUEQ_SLOWLOG_H

#include "server/dispatch/context.h"

/* Of a request this much is kept, as in Redis: arguments, and bytes of each. */
enum { SLOWLOG_ARGUMENTS = 32, SLOWLOG_BYTES = 128 };

struct slowlog_entry {
    uint64_t id;
    int64_t time; /* unix seconds */
    uint64_t usec;
    size_t count; /* of `arguments`, each its own allocation */
    struct argument arguments[SLOWLOG_ARGUMENTS];
    char *address, *name;
    struct slowlog_entry *prev, *next;
};

struct slowlog {
    struct slowlog_entry *entries; /* newest first (utlist) */
    size_t count;
    uint64_t next_id;
};

/* Keeps a copy of the request if it took slowlog-log-slower-than usec or more, and drops the
 * oldest entries beyond slowlog-max-len. Passwords are not kept. */
void slowlog_note(const struct context *context, uint64_t usec);
void slowlog_reset(struct slowlog *slowlog);

#endif
