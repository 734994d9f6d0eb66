/* The slowest requests of late, newest first, for SLOWLOG. */
#ifndef DUEQ_SLOWLOG_H
#define DUEQ_SLOWLOG_H

#include "server/dispatch/command.h"

enum { SLOWLOG_ARGUMENTS = 32, SLOWLOG_BYTES = 128 }; /* of a request are kept, as in Redis */

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

/* Keeps the request if it took as long as slowlog-log-slower-than says, and lets go of the
 * oldest beyond slowlog-max-len. */
void slowlog_note(const struct context *context, uint64_t usec);
void slowlog_reset(struct slowlog *slowlog);

#endif
