/* The options that every command which pushes jobs has: DELAY, AT, PRIORITY and so on. */
#ifndef DUEQ_PUSH_OPTIONS_H
#define DUEQ_PUSH_OPTIONS_H

#include "server/dispatch/argument_options.h"

/* Their syntax, for COMMAND DOCS. */
#define PUSH_OPTIONS_SYNTAX                                                                    \
    "[DELAY duration|AT unix-ms] [PRIORITY 0-255] [LEASE duration] [RETRIES count] "           \
    "[CRASHES count] [BACKOFF <duration [max]|FIXED duration|EXP base max [JITTER percent]|"   \
    "STEPS duration [duration ...]>] [TTL duration] "                                          \
    "[ONDUP REJECT|IGNORE|REPLACE|DEBOUNCE|THROTTLE] [WINDOW duration] [IGNOREDEAD] "          \
    "[GROUP group] [WEIGHT 1-1000]"

/* Options of one job; of several jobs, which then have no ID; of a recurring job, which has no
 * due time either; of a job that is there, which keeps its id, due time and group. */
enum push_options_for {
    PUSH_OPTIONS_FOR_ONE,
    PUSH_OPTIONS_FOR_ALL,
    PUSH_OPTIONS_FOR_CRON,
    PUSH_OPTIONS_FOR_UPDATE
};

/* Reads the options from argument *at into `push`, which has its defaults, until the first
 * argument that is none of them; *at is then that one or context_count. The slices in it point
 * into the request. False: the error is written. O(arguments). */
bool push_options_read_leading(struct context *context, size_t *at, enum push_options_for which,
                               struct dueq_push *push);
/* The same when only options may follow: "ERR syntax error" for anything else. */
bool push_options_read(struct context *context, size_t at, enum push_options_for which,
                       struct dueq_push *push);

/* False: the push has options on its id, and no id, or a weight and no group; the error is
 * written. */
bool push_options_fit(struct context *context, const struct dueq_push *push);

/* What follows BACKOFF, from argument *at on, which exists; *at is then the first argument
 * after it. False: the error is written. */
bool push_options_backoff(struct context *context, size_t *at, struct dueq_push *push);

/* A priority of 0 to 255. */
bool push_options_priority(struct context *context, size_t index, int *ret_priority);

#endif
