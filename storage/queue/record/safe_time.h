/* Times in unix ms that are far from the limits of int64_t, so that a conversion from one clock
 * to the other cannot overflow. DUEQ_NEVER is outside of the range. Private to
 * storage/queue. */
#ifndef DUEQ_SAFE_TIME_H
#define DUEQ_SAFE_TIME_H

#include <stdint.h>

#define SAFE_TIME_MAX (INT64_MAX / 4)
#define SAFE_TIME_MIN (-SAFE_TIME_MAX)

static inline int64_t safe_time_clamp(int64_t time)
{
    if (time > SAFE_TIME_MAX)
        return SAFE_TIME_MAX;
    return time < SAFE_TIME_MIN ? SAFE_TIME_MIN : time;
}

/* wait: 0 or more. time: within the range above; so is the result. */
static inline int64_t safe_time_add(int64_t time, int64_t wait)
{
    return wait > SAFE_TIME_MAX - time ? SAFE_TIME_MAX : time + wait;
}

#endif
