#include "server/clock.h"

#include <time.h>

static int64_t milliseconds(clockid_t id)
{
    struct timespec moment;

    clock_gettime(id, &moment);
    return (int64_t)moment.tv_sec * 1000 + moment.tv_nsec / 1000000;
}

struct clock_reading clock_read(void)
{
    return (struct clock_reading){milliseconds(CLOCK_REALTIME), milliseconds(CLOCK_BOOTTIME)};
}

uint64_t clock_usec(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* The queue's clock must not run ahead of the wall's, or jobs with AT would come early: what
 * the monotonic clock had of its millisecond is not counted as gone by. */
void clock_init(struct clock *clock, struct clock_reading reading, int64_t floor)
{
    *clock = (struct clock){.base = reading.wall > floor ? reading.wall : floor,
                            .origin = reading.monotonic + 1,
                            .floor = floor,
                            .last = reading};
}

/* Rounded apart, the wall clock is up to two milliseconds ahead of the queue's that runs alike:
 * then they are one, or the moments that are shown would come and go by that. */
static int64_t wall_of(const struct clock *clock, int64_t wall, int64_t now)
{
    int64_t apart = wall - now;

    return wall < clock->floor || (apart >= 0 && apart <= 2) ? now : wall;
}

bool clock_update(struct clock *clock, struct clock_reading reading, struct dueq_time *ret_time)
{
    int64_t step =
        (reading.wall - clock->last.wall) - (reading.monotonic - clock->last.monotonic);
    bool jumped = step > CLOCK_JUMP_MS || step < -CLOCK_JUMP_MS;

    if (jumped) {
        clock->jumps++;
        clock->last_jump = step;
    }
    clock->last = reading;
    ret_time->now = clock->base + reading.monotonic - clock->origin;
    ret_time->wall = wall_of(clock, reading.wall, ret_time->now);
    return jumped;
}
