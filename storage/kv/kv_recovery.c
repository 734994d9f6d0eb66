#include "storage/kv/kv_recovery.h"

#include "storage/kv/backup_label.h"
#include "storage/kv/batch.h"
#include "storage/kv/data_dir.h"
#include "storage/kv/journal/segment_scan.h"
#include "storage/kv/kv_internal.h"
#include "storage/kv/kv_options.h"
#include "storage/kv/mark.h"
#include "storage/kv/segment_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    STEP = 1024 * 1024,
    BATCH_MOST = 64 * 1024 * 1024, /* bytes of segments that are replayed at a time */
    CHAIN_MOST = 1000,             /* increments */
    TEXT_ROOM = 96,                /* of a path: for what stands after it */
    SPARE_BYTES = 64 * 1024        /* nobody goes on in the journal: it need not be large */
};

struct recovery {
    struct dueq_recovery *ask;
    const struct kv_timeline *timeline;
    const struct dueq_io *io;
    struct dueq_error *error;
    struct segment_list list;
    char base[PATH_MAX], partial[PATH_MAX];
    bool made; /* the partial directory */
    int lock;  /* on the backup; -1: none */
    uint64_t seed, history;
    int64_t ahead; /* wall clock minus the time of records, ms */
    uint64_t batch_bytes, last_number;
    bool reached; /* the moment */
    char damage[400];
    /* LSNs that segments begin with: the one that `damage` tells of, the last that was read to
     * its end */
    uint64_t damaged, complete;
};

/* errno says why. */
static enum dueq_status fail(struct recovery *recovery, const char *what, const char *path)
{
    int error = errno;

    return dueq_fail(recovery->error, error == ENOSPC || error == EDQUOT ? DUEQ_FULL : DUEQ_IO,
                     "cannot %s %.300s: %s", what, path, strerror(error));
}

static const char *path_in(const char *dir, const char *name, char *path)
{
    snprintf(path, PATH_MAX, "%.*s/%s", PATH_MAX - TEXT_ROOM, dir, name);
    return path;
}

/* ---- the directory that is made */

static void remove_files(const char *dir)
{
    DIR *opened = opendir(dir);
    struct dirent *found;
    char path[PATH_MAX];

    while (opened != NULL && (found = readdir(opened)) != NULL)
        if (strlen(found->d_name) < TEXT_ROOM - 1)
            unlink(path_in(dir, found->d_name, path));
    if (opened != NULL)
        closedir(opened);
}

/* With its folder: an empty one is that of a journal that was lost. */
static void remove_journal(const struct recovery *recovery)
{
    char path[PATH_MAX];

    remove_files(path_in(recovery->partial, "journal", path));
    rmdir(path_in(recovery->partial, "journal", path));
}

static void remove_partial(const struct recovery *recovery)
{
    remove_journal(recovery);
    remove_files(recovery->partial);
    rmdir(recovery->partial);
}

static bool is_empty_or_missing(const char *dir)
{
    DIR *opened = opendir(dir);
    struct dirent *found;
    bool empty = opened != NULL;

    if (opened == NULL)
        return errno == ENOENT;
    while (empty && (found = readdir(opened)) != NULL)
        empty = strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0;
    closedir(opened);
    return empty;
}

static enum dueq_status make_partial(struct recovery *recovery)
{
    const char *dir = recovery->ask->dir;
    size_t size = strlen(dir);

    while (size > 1 && dir[size - 1] == '/')
        size--;
    if (size == 0 || size >= PATH_MAX - TEXT_ROOM)
        return dueq_fail(recovery->error, DUEQ_INVALID,
                         "the path of the directory is too long");
    if (!is_empty_or_missing(dir))
        return dueq_fail(recovery->error, DUEQ_INVALID,
                         "%.300s is there and not empty: a restore makes a new directory", dir);
    snprintf(recovery->partial, PATH_MAX, "%.*s.partial", (int)size, dir);
    if (mkdir(recovery->partial, 0700) != 0)
        return errno == EEXIST
                   ? dueq_fail(recovery->error, DUEQ_INVALID,
                               "%.300s is left over from another restore: remove it",
                               recovery->partial)
                   : fail(recovery, "create", recovery->partial);
    recovery->made = true;
    return DUEQ_OK;
}

/* ---- copying */

static enum dueq_status refuse(struct recovery *recovery, const char *path)
{
    return dueq_fail(recovery->error, DUEQ_INVALID, "%.300s is not a regular file", path);
}

static enum dueq_status open_source(struct recovery *recovery, const char *path, int *ret_fd)
{
    const struct dueq_io *io = recovery->io;
    int fd = io->open(io->arg, path, O_RDONLY | O_NONBLOCK, 0);

    if (fd < 0)
        return fail(recovery, "read", path);
    if (!io_is_file(fd)) {
        io->close(io->arg, fd);
        return refuse(recovery, path);
    }
    *ret_fd = fd;
    return DUEQ_OK;
}

/* Copies the first `size` bytes, which may be all, without the note of a segment. */
static enum dueq_status copy_file(struct recovery *recovery, const char *from, const char *to,
                                  uint64_t size, bool segment)
{
    const struct dueq_io *io = recovery->io;
    int in = -1, out = -1;
    enum dueq_status status = open_source(recovery, from, &in);
    uint8_t *bytes;
    uint64_t done = 0;
    ssize_t got = 1;

    if (status != DUEQ_OK)
        return status;
    bytes = malloc(STEP);
    if (bytes != NULL)
        out = io->open(io->arg, to, O_RDWR | O_CREAT | O_EXCL, 0600);
    while (out >= 0 && done < size && got > 0) {
        size_t step = size - done < STEP ? (size_t)(size - done) : STEP;

        got = io->pread(io->arg, in, bytes, step, (off_t)done);
        if (got >= SEGMENT_HEADER_SIZE && done == 0 && segment)
            memset(bytes + SEGMENT_FIXED_SIZE, 0, SEGMENT_NOTE_SIZE);
        if (got > 0 && io_write(io, out, bytes, (size_t)got, done) != 0)
            got = -1;
        done += got > 0 ? (uint64_t)got : 0;
    }
    if (out >= 0 && got >= 0 && io->fdatasync(io->arg, out) != 0)
        got = -1;
    if (out < 0)
        got = -1;
    if (bytes == NULL)
        errno = ENOMEM;
    status = got < 0 ? fail(recovery, "write", to) : DUEQ_OK;
    free(bytes);
    io->close(io->arg, in);
    if (out >= 0)
        io->close(io->arg, out);
    return status;
}

/* ---- the backup */

/* *ret_base: the name of what an increment goes on from. False: it is no increment. */
static bool read_base(const char *dir, char *ret_base, size_t size)
{
    struct backup_label label;

    if (!backup_label_read(dir, &label) || label.base[0] == '\0')
        return false;
    snprintf(ret_base, size, "%s", label.base);
    return true;
}

/* Makes `dir` that of the backup beside it. */
static enum dueq_status go_to(struct recovery *recovery, char *dir, const char *name)
{
    char *slash = strrchr(dir, '/');
    size_t keep = slash == NULL ? 0 : (size_t)(slash - dir) + 1;

    if (keep + strlen(name) >= PATH_MAX - TEXT_ROOM)
        return dueq_fail(recovery->error, DUEQ_INVALID, "the path of the backup is too long");
    strcpy(dir + keep, name);
    return DUEQ_OK;
}

static bool has_file(const char *dir, const char *name)
{
    char path[PATH_MAX];

    return access(path_in(dir, name, path), F_OK) == 0;
}

/* Finds the backup that the increments go on from; their names are in `chain`. */
static enum dueq_status find_base(struct recovery *recovery)
{
    char *dir = recovery->base, name[256];
    enum dueq_status status = DUEQ_OK;
    size_t size = strlen(recovery->ask->backup);

    while (size > 1 && recovery->ask->backup[size - 1] == '/')
        size--;
    if (size == 0 || size >= PATH_MAX - TEXT_ROOM)
        return dueq_fail(recovery->error, DUEQ_INVALID, "the path of the backup is too long");
    snprintf(dir, PATH_MAX, "%.*s", (int)size, recovery->ask->backup);
    for (unsigned links = 0; status == DUEQ_OK && !has_file(dir, "data.mdb"); links++) {
        if (links == CHAIN_MOST || !read_base(dir, name, sizeof(name)))
            return dueq_fail(recovery->error, DUEQ_NOTFOUND,
                             "%.300s is neither a backup nor an increment", dir);
        status = go_to(recovery, dir, name);
    }
    return status;
}

/* Neither a server nor a backup in the making has it. Read-only places can be locked, too. */
static enum dueq_status lock_base(struct recovery *recovery)
{
    char path[PATH_MAX];

    recovery->lock =
        open(path_in(recovery->base, "FORMAT", path), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (recovery->lock < 0)
        return fail(recovery, "read", path);
    if (!io_is_file(recovery->lock))
        return refuse(recovery, path);
    if (flock(recovery->lock, LOCK_SH | LOCK_NB) != 0)
        return dueq_fail(recovery->error, DUEQ_LOCKED, "%.300s is in use by another process",
                         recovery->base);
    return DUEQ_OK;
}

static enum dueq_status copy_base(struct recovery *recovery)
{
    static const char *const names[] = {"FORMAT", "data.mdb"};
    enum dueq_status status = DUEQ_OK;
    char from[PATH_MAX], to[PATH_MAX];

    for (size_t i = 0; i < 2 && status == DUEQ_OK; i++)
        status = copy_file(recovery, path_in(recovery->base, names[i], from),
                           path_in(recovery->partial, names[i], to), UINT64_MAX, false);
    return status;
}

/* ---- the store in the making */

static enum dueq_status open_partial(struct recovery *recovery, struct kv **ret_kv)
{
    struct dueq_options options;

    dueq_options_init(&options);
    options.durability = DUEQ_SYNC_NONE;
    options.segment_bytes = SPARE_BYTES;
    options.disk_reserve_bytes = 0;
    options.io = recovery->io;
    return kv_open(recovery->partial, &options, ret_kv, recovery->error);
}

/* A file may say any time, also one that no clock shows. */
static int64_t on_wall(int64_t time, int64_t ahead)
{
    int64_t wall;

    if (!__builtin_add_overflow(time, ahead, &wall))
        return wall;
    return ahead < 0 ? INT64_MIN : INT64_MAX;
}

/* What the backup says of itself. */
static enum dueq_status look_at_base(struct recovery *recovery)
{
    struct dueq_recovery *ask = recovery->ask;
    struct dueq_slice value;
    struct kv *kv;
    enum dueq_status status = open_partial(recovery, &kv);

    if (status != DUEQ_OK)
        return status;
    recovery->seed = kv->seed;
    recovery->history = kv->history.parent; /* the opening has begun another one */
    ask->base_lsn = ask->lsn = kv_last_lsn(kv);
    status = kv_get(kv, recovery->timeline->key, &value);
    if (status == DUEQ_OK && !recovery->timeline->read(value, &recovery->ahead))
        status = DUEQ_CORRUPT;
    if (status == DUEQ_NOTFOUND)
        status = DUEQ_OK;
    ask->base_time = ask->time = on_wall(kv_time_floor(kv), recovery->ahead);
    kv_abandon(kv);
    return status == DUEQ_OK ? DUEQ_OK
                             : dueq_fail(recovery->error, status, "%.300s: %s", recovery->base,
                                         dueq_status_text(status));
}

static enum dueq_status check_moment(struct recovery *recovery)
{
    const struct dueq_recovery *ask = recovery->ask;

    if (ask->to_lsn < ask->base_lsn)
        return dueq_fail(recovery->error, DUEQ_INVALID,
                         "the backup has more: it ends with record %" PRIu64
                         ". Take an older one",
                         ask->base_lsn);
    if (ask->to_time < ask->base_time)
        return dueq_fail(recovery->error, DUEQ_INVALID,
                         "the backup is of a later time. Take an older one");
    recovery->reached = ask->to_lsn == ask->base_lsn;
    return DUEQ_OK;
}

/* ---- segments */

/* The increments themselves, the archives, and the journal of a stopped server. */
static enum dueq_status list_segments(struct recovery *recovery)
{
    const struct dueq_recovery *ask = recovery->ask;
    enum dueq_status status = DUEQ_OK;
    char dir[PATH_MAX], name[256];

    if (data_dir_has_journal(recovery->base))
        status = segment_list_add(&recovery->list, recovery->io,
                                  path_in(recovery->base, "journal", dir), recovery->seed,
                                  recovery->error);
    snprintf(dir, sizeof(dir), "%.*s", PATH_MAX - TEXT_ROOM, ask->backup);
    for (size_t end = strlen(dir); end > 1 && dir[end - 1] == '/'; end--)
        dir[end - 1] = '\0';
    while (status == DUEQ_OK && !has_file(dir, "data.mdb") &&
           read_base(dir, name, sizeof(name))) {
        status = segment_list_add(&recovery->list, recovery->io, dir, recovery->seed,
                                  recovery->error);
        if (status == DUEQ_OK)
            status = go_to(recovery, dir, name);
    }
    for (size_t i = 0; i < ask->archive_count && status == DUEQ_OK; i++)
        status = segment_list_add(&recovery->list, recovery->io, ask->archives[i],
                                  recovery->seed, recovery->error);
    return status;
}

/* DUEQ_OK, and what the record says of the clock is known. */
static enum dueq_status read_time(struct recovery *recovery, const struct segment_scan *scan,
                                  const struct record_header *record, int64_t *ret_ahead)
{
    const uint8_t *at = scan->payload, *end = at + record->size;
    struct batch_operation operation;

    *ret_ahead = recovery->ahead;
    while (at < end) {
        if (!batch_read(&at, end, &operation))
            return DUEQ_CORRUPT;
        if (operation.put && dueq_slice_equal(operation.key, recovery->timeline->key) &&
            !recovery->timeline->read(operation.value, ret_ahead))
            return DUEQ_CORRUPT;
    }
    return DUEQ_OK;
}

/* Is it after the moment? Else it counts as taken. */
static enum dueq_status take_record(struct recovery *recovery, const struct segment_scan *scan,
                                    const struct record_header *record)
{
    struct dueq_recovery *ask = recovery->ask;
    int64_t ahead;
    enum dueq_status status = read_time(recovery, scan, record, &ahead);

    if (status != DUEQ_OK)
        return status;
    if (ask->to_time != INT64_MAX && on_wall(record->time, ahead) > ask->to_time) {
        recovery->reached = true;
        return DUEQ_OK;
    }
    recovery->ahead = ahead;
    ask->lsn = record->lsn;
    ask->time = on_wall(record->time, ahead);
    ask->records++;
    recovery->reached = ask->lsn == ask->to_lsn;
    if (ask->on_progress != NULL && ask->records % 4096 == 0)
        ask->on_progress(ask->arg, ask->records);
    return DUEQ_OK;
}

/* Takes the records that come next, up to the moment or the end of the part. *ret_end: of the
 * last one in the file. */
static enum dueq_status take_records(struct recovery *recovery, struct segment_scan *scan,
                                     uint64_t *ret_end)
{
    struct dueq_recovery *ask = recovery->ask;
    const struct history_part *part = segment_list_part(&recovery->list, ask->lsn + 1);
    struct record_header record;
    enum dueq_status status = DUEQ_OK;

    *ret_end = 0;
    while (status == DUEQ_OK && !recovery->reached && ask->lsn < part->last_lsn) {
        uint64_t before = ask->lsn;

        status = segment_scan_next(scan, &record);
        if (status != DUEQ_OK || record.lsn <= before)
            continue;
        status = record.lsn == before + 1 ? take_record(recovery, scan, &record) : DUEQ_CORRUPT;
        if (ask->lsn > before)
            *ret_end = scan->offset;
    }
    return status;
}

/* Puts the records of the batch into data.mdb. */
static enum dueq_status replay_batch(struct recovery *recovery)
{
    struct kv *kv;
    uint64_t lsn;
    enum dueq_status status;

    if (recovery->batch_bytes == 0)
        return DUEQ_OK;
    status = open_partial(recovery, &kv);
    if (status != DUEQ_OK)
        return status;
    lsn = kv_last_lsn(kv);
    status = kv_close(kv);
    if (status != DUEQ_OK)
        return dueq_fail(recovery->error, status, "cannot write %.300s: %s", recovery->partial,
                         dueq_status_text(status));
    if (lsn != recovery->ask->lsn)
        return dueq_fail(recovery->error, DUEQ_CORRUPT,
                         "record %" PRIu64 " was read, and %" PRIu64
                         " is the last in the store",
                         recovery->ask->lsn, lsn);
    remove_journal(recovery);
    recovery->batch_bytes = recovery->last_number = 0;
    return DUEQ_OK;
}

/* Gives the batch the segment, up to that byte. A later one has a greater number. */
static enum dueq_status add_to_batch(struct recovery *recovery,
                                     const struct listed_segment *segment, uint64_t end)
{
    char name[64], dir[PATH_MAX], path[PATH_MAX];
    enum dueq_status status;

    snprintf(name, sizeof(name), "journal/%016" PRIx64 ".seg", segment->number);
    if (mkdir(path_in(recovery->partial, "journal", dir), 0700) != 0 && errno != EEXIST)
        return fail(recovery, "create", dir);
    status =
        copy_file(recovery, segment->path, path_in(recovery->partial, name, path), end, true);
    recovery->batch_bytes += end;
    recovery->last_number = segment->number;
    recovery->ask->segments++;
    return status;
}

/* It has no sound record any more. What a damaged copy lacks is no loss when a whole one is
 * there. */
static void note_end(struct recovery *recovery, const struct listed_segment *segment,
                     const struct segment_scan *scan)
{
    if (segment->whole && scan->offset == scan->size) {
        recovery->complete = segment->first_lsn;
        recovery->damage[0] = '\0';
    } else if (segment->whole && segment->first_lsn != recovery->complete) {
        recovery->damaged = segment->first_lsn;
        snprintf(recovery->damage, sizeof(recovery->damage),
                 "%.300s is damaged at byte %" PRIu64, segment->path, scan->offset);
    }
}

/* *ret_taken: it had the next record. */
static enum dueq_status take_segment(struct recovery *recovery,
                                     const struct listed_segment *segment, bool *ret_taken)
{
    struct segment_scan scan;
    uint64_t end, before = recovery->ask->lsn;
    enum dueq_status status =
        segment_scan_open(&scan, recovery->io, segment->path, recovery->seed);

    *ret_taken = false;
    if (status == DUEQ_OK) {
        status = take_records(recovery, &scan, &end);
        if (status == DUEQ_NOTFOUND)
            note_end(recovery, segment, &scan);
        if (status == DUEQ_NOTFOUND)
            status = DUEQ_OK;
        segment_scan_close(&scan);
    }
    if (status != DUEQ_OK)
        return dueq_fail(recovery->error, status, "%.300s: %s", segment->path,
                         status == DUEQ_IO ? strerror(errno) : dueq_status_text(status));
    *ret_taken = recovery->ask->lsn > before || recovery->reached;
    if (recovery->ask->lsn > before && segment->first_lsn > recovery->damaged)
        recovery->damage[0] = '\0'; /* all records of that one were found */
    return recovery->ask->lsn > before ? add_to_batch(recovery, segment, end) : DUEQ_OK;
}

/* Takes the next record from any file that has it. */
static enum dueq_status take_next(struct recovery *recovery, bool *ret_taken)
{
    const struct listed_segment *segment = NULL;
    enum dueq_status status = DUEQ_OK;

    *ret_taken = false;
    while (status == DUEQ_OK && !*ret_taken) {
        segment = segment_list_find(&recovery->list, recovery->ask->lsn + 1, segment);
        if (segment == NULL)
            return DUEQ_OK;
        if (recovery->batch_bytes > 0 &&
            (segment->number <= recovery->last_number || recovery->batch_bytes >= BATCH_MOST))
            status = replay_batch(recovery);
        if (status == DUEQ_OK)
            status = take_segment(recovery, segment, ret_taken);
    }
    return status;
}

/* The segments have ended before the moment. That is fine when nothing says that there was
 * more. */
static enum dueq_status check_end(struct recovery *recovery)
{
    const struct dueq_recovery *ask = recovery->ask;
    const struct listed_segment *next = segment_list_next(&recovery->list, ask->lsn);

    if (recovery->damage[0] != '\0')
        return dueq_fail(recovery->error, DUEQ_CORRUPT, "%.400s", recovery->damage);
    if (next != NULL && next->first_lsn == ask->lsn + 1)
        return dueq_fail(recovery->error, DUEQ_CORRUPT, "%.300s is damaged: its header",
                         next->path);
    if (next != NULL)
        return dueq_fail(recovery->error, DUEQ_CORRUPT,
                         "no segment has the records %" PRIu64 " to %" PRIu64, ask->lsn + 1,
                         next->first_lsn - 1);
    if (ask->to_lsn == UINT64_MAX)
        return DUEQ_OK;
    return dueq_fail(recovery->error, DUEQ_NOTFOUND, "the segments end before record %" PRIu64,
                     ask->to_lsn);
}

static enum dueq_status replay(struct recovery *recovery)
{
    enum dueq_status status =
        segment_list_plan(&recovery->list, recovery->history, recovery->ask->base_lsn,
                          recovery->ask->history, recovery->error);
    bool taken = true;

    while (status == DUEQ_OK && taken && !recovery->reached)
        status = take_next(recovery, &taken);
    if (status == DUEQ_OK && !recovery->reached)
        status = check_end(recovery);
    return status == DUEQ_OK ? replay_batch(recovery) : status;
}

/* ---- the end */

static enum dueq_status check_all(struct recovery *recovery)
{
    struct kv *kv;
    uint64_t records;
    enum dueq_status status = open_partial(recovery, &kv);

    if (status != DUEQ_OK)
        return status;
    status = kv_check(kv, &records);
    if (status != DUEQ_OK)
        dueq_fail(recovery->error, status, "data.mdb of the backup: %s", kv_damage(kv));
    kv_abandon(kv);
    return status;
}

/* Who starts on it begins a history: after that of the last record, and of a greater epoch than
 * any that was ever seen. */
static void end_history(const struct recovery *recovery, struct history *ret_history)
{
    const struct dueq_recovery *ask = recovery->ask;
    const struct history_part *part = segment_list_part(&recovery->list, ask->lsn);
    uint64_t epoch = segment_list_epoch(&recovery->list), random = 0;

    if (epoch < history_epoch(recovery->history))
        epoch = history_epoch(recovery->history);
    kv_options_random(&random);
    *ret_history = (struct history){.id = history_id(epoch, random),
                                    .parent = part == NULL ? recovery->history : part->id,
                                    .first_lsn = ask->lsn + 1};
}

static enum dueq_status write_mark(struct recovery *recovery)
{
    struct lmdb_store *lmdb;
    struct checkpoint_mark mark, kept;
    struct dueq_options options;
    enum dueq_status status;

    dueq_options_init(&options);
    status = lmdb_store_open(recovery->partial, options.map_bytes, recovery->io, &lmdb,
                             recovery->error);
    if (status != DUEQ_OK)
        return status;
    status = mark_read(lmdb, &mark);
    end_history(recovery, &mark.history);
    if (status == DUEQ_OK)
        status = mark_rewrite(lmdb, &mark);
    if (status == DUEQ_OK)
        status = lmdb_renew(lmdb);
    if (status == DUEQ_OK)
        status = mark_read(lmdb, &kept);
    if (status == DUEQ_OK && kept.history.id != mark.history.id)
        status = DUEQ_FULL;
    lmdb_store_close(lmdb);
    return status == DUEQ_OK ? DUEQ_OK
                             : dueq_fail(recovery->error, status, "cannot write %.300s: %s",
                                         recovery->partial, dueq_status_text(status));
}

/* Without a journal, which the next opening makes. */
static enum dueq_status give_name(struct recovery *recovery)
{
    const struct dueq_io *io = recovery->io;
    char path[PATH_MAX];

    remove_journal(recovery);
    unlink(path_in(recovery->partial, "lock.mdb", path));
    if (io->fsync_dir(io->arg, recovery->partial) != 0)
        return fail(recovery, "sync", recovery->partial);
    if (io->rename(io->arg, recovery->partial, recovery->ask->dir) != 0)
        return fail(recovery, "rename", recovery->partial);
    recovery->made = false;
    if (io->fsync_dir(io->arg, path_in(recovery->ask->dir, "..", path)) != 0)
        return fail(recovery, "sync the name of", recovery->ask->dir);
    return DUEQ_OK;
}

static enum dueq_status run(struct recovery *recovery)
{
    enum dueq_status (*const steps[])(struct recovery * recovery) = {
        find_base,     lock_base, make_partial, copy_base,  look_at_base, check_moment,
        list_segments, replay,    check_all,    write_mark, give_name};
    enum dueq_status status = DUEQ_OK;

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && status == DUEQ_OK; i++)
        status = steps[i](recovery);
    return status;
}

enum dueq_status kv_recover(struct dueq_recovery *ask, const struct kv_timeline *timeline,
                            const struct dueq_io *io, struct dueq_error *error)
{
    struct dueq_error unused;
    struct recovery *recovery = calloc(1, sizeof(*recovery));
    enum dueq_status status;

    if (recovery == NULL)
        return dueq_fail(error, DUEQ_NOMEM, "out of memory");
    ask->base_lsn = ask->lsn = ask->records = ask->segments = 0;
    ask->base_time = ask->time = 0;
    recovery->ask = ask;
    recovery->timeline = timeline;
    recovery->io = io;
    recovery->error = error == NULL ? &unused : error;
    recovery->lock = -1;
    status = run(recovery);
    ask->moment_reached = recovery->reached;
    if (recovery->made)
        remove_partial(recovery);
    data_dir_unlock(recovery->lock);
    segment_list_release(&recovery->list);
    free(recovery);
    return status;
}
