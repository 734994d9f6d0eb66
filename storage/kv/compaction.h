/* When data.mdb is compacted: because somebody asks, or by itself when it pays. The checkpoint
 * thread does it (lmdb_store.h). Private to storage/kv; for the owner's thread. */
#ifndef DUEQ_COMPACTION_H
#define DUEQ_COMPACTION_H

#include "storage/stats.h"
#include "storage/status.h"

#include <stdbool.h>
#include <stdint.h>

struct kv;

struct kv_compaction {
    bool asked;        /* by kv_compact; not begun yet */
    bool checkpointed; /* what was in memory then is in data.mdb, or on its way */
    bool running;
    uint64_t seen;       /* how many have ended */
    unsigned sparse;     /* checkpoints in a row that left a file that is worth it */
    uint64_t measured;   /* monotonic usec of the last of them; 0: none yet */
    uint64_t wait_usec;  /* after a failure; 0: the last one succeeded */
    uint64_t wait_until; /* monotonic usec */
    uint64_t done, failed, returned;
};

/* Call it in each kv_maintain: sees the end of one, starts another. */
void kv_compaction_turn(struct kv *kv);
/* True: none runs, and none will begin as long as nothing is written. */
bool kv_compaction_rests(const struct kv *kv);
/* Call it when a checkpoint has ended and the room is measured. */
void kv_compaction_measured(struct kv *kv);
void kv_compaction_get_stats(const struct kv *kv, struct dueq_stats *ret_stats);

#endif
