/* The journal's directory: which segments there are, and how one comes and goes. Private to
 * storage/kv. The owner takes segments while the checkpoint thread retires and prepares others;
 * neither waits for the other's disk.
 *
 *   journal/0000000000000001.seg   live, in order of number
 *   journal/spare-....seg          zero-filled or recycled, ready to be taken
 *   journal/reserve.seg            set aside so that a full disk can be drained */
#ifndef DUEQ_STORAGE_JOURNAL_FILES_H
#define DUEQ_STORAGE_JOURNAL_FILES_H

#include "storage/kv/io.h"
#include "storage/status.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JOURNAL_SPARES = 2 };

struct segment_file {
    struct segment_file *next; /* younger */
    uint64_t number;
    uint64_t first_lsn, last_lsn; /* last < first: no record yet */
    uint64_t size, used;          /* bytes */
    int fd;                       /* -1: closed */
    bool dirty;                   /* has bytes that are not on disk */
    bool named;                   /* its name is on disk */
};

struct journal_files {
    const struct kv_io *io;
    char path[PATH_MAX - 64];
    size_t segment_bytes;
    pthread_mutex_t lock; /* of what follows */
    uint64_t next_number;
    uint64_t spares[JOURNAL_SPARES]; /* numbers; 0: none */
    bool reserve;
};

/* What the directory holds when it is opened; numbers of live segments, sorted. */
struct journal_listing {
    uint64_t *numbers;
    size_t count;
};

/* Creates the directory when missing; changes nothing else. */
enum dueq_status journal_files_open(struct journal_files *files, const char *dir,
                                    const struct kv_io *io, size_t segment_bytes,
                                    struct journal_listing *ret_listing,
                                    struct dueq_error *error);

void journal_files_close(struct journal_files *files);

void journal_files_live_path(const struct journal_files *files, uint64_t number, char *path);

/* Adopts the reserve; removes what is half made, and the spares of earlier openings: a power
 * cut may have undone the renaming of one, but not the writing to it, under a number that will
 * be given out again. Its records would then check. Without a reserve (the disk was full) one
 * of them is overwritten and becomes it. */
void journal_files_tidy(struct journal_files *files);

/* The first bytes of a live segment, `most` at the most, as they are on disk. The caller frees
 * *ret_bytes. */
enum dueq_status journal_files_read(const struct journal_files *files, uint64_t number,
                                    size_t most, uint8_t **ret_bytes, size_t *ret_size,
                                    struct dueq_error *error);

/* A file for a new segment of at least `size` bytes: a spare, else a new one, else the reserve.
 * Its name is not on disk yet (fsync_dir). *ret_reserve: it was the reserve. DUEQ_FULL, DUEQ_IO
 * (errno). */
enum dueq_status journal_files_take(struct journal_files *files, size_t size,
                                    struct segment_file *ret_segment, bool *ret_reserve);

/* Turns a live segment into a spare when one is wanted, else deletes it. */
void journal_files_retire(struct journal_files *files, uint64_t number, uint64_t size);

/* Makes what is missing of one spare and the reserve. False: no room on the disk. Slow. */
bool journal_files_prepare(struct journal_files *files);

#endif
