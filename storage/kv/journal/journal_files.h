/* The journal's directory: which segments there are, and how one comes and goes. Private to
 * storage/kv. The owner takes segments while the checkpoint thread retires and prepares others;
 * neither waits for the other's disk.
 *
 *   journal/0000000000000001.seg   live, in order of number
 *   journal/spare-....seg          zero-filled or recycled, ready to be taken
 *   journal/reserve.seg            set aside so that a full disk can be drained */
#ifndef DUEQ_JOURNAL_FILES_H
#define DUEQ_JOURNAL_FILES_H

#include "storage/io.h"
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
    unsigned pending;             /* records that are yet to be written into it */
};

struct journal_files {
    const struct dueq_io *io;
    char path[PATH_MAX - 64];
    size_t segment_bytes;
    uint64_t disk_reserve; /* bytes of the disk that spares and large files leave free */
    pthread_mutex_t lock;  /* of what follows */
    uint64_t next_number;
    uint64_t spares[JOURNAL_SPARES]; /* numbers; 0: none */
    uint64_t stale;                  /* a spare of an earlier opening, to be overwritten; 0 */
    bool reserve;
    bool refused; /* the last file that was to be made found no room */
};

/* What the directory holds when it is opened; numbers of live segments, sorted. */
struct journal_listing {
    uint64_t *numbers;
    size_t count;
};

/* Creates the directory when missing; changes nothing else. */
enum dueq_status journal_files_open(struct journal_files *files, const char *dir,
                                    const struct dueq_io *io, size_t segment_bytes,
                                    uint64_t disk_reserve, struct journal_listing *ret_listing,
                                    struct dueq_error *error);

void journal_files_close(struct journal_files *files);

void journal_files_live_path(const struct journal_files *files, uint64_t number, char *path);

/* Adopts the reserve; removes what is half made. The spares of earlier openings cannot be used
 * as they are: a power cut may have undone the renaming of one, but not the writing to it,
 * under a number that will be given out again. Its records would then check. Without a reserve
 * (the disk was full) one of them is overwritten and becomes it; journal_files_prepare
 * overwrites another, which takes no room on a disk that may be full; further ones are removed.
 */
void journal_files_tidy(struct journal_files *files);

/* The first bytes of a live segment, `most` at the most, as they are on disk. The caller frees
 * *ret_bytes. */
enum dueq_status journal_files_read(const struct journal_files *files, uint64_t number,
                                    size_t most, uint8_t **ret_bytes, size_t *ret_size,
                                    struct dueq_error *error);

/* A file for a new segment of at least `size` bytes: a spare, else a new one, else the reserve.
 * Its name is not on disk yet (fsync_dir). DUEQ_FULL: no room; DUEQ_NOMEM: no descriptor or
 * memory at this moment; both leave what is there. DUEQ_IO (errno). */
enum dueq_status journal_files_take(struct journal_files *files, size_t size,
                                    struct segment_file *ret_segment);

/* A file larger than ordinary segments, made before it is needed and not of the room that is
 * kept free. Under a temporary name until journal_files_take_large, which cannot lack room. The
 * same statuses. */
enum dueq_status journal_files_make_large(struct journal_files *files, size_t size,
                                          struct segment_file *ret_large);
enum dueq_status journal_files_take_large(struct journal_files *files,
                                          struct segment_file *large);
/* Closes and removes it, unused. */
void journal_files_discard_large(struct journal_files *files, const struct segment_file *large);

/* Sees to it that there is a spare, making one at once if need be. The same statuses. */
enum dueq_status journal_files_spare(struct journal_files *files);

/* Turns a live segment into a spare when one is wanted, else deletes it. */
void journal_files_retire(struct journal_files *files, uint64_t number, uint64_t size);

/* Makes what is missing of one spare and the reserve. False: no room on the disk. Slow. */
bool journal_files_prepare(struct journal_files *files);

/* Is one of the two missing? */
bool journal_files_wanted(struct journal_files *files);

/* There is nothing that a segment could be made of but the disk. */
bool journal_files_bare(struct journal_files *files);

/* False: the last file that was to be made found no room, and there is no spare beside the
 * reserve. */
bool journal_files_have_room(struct journal_files *files);

#endif
