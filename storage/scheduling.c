#include "storage/scheduling.h"

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NICER_BY = 5, NICEST = 19 };

/* As in sched_setattr(2): some versions of glibc have no definition. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

void scheduling_give_way(void)
{
    struct attributes attributes = {.size = sizeof(attributes)};

    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0 ||
        attributes.policy != SCHED_OTHER)
        return;
    attributes.nice = attributes.nice + NICER_BY < NICEST ? attributes.nice + NICER_BY : NICEST;
    (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}
