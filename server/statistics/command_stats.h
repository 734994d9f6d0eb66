/* How often and how long each command ran, and which errors were replied, for INFO. One table
 * for the process. */
#ifndef DUEQ_COMMAND_STATS_H
#define DUEQ_COMMAND_STATS_H

#include "server/dispatch/command.h"

enum { HISTOGRAM_BUCKETS = 21 };

struct command_stats {
    uint64_t calls;
    uint64_t usec;     /* of all calls together */
    uint64_t rejected; /* not run: arity, login, no room, no store */
    uint64_t failed;   /* run, and replied an error */
    uint64_t timed;    /* in the histogram: runs, also those of a waiter that ran again */
    uint64_t histogram[HISTOGRAM_BUCKETS]; /* runs that took the bucket's bound or less */
};

/* Counts a run into the histogram. */
void command_stats_time(struct command_stats *stats, uint64_t usec);
/* The longest time of a bucket in usec, as in Redis: 1, 2, 4, ... 1082130. The last bucket also
 * has everything that took longer. */
uint64_t command_stats_bound(int bucket);

/* Of one command, for the caller to count in; lives as long as the program. */
struct command_stats *command_stats_of(const struct command *command);
void command_stats_reset(void); /* and the errors */

enum { ERROR_CODES_MAX = 64, ERROR_CODE_SIZE = 32 };

struct error_stats {
    char code[ERROR_CODE_SIZE]; /* "ERR", "STALE" */
    uint64_t count;
};

/* Counts an error reply by its first word. New codes beyond ERROR_CODES_MAX are not counted. */
void error_stats_count(const char *reply, size_t size);
/* The codes seen so far, in order of first appearance. */
const struct error_stats *error_stats_all(size_t *ret_count);

#endif
