#include "storage/kv/checkpoint.h"

#include "storage/kv/fold.h"
#include "storage/kv/memtable/chunk_pool.h"
#include "storage/kv/merge.h"
#include "storage/scheduling.h"
#include "storage/spans.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum {
    RETRY_USEC = 200 * 1000,
    RETRY_SOON_USEC = 2 * 1000, /* before a smaller transaction */
    CRAMPED_FIRST = 4,          /* refusals before a copy, */
    CRAMPED_EACH = 4096,        /* and between two: 14 minutes */
    CRAMPED_LEAST = 65536,      /* bytes of free pages that make one worth it */
    ROOM_CHECK_USEC = 1000 * 1000,
    FOLD_SLACK = 4 /* a quarter more than tables bring */
};

struct checkpoint {
    struct lmdb_store *lmdb;
    struct journal *journal;
    struct chunk_pool *chunks;
    const struct dueq_io *io;
    void (*notify)(void *arg);
    void *notify_arg;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work, ended;
    const struct memtable *table; /* NULL: no checkpoint runs */
    struct memtable *merged;      /* to be freed; NULL: none */
    struct checkpoint_mark mark;
    /* the thread's own */
    struct merge merge;
    struct fold *fold;              /* of runs into the tables */
    struct fold *level;             /* of runs into one of the next level, which comes first */
    struct checkpoint_mark written; /* the mark in LMDB */
    size_t fold_limit;              /* records of a transaction at most */
    size_t fold_debt;               /* records to be folded before the next table */
    bool fold_full;                 /* there was no room; try again after the next table */
    bool tight;                     /* nor was there for the last table */
    unsigned refused;               /* so often since the merge last went on */
    struct checkpoint_stats stats;
    struct checkpoint_compaction compaction;
    _Atomic(bool) running, stop;
    _Atomic(bool) urgent; /* the owner cannot go on without the table */
    _Atomic(uint64_t) commits, refusals, compactions;
    _Atomic(int) status; /* never DUEQ_FULL */
    _Atomic(bool) room;
    _Atomic(bool) cramped; /* refused again and again, although pages are free */
};

/* ---- in the caller's thread */

/* Folds the oldest run. An opening does no more of it, and only for want of another number. */
static enum dueq_status fold_oldest(struct lmdb_store *lmdb, struct checkpoint_mark *mark,
                                    checkpoint_asks_fn asks, void *arg)
{
    struct fold *fold = fold_new(lmdb);
    enum dueq_status status = DUEQ_OK;
    size_t limit, moved;

    if (fold == NULL)
        return DUEQ_NOMEM;
    fold_begin(fold, &mark->runs, 0, 1, 0);
    limit = fold_records(fold, &mark->runs);
    while (status == DUEQ_OK && fold_is_running(fold)) {
        status = fold_step(fold, mark, limit, &moved);
        if (status == DUEQ_OK) {
            status = lmdb_renew(lmdb);
            if (status == DUEQ_OK)
                status = asks(arg);
        } else if (status == DUEQ_FULL && limit > FOLD_LEAST) {
            limit /= 2;
            status = DUEQ_OK;
        }
    }
    fold_free(fold);
    return status;
}

static enum dueq_status merge_whole(struct merge *merge, checkpoint_asks_fn asks, void *arg)
{
    enum dueq_status status;
    bool again;

    do {
        bool least = merge->limit <= MERGE_LEAST;

        status = merge_step(merge);
        again = status == DUEQ_FULL && !least;
        if (status == DUEQ_OK)
            status = lmdb_renew(merge->lmdb);
        if (status == DUEQ_OK)
            status = asks(arg);
    } while (again || (status == DUEQ_OK && merge->more));
    return status;
}

enum dueq_status checkpoint_merge(struct lmdb_store *lmdb, const struct memtable *table,
                                  const struct checkpoint_mark *mark, checkpoint_asks_fn asks,
                                  void *arg)
{
    struct checkpoint_mark now;
    enum dueq_status status = mark_read(lmdb, &now);
    struct merge merge;

    if (status == DUEQ_OK && now.runs.count == RUNS_MOST)
        status = fold_oldest(lmdb, &now, asks, arg);
    if (status != DUEQ_OK)
        return status;
    now.lsn = mark->lsn;
    now.time = mark->time;
    status = merge_init(&merge, lmdb, table, &now);
    if (status != DUEQ_OK)
        return status;
    status = merge_whole(&merge, asks, arg);
    merge_release(&merge);
    return status;
}

/* ---- the thread */

/* Call it without the lock, because notify may call a function that takes it. */
static void tell(const struct checkpoint *checkpoint)
{
    if (checkpoint->notify != NULL)
        checkpoint->notify(checkpoint->notify_arg);
}

static void set_room(struct checkpoint *checkpoint, bool room)
{
    if (atomic_exchange(&checkpoint->room, room) != room)
        tell(checkpoint);
}

/* Under the lock. */
static void sleep_locked(struct checkpoint *checkpoint, uint64_t usec)
{
    uint64_t until = checkpoint->io->monotonic_usec(checkpoint->io->arg) + usec;
    struct timespec deadline = {(time_t)(until / 1000000), (long)(until % 1000000) * 1000};

    if (!atomic_load(&checkpoint->stop))
        pthread_cond_timedwait(&checkpoint->work, &checkpoint->lock, &deadline);
}

/* Has the owner asked for a copy meanwhile? */
static bool pause_before_retry(struct checkpoint *checkpoint, uint64_t usec)
{
    bool asked;

    pthread_mutex_lock(&checkpoint->lock);
    checkpoint->stats.failures++;
    sleep_locked(checkpoint, usec);
    asked = checkpoint->compaction.running;
    pthread_mutex_unlock(&checkpoint->lock);
    return asked;
}

static bool wants_tending(const struct checkpoint *checkpoint)
{
    return checkpoint->chunks != NULL && chunk_pool_wants_tending(checkpoint->chunks);
}

static void count_runs(struct checkpoint *checkpoint, size_t folded)
{
    pthread_mutex_lock(&checkpoint->lock);
    checkpoint->stats.runs = checkpoint->written.runs.count;
    checkpoint->stats.run_records = run_list_records(&checkpoint->written.runs);
    checkpoint->stats.folded += folded;
    pthread_mutex_unlock(&checkpoint->lock);
}

static void note_commit(struct checkpoint *checkpoint)
{
    atomic_fetch_add(&checkpoint->commits, 1);
    lmdb_renew_released(checkpoint->lmdb);
}

static void note_room(struct checkpoint *checkpoint)
{
    struct lmdb_room room;

    lmdb_get_room(checkpoint->lmdb, &room);
    pthread_mutex_lock(&checkpoint->lock);
    checkpoint->stats.room = room;
    pthread_mutex_unlock(&checkpoint->lock);
}

/* ---- folding runs */

static bool wants_fold(const struct checkpoint *checkpoint)
{
    return (fold_is_running(checkpoint->level) || fold_is_running(checkpoint->fold)) &&
           !checkpoint->fold_full;
}

/* Runs one transaction. DUEQ_FULL never comes out: then there is no fold until the next table.
 */
static enum dueq_status fold_some(struct checkpoint *checkpoint)
{
    struct fold *fold =
        fold_is_running(checkpoint->level) ? checkpoint->level : checkpoint->fold;
    size_t most = fold_records(fold, &checkpoint->written.runs), moved = 0;
    enum dueq_status status;

    if (checkpoint->fold_limit > most)
        checkpoint->fold_limit = most;
    status = fold_step(fold, &checkpoint->written, checkpoint->fold_limit, &moved);

    if (status == DUEQ_FULL || status == DUEQ_NOMEM) {
        checkpoint->fold_full = checkpoint->fold_limit == FOLD_LEAST;
        checkpoint->fold_limit =
            checkpoint->fold_limit / 2 > FOLD_LEAST ? checkpoint->fold_limit / 2 : FOLD_LEAST;
        return DUEQ_OK;
    }
    if (status != DUEQ_OK)
        return status;
    note_commit(checkpoint);
    count_runs(checkpoint, moved);
    checkpoint->fold_limit = SIZE_MAX;
    checkpoint->fold_debt -= moved < checkpoint->fold_debt ? moved : checkpoint->fold_debt;
    return DUEQ_OK;
}

/* How often a record is moved: once for each level, and into the tables. */
static unsigned moves(const struct checkpoint *checkpoint)
{
    const struct run_list *runs = &checkpoint->written.runs;
    unsigned oldest = runs->count == 0 ? 0 : runs->runs[0].level;
    unsigned next = fold_is_running(checkpoint->level) ? fold_level(checkpoint->level) : 0;

    return 1 + (oldest > next ? oldest : next);
}

/* After each table so many records are folded that folds keep up with tables, and hardly more:
 * a table that waits long for a fold is felt by all who push. */
static void plan_fold(struct checkpoint *checkpoint)
{
    const struct run_list *runs = &checkpoint->written.runs;

    checkpoint->fold_full = false;
    checkpoint->fold_limit = SIZE_MAX;
    if (!fold_is_running(checkpoint->level) &&
        (fold_is_running(checkpoint->fold) ||
         !fold_tables_if_due(checkpoint->fold, runs, memtable_reserved(checkpoint->table))))
        fold_level_if_due(checkpoint->level, runs, fold_end(checkpoint->fold, runs));
    checkpoint->fold_debt = moves(checkpoint) * checkpoint->merge.in_run;
    checkpoint->fold_debt += checkpoint->fold_debt / FOLD_SLACK;
}

/* Folds all runs into the tables, and no longer some of them into another. */
static void begin_tables(struct checkpoint *checkpoint)
{
    const struct run_list *runs = &checkpoint->written.runs;

    fold_cancel(checkpoint->level);
    if (!fold_is_running(checkpoint->fold))
        fold_begin(checkpoint->fold, runs, 0, runs->count, 0);
}

/* ---- in between */

static bool failed(const struct checkpoint *checkpoint)
{
    return atomic_load(&checkpoint->status) != DUEQ_OK;
}

/* To grow takes so little time that it fits in between all other work. */
static bool wants_files(const struct checkpoint *checkpoint)
{
    return journal_wants_files(checkpoint->journal) || lmdb_wants_growth(checkpoint->lmdb);
}

/* Makes the files that the journal wants, and notifies when its room has changed. Makes
 * data.mdb longer, if it is asked to. */
static void prepare_files(struct checkpoint *checkpoint)
{
    struct journal *journal = checkpoint->journal;
    bool had_room = journal_has_room(journal);

    if (lmdb_wants_growth(checkpoint->lmdb))
        lmdb_grow_asked(checkpoint->lmdb);
    journal_prepare(journal);
    if (journal_has_room(journal) != had_room)
        tell(checkpoint);
}

/* ---- a copy of data.mdb */

/* A long copy must not keep the journal from its files. */
static bool goes_on(void *arg, uint64_t copied)
{
    struct checkpoint *checkpoint = arg;
    bool gives_way;

    if (wants_files(checkpoint))
        prepare_files(checkpoint);
    if (wants_tending(checkpoint))
        chunk_pool_tend(checkpoint->chunks);
    pthread_mutex_lock(&checkpoint->lock);
    checkpoint->compaction.copied = copied;
    gives_way = checkpoint->table != NULL && atomic_load(&checkpoint->urgent) &&
                atomic_load(&checkpoint->room);
    pthread_mutex_unlock(&checkpoint->lock);
    return !gives_way && !atomic_load(&checkpoint->stop);
}

static enum dueq_status copy_and_switch(struct checkpoint *checkpoint, bool *ret_lost)
{
    enum dueq_status status = lmdb_copy(checkpoint->lmdb, goes_on, checkpoint);

    if (status == DUEQ_OK)
        status = lmdb_take_copy(checkpoint->lmdb, ret_lost);
    if (status == DUEQ_OK) {
        note_commit(checkpoint);
        checkpoint->tight = false;
    }
    return status;
}

static void end_compaction(struct checkpoint *checkpoint, enum dueq_status status,
                           uint64_t usec)
{
    struct checkpoint_compaction *compaction = &checkpoint->compaction;

    note_room(checkpoint);
    pthread_mutex_lock(&checkpoint->lock);
    compaction->running = false;
    compaction->ended++;
    compaction->status = status;
    compaction->usec = usec;
    compaction->after = checkpoint->stats.room.file;
    pthread_mutex_unlock(&checkpoint->lock);
    atomic_fetch_add(&checkpoint->compactions, 1);
}

static void compact(struct checkpoint *checkpoint)
{
    const struct dueq_io *io = checkpoint->io;
    uint64_t began = io->monotonic_usec(io->arg);
    enum dueq_status status;
    bool lost = false;

    note_room(checkpoint);
    atomic_store(&checkpoint->cramped, false);
    pthread_mutex_lock(&checkpoint->lock);
    checkpoint->compaction.before = checkpoint->stats.room.file;
    checkpoint->compaction.used = checkpoint->stats.room.used;
    checkpoint->compaction.copied = 0;
    pthread_mutex_unlock(&checkpoint->lock);
    status = copy_and_switch(checkpoint, &lost);
    if (lost)
        atomic_store(&checkpoint->status, (int)status);
    end_compaction(checkpoint, status, io->monotonic_usec(io->arg) - began);
    tell(checkpoint);
}

/* ---- one table */

/* Not at the first refusal: pages that the owner's snapshot holds are free a little later. */
static void lack_room(struct checkpoint *checkpoint)
{
    atomic_fetch_add(&checkpoint->refusals, 1);
    if (++checkpoint->refused % CRAMPED_EACH == CRAMPED_FIRST) {
        note_room(checkpoint);
        atomic_store(&checkpoint->cramped,
                     checkpoint->stats.room.end - checkpoint->stats.room.used >= CRAMPED_LEAST);
    }
    set_room(checkpoint, false);
}

static void have_room(struct checkpoint *checkpoint)
{
    checkpoint->refused = 0;
    atomic_store(&checkpoint->cramped, false);
    set_room(checkpoint, true);
}

/* A step was refused room or memory; it is tried again. DUEQ_IO: not any more. */
static enum dueq_status be_refused(struct checkpoint *checkpoint, bool least)
{
    if (least)
        lack_room(checkpoint);
    lmdb_close_unused(checkpoint->lmdb);
    if (pause_before_retry(checkpoint, least ? RETRY_USEC : RETRY_SOON_USEC) && least)
        compact(checkpoint);
    return (enum dueq_status)atomic_load(&checkpoint->status);
}

/* So many runs that there cannot be another. */
static enum dueq_status make_place(struct checkpoint *checkpoint)
{
    enum dueq_status status = DUEQ_OK;

    while (checkpoint->written.runs.count == RUNS_MOST && status == DUEQ_OK &&
           !atomic_load(&checkpoint->stop)) {
        if (checkpoint->fold_full || fold_needs_place(checkpoint->level) ||
            !wants_fold(checkpoint))
            begin_tables(checkpoint);
        checkpoint->fold_full = false;
        status = fold_some(checkpoint);
        if (checkpoint->fold_full)
            status = be_refused(checkpoint, true);
    }
    checkpoint->fold_full = false;
    return status;
}

static enum dueq_status begin_merge(struct checkpoint *checkpoint)
{
    struct checkpoint_mark mark = checkpoint->mark;
    enum dueq_status status;

    mark.runs = checkpoint->written.runs;
    while ((status = merge_init(&checkpoint->merge, checkpoint->lmdb, checkpoint->table,
                                &mark)) == DUEQ_NOMEM &&
           !atomic_load(&checkpoint->stop)) {
        status = be_refused(checkpoint, true);
        if (status != DUEQ_OK)
            return status;
    }
    checkpoint->merge.frugal = checkpoint->tight;
    return status;
}

/* A fold may set pages free for the merge: a tombstone takes a record with it. */
static enum dueq_status fold_for_room(struct checkpoint *checkpoint)
{
    enum dueq_status status;

    if (checkpoint->written.runs.count == 0)
        return DUEQ_OK;
    begin_tables(checkpoint);
    status = fold_some(checkpoint);
    checkpoint->merge.mark.runs = checkpoint->written.runs;
    return status;
}

/* On a full disk it tries until there is room. */
static enum dueq_status merge_steps(struct checkpoint *checkpoint)
{
    struct merge *merge = &checkpoint->merge;
    enum dueq_status status;

    do {
        bool least = merge->limit <= MERGE_LEAST;

        if (wants_tending(checkpoint))
            chunk_pool_tend(checkpoint->chunks);
        if (lmdb_wants_growth(checkpoint->lmdb))
            lmdb_grow_asked(checkpoint->lmdb);
        status = merge_step(merge);
        if (status == DUEQ_OK) {
            note_commit(checkpoint);
            have_room(checkpoint);
            if (!merge->more)
                break;
        } else if (status == DUEQ_FULL || status == DUEQ_NOMEM) {
            status = be_refused(checkpoint, least);
            if (status == DUEQ_OK && least)
                status = fold_for_room(checkpoint);
        }
    } while (status == DUEQ_OK && !atomic_load(&checkpoint->stop));
    return status;
}

/* Merges the whole table. After any status but DUEQ_OK the thread has failed for good. */
static enum dueq_status merge_all(struct checkpoint *checkpoint)
{
    enum dueq_status status = make_place(checkpoint);

    if (status != DUEQ_OK || atomic_load(&checkpoint->stop))
        return status;
    status = begin_merge(checkpoint);
    if (status != DUEQ_OK)
        return status;
    status = merge_steps(checkpoint);
    if (status == DUEQ_OK && !checkpoint->merge.more) {
        checkpoint->written = checkpoint->merge.mark;
        checkpoint->tight = checkpoint->merge.refused;
        count_runs(checkpoint, 0);
        plan_fold(checkpoint);
    }
    merge_release(&checkpoint->merge);
    return status;
}

/* LMDB must not contain what the journal does not have on disk: replaying the journal repairs
 * an incomplete checkpoint. */
static enum dueq_status run_one(struct checkpoint *checkpoint)
{
    enum dueq_status status = journal_sync_to(checkpoint->journal, checkpoint->mark.lsn);

    if (status == DUEQ_OK)
        status = merge_all(checkpoint);
    if (status == DUEQ_OK && lmdb_sync(checkpoint->lmdb) != DUEQ_OK)
        status = DUEQ_IO; /* also for DUEQ_FULL: the failed sync may have lost data */
    if (status == DUEQ_OK && !atomic_load(&checkpoint->stop)) {
        journal_trim(checkpoint->journal, checkpoint->mark.lsn);
        journal_prepare(checkpoint->journal);
    }
    return status;
}

static void finish(struct checkpoint *checkpoint, enum dueq_status status, uint64_t usec)
{
    note_room(checkpoint);
    pthread_mutex_lock(&checkpoint->lock);
    if (status == DUEQ_OK) {
        checkpoint->stats.count++;
        checkpoint->stats.usec_last = usec;
        spans_note(&checkpoint->stats.took, usec / 1000);
        checkpoint->stats.lsn = checkpoint->mark.lsn;
        checkpoint->table = NULL;
        atomic_store(&checkpoint->running, false);
    } else {
        checkpoint->stats.failures++;
        atomic_store(&checkpoint->status, (int)status);
    }
    pthread_cond_broadcast(&checkpoint->ended);
    pthread_mutex_unlock(&checkpoint->lock);
    tell(checkpoint);
}

/* Under the lock, which is released meanwhile. */
static void prepare_unlocked(struct checkpoint *checkpoint)
{
    pthread_mutex_unlock(&checkpoint->lock);
    prepare_files(checkpoint);
    pthread_mutex_lock(&checkpoint->lock);
}

/* Under the lock, which is released meanwhile. */
static void free_merged(struct checkpoint *checkpoint)
{
    struct memtable *merged = checkpoint->merged;

    checkpoint->merged = NULL;
    pthread_mutex_unlock(&checkpoint->lock);
    memtable_free(merged);
    pthread_mutex_lock(&checkpoint->lock);
}

/* Under the lock, which is released meanwhile. */
static void fold_unlocked(struct checkpoint *checkpoint)
{
    enum dueq_status status;

    pthread_mutex_unlock(&checkpoint->lock);
    status = fold_some(checkpoint);
    if (status != DUEQ_OK) {
        atomic_store(&checkpoint->status, (int)status);
        tell(checkpoint);
    }
    pthread_mutex_lock(&checkpoint->lock);
    if (status != DUEQ_OK)
        pthread_cond_broadcast(&checkpoint->ended);
}

/* Under the lock, which is released meanwhile. */
static void tend_chunks(struct checkpoint *checkpoint)
{
    pthread_mutex_unlock(&checkpoint->lock);
    chunk_pool_tend(checkpoint->chunks);
    pthread_mutex_lock(&checkpoint->lock);
}

/* Under the lock, which is released meanwhile. */
static void compact_unlocked(struct checkpoint *checkpoint)
{
    pthread_mutex_unlock(&checkpoint->lock);
    compact(checkpoint);
    pthread_mutex_lock(&checkpoint->lock);
    if (failed(checkpoint))
        pthread_cond_broadcast(&checkpoint->ended);
}

/* What is in runs may hide what is in the tables, or other runs: a copy of both is larger. But
 * no table waits for that. */
static bool folds_before_copy(const struct checkpoint *checkpoint)
{
    return checkpoint->table == NULL && !checkpoint->fold_full &&
           checkpoint->written.runs.count > 0;
}

/* Under the lock, which is released meanwhile. */
static void fold_or_compact(struct checkpoint *checkpoint)
{
    if (!folds_before_copy(checkpoint)) {
        compact_unlocked(checkpoint);
        return;
    }
    begin_tables(checkpoint);
    fold_unlocked(checkpoint);
    if (wants_files(checkpoint))
        prepare_unlocked(checkpoint);
}

/* Under the lock, which is released meanwhile. */
static void close_unused(struct checkpoint *checkpoint)
{
    pthread_mutex_unlock(&checkpoint->lock);
    lmdb_close_unused(checkpoint->lmdb);
    pthread_mutex_lock(&checkpoint->lock);
}

/* ---- what the thread does in which order */

/* Must the table wait? */
static bool has_other_work(const struct checkpoint *checkpoint)
{
    return checkpoint->merged != NULL || failed(checkpoint) || checkpoint->compaction.running ||
           lmdb_has_unused(checkpoint->lmdb) ||
           (wants_fold(checkpoint) && checkpoint->fold_debt > 0);
}

/* Waits for a table. Meanwhile frees the last one, makes memory ready for the next ones, folds
 * runs, and makes files for the journal. */
static void wait_for_table(struct checkpoint *checkpoint)
{
    bool tended = false;

    while (!atomic_load(&checkpoint->stop) &&
           (checkpoint->table == NULL || has_other_work(checkpoint))) {
        if (checkpoint->merged != NULL) {
            free_merged(checkpoint);
            continue;
        }
        if (!tended && wants_tending(checkpoint)) {
            tend_chunks(checkpoint);
            tended = true; /* without memory it still wants it */
            continue;
        }
        tended = false;
        if (checkpoint->compaction.running && !failed(checkpoint)) {
            fold_or_compact(checkpoint);
            continue;
        }
        if (lmdb_has_unused(checkpoint->lmdb) && !failed(checkpoint)) {
            close_unused(checkpoint);
            continue;
        }
        if (wants_fold(checkpoint) && !failed(checkpoint)) {
            fold_unlocked(checkpoint);
            if (wants_files(checkpoint))
                prepare_unlocked(checkpoint);
            continue;
        }
        if (!wants_files(checkpoint)) {
            pthread_cond_wait(&checkpoint->work, &checkpoint->lock);
            continue;
        }
        prepare_unlocked(checkpoint);
        if (checkpoint->table == NULL && journal_wants_files(checkpoint->journal))
            sleep_locked(checkpoint, ROOM_CHECK_USEC);
    }
}

static void *run_thread(void *arg)
{
    struct checkpoint *checkpoint = arg;
    const struct dueq_io *io = checkpoint->io;

    scheduling_give_way();
    pthread_mutex_lock(&checkpoint->lock);
    for (;;) {
        uint64_t began;
        enum dueq_status status;

        wait_for_table(checkpoint);
        if (atomic_load(&checkpoint->stop))
            break;
        pthread_mutex_unlock(&checkpoint->lock);
        atomic_store(&checkpoint->urgent, false);
        began = io->monotonic_usec(io->arg);
        status = run_one(checkpoint);
        if (!atomic_load(&checkpoint->stop))
            finish(checkpoint, status, io->monotonic_usec(io->arg) - began);
        pthread_mutex_lock(&checkpoint->lock);
    }
    pthread_mutex_unlock(&checkpoint->lock);
    return NULL;
}

/* ---- the owner's side */

static void init_sync(struct checkpoint *checkpoint)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&checkpoint->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&checkpoint->work, &monotonic);
    pthread_cond_init(&checkpoint->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void free_folds(struct checkpoint *checkpoint)
{
    fold_free(checkpoint->fold);
    fold_free(checkpoint->level);
}

enum dueq_status checkpoint_new(struct lmdb_store *lmdb, struct journal *journal,
                                struct chunk_pool *chunks, const struct dueq_io *io,
                                void (*notify)(void *arg), void *notify_arg,
                                struct checkpoint **ret_checkpoint)
{
    struct checkpoint *checkpoint = calloc(1, sizeof(*checkpoint));
    enum dueq_status status;

    if (checkpoint == NULL)
        return DUEQ_NOMEM;
    checkpoint->lmdb = lmdb;
    checkpoint->journal = journal;
    checkpoint->chunks = chunks;
    checkpoint->io = io;
    checkpoint->fold_limit = SIZE_MAX;
    checkpoint->notify = notify;
    checkpoint->notify_arg = notify_arg;
    checkpoint->fold = fold_new(lmdb);
    checkpoint->level = fold_new(lmdb);
    status = checkpoint->fold == NULL || checkpoint->level == NULL
                 ? DUEQ_NOMEM
                 : mark_read(lmdb, &checkpoint->written);
    if (status != DUEQ_OK) {
        free_folds(checkpoint);
        free(checkpoint);
        return status;
    }
    lmdb_get_room(lmdb, &checkpoint->stats.room);
    checkpoint->stats.runs = checkpoint->written.runs.count;
    checkpoint->stats.run_records = run_list_records(&checkpoint->written.runs);
    atomic_store(&checkpoint->room, true);
    init_sync(checkpoint);
    if (pthread_create(&checkpoint->thread, NULL, run_thread, checkpoint) != 0) {
        free_folds(checkpoint);
        free(checkpoint);
        return DUEQ_NOMEM;
    }
    *ret_checkpoint = checkpoint;
    return DUEQ_OK;
}

void checkpoint_free(struct checkpoint *checkpoint)
{
    if (checkpoint == NULL)
        return;
    pthread_mutex_lock(&checkpoint->lock);
    atomic_store(&checkpoint->stop, true);
    pthread_cond_signal(&checkpoint->work);
    pthread_mutex_unlock(&checkpoint->lock);
    pthread_join(checkpoint->thread, NULL);
    memtable_free(checkpoint->merged);
    free_folds(checkpoint);
    pthread_cond_destroy(&checkpoint->work);
    pthread_cond_destroy(&checkpoint->ended);
    pthread_mutex_destroy(&checkpoint->lock);
    free(checkpoint);
}

void checkpoint_start(struct checkpoint *checkpoint, const struct memtable *frozen,
                      const struct checkpoint_mark *mark)
{
    pthread_mutex_lock(&checkpoint->lock);
    assert(!atomic_load(&checkpoint->running) && mark->lsn >= checkpoint->mark.lsn);
    checkpoint->table = frozen;
    checkpoint->mark = *mark;
    atomic_store(&checkpoint->running, true);
    pthread_cond_signal(&checkpoint->work);
    pthread_mutex_unlock(&checkpoint->lock);
}

void checkpoint_dispose(struct checkpoint *checkpoint, struct memtable *merged)
{
    pthread_mutex_lock(&checkpoint->lock);
    assert(checkpoint->merged == NULL && checkpoint->table == NULL);
    checkpoint->merged = merged;
    pthread_cond_signal(&checkpoint->work);
    pthread_mutex_unlock(&checkpoint->lock);
}

void checkpoint_hurry(struct checkpoint *checkpoint)
{
    if (!atomic_load_explicit(&checkpoint->urgent, memory_order_relaxed))
        atomic_store(&checkpoint->urgent, true);
}

void checkpoint_wake(struct checkpoint *checkpoint)
{
    pthread_mutex_lock(&checkpoint->lock);
    pthread_cond_signal(&checkpoint->work);
    pthread_mutex_unlock(&checkpoint->lock);
}

void checkpoint_compact(struct checkpoint *checkpoint)
{
    pthread_mutex_lock(&checkpoint->lock);
    assert(!checkpoint->compaction.running);
    checkpoint->compaction.running = true;
    pthread_cond_signal(&checkpoint->work);
    pthread_mutex_unlock(&checkpoint->lock);
}

bool checkpoint_running(const struct checkpoint *checkpoint)
{
    return atomic_load(&checkpoint->running);
}

void checkpoint_wait(struct checkpoint *checkpoint, uint64_t usec)
{
    uint64_t until = checkpoint->io->monotonic_usec(checkpoint->io->arg) + usec;
    struct timespec deadline = {(time_t)(until / 1000000), (long)(until % 1000000) * 1000};
    int waited = 0;

    pthread_mutex_lock(&checkpoint->lock);
    while (atomic_load(&checkpoint->running) && !failed(checkpoint) && waited == 0)
        waited = pthread_cond_timedwait(&checkpoint->ended, &checkpoint->lock, &deadline);
    pthread_mutex_unlock(&checkpoint->lock);
}

uint64_t checkpoint_commits(const struct checkpoint *checkpoint)
{
    return atomic_load(&checkpoint->commits);
}

uint64_t checkpoint_refusals(const struct checkpoint *checkpoint)
{
    return atomic_load(&checkpoint->refusals);
}

bool checkpoint_went_past_run(const struct checkpoint *checkpoint)
{
    return MERGE_PASSES_RUN && atomic_load(&checkpoint->merge.past_run);
}

enum dueq_status checkpoint_status(const struct checkpoint *checkpoint)
{
    return (enum dueq_status)atomic_load(&checkpoint->status);
}

bool checkpoint_is_cramped(const struct checkpoint *checkpoint)
{
    return atomic_load(&checkpoint->cramped);
}

bool checkpoint_has_room(const struct checkpoint *checkpoint)
{
    return atomic_load(&checkpoint->room);
}

void checkpoint_get_stats(const struct checkpoint *checkpoint,
                          struct checkpoint_stats *ret_stats)
{
    struct checkpoint *locked = (struct checkpoint *)(uintptr_t)checkpoint;

    pthread_mutex_lock(&locked->lock);
    *ret_stats = checkpoint->stats;
    pthread_mutex_unlock(&locked->lock);
}

void checkpoint_get_compaction(const struct checkpoint *checkpoint,
                               struct checkpoint_compaction *ret_compaction)
{
    struct checkpoint *locked = (struct checkpoint *)(uintptr_t)checkpoint;

    pthread_mutex_lock(&locked->lock);
    *ret_compaction = checkpoint->compaction;
    pthread_mutex_unlock(&locked->lock);
}

uint64_t checkpoint_compactions(const struct checkpoint *checkpoint)
{
    return atomic_load(&checkpoint->compactions);
}
