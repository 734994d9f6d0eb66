/* The files of the journal's directory: makes, renames and removes segments. Private to
 * storage/kv/journal. The owner takes segments while the checkpoint thread retires and prepares
 * others; neither waits for the disk work of the other.
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
    struct segment_file *next; /* the next younger one */
    uint64_t number;
    uint64_t first_lsn, last_lsn; /* last < first: no record yet */
    uint64_t size, used;          /* bytes */
    int fd;                       /* -1: closed */
    bool dirty;                   /* has bytes that are not on disk */
    bool syncing;                 /* a sync is under way */
    bool archived;                /* or given up: it need not wait */
    bool named;                   /* the directory is synced with its name */
    bool unfilled;    /* has blocks that were never written: syncs there write metadata, too */
    unsigned pending; /* records not yet written into it */
};

struct spare_file {
    uint64_t number; /* 0: none */
    bool unfilled;
};

struct journal_files {
    const struct dueq_io *io;
    char path[PATH_MAX - 64];
    int dir; /* the directory, open for as long as the journal; -1: for one who only reads */
    size_t segment_bytes;
    uint64_t disk_reserve; /* bytes that spares and large files leave free on the disk */
    bool archives;         /* an opening keeps segments below the checkpoint */
    pthread_mutex_t lock;  /* protects the fields that follow */
    uint64_t next_number;
    struct spare_file spares[JOURNAL_SPARES];
    uint64_t stale; /* number of a spare of an earlier opening, to be overwritten; 0 */
    bool reserve;
    bool no_room;       /* the last attempt to make a file found the disk full */
    uint64_t shortages; /* such attempts */
};

/* The content of the directory when it is opened: the numbers of live segments, sorted. */
struct journal_listing {
    uint64_t *numbers;
    size_t count;
};

/* Creates the directory if it is missing; changes nothing else. The caller frees
 * ret_listing->numbers. */
enum dueq_status journal_files_open(struct journal_files *files, const char *dir,
                                    const struct dueq_io *io, size_t segment_bytes,
                                    uint64_t disk_reserve, struct journal_listing *ret_listing,
                                    struct dueq_error *error);

/* For one who only reads: changes nothing; DIR/journal must be there. */
enum dueq_status journal_files_look(struct journal_files *files, const char *dir,
                                    const struct dueq_io *io,
                                    struct journal_listing *ret_listing,
                                    struct dueq_error *error);

void journal_files_close(struct journal_files *files);

void journal_files_live_path(const struct journal_files *files, uint64_t number, char *path);

/* Keeps the reserve; removes files that are half made. Spares of earlier openings cannot be
 * used as they are: a power cut may undo the renaming of a spare but not what was written to
 * it, under a number that is given out again, and then its records would pass as new ones. If
 * there is no reserve (the disk was full), one old spare is overwritten and becomes the
 * reserve. journal_files_prepare overwrites another, which needs no room on a disk that may be
 * full. The others are removed. */
void journal_files_tidy(struct journal_files *files);
/* Takes a segment of an earlier opening out of the journal: it becomes such an old spare, when
 * there is none, because a disk that is full may have no room for another file. Else it is
 * removed. The caller syncs the directory. -1: errno. */
int journal_files_put_away(struct journal_files *files, uint64_t number);

/* Reads the first bytes of a live segment, `most` at the most, from the disk. The caller frees
 * *ret_bytes. */
enum dueq_status journal_files_read(const struct journal_files *files, uint64_t number,
                                    size_t most, uint8_t **ret_bytes, size_t *ret_size,
                                    struct dueq_error *error);

/* Bytes of a live segment; 0: it is not to be found out. */
uint64_t journal_files_size(const struct journal_files *files, uint64_t number);

/* A file for a new segment of at least `size` bytes: a spare, else a new one, else the reserve.
 * Its name is not synced yet (journal_files_sync_names). DUEQ_FULL: no room; DUEQ_NOMEM: no
 * descriptor or memory now; after both, nothing has changed. DUEQ_IO: errno says why. */
enum dueq_status journal_files_take(struct journal_files *files, size_t size,
                                    struct segment_file *ret_segment);

/* Makes a file that is larger than ordinary segments, before it is needed; disk_reserve stays
 * free. It has a temporary name until journal_files_take_large, which needs no room. The same
 * statuses. */
enum dueq_status journal_files_make_large(struct journal_files *files, size_t size,
                                          struct segment_file *ret_large);
enum dueq_status journal_files_take_large(struct journal_files *files,
                                          struct segment_file *large);
/* Closes and removes such a file that was not used. */
void journal_files_discard_large(struct journal_files *files, const struct segment_file *large);

/* True: a spare waits to be taken. */
bool journal_files_have_spare(struct journal_files *files);
/* True: so does one whose blocks are written. It is taken before others. */
bool journal_files_have_filled(struct journal_files *files);

/* Makes a spare now if there is none. The same statuses. */
enum dueq_status journal_files_spare(struct journal_files *files);

/* Makes the names of the files durable. Needs no descriptor: the process may have none left,
 * and a commit waits for this. -1: errno. */
int journal_files_sync_names(const struct journal_files *files);

/* Turns a live segment into a spare when one is wanted, else deletes it. */
void journal_files_retire(struct journal_files *files, uint64_t number, uint64_t size,
                          bool unfilled);

/* Makes one spare and the reserve, as far as they are missing. False: the disk is full or
 * failed. Slow: writes whole files. */
bool journal_files_prepare(struct journal_files *files);

/* True: a spare or the reserve is missing. */
bool journal_files_wanted(struct journal_files *files);

/* True: there is no spare, old or new, and no reserve. */
bool journal_files_bare(struct journal_files *files);

/* False: the last attempt to make a file found the disk full, and the spare or the reserve is
 * missing. */
bool journal_files_have_room(struct journal_files *files);

#endif
