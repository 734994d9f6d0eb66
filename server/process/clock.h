/* The two clocks of the server (struct dueq_time). clock_read, clock_usec and clock_read_boot
 * read the machine; everything else computes from readings.
 *
 * The queue's clock is a time line of its own. It runs as the machine's clock since boot does,
 * so that a step of the wall clock ends no delay early or late, and it goes on across
 * restarts of the server: by the clock since boot within one boot, else by what the wall clock
 * has gained since the last record; one that has lost time, or was not set before and is set
 * now, counts for none. The wall clock is shown and followed as it is, whatever the queue's
 * clock says: a wrong year is gone when the right one is set.
 *
 * Between steps the wall clock is ahead of the queue's by a whole number of ms: both begin
 * their ms at once. A step moves the queue's clock by less than a ms, and never forward. */
#ifndef DUEQ_CLOCK_H
#define DUEQ_CLOCK_H

#include "storage/dueq.h"

/* Microseconds. The clock since boot is read before and after the wall clock, so that a pause
 * between the readings does not look like a step. */
struct clock_reading {
    int64_t wall;
    int64_t boot_before, boot_after; /* since boot, the machine's sleep included */
};

/* ms */
struct clock_times {
    int64_t wall, monotonic;
};

struct clock {
    struct dueq_timeline line; /* how to go on after a restart; kept with the store */
    int64_t now;               /* ms of the queue's clock, at the last update */
    int64_t wall_usec;
    struct clock_times last;
    uint64_t jumps;    /* steps of the wall clock by more than CLOCK_JUMP_MS */
    int64_t last_jump; /* ms of the last one, signed */
};

enum {
    CLOCK_JUMP_MS = 2000,
    CLOCK_SLACK_USEC = 100 /* a larger difference of the wall clock is a step */
};

/* A wall clock before 2020 has not been set. */
#define CLOCK_UNSET_MS INT64_C(1577836800000)

struct clock_reading clock_read(void);
/* Microseconds since an arbitrary time, never backward: for durations. */
uint64_t clock_usec(void);
/* Microseconds that the calling thread has run. */
uint64_t clock_cpu_usec(void);
/* The id of this boot of the machine, DUEQ_BOOT_SIZE bytes; all zero: unknown. */
void clock_read_boot(uint8_t *ret_boot);

/* A descriptor that can be read when the wall clock was set, or the machine has slept: timers
 * that were armed before may be late then. -1: the system has none. */
int clock_watch_open(void);
/* What clock_watch_open does, again, for the next time. */
void clock_watch_again(int fd);

/* Starts the queue's clock where it goes on. kept: the time line that the store kept, NULL:
 * none; floor: the latest time of the queue's clock that the store knows, 0: a new store. */
void clock_init(struct clock *clock, struct clock_reading reading, const uint8_t *boot,
                const struct dueq_timeline *kept, int64_t floor);

/* True: the wall clock reads less than it did at the last time that the store knows. The
 * arguments are those of clock_init. */
bool clock_is_behind(const struct clock *clock, const struct dueq_timeline *kept,
                     int64_t floor);

/* *ret_time is always set. True: the wall clock has jumped since the last update. */
bool clock_update(struct clock *clock, struct clock_reading reading,
                  struct dueq_time *ret_time);

#endif
