#include "storage/kv/journal/short_slice.h"

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLICE_NSEC = 100 * 1000 }; /* the shortest that Linux accepts */

/* As in sched_setattr(2): some versions of glibc have no definition. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

void short_slice_ask(void)
{
    struct attributes attributes = {.size = sizeof(attributes)};

    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0 ||
        attributes.policy != SCHED_OTHER)
        return;
    attributes.runtime = SLICE_NSEC;
    (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}
