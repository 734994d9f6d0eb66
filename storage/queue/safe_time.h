/* Points in time, unix ms: kept this far from the ends of int64_t, so that shifting one from
 * clock to clock cannot overflow. DUEQ_NEVER is none of them. Private to storage/queue. */
#ifndef DUEQ_SAFE_TIME_H
#define DUEQ_SAFE_TIME_H

#include <stdint.h>

#define SAFE_TIME_MAX (INT64_MAX / 4)
#define SAFE_TIME_MIN (-SAFE_TIME_MAX)

static inline int64_t safe_time_clamp(int64_t moment)
{
    if (moment > SAFE_TIME_MAX)
        return SAFE_TIME_MAX;
    return moment < SAFE_TIME_MIN ? SAFE_TIME_MIN : moment;
}

/* wait: 0 or more. The moment is none beyond those above. */
static inline int64_t safe_time_add(int64_t moment, int64_t wait)
{
    return wait > SAFE_TIME_MAX - moment ? SAFE_TIME_MAX : moment + wait;
}

#endif
