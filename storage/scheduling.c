#include "storage/scheduling.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    NICER_BY = 5,
    NICEST = 19,
    SLICE_NSEC = 100 * 1000 /* the shortest that Linux accepts */
};

/* As in sched_setattr(2): some versions of glibc have no definition. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/* Of the calling thread; false: it is no ordinary one, or the kernel does not say. */
static bool read_own(struct attributes *ret)
{
    *ret = (struct attributes){.size = sizeof(*ret)};
    return syscall(SYS_sched_getattr, 0, ret, sizeof(*ret), 0) == 0 &&
           ret->policy == SCHED_OTHER;
}

void scheduling_give_way(void)
{
    struct attributes own;

    if (!read_own(&own))
        return;
    own.nice = own.nice + NICER_BY < NICEST ? own.nice + NICER_BY : NICEST;
    (void)syscall(SYS_sched_setattr, 0, &own, 0);
}

void scheduling_run_at_once(void)
{
    struct attributes own;

    if (!read_own(&own))
        return;
    own.runtime = SLICE_NSEC;
    (void)syscall(SYS_sched_setattr, 0, &own, 0);
}
