#include "server/process/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Numbers read from disk are limited to this: a sum of two cannot overflow. */
#define FAR (INT64_MAX / 8)

/* ---- reading */

static int64_t microseconds(clockid_t id)
{
    struct timespec moment;

    clock_gettime(id, &moment);
    return (int64_t)moment.tv_sec * 1000000 + moment.tv_nsec / 1000;
}

struct clock_reading clock_read(void)
{
    int64_t before = microseconds(CLOCK_BOOTTIME), wall = microseconds(CLOCK_REALTIME);

    return (struct clock_reading){wall, before, microseconds(CLOCK_BOOTTIME)};
}

uint64_t clock_usec(void)
{
    return (uint64_t)microseconds(CLOCK_MONOTONIC);
}

uint64_t clock_cpu_usec(void)
{
    return (uint64_t)microseconds(CLOCK_THREAD_CPUTIME_ID);
}

/* A timer far away on the wall clock, which the kernel cancels when that clock is set. */
void clock_watch_again(int fd)
{
    enum { FAR_AWAY = 100 * 24 * 3600 };
    struct itimerspec never = {.it_value = {.tv_sec = time(NULL) + FAR_AWAY}};
    uint64_t count;

    while (read(fd, &count, sizeof(count)) < 0 && errno == ECANCELED)
        continue;
    timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

int clock_watch_open(void)
{
    int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);

    if (fd >= 0)
        clock_watch_again(fd);
    return fd;
}

/* Another time namespace has another clock since boot. */
void clock_read_boot(uint8_t *ret_boot)
{
    char text[128];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, 64), more;
    XXH128_canonical_t hash;

    if (fd >= 0)
        close(fd);
    memset(ret_boot, 0, DUEQ_BOOT_SIZE);
    if (size <= 0)
        return;
    more = readlink("/proc/self/ns/time", text + size, sizeof(text) - (size_t)size);
    size += more > 0 ? more : 0;
    XXH128_canonicalFromHash(&hash, XXH3_128bits(text, (size_t)size));
    memcpy(ret_boot, hash.digest, DUEQ_BOOT_SIZE);
}

/* ---- arithmetic */

static int64_t clamp(int64_t number)
{
    if (number > FAR)
        return FAR;
    return number < -FAR ? -FAR : number;
}

static int64_t milliseconds(int64_t usec)
{
    return usec / 1000 - (usec % 1000 < 0);
}

static int64_t milliseconds_up(int64_t usec)
{
    return -milliseconds(-usec);
}

/* ---- the time line */

static bool is_known(const uint8_t *boot)
{
    static const uint8_t unknown[DUEQ_BOOT_SIZE];

    return memcmp(boot, unknown, DUEQ_BOOT_SIZE) != 0;
}

/* Compares the wall clock with the clock since boot: a difference is a step, which the queue's
 * clock does not follow. Returns the step, usec. */
static int64_t take_step(struct dueq_timeline *line, struct clock_reading reading)
{
    int64_t least = reading.wall - reading.boot_after,
            most = reading.wall - reading.boot_before;
    int64_t step;

    if (line->since_boot >= least - CLOCK_SLACK_USEC &&
        line->since_boot <= most + CLOCK_SLACK_USEC)
        return 0;
    step = most - line->since_boot; /* the greatest it can be: the queue's clock may wait */
    line->since_boot = most;
    line->ahead = clamp(line->ahead + milliseconds_up(step));
    return step;
}

/* A device without a battery starts in 1970. How long it was away nobody knows, when its clock
 * was set for the first time meanwhile. */
static bool was_set_meanwhile(int64_t wall_before, int64_t wall)
{
    return wall_before < CLOCK_UNSET_MS && wall >= CLOCK_UNSET_MS;
}

static void begin_boot(struct dueq_timeline *line, struct clock_reading reading,
                       const uint8_t *boot, int64_t floor, bool goes_on)
{
    int64_t wall = milliseconds(reading.wall), gone = wall - line->ahead - floor;

    if (gone < 0 || (goes_on && was_set_meanwhile(line->ahead + floor, wall)))
        line->ahead += gone;
    line->since_boot = reading.wall - reading.boot_before;
    memcpy(line->boot, boot, DUEQ_BOOT_SIZE);
}

void clock_init(struct clock *clock, struct clock_reading reading, const uint8_t *boot,
                const struct dueq_timeline *kept, int64_t floor)
{
    struct dueq_time time;

    *clock = (struct clock){.now = clamp(floor)};
    if (kept != NULL)
        clock->line = *kept;
    clock->line.ahead = clamp(clock->line.ahead);
    clock->line.since_boot = clamp(clock->line.since_boot);
    if (kept == NULL || !is_known(boot) || memcmp(boot, kept->boot, DUEQ_BOOT_SIZE) != 0)
        begin_boot(&clock->line, reading, boot, clock->now, kept != NULL);
    else
        take_step(&clock->line, reading);
    clock_update(clock, reading, &time);
}

bool clock_is_behind(const struct clock *clock, const struct dueq_timeline *kept, int64_t floor)
{
    return clock->last.wall < clamp(floor) + clamp(kept->ahead);
}

bool clock_update(struct clock *clock, struct clock_reading reading, struct dueq_time *ret_time)
{
    int64_t step = milliseconds(take_step(&clock->line, reading));
    int64_t wall = milliseconds(reading.wall), now = wall - clock->line.ahead;
    int64_t ceiling = milliseconds_up(reading.wall) - clock->line.ahead;
    bool jumped = step > CLOCK_JUMP_MS || step < -CLOCK_JUMP_MS;

    if (jumped) {
        clock->jumps++;
        clock->last_jump = step;
    }
    if (now > clock->now)
        clock->now = now;
    clock->wall_usec = reading.wall;
    clock->last = (struct clock_times){wall, milliseconds(reading.boot_before)};
    *ret_time =
        (struct dueq_time){clock->now, wall, ceiling > clock->now ? ceiling : clock->now};
    return jumped;
}
