/* An expiry: the time at which a key expires, on one of two clocks, as one number; DUEQ_NEVER
 * for a key that does not expire.
 *
 * EXPIREAT uses the wall clock, unix ms, and follows its steps. EXPIRE uses the queue's clock:
 * a step of the wall clock deletes no key early and keeps none for years. Times of the queue's
 * clock have a range of numbers of their own, near INT64_MIN, where no future time of the wall
 * clock is; so records with these numbers as keys are in order of time on each clock.
 *
 * A key exists until its millisecond is over, as in Redis: the time to live that is reported is
 * what was asked for, not 1 ms more. */
#ifndef DUEQ_EXPIRY_H
#define DUEQ_EXPIRY_H

#include "storage/types.h"

#define KEYS_KEEP_EXPIRY INT64_MIN /* no expiry, but a request: keep the present one */

/* The queue's clock at 0 is EXPIRY_MIDDLE. */
#define EXPIRY_REACH  ((int64_t)1 << 52)
#define EXPIRY_MIDDLE (INT64_MIN + 2 * EXPIRY_REACH)
#define EXPIRY_WALL   (INT64_MIN + 4 * EXPIRY_REACH) /* the least expiry on the wall clock */

static inline bool expiry_on_wall(int64_t expiry)
{
    return expiry >= EXPIRY_WALL;
}

/* A time at which no key has expired. */
#define EXPIRY_LONG_AGO ((struct dueq_time){.now = INT64_MIN, .wall = INT64_MIN})

/* The expiry at a time of the wall clock, unix ms. */
static inline int64_t expiry_at(int64_t wall)
{
    if (wall < EXPIRY_WALL)
        return EXPIRY_WALL;
    return wall == DUEQ_NEVER ? DUEQ_NEVER - 1 : wall;
}

/* The expiry so many ms from now on; one beyond the range of the queue's clock is on the wall
 * clock. */
static inline int64_t expiry_after(struct dueq_time time, int64_t ms)
{
    int64_t at;

    if (!__builtin_add_overflow(time.now, ms, &at) && at > -EXPIRY_REACH && at < EXPIRY_REACH)
        return EXPIRY_MIDDLE + at;
    if (__builtin_add_overflow(time.wall, ms, &at))
        at = ms < 0 ? INT64_MIN : DUEQ_NEVER;
    return expiry_at(at);
}

/* The time of the expiry, and the present time, both on the clock of the expiry, ms. */
static inline int64_t expiry_time(int64_t expiry)
{
    return expiry_on_wall(expiry) ? expiry : expiry - EXPIRY_MIDDLE;
}

static inline int64_t expiry_now(int64_t expiry, struct dueq_time time)
{
    return expiry_on_wall(expiry) ? time.wall : time.now;
}

/* Has a key with that expiry expired? */
static inline bool expiry_is_over(int64_t expiry, struct dueq_time time)
{
    return expiry != DUEQ_NEVER && expiry_now(expiry, time) > expiry_time(expiry);
}

/* Is a key that gets that expiry now deleted at once? */
static inline bool expiry_is_due(int64_t expiry, struct dueq_time time)
{
    return expiry != DUEQ_NEVER && expiry_now(expiry, time) >= expiry_time(expiry);
}

/* ms until the expiry; 0: it has come. Not for DUEQ_NEVER. */
static inline int64_t expiry_left(int64_t expiry, struct dueq_time time)
{
    int64_t at = expiry_time(expiry), now = expiry_now(expiry, time), left;

    if (at <= now)
        return 0;
    return __builtin_sub_overflow(at, now, &left) ? DUEQ_NEVER : left;
}

/* The expiry as unix ms, as the clocks are now. Not for DUEQ_NEVER. */
static inline int64_t expiry_wall_time(int64_t expiry, struct dueq_time time)
{
    return expiry_on_wall(expiry) ? expiry : expiry - EXPIRY_MIDDLE - time.now + time.wall;
}

#endif
