#include "storage/wheel.h"

enum { SLOT_BITS = 6, SLOT_MASK = WHEEL_SLOTS - 1, LEVEL_EXPIRED = 255 };

/* A timer at level L is in the slot that bits 6L to 6L+5 of its due time name; the higher bits
 * are equal to those of `now`, or one lap ahead. */

/* ---- rings */

static void ring_init(struct wheel_timer *head)
{
    head->next = head->prev = head;
}

static bool ring_empty(const struct wheel_timer *head)
{
    return head->next == head;
}

static void ring_append(struct wheel_timer *head, struct wheel_timer *timer)
{
    timer->prev = head->prev;
    timer->next = head;
    head->prev->next = timer;
    head->prev = timer;
}

static void ring_remove(struct wheel_timer *timer)
{
    timer->prev->next = timer->next;
    timer->next->prev = timer->prev;
    timer->next = timer->prev = NULL;
}

/* Appends all timers of one ring to another; the first is empty afterwards. */
static void ring_splice(struct wheel_timer *head, struct wheel_timer *from)
{
    from->next->prev = head->prev;
    head->prev->next = from->next;
    from->prev->next = head;
    head->prev = from->prev;
    ring_init(from);
}

/* ---- the wheel */

void wheel_init(struct wheel *wheel, int64_t now)
{
    wheel->now = now;
    wheel->armed = 0;
    ring_init(&wheel->expired);
    ring_init(&wheel->moving);
    for (int level = 0; level < WHEEL_LEVELS; level++) {
        wheel->occupied[level] = 0;
        for (int slot = 0; slot < WHEEL_SLOTS; slot++)
            ring_init(&wheel->slots[level][slot]);
    }
}

static int64_t level_span(int level) /* ms of one slot */
{
    return (int64_t)1 << (SLOT_BITS * level);
}

/* One lap of the last level, from the start of the slot that contains `now`. */
int64_t wheel_horizon(const struct wheel *wheel)
{
    int last = WHEEL_LEVELS - 1;

    return ((wheel->now >> SLOT_BITS * last) + WHEEL_SLOTS) * level_span(last);
}

/* The lowest level above which the bits of due and now are equal. */
static int level_for(const struct wheel *wheel, int64_t due)
{
    for (int level = 0; level < WHEEL_LEVELS - 1; level++)
        if (due >> (SLOT_BITS * (level + 1)) == wheel->now >> (SLOT_BITS * (level + 1)))
            return level;
    return WHEEL_LEVELS - 1;
}

static void place(struct wheel *wheel, struct wheel_timer *timer)
{
    int level;

    if (timer->due <= wheel->now) {
        timer->level = LEVEL_EXPIRED;
        ring_append(&wheel->expired, timer);
        return;
    }
    level = level_for(wheel, timer->due);
    timer->level = (uint8_t)level;
    timer->slot = (uint8_t)(timer->due >> (SLOT_BITS * level) & SLOT_MASK);
    ring_append(&wheel->slots[level][timer->slot], timer);
    wheel->occupied[level] |= (uint64_t)1 << timer->slot;
}

static void unplace(struct wheel *wheel, struct wheel_timer *timer)
{
    ring_remove(timer);
    if (timer->level != LEVEL_EXPIRED && ring_empty(&wheel->slots[timer->level][timer->slot]))
        wheel->occupied[timer->level] &= ~((uint64_t)1 << timer->slot);
}

void wheel_cancel(struct wheel *wheel, struct wheel_timer *timer)
{
    if (!wheel_timer_armed(timer))
        return;
    unplace(wheel, timer);
    wheel->armed--;
}

bool wheel_arm(struct wheel *wheel, struct wheel_timer *timer, int64_t due)
{
    wheel_cancel(wheel, timer);
    if (due >= wheel_horizon(wheel))
        return false;
    timer->due = due;
    place(wheel, timer);
    wheel->armed++;
    return true;
}

/* The first occupied slot after that of `now`, in one round; -1: none. */
static int next_slot(const struct wheel *wheel, int level)
{
    unsigned here = (unsigned)(wheel->now >> (SLOT_BITS * level) & SLOT_MASK);
    uint64_t occupied = wheel->occupied[level], rotated;

    if (occupied == 0)
        return -1;
    here = (here + 1) & SLOT_MASK;
    rotated = here == 0 ? occupied : occupied >> here | occupied << (WHEEL_SLOTS - here);
    return (int)((here + (unsigned)__builtin_ctzll(rotated)) & SLOT_MASK);
}

/* The time at which that slot begins, ms. */
static int64_t slot_begins(const struct wheel *wheel, int level, int slot)
{
    int64_t span = level_span(level), lap = span * WHEEL_SLOTS;
    int64_t start = (wheel->now >> (SLOT_BITS * (level + 1))) * lap + slot * span;

    return start > wheel->now ? start : start + lap;
}

int64_t wheel_next(const struct wheel *wheel)
{
    int64_t next = WHEEL_NEVER;

    if (!ring_empty(&wheel->expired) || !ring_empty(&wheel->moving))
        return wheel->now;
    for (int level = 0; level < WHEEL_LEVELS; level++) {
        int slot = next_slot(wheel, level);
        int64_t begins = slot < 0 ? WHEEL_NEVER : slot_begins(wheel, level, slot);

        if (begins < next)
            next = begins;
    }
    return next;
}

/* Takes all timers out of a slot that `now` has reached, at once: each still names that slot.
 */
static void take_slot(struct wheel *wheel, int level, int slot)
{
    if ((wheel->occupied[level] >> slot & 1) == 0)
        return;
    ring_splice(&wheel->moving, &wheel->slots[level][slot]);
    wheel->occupied[level] &= ~((uint64_t)1 << slot);
}

/* Steps to the next occupied slot; time without timers costs nothing. False: it is after
 * `now`. */
static bool reach_slot(struct wheel *wheel, int64_t now)
{
    int64_t next = wheel_next(wheel);

    if (next > now)
        return false;
    wheel->now = next;
    for (int level = WHEEL_LEVELS - 1; level >= 0; level--)
        take_slot(wheel, level, (int)(next >> (SLOT_BITS * level) & SLOT_MASK));
    return true;
}

/* Timers that are due at the slot's time may come before all of the slot has been moved. */
static void advance(struct wheel *wheel, int64_t now)
{
    for (int moves = 0; moves < WHEEL_MOVES_MOST && ring_empty(&wheel->expired); moves++) {
        struct wheel_timer *timer = wheel->moving.next;

        if (timer == &wheel->moving) {
            if (reach_slot(wheel, now))
                continue;
            wheel->now = now > wheel->now ? now : wheel->now;
            return;
        }
        ring_remove(timer);
        place(wheel, timer);
    }
}

/* `now` may jump over time without timers. Armed timers keep their slots, because the wheel
 * stops at each occupied slot. */
struct wheel_timer *wheel_expire(struct wheel *wheel, int64_t now)
{
    struct wheel_timer *timer;

    if (ring_empty(&wheel->expired) && (now > wheel->now || !ring_empty(&wheel->moving)))
        advance(wheel, now);
    if (ring_empty(&wheel->expired))
        return NULL;
    timer = wheel->expired.next;
    unplace(wheel, timer);
    wheel->armed--;
    return timer;
}

/* ---- self-check */

static const char *check_timer(const struct wheel *wheel, const struct wheel_timer *timer,
                               int level, int slot)
{
    if (timer->next->prev != timer || timer->prev->next != timer)
        return "a ring is broken";
    if (timer->level != level || timer->slot != slot)
        return "a timer does not know where it is";
    if (timer->due <= wheel->now)
        return "a due timer is still in a slot";
    if ((timer->due >> (SLOT_BITS * level) & SLOT_MASK) != slot)
        return "a timer is in the wrong slot";
    if (slot_begins(wheel, level, slot) > timer->due)
        return "a timer would fire late";
    return NULL;
}

const char *wheel_check(const struct wheel *wheel)
{
    size_t count = 0;

    for (int level = 0; level < WHEEL_LEVELS; level++)
        for (int slot = 0; slot < WHEEL_SLOTS; slot++) {
            const struct wheel_timer *head = &wheel->slots[level][slot];

            if (ring_empty(head) == (wheel->occupied[level] >> slot & 1))
                return "a bit and its slot differ";
            for (struct wheel_timer *timer = head->next; timer != head; timer = timer->next) {
                const char *wrong = check_timer(wheel, timer, level, slot);

                if (wrong != NULL)
                    return wrong;
                count++;
            }
        }
    for (struct wheel_timer *timer = wheel->expired.next; timer != &wheel->expired;
         timer = timer->next) {
        if (timer->due > wheel->now)
            return "a timer expired early";
        count++;
    }
    for (struct wheel_timer *timer = wheel->moving.next; timer != &wheel->moving;
         timer = timer->next) {
        if (timer->due < wheel->now)
            return "a timer was not moved in time";
        count++;
    }
    return count == wheel->armed ? NULL : "the number of armed timers is wrong";
}
