/* Points in time, unix ms: kept this far from the ends of int64_t, so that shifting one from
 * clock to clock cannot overflow. DUEQ_NEVER is none of them. Private to storage/queue. */
#ifndef DUEQ_STORAGE_MOMENT_H
#define DUEQ_STORAGE_MOMENT_H

#include <stdint.h>

#define MOMENT_MAX (INT64_MAX / 4)
#define LONG_AGO   (-MOMENT_MAX)

static inline int64_t moment_clamp(int64_t moment)
{
    if (moment > MOMENT_MAX)
        return MOMENT_MAX;
    return moment < LONG_AGO ? LONG_AGO : moment;
}

/* wait: 0 or more. The moment is none beyond those above. */
static inline int64_t moment_after(int64_t moment, int64_t wait)
{
    return wait > MOMENT_MAX - moment ? MOMENT_MAX : moment + wait;
}

#endif
