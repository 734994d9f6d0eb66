/* Makes a new data directory from a backup and the segments that were written after it, up to a
 * moment. Nobody may use the backup meanwhile. Private to storage; storage/recovery.h is for
 * callers. */
#ifndef DUEQ_KV_RECOVERY_H
#define DUEQ_KV_RECOVERY_H

#include "storage/recovery.h"
#include "storage/io.h"
#include "storage/slice.h"

/* What the users of the key space know of the wall clock: this key's value says by how many ms
 * it is ahead of the time that records have. False: the value is malformed. */
struct kv_timeline {
    struct dueq_slice key;
    bool (*read)(struct dueq_slice value, int64_t *ret_ahead);
};

enum dueq_status kv_recover(struct dueq_recovery *recovery, const struct kv_timeline *timeline,
                            const struct dueq_io *io, struct dueq_error *error);

#endif
