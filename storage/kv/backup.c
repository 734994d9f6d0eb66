#include "storage/kv/backup.h"

#include "storage/kv/archive_file.h"
#include "storage/kv/backup_label.h"
#include "storage/kv/data_dir.h"
#include "storage/kv/backup_increment.h"
#include "storage/kv/kv_internal.h"
#include "storage/kv/lmdb_backup.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    NAME_ROOM = 32, /* of a path: for what stands after that of the directory */
    ARCHIVE_PAUSE_MS = 10
};

/* ---- the thread */

static enum dueq_status failure_of(int error)
{
    return error == ENOSPC || error == EDQUOT ? DUEQ_FULL : DUEQ_IO;
}

static const char *path_in(const char *dir, const char *name, char *path)
{
    snprintf(path, PATH_MAX, "%.*s/%s", PATH_MAX - NAME_ROOM, dir, name);
    return path;
}

/* Segments of an increment, and what a kill has left of one. */
static void remove_segments(const struct kv_backup *backup)
{
    DIR *dir = opendir(backup->partial);
    struct dirent *found;
    char path[PATH_MAX];
    struct archive_name parts;

    while (dir != NULL && (found = readdir(dir)) != NULL) {
        char *end = strstr(found->d_name, DUEQ_BACKUP_PARTIAL);

        if (end != NULL)
            *end = '\0'; /* a copy that a kill left */
        if (!archive_name_read(found->d_name, &parts) ||
            parts.store != archive_store(backup->seed))
            continue;
        if (end != NULL)
            *end = DUEQ_BACKUP_PARTIAL[0];
        if (snprintf(path, sizeof(path), "%s/%s", backup->partial, found->d_name) <
            (int)sizeof(path))
            backup->io->unlink(backup->io->arg, path);
    }
    if (dir != NULL)
        closedir(dir);
}

/* 0, also when there is none; or errno. A directory with other files stays: somebody has used
 * it. */
static int remove_partial(const struct kv_backup *backup)
{
    static const char *const names[] = {"data.mdb", BACKUP_LABEL_FILE, "FORMAT"};
    const struct dueq_io *io = backup->io;
    char path[PATH_MAX];

    remove_segments(backup);
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (access(path_in(backup->partial, names[i], path), F_OK) == 0 &&
            io->unlink(io->arg, path) != 0)
            return errno;
    return rmdir(backup->partial) == 0 || errno == ENOENT ? 0 : errno;
}

static bool has_space(struct kv_backup *backup, uint64_t bytes)
{
    uint64_t available;

    backup->full = backup->io->free_bytes(backup->io->arg, backup->partial, &available) != 0 ||
                   available < backup->disk_reserve || available - backup->disk_reserve < bytes;
    return !backup->full;
}

/* The disk may be that of the store, which needs the rest of it. */
static bool goes_on(void *arg, uint64_t copied)
{
    struct kv_backup *backup = arg;

    if (atomic_load(&backup->stop))
        return false;
    if (copied == atomic_load(&backup->copied))
        return true;
    atomic_store(&backup->copied, copied);
    return copied >= backup->size || has_space(backup, 0);
}

static enum dueq_status copy_store(struct kv_backup *backup)
{
    char path[PATH_MAX];
    enum dueq_status status;

    if (!has_space(backup, backup->size))
        return DUEQ_FULL;
    status = lmdb_backup_write(backup->source, path_in(backup->partial, "data.mdb", path),
                               goes_on, backup);
    return status == DUEQ_BUSY && backup->full ? DUEQ_FULL : status;
}

/* Waits until the last record is in the archive: its thread works on it, or has failed. */
static enum dueq_status await_archive(struct kv_backup *backup)
{
    const struct timespec pause = {0, ARCHIVE_PAUSE_MS * 1000000L};
    const struct kv *kv = backup->kv;
    struct dueq_archive_stats stats;

    while (journal_archived_lsn(kv->journal) < backup->lsn) {
        archive_get_stats(kv->archive, &stats);
        if (stats.status != DUEQ_OK && stats.status != DUEQ_NOTFOUND)
            return stats.status;
        if (atomic_load(&backup->stop))
            return DUEQ_BUSY;
        nanosleep(&pause, NULL);
    }
    return DUEQ_OK;
}

static enum dueq_status copy_segments(struct kv_backup *backup)
{
    const struct kv *kv = backup->kv;
    struct increment increment = {.io = backup->io,
                                  .archive = archive_dir(kv->archive),
                                  .dir = backup->partial,
                                  .seed = backup->seed,
                                  .history = backup->history,
                                  .disk_reserve = backup->disk_reserve,
                                  .goes_on = goes_on,
                                  .arg = backup};
    enum dueq_status status = await_archive(backup);

    if (status == DUEQ_OK)
        status = increment_write(&increment, backup->base_lsn, backup->lsn);
    backup->size = increment.bytes;
    if (status == DUEQ_OK)
        backup->lsn = increment.last_lsn;
    return status;
}

static enum dueq_status write_label(const struct kv_backup *backup)
{
    struct backup_label label = {
        .store = archive_store(backup->seed), .history = backup->history, .lsn = backup->lsn};

    if (backup->base != NULL)
        snprintf(label.base, sizeof(label.base), "%s", strrchr(backup->base, '/') + 1);
    return backup_label_write(backup->partial, backup->io, &label);
}

static enum dueq_status fill(struct kv_backup *backup)
{
    const struct dueq_io *io = backup->io;
    enum dueq_status status = backup->base == NULL ? copy_store(backup) : copy_segments(backup);

    if (status == DUEQ_OK)
        status = write_label(backup);
    if (status == DUEQ_OK && io->fsync_dir(io->arg, backup->partial) != 0)
        return failure_of(errno);
    return status;
}

/* Only a complete backup has the name. Another that came meanwhile keeps it. */
static enum dueq_status give_name(const struct kv_backup *backup)
{
    const struct dueq_io *io = backup->io;
    char parent[PATH_MAX];
    int error;

    if (access(backup->path, F_OK) == 0)
        return DUEQ_DUPLICATE;
    if (io->rename(io->arg, backup->partial, backup->path) != 0)
        return failure_of(errno);
    if (io->fsync_dir(io->arg, path_in(backup->path, "..", parent)) == 0)
        return DUEQ_OK;
    error = errno;
    io->rename(io->arg, backup->path, backup->partial);
    return failure_of(error);
}

/* The lock on the directory keeps others from starting on what is not complete. */
static enum dueq_status make(struct kv_backup *backup)
{
    int error = remove_partial(backup), lock;
    enum dueq_status status;

    if (error != 0)
        return failure_of(error);
    status = data_dir_lock(backup->partial, backup->io, &lock, NULL);
    if (status == DUEQ_OK) {
        status = fill(backup);
        if (status == DUEQ_OK)
            status = give_name(backup);
        data_dir_unlock(lock);
    }
    if (status != DUEQ_OK)
        remove_partial(backup);
    return status;
}

static void *run_thread(void *arg)
{
    struct kv_backup *backup = arg;

    backup->status = make(backup);
    atomic_store(&backup->ended, true);
    kv_on_notice(backup->kv);
    return NULL;
}

/* ---- the owner's side */

static void forget(struct kv_backup *backup)
{
    free(backup->path);
    free(backup->partial);
    free(backup->base);
    backup->base = NULL;
    backup->path = NULL;
    backup->partial = NULL;
    backup->known = false;
}

static void note_end(struct kv *kv, enum dueq_status status)
{
    struct kv_backup *backup = &kv->backup;

    backup->last_status = status;
    if (status == DUEQ_OK) {
        backup->done++;
        backup->last_lsn = backup->lsn;
        backup->last_bytes = backup->size;
        backup->last_usec = kv->io->monotonic_usec(kv->io->arg) - backup->began;
    } else {
        backup->failed++;
    }
    forget(backup);
}

/* Of a whole backup. */
static enum dueq_status open_source(struct kv *kv)
{
    struct kv_backup *backup = &kv->backup;
    enum dueq_status status = lmdb_backup_new(kv->lmdb, &backup->source);

    if (status == DUEQ_OK)
        backup->size = lmdb_backup_size(backup->source);
    return status;
}

static enum dueq_status start_thread(struct kv *kv)
{
    struct kv_backup *backup = &kv->backup;
    enum dueq_status status = backup->base == NULL ? open_source(kv) : DUEQ_OK;

    if (status != DUEQ_OK)
        return status;
    backup->full = false;
    backup->seed = kv->seed;
    backup->history = kv->history.id;
    atomic_store(&backup->copied, 0);
    atomic_store(&backup->ended, false);
    backup->runs = pthread_create(&backup->thread, NULL, run_thread, backup) == 0;
    if (backup->runs)
        return DUEQ_OK;
    lmdb_backup_free(kv->lmdb, backup->source);
    backup->source = NULL;
    return DUEQ_NOMEM;
}

static void start(struct kv *kv, uint64_t lsn)
{
    enum dueq_status status;

    kv->backup.lsn = lsn;
    status = start_thread(kv);
    if (status != DUEQ_OK)
        note_end(kv, status);
}

static void join(struct kv *kv)
{
    struct kv_backup *backup = &kv->backup;

    pthread_join(backup->thread, NULL);
    backup->runs = false;
    lmdb_backup_free(kv->lmdb, backup->source);
    backup->source = NULL;
}

void kv_backup_checkpoint_ended(struct kv *kv)
{
    struct kv_backup *backup = &kv->backup;
    struct checkpoint_stats checkpoint;

    if (!backup->known || backup->runs || backup->base != NULL)
        return;
    checkpoint_get_stats(kv->checkpoint, &checkpoint);
    if (checkpoint.lsn >= backup->wanted_lsn)
        start(kv, checkpoint.lsn);
}

/* What the backup must contain is in the journal now: it was asked for in a turn that has ended
 * since. */
static void go_on_as_asked(struct kv *kv)
{
    struct kv_backup *backup = &kv->backup;

    if (kv_batch_bytes(kv) > 0)
        return;
    if (!backup->known)
        backup->wanted_lsn = kv->lsn;
    backup->known = true;
    if (backup->base != NULL || (kv->frozen == NULL && kv->since_freeze == 0))
        start(kv, backup->base != NULL ? backup->wanted_lsn : kv->lsn);
    else if (!checkpoint_has_room(kv->checkpoint))
        note_end(kv, DUEQ_FULL); /* the checkpoint may wait for room for ever */
    else if (kv->frozen == NULL)
        kv_freeze(kv);
}

void kv_backup_turn(struct kv *kv)
{
    struct kv_backup *backup = &kv->backup;

    if (backup->path == NULL)
        return;
    if (backup->base != NULL && backup->known &&
        journal_end_segment_of(kv->journal, backup->wanted_lsn))
        kv->early_ends++;
    if (!backup->runs) {
        go_on_as_asked(kv);
    } else if (atomic_load(&backup->ended)) {
        join(kv);
        note_end(kv, backup->status);
    }
}

void kv_backup_stop(struct kv *kv)
{
    struct kv_backup *backup = &kv->backup;

    atomic_store(&backup->stop, true);
    if (backup->runs)
        join(kv);
    forget(backup);
}

bool kv_backup_rests(const struct kv *kv)
{
    return kv->backup.path == NULL;
}

/* ---- for others */

static char *joined(const char *path, const char *end)
{
    char *both = malloc(strlen(path) + strlen(end) + 1);

    if (both != NULL) {
        strcpy(both, path);
        strcat(both, end);
    }
    return both;
}

static enum dueq_status can_begin(const struct kv *kv, const char *path)
{
    struct stat found;

    if (kv->backup.path != NULL)
        return DUEQ_BUSY;
    if (path[0] == '\0' || path[strlen(path) - 1] == '/' ||
        strlen(path) + strlen(DUEQ_BACKUP_PARTIAL) >= PATH_MAX - NAME_ROOM)
        return DUEQ_INVALID;
    return lstat(path, &found) == 0 ? DUEQ_DUPLICATE : DUEQ_OK;
}

/* Is it a backup of this store, and of this history, that an increment can go on from? */
static enum dueq_status read_base(const struct kv *kv, const char *base, uint64_t *ret_lsn)
{
    struct backup_label label;

    if (kv->archive == NULL)
        return DUEQ_WRONGSTATE;
    if (strrchr(base, '/') == NULL || strlen(strrchr(base, '/') + 1) >= sizeof(label.base) ||
        !backup_label_read(base, &label))
        return DUEQ_NOTFOUND;
    if (label.store != archive_store(kv->seed) || label.history != kv->history.id ||
        label.lsn > kv->lsn)
        return DUEQ_STALE;
    *ret_lsn = label.lsn;
    return DUEQ_OK;
}

enum dueq_status kv_backup(struct kv *kv, const char *path)
{
    return kv_backup_from(kv, path, NULL);
}

enum dueq_status kv_backup_from(struct kv *kv, const char *path, const char *base)
{
    struct kv_backup *backup = &kv->backup;
    enum dueq_status status = kv_failed(kv) ? kv->status : can_begin(kv, path);

    if (status == DUEQ_OK && base != NULL)
        status = read_base(kv, base, &backup->base_lsn);
    if (status != DUEQ_OK)
        return status;
    backup->path = strdup(path);
    backup->partial = joined(path, DUEQ_BACKUP_PARTIAL);
    backup->base = base == NULL ? NULL : strdup(base);
    if (backup->path == NULL || backup->partial == NULL ||
        (base != NULL && backup->base == NULL)) {
        forget(backup);
        return DUEQ_NOMEM;
    }
    backup->io = kv->io;
    backup->kv = kv;
    backup->disk_reserve = kv->options.disk_reserve_bytes;
    backup->began = kv->io->monotonic_usec(kv->io->arg);
    return DUEQ_OK;
}

void kv_backup_get_stats(const struct kv *kv, struct dueq_stats *ret_stats)
{
    const struct kv_backup *backup = &kv->backup;

    ret_stats->backup_running = backup->path != NULL;
    ret_stats->backups = backup->done;
    ret_stats->backup_failures = backup->failed;
    ret_stats->backup_status = backup->last_status;
    ret_stats->backup_lsn = backup->last_lsn;
    ret_stats->backup_bytes = backup->last_bytes;
    ret_stats->backup_usec_last = backup->last_usec;
    ret_stats->backup_copied_bytes =
        backup->path != NULL ? atomic_load(&backup->copied) : backup->last_bytes;
}
