/* What a store is opened with. Installed beside dueq.h. */
#ifndef DUEQ_STORAGE_KV_OPTIONS_H
#define DUEQ_STORAGE_KV_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

struct kv_io;

enum kv_durability {
    KV_SYNC_ALWAYS,   /* a record is settled when fdatasync returned */
    KV_SYNC_INTERVAL, /* settled when written; synced every interval_ms in the background */
    KV_SYNC_NONE      /* settled when written; the kernel writes when it likes */
};

struct kv_options {
    enum kv_durability durability;
    unsigned interval_ms;        /* KV_SYNC_INTERVAL: 1 to 3,600,000 */
    size_t memtable_bytes;       /* the active memtable is frozen at this size */
    size_t segment_bytes;        /* journal segment; 1 MiB to 1 GiB */
    uint64_t journal_bytes;      /* a checkpoint starts when the journal is longer */
    uint64_t map_bytes;          /* LMDB map: sparse, the most the data file can grow to */
    uint64_t disk_reserve_bytes; /* growth is refused when the file system has less free */
    unsigned high_water_percent; /* growth is refused when the map is this full */
    uint64_t seed;               /* entropy for a new directory (hash seed, journal salts) */
    const struct kv_io *io;      /* NULL: the operating system; tests put faults here */
    void (*notify)(void *arg);   /* any thread: something settled, failed, or room changed */
    void *notify_arg;
};

#endif
