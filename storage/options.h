/* The options that a store is opened with. Installed beside dueq.h. */
#ifndef DUEQ_OPTIONS_H
#define DUEQ_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The end of the name of a directory in which dueq_backup makes a backup. */
#define DUEQ_BACKUP_PARTIAL ".partial"

#ifdef __cplusplus
extern "C" {
#endif

struct dueq_io;

enum dueq_durability {
    DUEQ_SYNC_ALWAYS,   /* a commit is durable when fdatasync has returned */
    DUEQ_SYNC_INTERVAL, /* counts as durable when written; a sync every interval_ms */
    DUEQ_SYNC_NONE      /* counts as durable when written; no syncs */
};

/* How far an opening is. */
struct dueq_progress {
    uint64_t journal_bytes;    /* of the files to be replayed; the last one counts in full */
    uint64_t replayed_bytes;   /* of these */
    uint64_t replayed_records; /* that the last checkpoint does not contain */
    uint64_t topics;           /* loaded: they come after the journal */
};

#define DUEQ_RECORD_MAX ((size_t)3 << 30) /* bytes that one batch may hold at most */
#if SIZE_MAX > UINT32_MAX
#define DUEQ_MAP_MAX      ((uint64_t)64 << 40)
#define DUEQ_MEMTABLE_MAX ((uint64_t)4 << 30)
#else
/* 2 to 4 GiB of addresses are for everything. data.mdb is mapped (twice without /proc), and
 * while it is compacted two files are; when there is no room for the second one, it is not
 * compacted. */
#define DUEQ_MAP_MAX      ((uint64_t)1 << 30)
#define DUEQ_MEMTABLE_MAX ((uint64_t)256 << 20)
#endif

/* With DUEQ_SYNC_INTERVAL and DUEQ_SYNC_NONE a power cut can lose commits that count as
 * durable.
 *
 * dueq_options_init comes first, then the caller changes what it wants. dueq_open answers
 * DUEQ_INVALID for a value outside the range given here. A later version may add fields at the
 * end: a program that was compiled with fewer fields gets the defaults for the others. */
struct dueq_options {
    size_t size; /* bytes of this struct as the caller knows it; dueq_options_init sets it */
    enum dueq_durability durability;
    unsigned interval_ms;        /* DUEQ_SYNC_INTERVAL: 1 to 3,600,000; in other modes that of
                                    topics with this durability */
    size_t memtable_bytes;       /* allocated for one memtable; 32 KiB to
                                    DUEQ_MEMTABLE_MAX */
    size_t segment_bytes;        /* journal segment; 64 KiB to 1 GiB */
    uint64_t record_bytes;       /* the most that one batch can hold; 64 KiB to 3 GiB */
    uint64_t journal_bytes;      /* a longer journal starts a checkpoint; from 128 KiB */
    uint64_t map_bytes;          /* the most data.mdb can grow to; sparse; 1 MiB to
                                    DUEQ_MAP_MAX */
    uint64_t disk_reserve_bytes; /* that growth leaves free in the file system */
    unsigned high_water_percent; /* a fuller map refuses growth; 1 to 100 */
    uint64_t seed;               /* entropy for a new directory; 0: the system's */
    const struct dueq_io *io;    /* NULL: the operating system; not for embedders */
    void (*notify)(void *arg);   /* called by any thread: commits are durable, something failed,
                                    or the room changed */
    void *notify_arg;
    bool heeds_pressure; /* the caller asks dueq_pressure before it makes changes: then no
                            commit waits for a checkpoint */
    /* Called by dueq_open in its thread: for each record of the journal, each topic and each
     * transaction of a merge, so it must be quick. False: dueq_open answers DUEQ_STOPPED, and
     * the directory has what it had. NULL: nobody asks. */
    bool (*on_progress)(void *arg, const struct dueq_progress *progress);
    void *progress_arg;
    unsigned auto_compact_percent; /* dueq_set_auto_compact */
    uint64_t auto_compact_bytes;
    bool drop_pages; /* pages of data.mdb leave the memory of the process soon after they were
                        read; the system may keep them as cache. For small devices */
    const char *archive_dir;  /* each segment of the journal is copied there before it is used
                                 again; it exists, and is copied by dueq_open. NULL: none */
    uint64_t archive_max_lag; /* bytes of segments that wait for it at most: then they are
                                 given up; 0: no limit. On a full disk none waits */
    unsigned archive_interval_ms; /* a segment that is not full is copied so much later, or
                                     twice that; 0: only full ones are */
    uint64_t stage_bytes;         /* 0 to 1 GiB. dueq_commit leaves so many bytes at most to the
                                     thread that syncs them, so it does not wait for the file system.
                                     What is not durable yet is then lost if the process is killed.
                                     0: dueq_commit writes. It also writes when more has gathered, and
                                     once a commit needs no sync or waits for the interval.
                                     libdueq-small always does */
};

/* Fills in the defaults: every commit is synced; two memtables of at most 40 MiB, of which
 * one may take half as much again while a checkpoint is late (dueq_pressure), and beside
 * them filters of two thirds of one (of all of one while a filter is being filled); a
 * journal of 512 MiB. A small device needs less of all of them. size: sizeof(*options); no byte
 * after it is written. */
void dueq_options_init_sized(struct dueq_options *options, size_t size);

static inline void dueq_options_init(struct dueq_options *options)
{
    dueq_options_init_sized(options, sizeof(*options));
}

#ifdef __cplusplus
}
#endif

#endif
