/* A hierarchical timing wheel (Varghese and Lauck, "Hashed and Hierarchical Timing Wheels",
 * 1987): four levels of 64 slots, 1 ms in the first, so it reaches 64^4 ms (4.6 h) ahead. It
 * holds only timers that fire soon; the owner keeps those after the horizon, and offers them
 * again when the horizon has moved (wheel_horizon).
 *
 * Timers are embedded in their owner's structure; the wheel allocates nothing. Time is an
 * argument. A timer never fires early; it fires at the first wheel_expire with now >= due. */
#ifndef DUEQ_WHEEL_H
#define DUEQ_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WHEEL_LEVELS = 4, WHEEL_SLOTS = 64 };

struct wheel_timer {
    struct wheel_timer *next, *prev; /* ring in its slot; NULL while not armed */
    int64_t due;                     /* ms */
    uint8_t level, slot;
};

struct wheel {
    int64_t now; /* timers due at this time or before are in the expired ring */
    uint64_t occupied[WHEEL_LEVELS];
    struct wheel_timer slots[WHEEL_LEVELS][WHEEL_SLOTS]; /* ring heads */
    struct wheel_timer expired;
    size_t armed;
};

#define WHEEL_NEVER INT64_MAX

void wheel_init(struct wheel *wheel, int64_t now);

/* Arms or re-arms. False, and the timer is left unarmed, when due is at or beyond the horizon.
 * A due in the past fires at the next wheel_expire. O(1). */
bool wheel_arm(struct wheel *wheel, struct wheel_timer *timer, int64_t due);

/* No-op when not armed. O(1). */
void wheel_cancel(struct wheel *wheel, struct wheel_timer *timer);

static inline bool wheel_timer_armed(const struct wheel_timer *timer)
{
    return timer->next != NULL;
}

/* Moves the wheel to `now` (going back is ignored) and takes out one timer that is due,
 * unarmed; NULL when none is left. Timers of different ms come in order of due; those armed
 * when already due come first, in order of arming. Amortised O(1). */
struct wheel_timer *wheel_expire(struct wheel *wheel, int64_t now);

/* When the wheel wants to be looked at next: never later than the earliest due (it may be
 * earlier, when timers must come down a level). WHEEL_NEVER when empty. O(1). */
int64_t wheel_next(const struct wheel *wheel);

/* The first ms that is too late to be armed. */
int64_t wheel_horizon(const struct wheel *wheel);

/* NULL when sound, else what is wrong (static text). O(timers). */
const char *wheel_check(const struct wheel *wheel);

#endif
