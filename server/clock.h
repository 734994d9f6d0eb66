/* The two clocks of the server (struct dueq_time). Readings go in, time comes out: nothing here
 * reads a clock but clock_read.
 *
 * The queue's clock starts at the wall clock, or where the store last was if that is later, and
 * then follows the monotonic clock, so that a stepped wall clock neither fires everything nor
 * freezes it. A device that boots in 1970 goes on from the last time it knew; its wall clock is
 * believed once it has passed that moment. */
#ifndef DUEQ_SERVER_CLOCK_H
#define DUEQ_SERVER_CLOCK_H

#include "storage/dueq.h"

struct clock_reading {
    int64_t wall;      /* unix ms */
    int64_t monotonic; /* ms, going on while the machine sleeps */
};

struct clock {
    int64_t base; /* queue time when monotonic was `origin` */
    int64_t origin;
    int64_t floor; /* the wall clock is believed from here on */
    struct clock_reading last;
    uint64_t jumps;    /* steps of the wall clock against the monotonic one */
    int64_t last_jump; /* ms of the last one, signed */
};

enum { CLOCK_JUMP_MS = 2000 };

struct clock_reading clock_read(void);
/* Microseconds from some moment on: what things take. */
uint64_t clock_usec(void);

void clock_init(struct clock *clock, struct clock_reading reading, int64_t floor);

/* True with *ret_time always; the result says whether the wall clock has jumped since. */
bool clock_update(struct clock *clock, struct clock_reading reading,
                  struct dueq_time *ret_time);

#endif
