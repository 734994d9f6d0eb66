/* LD_PRELOAD: a machine whose wall clock steps or stands, and which reboots, on command.
 *
 * The file STEPPED_CLOCK contains a struct stepped_clock
 * (tests/support/faults/stepped_clock.h): what to add to the real clocks, or where they stand.
 * The test changes it while the server runs. */
#include "tests/support/faults/stepped_clock.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NEXT(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))

static const struct stepped_clock *shared(void)
{
    static const struct stepped_clock *clock;
    const char *path = getenv("STEPPED_CLOCK");
    int fd;

    if (clock != NULL || path == NULL)
        return clock;
    fd = NEXT(open)(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    void *map = mmap(NULL, sizeof(*clock), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (map != MAP_FAILED)
        clock = map;
    return clock;
}

static void stand(const struct stepped_clock *clock, struct timespec *moment)
{
    int64_t usec = *(const volatile int64_t *)&clock->stands_at;

    if (usec != 0)
        *moment = (struct timespec){usec / 1000000, usec % 1000000 * 1000};
}

int clock_gettime(clockid_t id, struct timespec *moment)
{
    static int (*next)(clockid_t, struct timespec *);
    const struct stepped_clock *clock = shared();

    if (next == NULL)
        next = NEXT(clock_gettime);
    int result = next(id, moment);
    if (result == 0 && clock != NULL && (id == CLOCK_REALTIME || id == CLOCK_BOOTTIME))
        stand(clock, moment);
    if (result == 0 && clock != NULL && id == CLOCK_REALTIME)
        moment->tv_sec += clock->wall_ahead;
    if (result == 0 && clock != NULL && id == CLOCK_BOOTTIME)
        moment->tv_sec += clock->boot_ahead;
    return result;
}

/* ---- the timer that is cancelled when the wall clock is set */

static int watch_fd = -1;

/* Looks often, in place of the kernel's notice; the server itself has no timer for it. */
static void *watch_steps(void *arg)
{
    const struct stepped_clock *clock = shared();
    int64_t seen = *(int64_t *)arg;
    const struct timespec pause = {0, 10000000};

    for (;; nanosleep(&pause, NULL)) {
        int64_t wall = *(const volatile int64_t *)&clock->wall_ahead;
        uint64_t one = 1;

        if (wall != seen && write(watch_fd, &one, sizeof(one)) == sizeof(one))
            seen = wall;
    }
    return NULL;
}

int timerfd_create(clockid_t id, int flags)
{
    static int64_t seen;
    const struct stepped_clock *clock = shared();
    pthread_t thread;

    if (clock == NULL || id != CLOCK_REALTIME)
        return NEXT(timerfd_create)(id, flags);
    seen = clock->wall_ahead;
    watch_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (watch_fd >= 0 && pthread_create(&thread, NULL, watch_steps, &seen) == 0)
        pthread_setname_np(thread, "test-clock");
    return watch_fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *old)
{
    return fd == watch_fd ? 0 : NEXT(timerfd_settime)(fd, flags, value, old);
}

/* The id of the boot is made from the number in the file; a pipe, which the sandbox allows. */
static int open_boot_id(void)
{
    int ends[2];
    const struct stepped_clock *clock = shared();

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    dprintf(ends[1], "%036lld\n", clock == NULL ? 0 : (long long)clock->boot);
    close(ends[1]);
    return ends[0];
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;

    if (strcmp(path, "/proc/sys/kernel/random/boot_id") == 0)
        return open_boot_id();
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    return NEXT(open)(path, flags, mode);
}
