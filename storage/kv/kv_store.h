/* The inside of struct kv, for kv.c and cursor.c. */
#ifndef DUEQ_STORAGE_KV_STORE_H
#define DUEQ_STORAGE_KV_STORE_H

#include "storage/kv/batch.h"
#include "storage/kv/checkpoint.h"
#include "storage/kv/gaps.h"
#include "storage/kv/kv.h"

/* DUEQ_INVALID: a field is beyond its ends (options.c). */
enum dueq_status kv_options_check(const struct kv_options *options, struct dueq_error *error);
/* What a new directory is seeded with: the caller's entropy, else the system's. DUEQ_IO. */
enum dueq_status kv_options_seed(const struct kv_options *options, uint64_t *ret_seed);

struct kv {
    struct kv_options options;
    const struct kv_io *io;
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
    uint64_t lsn;
    int64_t time_floor;
    uint64_t seed;
    uint64_t since_freeze; /* journal bytes */
    uint64_t since_check;  /* journal bytes since room was looked at */
    bool replay_full;      /* no room to merge what is replayed: it stays in memory */
    unsigned idle_turns;
    enum dueq_status status;
    char failure[320];
    bool full;
    uint64_t disk_free, disk_checked; /* bytes; usec */
    struct kv_stats stats;            /* the counters that kv.c keeps itself */
};

#endif
