/* Opens and closes a store: the lock, LMDB, the replay of the journal into memtables. */
#include "storage/kv/data_dir.h"
#include "storage/kv/kv_begin.h"
#include "storage/kv/kv_internal.h"
#include "storage/kv/kv_options.h"
#include "storage/kv/memtable/chunk_pool.h"
#include "storage/kv/memtable/large_value.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    NOTE_MS = 2000,   /* without work, before the journal notes what is durable */
    CLOSE_TURNS = 400 /* of 5 ms: a close waits so long for the archive */
};

/* ---- progress */

static enum dueq_status report(void *arg)
{
    const struct kv *kv = arg;
    const struct dueq_options *options = &kv->options;

    if (options->on_progress == NULL ||
        options->on_progress(options->progress_arg, &kv->progress))
        return DUEQ_OK;
    return DUEQ_STOPPED;
}

enum dueq_status kv_report_topics(struct kv *kv, uint64_t topics)
{
    kv->progress.topics = topics;
    return report(kv);
}

/* ---- replay */

static enum dueq_status replay_large(struct kv *kv, const struct batch_operation *operation)
{
    struct large_value *value = large_value_new(&operation->value, 1);
    enum dueq_status status =
        value == NULL ? DUEQ_NOMEM
                      : memtable_put_large(kv->active, operation->key, value, false);

    large_value_release(value);
    return status;
}

static enum dueq_status replay_operation(struct kv *kv, const struct batch_operation *operation)
{
    if (!operation->put)
        return memtable_del(kv->active, operation->key);
    if (operation->value.size > BATCH_COPY_MAX)
        return replay_large(kv, operation);
    return memtable_put(kv->active, operation->key, &operation->value, 1, false, NULL);
}

static enum dueq_status replay_operations(struct kv *kv, const struct journal_record *record)
{
    const uint8_t *at = record->payload, *end = at + record->size;
    struct batch_operation operation;
    enum dueq_status status = DUEQ_OK;

    while (at < end && status == DUEQ_OK) {
        if (!batch_read(&at, end, &operation))
            return DUEQ_CORRUPT;
        kv_room_put(&kv->room, operation.value.size);
        status = replay_operation(kv, &operation);
    }
    return status;
}

/* Merges a full memtable during replay, so that memory stays bounded. */
static enum dueq_status merge_replayed(struct kv *kv)
{
    struct checkpoint_mark mark = kv_mark(kv);
    enum dueq_status status = checkpoint_merge(kv->lmdb, kv->active, &mark, report, kv);

    kv->replay_full = status == DUEQ_FULL;
    if (status != DUEQ_OK)
        return kv->replay_full ? DUEQ_OK : status; /* the journal still contains all of it */
    memtable_free(kv->active);
    kv->active = memtable_new(kv->chunks);
    kv->room.active = (struct room_values){0, 0};
    kv->since_freeze = 0;
    return kv->active == NULL ? DUEQ_NOMEM : DUEQ_OK;
}

static enum dueq_status replay(void *arg, const struct journal_record *record)
{
    struct kv *kv = arg;
    enum dueq_status status = replay_operations(kv, record);

    kv->progress.journal_bytes = record->total;
    kv->progress.replayed_bytes = record->end < record->total ? record->end : record->total;
    kv->progress.replayed_records++;
    kv->lsn = record->lsn;
    kv->since_freeze += record->size;
    if (record->time > kv->time_floor)
        kv->time_floor = record->time;
    if (status == DUEQ_OK && memtable_reserved(kv->active) >= kv->options.memtable_bytes &&
        !kv->replay_full)
        status = merge_replayed(kv);
    return status == DUEQ_OK ? report(kv) : status;
}

/* ---- opening */

/* This directory goes on from a copy, if it is not a new one: what it commits must never be
 * taken for what the other store commits. `mark` is what was read. */
static enum dueq_status begin_history(const struct checkpoint_mark *mark,
                                      struct history *ret_history)
{
    const struct history *before = &mark->history;
    bool empty = before->first_lsn == mark->lsn + 1; /* has no record that is in here */
    uint64_t epoch = history_epoch(before->id), random;

    if (kv_options_random(&random) != DUEQ_OK)
        return DUEQ_IO;
    if (before->id != 0 && mark->lsn > 0)
        epoch++;
    *ret_history = (struct history){
        .id = history_id(epoch < KV_EPOCH_MOST ? epoch : KV_EPOCH_MOST, random),
        .parent = empty ? before->parent : before->id,
        .first_lsn = mark->lsn + 1};
    return DUEQ_OK;
}

static bool wants_history(const struct kv *kv, const struct checkpoint_mark *mark, bool created)
{
    return mark->history.id == 0 || (!created && !data_dir_has_journal(kv->dir));
}

/* The mark must certainly be on the disk before the segments below it are removed. On a full
 * disk the mark that was read from the disk is enough. */
static enum dueq_status rewrite_mark(struct kv *kv, const struct checkpoint_mark *mark)
{
    enum dueq_status status = mark_rewrite(kv->lmdb, mark);

    return status == DUEQ_OK ? lmdb_renew(kv->lmdb) : status;
}

/* On a full disk the new history is not in the mark, and a later opening would know nothing of
 * it: a directory of an older version waits for that, one that is a copy must not. */
static enum dueq_status keep_history(struct kv *kv, const struct checkpoint_mark *mark,
                                     struct dueq_error *error)
{
    struct checkpoint_mark kept;
    enum dueq_status status = mark_read(kv->lmdb, &kept);

    if (status != DUEQ_OK)
        return dueq_fail(error, status, "%s/data.mdb: %s", kv->dir, lmdb_error_text(kv->lmdb));
    kv->history = kept.history;
    if (kept.history.id == mark->history.id || kept.history.id == 0)
        return DUEQ_OK;
    return dueq_fail(error, DUEQ_FULL,
                     "%s: the disk or the map is too full to go on from a copy", kv->dir);
}

/* *ret_mark: what is in the directory, which may just have been created. */
static enum dueq_status find_mark(struct kv *kv, struct checkpoint_mark *ret_mark,
                                  bool *ret_created, struct dueq_error *error)
{
    struct checkpoint_mark mark = {.runs = {.next = 1}};
    enum dueq_status status = kv_options_seed(&kv->options, &mark.seed);
    uint64_t random;

    if (status == DUEQ_OK)
        status = kv_options_random(&random);
    if (status != DUEQ_OK)
        return dueq_fail(error, status, "the system gives no random numbers");
    mark.history = (struct history){.id = history_id(0, random), .first_lsn = 1};
    if (data_dir_is_new(kv->dir))
        status = mark_create(kv->dir, kv->io, &mark, error);
    if (status == DUEQ_OK)
        status = lmdb_store_open(kv->dir, kv->options.map_bytes, kv->io, &kv->lmdb, error);
    if (status != DUEQ_OK)
        return status;
    if (kv->options.drop_pages)
        lmdb_drop_after_commits(kv->lmdb);
    status = mark_read(kv->lmdb, ret_mark);
    *ret_created = status == DUEQ_OK && ret_mark->history.id == mark.history.id;
    if (status == DUEQ_NOTFOUND || (status == DUEQ_CORRUPT && *lmdb_damage(kv->lmdb) == '\0'))
        return dueq_fail(error, DUEQ_CORRUPT, "%s/data.mdb is damaged: it has no %smark",
                         kv->dir, status == DUEQ_NOTFOUND ? "" : "sound ");
    return status == DUEQ_OK ? DUEQ_OK
                             : dueq_fail(error, status, "%s/data.mdb: %s", kv->dir,
                                         lmdb_error_text(kv->lmdb));
}

/* A history of which a checkpoint has records has written a journal in this directory, which
 * always has a file from then on: a copy without a journal has no folder for it. */
static enum dueq_status refuse_emptied(const struct kv *kv, const struct checkpoint_mark *mark,
                                       struct dueq_error *error)
{
    if (mark->history.id == 0 || mark->history.first_lsn > mark->lsn ||
        !data_dir_has_empty_journal(kv->dir))
        return DUEQ_OK;
    return dueq_fail(error, DUEQ_CORRUPT,
                     "%s/journal is empty: what was written after the last checkpoint is lost. "
                     "Put its files back, or restore a backup; or, to go on with what data.mdb "
                     "has, remove the empty directory and start again",
                     kv->dir);
}

static enum dueq_status open_lmdb(struct kv *kv, struct dueq_error *error)
{
    struct checkpoint_mark mark = {0};
    bool created = false;
    enum dueq_status status = find_mark(kv, &mark, &created, error);

    if (status == DUEQ_OK)
        status = refuse_emptied(kv, &mark, error);
    if (status != DUEQ_OK)
        return status;
    if (wants_history(kv, &mark, created) && begin_history(&mark, &mark.history) != DUEQ_OK)
        return dueq_fail(error, DUEQ_IO, "the system gives no random numbers");
    status = rewrite_mark(kv, &mark);
    if (status != DUEQ_OK)
        return dueq_fail(error, status, "%s/data.mdb: %s", kv->dir, lmdb_error_text(kv->lmdb));
    kv->lsn = mark.lsn;
    kv->time_floor = mark.time;
    kv->seed = mark.seed;
    return keep_history(kv, &mark, error);
}

static enum dueq_status open_journal(struct kv *kv, struct dueq_error *error)
{
    const struct dueq_options *options = &kv->options;
    struct journal_options journal = {.segment_bytes = options->segment_bytes,
                                      .durability = options->durability,
                                      .interval_ms = options->interval_ms,
                                      .disk_reserve = options->disk_reserve_bytes,
                                      .salt = kv->seed,
                                      .history = kv->history,
                                      .archives = options->archive_dir != NULL,
                                      .max_lag = options->archive_max_lag,
                                      .note_ms = NOTE_MS,
                                      .stage_bytes = options->stage_bytes,
                                      .io = kv->io,
                                      .notify = kv_on_notice,
                                      .notify_arg = kv};
    struct journal_replay result;
    enum dueq_status status;

    if (error != NULL)
        error->text[0] = '\0';
    status = journal_open(kv->dir, &journal, kv->lsn, replay, kv, &kv->journal, &result, error);
    if (status != DUEQ_OK) {
        if (error != NULL && error->text[0] == '\0')
            dueq_fail(error, status, "cannot replay the journal in %s: %s", kv->dir,
                      dueq_status_text(status));
        return status;
    }
    kv->lsn = result.last_lsn;
    kv->stats.replayed_records = result.records;
    kv->stats.cut_bytes = result.cut_bytes;
    kv->progress.replayed_bytes = kv->progress.journal_bytes;
    return report(kv);
}

static enum dueq_status start_archive(struct kv *kv)
{
    const struct dueq_options *options = &kv->options;
    struct archive_options archive = {.io = kv->io,
                                      .dir = options->archive_dir,
                                      .seed = kv->seed,
                                      .disk_reserve = options->disk_reserve_bytes,
                                      .interval_ms = options->archive_interval_ms,
                                      .notify = kv_on_notice,
                                      .notify_arg = kv};

    if (options->archive_dir == NULL)
        return DUEQ_OK;
    return archive_new(&archive, kv->journal, &kv->archive);
}

/* The threads besides that of the journal. */
static enum dueq_status start_threads(struct kv *kv, struct dueq_error *error)
{
    enum dueq_status status = checkpoint_new(kv->lmdb, kv->journal, kv->chunks, kv->io,
                                             kv_on_notice, kv, &kv->checkpoint);

    if (status != DUEQ_OK)
        return dueq_fail(error, status, "cannot start the checkpoint thread");
    status = start_archive(kv);
    kv->options.archive_dir = NULL; /* it is the caller's */
    return status == DUEQ_OK ? status
                             : dueq_fail(error, status, "cannot start the archive's thread");
}

/* What a merged memtable may give back, which under pressure has half as much again as the
 * limit (kv_pressure), and what is made ready: the next memtables take it all. */
static size_t most_spare_bytes(size_t memtable_bytes)
{
    if (memtable_bytes < CHUNK_SIZE)
        return 0;
    return memtable_bytes / 2 * 3 + (size_t)CHUNKS_READY * CHUNK_SIZE;
}

enum dueq_status kv_open(const char *dir, const struct dueq_options *options,
                         struct kv **ret_kv, struct dueq_error *error)
{
    struct kv *kv;
    enum dueq_status status = kv_options_check(options, error);

    if (status != DUEQ_OK)
        return status;
    kv = calloc(1, sizeof(*kv));
    if (kv == NULL)
        return dueq_fail(error, DUEQ_NOMEM, "out of memory");
    kv->options = *options;
    kv->io = options->io != NULL ? options->io : &io_system;
    kv->lock_fd = -1;
    kv->runs_seen = kv->vain_commits = UINT64_MAX;
    kv->dir = strdup(dir);
    kv->chunks = chunk_pool_new(most_spare_bytes(kv->options.memtable_bytes));
    gaps_init(&kv->gaps, kv->options.memtable_bytes);
    kv->active = kv->chunks == NULL ? NULL : memtable_new(kv->chunks);
    status = !dead_ranges_init(&kv->dead_ranges) || kv->dir == NULL || kv->active == NULL
                 ? dueq_fail(error, DUEQ_NOMEM, "out of memory")
                 : data_dir_lock(dir, kv->io, &kv->lock_fd, error);
    if (status == DUEQ_OK)
        status = open_lmdb(kv, error);
    if (status == DUEQ_OK)
        status = open_journal(kv, error);
    if (status == DUEQ_OK)
        status = start_threads(kv, error);
    if (status != DUEQ_OK) {
        kv_abandon(kv);
        return status;
    }
    if (journal_is_bare(kv->journal)) /* a checkpoint of what was replayed frees segments */
        kv_freeze(kv);
    kv_room_open(kv);
    *ret_kv = kv;
    return DUEQ_OK;
}

/* ---- closing */

void kv_abandon(struct kv *kv)
{
    if (kv == NULL)
        return;
    kv_backup_stop(kv);
    archive_free(kv->archive);
    checkpoint_free(kv->checkpoint);
    journal_close(kv->journal);
    lmdb_store_close(kv->lmdb);
    memtable_free(kv->active);
    memtable_free(kv->frozen);
    chunk_pool_free(kv->chunks);
    batch_release(&kv->batch);
    dead_ranges_release(&kv->dead_ranges);
    gaps_release(&kv->gaps);
    for (unsigned i = 0; i < RUNS_MOST; i++)
        run_filter_release(&kv->filters[i]);
    data_dir_unlock(kv->lock_fd);
    free(kv->dir);
    free(kv);
}

/* What is not in the archive by then is archived after the next opening. */
static void archive_rest(const struct kv *kv)
{
    const struct timespec pause = {0, 5 * 1000 * 1000};
    struct dueq_archive_stats stats;
    unsigned turns = CLOSE_TURNS;

    if (kv->archive == NULL)
        return;
    journal_switch(kv->journal);
    do {
        archive_get_stats(kv->archive, &stats);
        if (stats.status != DUEQ_OK || stats.waiting_segments == 0)
            return;
        nanosleep(&pause, NULL);
    } while (--turns > 0);
}

/* The memtable contains the changes of the batch, and the journal does not; so with a batch
 * there is no checkpoint. */
enum dueq_status kv_close(struct kv *kv)
{
    enum dueq_status status;

    if (kv == NULL)
        return DUEQ_OK;
    kv_backup_stop(kv);
    status = kv_batch_bytes(kv) == 0 ? kv_checkpoint(kv) : journal_sync(kv->journal);
    if (status == DUEQ_OK)
        archive_rest(kv);
    kv_abandon(kv);
    return status;
}
