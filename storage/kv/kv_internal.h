/* The inside of struct kv, for kv.c and cursor.c. */
#ifndef DUEQ_KV_INTERNAL_H
#define DUEQ_KV_INTERNAL_H

#include "storage/kv/batch.h"
#include "storage/kv/checkpoint.h"
#include "storage/kv/dead_ranges.h"
#include "storage/kv/kv.h"

#include <stdatomic.h>

/* What the store can do, in one place. */
enum kv_state {
    KV_SOUND,
    KV_FULL,  /* takes what drains it, refuses what makes it grow, until room returns */
    KV_FAILED /* for good: answers the reason to everything and changes no more */
};

/* DUEQ_INVALID: a field is beyond its ends (options_check.c). */
enum dueq_status kv_options_check(const struct dueq_options *options, struct dueq_error *error);
/* What a new directory is seeded with: the caller's entropy, else the system's. DUEQ_IO. */
enum dueq_status kv_options_seed(const struct dueq_options *options, uint64_t *ret_seed);

/* Bytes of values that lie in pages one behind the other, and of those that are longer than the
 * runs of free pages that are counted. */
struct kv_large {
    uint64_t large, huge;
};

enum { KV_LARGE = 2000, KV_HUGE = 256 * 1024 };

struct kv_space {
    struct lmdb_room data;          /* after the last checkpoint, and what it grew by since */
    struct kv_large active, frozen; /* of the memtables */
    uint64_t checked;               /* usec */
    size_t granted; /* bytes that the batch may come to, all of which were asked for at once */
};

struct kv {
    struct dueq_options options;
    const struct dueq_io *io;
    char *dir;
    int lock_fd;
    struct lmdb_store *lmdb;
    struct journal *journal;
    struct checkpoint *checkpoint;
    struct memtable *active, *frozen; /* frozen: NULL, or being merged into LMDB */
    uint64_t levels;                  /* grows when active or frozen become other tables */
    uint64_t commits_seen;            /* of the checkpoint, when the snapshot was renewed */
    struct gaps gaps;                 /* of all levels together */
    struct batch batch;
    struct dueq_loan *loans;
    size_t loan_count;
    uint64_t lsn;
    int64_t time_floor;
    uint64_t seed;
    uint64_t since_freeze; /* journal bytes */
    uint64_t passed_then;  /* tombstones stepped over, up to the last freeze */
    bool replay_full;      /* no room to merge what is replayed: it stays in memory */
    uint64_t segment_seen; /* of the journal, when the checkpoint thread was last woken */
    unsigned idle_turns;
    struct kv_space room;
    enum kv_state state;
    enum dueq_status status; /* KV_FAILED: why */
    char failure[320];
    _Atomic(bool) noticed;   /* a thread has something to tell: kv_notice */
    struct dueq_stats stats; /* the counters that kv.c keeps itself */
};

/* ---- room.c */

void kv_room_open(struct kv *kv);
/* Now and then: is there room again, or none any more? */
void kv_room_check(struct kv *kv);
void kv_room_measure(struct kv *kv); /* a checkpoint has ended */
/* The active memtable became the frozen one; the frozen one is gone. */
void kv_room_freeze(struct kv *kv);
void kv_room_release(struct kv *kv);

static inline void kv_room_put(struct kv *kv, size_t size)
{
    if (size > KV_LARGE)
        kv->room.active.large += size;
    if (size > KV_HUGE)
        kv->room.active.huge += size;
}

/* Takes over what the threads have to tell; a failure of theirs is the store's. */
void kv_notice(struct kv *kv);

/* Each function that reads or writes asks first. O(1). */
static inline bool kv_failed(struct kv *kv)
{
    if (atomic_load_explicit(&kv->noticed, memory_order_relaxed))
        kv_notice(kv);
    return kv->state == KV_FAILED;
}

#endif
