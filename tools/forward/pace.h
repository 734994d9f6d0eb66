/* So many in so long: a bucket of permits, as the rates of topics are. A full one has `count`.
 */
#ifndef DUEQ_PACE_H
#define DUEQ_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum { PACE_MOST = 1000000 };

struct pace {
    int64_t count, ms; /* count 0: no limit */
    int64_t permits;   /* in units of 1/ms of one */
    int64_t at;        /* when they were counted; monotonic ms */
};

/* "100/1s": a full bucket. False: it is none; the time is 1 ms to one day. */
bool pace_parse(struct pace *pace, const char *text);
/* How many may go now; `most` at most. O(1). */
int64_t pace_left(struct pace *pace, int64_t now, int64_t most);
void pace_take(struct pace *pace);
/* In how many ms there is a permit; 0: there is one, or no limit. */
int64_t pace_wait(struct pace *pace, int64_t now);

#endif
