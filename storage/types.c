#include "storage/types.h"

#include <string.h>

const char *dueq_state_name(enum dueq_state state)
{
    static const char *const names[] = {"delayed", "ready", "claimed", "dead"};

    return names[state];
}

void dueq_push_init(struct dueq_push *push)
{
    *push = (struct dueq_push){.priority = DUEQ_DEFAULT,
                               .lease = DUEQ_DEFAULT,
                               .retries = DUEQ_DEFAULT,
                               .backoff = DUEQ_DEFAULT,
                               .backoff_max = DUEQ_DEFAULT,
                               .ttl = DUEQ_DEFAULT};
}
