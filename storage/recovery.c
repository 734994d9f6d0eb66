#include "storage/recovery.h"

#include "storage/kv/kv_recovery.h"
#include "storage/queue/core/queue_state.h"

enum dueq_status recovery_run(struct dueq_recovery *recovery, struct dueq_error *error)
{
    struct kv_key key;
    struct kv_timeline timeline = {.read = queue_read_ahead};

    timeline.key = queue_timeline_key(&key);
    return kv_recover(recovery, &timeline, &io_system, error);
}
