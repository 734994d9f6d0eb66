/* What a store is opened with. Installed beside dueq.h. */
#ifndef DUEQ_OPTIONS_H
#define DUEQ_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

struct dueq_io;

enum dueq_durability {
    DUEQ_SYNC_ALWAYS,   /* a record is settled when fdatasync returned */
    DUEQ_SYNC_INTERVAL, /* settled when written; synced every interval_ms in the background */
    DUEQ_SYNC_NONE      /* settled when written; the kernel writes when it likes */
};

#define DUEQ_RECORD_MAX ((size_t)3 << 30) /* bytes that one batch may hold at most */

/* Beyond these ends an opening is DUEQ_INVALID. A memtable is frozen when it holds so much of
 * the system's memory. */
struct dueq_options {
    enum dueq_durability durability;
    unsigned interval_ms;        /* DUEQ_SYNC_INTERVAL: 1 to 3,600,000 */
    size_t memtable_bytes;       /* 32 KiB to 4 GiB */
    size_t segment_bytes;        /* journal segment; 64 KiB to 1 GiB */
    uint64_t record_bytes;       /* the most that one batch may hold; 64 KiB to 3 GiB */
    uint64_t journal_bytes;      /* a longer journal brings a checkpoint; from 128 KiB */
    uint64_t map_bytes;          /* the most data.mdb can grow to; sparse; 1 MiB to 64 TiB */
    uint64_t disk_reserve_bytes; /* of the file system that growth leaves free */
    unsigned high_water_percent; /* growth is refused when the map is this full; 1 to 100 */
    uint64_t seed;               /* entropy for a new directory; 0: the system's */
    const struct dueq_io *io;    /* NULL: the operating system; tests put faults here */
    void (*notify)(void *arg);   /* any thread: something settled, failed, or room changed */
    void *notify_arg;
};

#endif
