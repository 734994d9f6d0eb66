/* A disk under the journal (struct dueq_io) that counts, fails, shortens, and loses its power.
 *
 * The files are real, so that code which lists and reads directories sees them; what a power
 * cut would leave of them is kept in disk_image.h. Syncs cost nothing. Any thread may call. */
#ifndef DUEQ_FAKE_DISK_H
#define DUEQ_FAKE_DISK_H

#include "storage/io.h"
#include "tests/support/dice.h"

enum disk_call {
    DISK_OPEN, /* fsync_dir opens, too: it fails with it, and is not counted */
    DISK_READ,
    DISK_WRITE,
    DISK_SYNC,
    DISK_ALLOCATE,
    DISK_RENAME,
    DISK_UNLINK,
    DISK_SYNC_NAMES,
    DISK_FORGET,
    DISK_DATA_WRITE, /* LMDB's: lmdb_disk.h */
    DISK_DATA_SYNC,
    DISK_CALLS
};

struct fake_disk;

struct fake_disk *fake_disk_new(void);
void fake_disk_free(struct fake_disk *disk); /* the files stay; NULL is fine */
const struct dueq_io *fake_disk_io(const struct fake_disk *disk);

unsigned long fake_disk_count(struct fake_disk *disk, enum disk_call call);

/* `passing` more calls of that kind succeed; then `times` of them fail with `error`. A sync
 * that fails loses for good what was not on disk yet, although reads still return it. */
void fake_disk_fail(struct fake_disk *disk, enum disk_call call, unsigned passing,
                    unsigned times, int error);
#define FAKE_DISK_ALWAYS UINT32_MAX
/* Each read or write moves at most `most` bytes, and every second call is interrupted (EINTR)
 * first; 0: back to normal. */
void fake_disk_shorten(struct fake_disk *disk, size_t most);
void fake_disk_set_free_bytes(struct fake_disk *disk, uint64_t bytes);

/* While `hold` is true, syncs do not return. */
void fake_disk_hold_syncs(struct fake_disk *disk, bool hold);
/* How many syncs of files with a name are held now. */
unsigned fake_disk_held_syncs(struct fake_disk *disk);

/* Cuts the power after `calls` more calls; 0: now. From then on every call fails, except reads
 * of open files. */
void fake_disk_cut_after(struct fake_disk *disk, unsigned long calls);
bool fake_disk_is_dead(struct fake_disk *disk);
/* Kills the process after `calls` more calls: from then on every call fails, and what was
 * written before is in the page cache, where the next process finds it after fake_disk_revive.
 */
void fake_disk_kill_after(struct fake_disk *disk, unsigned long calls);
bool fake_disk_is_killed(struct fake_disk *disk);
void fake_disk_revive(struct fake_disk *disk);
/* The power returns: the files become what the cut has left. No file may be open. */
void fake_disk_restart(struct fake_disk *disk, struct dice *dice);

/* ---- for lmdb_disk.h: what LMDB does to a file without struct dueq_io */

ssize_t fake_disk_data_write(struct fake_disk *disk, const char *path, int fd,
                             const struct iovec *parts, int count, off_t offset);
int fake_disk_data_sync(struct fake_disk *disk, const char *path);

#endif
