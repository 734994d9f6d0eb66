/* A hierarchical timing wheel (Varghese and Lauck, "Hashed and Hierarchical Timing Wheels",
 * 1987): eight levels of 64 slots, 1 ms each in the first, so it reaches 64^8 ms (8,900 years)
 * ahead. A slot that is reached is taken apart in several calls when it has many timers.
 *
 * Timers are embedded in the structures of their owners; the wheel allocates nothing. Time is
 * an argument. A timer never fires early, but at the first wheel_expire with now >= due. */
#ifndef DUEQ_WHEEL_H
#define DUEQ_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WHEEL_LEVELS = 8, WHEEL_SLOTS = 64, WHEEL_MOVES_MOST = 64 };

struct wheel_timer {
    struct wheel_timer *next, *prev; /* the ring of its slot; NULL while not armed */
    int64_t due;                     /* ms */
    uint8_t level, slot;
};

struct wheel {
    int64_t now; /* timers due at this time or before are in the expired ring */
    uint64_t occupied[WHEEL_LEVELS];
    struct wheel_timer slots[WHEEL_LEVELS][WHEEL_SLOTS]; /* ring heads */
    struct wheel_timer expired;
    struct wheel_timer moving; /* from slots that `now` has reached, to be placed anew */
    size_t armed;
};

#define WHEEL_NEVER INT64_MAX

void wheel_init(struct wheel *wheel, int64_t now);

/* Arms the timer, or arms it again. False: due is at or after the horizon, and the timer is not
 * armed. A due time in the past fires at the next wheel_expire. O(1). */
bool wheel_arm(struct wheel *wheel, struct wheel_timer *timer, int64_t due);

/* No-op when not armed. O(1). */
void wheel_cancel(struct wheel *wheel, struct wheel_timer *timer);

static inline bool wheel_timer_armed(const struct wheel_timer *timer)
{
    return timer->next != NULL;
}

/* Moves the wheel to `now` (never back) and takes out one timer that is due, which is then not
 * armed. NULL: there is none, or WHEEL_MOVES_MOST timers were moved, and wheel_next is not
 * later than `now`: call again. Timers of different ms come in order of due; those armed when
 * already due come first, in order of arming. Amortised O(1). */
struct wheel_timer *wheel_expire(struct wheel *wheel, int64_t now);

/* The time of the next wheel_expire, ms: not later than the earliest due, but perhaps earlier,
 * because timers must move down a level. WHEEL_NEVER: the wheel is empty. O(1). */
int64_t wheel_next(const struct wheel *wheel);

/* The first ms that is too late to be armed. */
int64_t wheel_horizon(const struct wheel *wheel);

/* NULL when sound, else what is wrong (static text). O(timers). */
const char *wheel_check(const struct wheel *wheel);

#endif
