/* When a key expires: a number for a moment on one of two clocks, DUEQ_NEVER for a key that
 * does not. EXPIREAT means the wall clock, unix ms, and follows its steps. EXPIRE means a time
 * from now on, measured on the queue's clock: a stepped wall clock makes no key vanish early or
 * stay for years. Moments of the queue's clock have a band of numbers of their own, near the
 * least, which stands for no moment of the wall clock that is still to come; so an index of
 * these numbers is in order on either clock.
 *
 * A key is there until its moment is over, as in Redis: the ms that has begun counts, and what
 * is left of a time to live is what was asked for, not a ms more. */
#ifndef DUEQ_EXPIRY_H
#define DUEQ_EXPIRY_H

#include "storage/types.h"

#define KEYS_KEEP_EXPIRY INT64_MIN /* not one of them: no change */

/* The queue's clock at 0 is the middle of the band. */
#define EXPIRY_REACH  ((int64_t)1 << 52)
#define EXPIRY_MIDDLE (INT64_MIN + 2 * EXPIRY_REACH)
#define EXPIRY_WALL   (INT64_MIN + 4 * EXPIRY_REACH) /* from here on: the wall clock */

static inline bool expiry_on_wall(int64_t expiry)
{
    return expiry >= EXPIRY_WALL;
}

/* Before any key was gone. */
#define EXPIRY_LONG_AGO ((struct dueq_time){.now = INT64_MIN, .wall = INT64_MIN})

/* At a moment of the wall clock. */
static inline int64_t expiry_at(int64_t wall)
{
    if (wall < EXPIRY_WALL)
        return EXPIRY_WALL;
    return wall == DUEQ_NEVER ? DUEQ_NEVER - 1 : wall;
}

/* So many ms from now on; what is too far away for the queue's clock is on the wall clock. */
static inline int64_t expiry_after(struct dueq_time time, int64_t ms)
{
    int64_t moment;

    if (!__builtin_add_overflow(time.now, ms, &moment) && moment > -EXPIRY_REACH &&
        moment < EXPIRY_REACH)
        return EXPIRY_MIDDLE + moment;
    if (__builtin_add_overflow(time.wall, ms, &moment))
        moment = ms < 0 ? INT64_MIN : DUEQ_NEVER;
    return expiry_at(moment);
}

/* The moment, and the time, on the clock that it is on. */
static inline int64_t expiry_time(int64_t expiry)
{
    return expiry_on_wall(expiry) ? expiry : expiry - EXPIRY_MIDDLE;
}

static inline int64_t expiry_now(int64_t expiry, struct dueq_time time)
{
    return expiry_on_wall(expiry) ? time.wall : time.now;
}

/* Is the key gone? */
static inline bool expiry_is_over(int64_t expiry, struct dueq_time time)
{
    return expiry != DUEQ_NEVER && expiry_now(expiry, time) > expiry_time(expiry);
}

/* Would a key that is given it now be deleted at once? */
static inline bool expiry_is_due(int64_t expiry, struct dueq_time time)
{
    return expiry != DUEQ_NEVER && expiry_now(expiry, time) >= expiry_time(expiry);
}

/* ms until then; 0: now, or it is past. Not of DUEQ_NEVER. */
static inline int64_t expiry_left(int64_t expiry, struct dueq_time time)
{
    int64_t moment = expiry_time(expiry), now = expiry_now(expiry, time), left;

    if (moment <= now)
        return 0;
    return __builtin_sub_overflow(moment, now, &left) ? DUEQ_NEVER : left;
}

/* The moment as the wall clock stands. Not of DUEQ_NEVER. */
static inline int64_t expiry_wall_time(int64_t expiry, struct dueq_time time)
{
    return expiry_on_wall(expiry) ? expiry : expiry - EXPIRY_MIDDLE - time.now + time.wall;
}

#endif
