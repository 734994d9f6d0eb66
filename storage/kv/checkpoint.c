#include "storage/kv/checkpoint.h"

#include "storage/bytes.h"
#include "storage/kv/memtable/chunk_pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum {
    TXN_OPERATIONS = 4096, /* a random one dirties two or three pages of 4 KiB */
    TXN_LEAST = 16,        /* the smallest transaction, when the map is nearly full */
    TXN_BYTES = 16 * 1024 * 1024,
    RETRY_USEC = 200 * 1000,
    RETRY_SOON_USEC = 2 * 1000, /* before a smaller transaction */
    ROOM_CHECK_USEC = 1000 * 1000,
    MARK_SIZE = 24
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
    struct checkpoint_stats stats;
    _Atomic(bool) running, stop;
    _Atomic(uint64_t) commits, refusals;
    _Atomic(int) status; /* never DUEQ_FULL */
    _Atomic(bool) room;
};

/* ---- the mark, under a key that users of the key space cannot use */

static const uint8_t mark_key[] = {0};

enum dueq_status checkpoint_read_mark(struct lmdb_store *lmdb, struct checkpoint_mark *ret_mark)
{
    struct dueq_slice value;
    enum dueq_status status = lmdb_get(lmdb, dueq_slice(mark_key, sizeof(mark_key)), &value);
    const uint8_t *bytes;

    if (status != DUEQ_OK)
        return status;
    if (value.size != MARK_SIZE)
        return DUEQ_CORRUPT;
    bytes = value.data;
    *ret_mark = (struct checkpoint_mark){
        bytes_read_u64(bytes), (int64_t)bytes_read_u64(bytes + 8), bytes_read_u64(bytes + 16)};
    return DUEQ_OK;
}

static struct dueq_slice write_mark(const struct checkpoint_mark *mark, uint8_t *bytes)
{
    bytes_write_u64(bytes, mark->lsn);
    bytes_write_u64(bytes + 8, (uint64_t)mark->time);
    bytes_write_u64(bytes + 16, mark->seed);
    return dueq_slice(bytes, MARK_SIZE);
}

static enum dueq_status put_mark(struct lmdb_txn *txn, const struct checkpoint_mark *mark)
{
    uint8_t bytes[MARK_SIZE];

    return lmdb_put(txn, dueq_slice(mark_key, sizeof(mark_key)), write_mark(mark, bytes));
}

enum dueq_status checkpoint_create(const char *dir, const struct dueq_io *io,
                                   const struct checkpoint_mark *mark, struct dueq_error *error)
{
    uint8_t bytes[MARK_SIZE];

    return lmdb_store_create(dir, io, dueq_slice(mark_key, sizeof(mark_key)),
                             write_mark(mark, bytes), error);
}

static enum dueq_status commit_mark(struct lmdb_store *lmdb, const struct checkpoint_mark *mark)
{
    struct lmdb_txn *txn;
    enum dueq_status status = lmdb_begin(lmdb, &txn);

    if (status != DUEQ_OK)
        return status;
    status = put_mark(txn, mark);
    if (status == DUEQ_OK)
        return lmdb_commit(txn);
    lmdb_abort(txn);
    return status;
}

enum dueq_status checkpoint_rewrite_mark(struct lmdb_store *lmdb,
                                         const struct checkpoint_mark *mark)
{
    enum dueq_status status = commit_mark(lmdb, mark);

    if (status == DUEQ_OK)
        status = commit_mark(lmdb, mark);
    return status == DUEQ_OK || status == DUEQ_FULL ? lmdb_sync(lmdb) : status;
}

/* ---- merging */

static enum dueq_status apply(struct lmdb_txn *txn, const struct memtable_entry *entry)
{
    struct dueq_slice key = dueq_slice(entry->key, entry->key_size);

    return entry->tombstone ? lmdb_del(txn, key)
                            : lmdb_put(txn, key, dueq_slice(entry->value, entry->value_size));
}

/* A walk through a table. A transaction copies each page that it changes. If there is no room
 * for the copies, smaller transactions follow, each of which can use pages that earlier ones
 * have freed. */
struct merge {
    struct lmdb_store *lmdb;
    struct memtable_cursor at;
    bool more;
    size_t limit; /* operations of a transaction at most */
    const struct checkpoint_mark *mark;
};

/* Applies entries from the cursor on, as many as one transaction may contain. On success the
 * cursor is at the next entry; *more: there is one. */
static enum dueq_status apply_some(struct lmdb_txn *txn, struct memtable_cursor *at, bool *more,
                                   size_t limit)
{
    enum dueq_status status = DUEQ_OK;
    size_t operations = 0, bytes = 0;

    while (*more && status == DUEQ_OK && operations < limit && bytes < TXN_BYTES) {
        struct memtable_entry entry = memtable_at(at);

        status = apply(txn, &entry);
        operations++;
        bytes += entry.value_size;
        *more = memtable_next(at);
    }
    return status;
}

static void merge_init(struct merge *merge, struct lmdb_store *lmdb,
                       const struct memtable *table, const struct checkpoint_mark *mark)
{
    static const uint8_t least[] = {0};

    *merge = (struct merge){.lmdb = lmdb, .limit = TXN_OPERATIONS, .mark = mark};
    merge->more = memtable_seek(&merge->at, table, dueq_slice(least, sizeof(least)));
}

static enum dueq_status run_transaction(struct merge *merge, struct memtable_cursor *at,
                                        bool *more)
{
    struct lmdb_txn *txn;
    enum dueq_status status = lmdb_begin(merge->lmdb, &txn);

    if (status != DUEQ_OK)
        return status;
    status = apply_some(txn, at, more, merge->limit);
    if (status == DUEQ_OK && !*more)
        status = put_mark(txn, merge->mark);
    if (status != DUEQ_OK) {
        lmdb_abort(txn);
        return status;
    }
    return lmdb_commit(txn);
}

/* Runs one transaction; the last one writes the mark. The walk advances after the commit. */
static enum dueq_status merge_step(struct merge *merge)
{
    struct memtable_cursor at = merge->at;
    bool more = merge->more;
    enum dueq_status status = run_transaction(merge, &at, &more);

    if (status == DUEQ_OK) {
        merge->at = at;
        merge->more = more;
        if (merge->limit < TXN_OPERATIONS)
            merge->limit *= 2;
    } else if (status == DUEQ_FULL && merge->limit > TXN_LEAST) {
        merge->limit /= 2;
    }
    return status;
}

enum dueq_status checkpoint_merge(struct lmdb_store *lmdb, const struct memtable *table,
                                  const struct checkpoint_mark *mark)
{
    struct merge merge;
    enum dueq_status status;
    bool again;

    merge_init(&merge, lmdb, table, mark);
    do {
        bool least = merge.limit <= TXN_LEAST;

        status = merge_step(&merge);
        again = status == DUEQ_FULL && !least;
        if (status == DUEQ_OK)
            status = lmdb_renew(lmdb);
    } while (again || (status == DUEQ_OK && merge.more));
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

static void pause_before_retry(struct checkpoint *checkpoint, uint64_t usec)
{
    pthread_mutex_lock(&checkpoint->lock);
    checkpoint->stats.failures++;
    sleep_locked(checkpoint, usec);
    pthread_mutex_unlock(&checkpoint->lock);
}

static bool wants_tending(const struct checkpoint *checkpoint)
{
    return checkpoint->chunks != NULL && chunk_pool_wants_tending(checkpoint->chunks);
}

/* Merges the whole table; on a full disk it tries until there is room. After any status but
 * DUEQ_OK the thread has failed for good. */
static enum dueq_status merge_all(struct checkpoint *checkpoint)
{
    struct merge merge;
    enum dueq_status status;

    merge_init(&merge, checkpoint->lmdb, checkpoint->table, &checkpoint->mark);
    do {
        bool least = merge.limit <= TXN_LEAST;

        if (wants_tending(checkpoint))
            chunk_pool_tend(checkpoint->chunks);
        status = merge_step(&merge);
        if (status == DUEQ_OK) {
            atomic_fetch_add(&checkpoint->commits, 1);
            lmdb_renew_released(checkpoint->lmdb);
            set_room(checkpoint, true);
            if (!merge.more)
                break;
        } else if (status == DUEQ_FULL || status == DUEQ_NOMEM) {
            if (least) {
                atomic_fetch_add(&checkpoint->refusals, 1);
                set_room(checkpoint, false);
            }
            pause_before_retry(checkpoint, least ? RETRY_USEC : RETRY_SOON_USEC);
            status = DUEQ_OK;
        }
    } while (status == DUEQ_OK && !atomic_load(&checkpoint->stop));
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
    struct lmdb_room room;

    lmdb_get_room(checkpoint->lmdb, &room);
    pthread_mutex_lock(&checkpoint->lock);
    checkpoint->stats.room = room;
    if (status == DUEQ_OK) {
        checkpoint->stats.count++;
        checkpoint->stats.usec_last = usec;
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

static bool failed(const struct checkpoint *checkpoint)
{
    return atomic_load(&checkpoint->status) != DUEQ_OK;
}

/* Makes the files that the journal wants, and notifies when its room has changed. Under the
 * lock, which is released meanwhile. */
static void prepare_journal(struct checkpoint *checkpoint)
{
    struct journal *journal = checkpoint->journal;
    bool had_room = journal_has_room(journal);

    pthread_mutex_unlock(&checkpoint->lock);
    journal_prepare(journal);
    if (journal_has_room(journal) != had_room)
        tell(checkpoint);
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
static void tend_chunks(struct checkpoint *checkpoint)
{
    pthread_mutex_unlock(&checkpoint->lock);
    chunk_pool_tend(checkpoint->chunks);
    pthread_mutex_lock(&checkpoint->lock);
}

/* Waits for a table. Meanwhile frees the last one, makes memory ready for the next ones, and
 * files for the journal. */
static void wait_for_table(struct checkpoint *checkpoint)
{
    bool tended = false;

    while (!atomic_load(&checkpoint->stop) &&
           (checkpoint->table == NULL || checkpoint->merged != NULL || failed(checkpoint))) {
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
        if (!journal_wants_files(checkpoint->journal)) {
            pthread_cond_wait(&checkpoint->work, &checkpoint->lock);
            continue;
        }
        prepare_journal(checkpoint);
        if (checkpoint->table == NULL && journal_wants_files(checkpoint->journal))
            sleep_locked(checkpoint, ROOM_CHECK_USEC);
    }
}

static void *run_thread(void *arg)
{
    struct checkpoint *checkpoint = arg;
    const struct dueq_io *io = checkpoint->io;

    pthread_mutex_lock(&checkpoint->lock);
    for (;;) {
        uint64_t began;
        enum dueq_status status;

        wait_for_table(checkpoint);
        if (atomic_load(&checkpoint->stop))
            break;
        pthread_mutex_unlock(&checkpoint->lock);
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

enum dueq_status checkpoint_new(struct lmdb_store *lmdb, struct journal *journal,
                                struct chunk_pool *chunks, const struct dueq_io *io,
                                void (*notify)(void *arg), void *notify_arg,
                                struct checkpoint **ret_checkpoint)
{
    struct checkpoint *checkpoint = calloc(1, sizeof(*checkpoint));

    if (checkpoint == NULL)
        return DUEQ_NOMEM;
    checkpoint->lmdb = lmdb;
    checkpoint->journal = journal;
    checkpoint->chunks = chunks;
    checkpoint->io = io;
    checkpoint->notify = notify;
    checkpoint->notify_arg = notify_arg;
    lmdb_get_room(lmdb, &checkpoint->stats.room);
    atomic_store(&checkpoint->room, true);
    init_sync(checkpoint);
    if (pthread_create(&checkpoint->thread, NULL, run_thread, checkpoint) != 0) {
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

void checkpoint_wake(struct checkpoint *checkpoint)
{
    pthread_mutex_lock(&checkpoint->lock);
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

enum dueq_status checkpoint_status(const struct checkpoint *checkpoint)
{
    return (enum dueq_status)atomic_load(&checkpoint->status);
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
