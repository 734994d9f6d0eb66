#include "storage/kv/kv_internal.h"

#include "storage/kv/memtable/chunk_pool.h"
#include "storage/kv/memtable/large_value.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WAIT_USEC = 10 * 1000, /* between two checks of a checkpoint that is waited for */
    CLOSE_PATIENCE = 10,   /* refusals before kv_checkpoint gives up on a full disk */
    APPEND_PATIENCE = 3,   /* and before a commit answers DUEQ_FULL: the first may be of a try
                              that began before the snapshot was renewed */
    IDLE_TURNS = 20,       /* idle calls before an idle checkpoint */
    IDLE_MEMTABLE = 1024 * 1024, /* bytes that make an idle checkpoint worth its cost */
    IDLE_JOURNAL = 8 * 1024 * 1024,
    EARLY_ENDS = 4, /* segments that are not full, before a checkpoint frees their files */
    FILTERS_MOST = 16 * 1024 * 1024, /* bytes, of all runs together */
    /* the sync thread writes records from this part of a segment on */
    LATER_SHARE = 64,
    TOMBSTONES_TIRING =
        200 * 1000 /* after so many steps over tombstones a checkpoint removes them */
};

/* ---- failing */

static enum dueq_status fail(struct kv *kv, enum dueq_status status, const char *why)
{
    if (kv->state != KV_FAILED) {
        kv->state = KV_FAILED;
        kv->status = status;
        snprintf(kv->failure, sizeof(kv->failure), "%s", why);
    }
    return kv->status;
}

void kv_give_up(struct kv *kv, enum dueq_status status)
{
    fail(kv, status, status == DUEQ_IO ? lmdb_error_text(kv->lmdb) : dueq_status_text(status));
}

void kv_on_notice(void *arg)
{
    struct kv *kv = arg;

    atomic_store(&kv->noticed, true);
    if (kv->options.notify != NULL)
        kv->options.notify(kv->options.notify_arg);
}

void kv_notice(struct kv *kv)
{
    enum dueq_status status;

    atomic_store(&kv->noticed, false);
    status = journal_status(kv->journal);
    if (status != DUEQ_OK)
        fail(kv, status, journal_failure(kv->journal));
    status = checkpoint_status(kv->checkpoint);
    if (status != DUEQ_OK)
        fail(kv, status, lmdb_error_text(kv->lmdb));
}

static struct kv *owned(const struct kv *kv)
{
    return (struct kv *)(uintptr_t)kv;
}

enum dueq_status kv_status(const struct kv *kv)
{
    return kv_failed(owned(kv)) ? kv->status : DUEQ_OK;
}

const char *kv_failure(const struct kv *kv)
{
    return kv_failed(owned(kv)) ? kv->failure : "";
}

/* ---- reading */

/* Takes the filters of runs that are in the new list to where they are there. */
static void move_filters(struct kv *kv, const struct run_list *runs)
{
    struct run_filter moved[RUNS_MOST] = {0};

    for (unsigned i = 0; i < kv->runs.count; i++) {
        unsigned at =
            kv->filters[i].run == 0 ? runs->count : run_list_find(runs, kv->filters[i].run);

        run_filter_forget_places(&kv->filters[i]);
        if (at < runs->count)
            moved[at] = kv->filters[i];
        else
            run_filter_release(&kv->filters[i]);
    }
    memcpy(kv->filters, moved, sizeof(moved));
}

enum dueq_status kv_see_runs(struct kv *kv)
{
    uint64_t generation = lmdb_generation(kv->lmdb);
    struct checkpoint_mark mark;
    enum dueq_status status;

    if (generation == kv->runs_seen)
        return DUEQ_OK;
    status = mark_read(kv->lmdb, &mark);
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
    move_filters(kv, &mark.runs);
    kv->runs = mark.runs;
    kv->runs_seen = generation;
    return DUEQ_OK;
}

static size_t filter_bytes(const struct kv *kv)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < RUNS_MOST; i++)
        bytes += run_filter_bytes(&kv->filters[i]);
    return bytes;
}

void kv_keep_filters(struct kv *kv, size_t most)
{
    kv->filters_most = most < FILTERS_MOST ? most : FILTERS_MOST;
    for (unsigned i = 0; filter_bytes(kv) > kv->filters_most; i++)
        run_filter_release(&kv->filters[i]);
}

/* Half of what is left, so the large ones leave room for the small ones, which spare as much.
 */
static size_t filter_room(const struct kv *kv)
{
    return (kv->filters_most - filter_bytes(kv)) / 2;
}

/* at: of the run in the list. */
static bool run_may_have(struct kv *kv, unsigned at, struct dueq_slice key)
{
    const struct run *run = &kv->runs.runs[at];
    struct run_filter *filter = &kv->filters[at];

    if (!run_filter_covers(key) || !run->whole)
        return true;
    if (filter->run != run->number)
        run_filter_open(filter, kv->lmdb, run->number, kv->seed, filter_room(kv));
    return run_filter_may_have(filter, kv->lmdb, key);
}

/* DUEQ_NOTFOUND: the run does not say. *ret_tombstone: it says that there is none. */
static enum dueq_status get_in_run(struct kv *kv, uint64_t run, struct dueq_slice key,
                                   bool *ret_tombstone, struct dueq_slice *ret_value)
{
    struct run_key whole;
    struct dueq_slice value;
    enum dueq_status status;

    run_key_start(&whole, run);
    status = lmdb_get(kv->lmdb, run_key_of(&whole, key), &value);
    if (status == DUEQ_OK && !run_value_read(value, ret_tombstone, ret_value))
        return DUEQ_CORRUPT;
    return status;
}

static enum dueq_status get_checkpointed(struct kv *kv, struct dueq_slice key,
                                         struct dueq_slice *ret_value)
{
    enum dueq_status status;
    bool tombstone;

    if (!runs_take(key))
        return lmdb_get(kv->lmdb, key, ret_value);
    status = kv_see_runs(kv);
    if (status != DUEQ_OK)
        return status;
    for (unsigned at = kv->runs.count; at-- > 0;) {
        status = run_may_have(kv, at, key)
                     ? get_in_run(kv, kv->runs.runs[at].number, key, &tombstone, ret_value)
                     : DUEQ_NOTFOUND;
        if (status != DUEQ_NOTFOUND)
            return status == DUEQ_OK && tombstone ? DUEQ_NOTFOUND : status;
    }
    return lmdb_get(kv->lmdb, key, ret_value);
}

/* Looks into so many memtables, from the active one on. *ret_levels: into how many it looked
 * when the key was put there as absent, else KV_ALL_LEVELS. */
static bool find_in_memory(const struct kv *kv, struct dueq_slice key, unsigned levels,
                           struct memtable_entry *ret_entry, unsigned *ret_levels)
{
    const struct memtable *tables[] = {kv->active, kv->frozen};

    for (unsigned i = 0; i < 2 && i < levels && tables[i] != NULL; i++)
        if (memtable_get(tables[i], key, ret_entry)) {
            *ret_levels = ret_entry->fresh ? i + 1 : KV_ALL_LEVELS;
            return true;
        }
    *ret_levels = KV_ALL_LEVELS;
    return false;
}

enum dueq_status kv_get_within(struct kv *kv, struct dueq_slice key, unsigned *levels,
                               struct dueq_slice *ret_value)
{
    struct memtable_entry entry;
    unsigned most = *levels;

    assert(key.size > 0 && key.size <= KV_KEY_MAX);
    if (kv_failed(kv))
        return kv->status;
    if (find_in_memory(kv, key, most, &entry, levels)) {
        *ret_value = dueq_slice(entry.value, entry.value_size);
        return entry.tombstone ? DUEQ_NOTFOUND : DUEQ_OK;
    }
    return most < KV_ALL_LEVELS ? DUEQ_NOTFOUND : get_checkpointed(kv, key, ret_value);
}

enum dueq_status kv_get(struct kv *kv, struct dueq_slice key, struct dueq_slice *ret_value)
{
    unsigned levels = KV_ALL_LEVELS;

    return kv_get_within(kv, key, &levels, ret_value);
}

void kv_prefetch(struct kv *kv, const struct dueq_slice *keys, size_t count)
{
    static_assert(KV_PREFETCH_MOST <= (int)LMDB_PREFETCH_MOST &&
                      KV_PREFETCH_MOST <= (int)MEMTABLE_PREFETCH_MOST,
                  "");

    if (kv_failed(kv))
        return;
    memtable_prefetch(kv->active, keys, count);
    if (kv->frozen != NULL)
        memtable_prefetch(kv->frozen, keys, count);
    lmdb_prefetch(kv->lmdb, keys, count);
}

void kv_expect(struct kv *kv, struct dueq_slice key)
{
    if (!kv_failed(kv))
        memtable_expect(kv->active, key);
}

void kv_begin_slices(struct kv *kv)
{
    kv->in_slices = true;
    lmdb_limit_checks(kv->lmdb, &kv->check_left);
}

bool kv_end_slices(struct kv *kv)
{
    bool was_busy = lmdb_limit_checks(kv->lmdb, NULL) && kv->in_slices;

    kv->in_slices = false;
    return was_busy;
}

bool kv_in_slices(const struct kv *kv)
{
    return kv->in_slices;
}

void kv_renew_slices(struct kv *kv)
{
    kv->check_left = KV_CHECK_BYTES;
}

/* One of the two. */
struct dueq_hold {
    struct kv *kv;
    struct large_value *value;
    struct lmdb_hold *snapshot;
};

struct dueq_hold *kv_hold(struct kv *kv, const void *byte)
{
    struct dueq_hold *hold = calloc(1, sizeof(*hold));

    if (hold == NULL || kv_failed(kv)) {
        free(hold);
        return NULL;
    }
    hold->kv = kv;
    hold->value = memtable_hold(kv->active, byte);
    if (hold->value == NULL && kv->frozen != NULL)
        hold->value = memtable_hold(kv->frozen, byte);
    if (hold->value == NULL)
        hold->snapshot = lmdb_hold(kv->lmdb, byte);
    if (hold->value != NULL || hold->snapshot != NULL)
        return hold;
    free(hold);
    return NULL;
}

void kv_let_go(struct dueq_hold *hold)
{
    large_value_release(hold->value);
    if (hold->snapshot != NULL)
        lmdb_let_go(hold->kv->lmdb, hold->snapshot);
    free(hold);
}

/* ---- writing */

static bool is_key(struct dueq_slice key)
{
    const uint8_t *table = key.data;

    return key.size > 0 && key.size <= KV_KEY_MAX && *table != 0 && *table != RUNS_LEAD;
}

static bool put_small(struct kv *kv, struct dueq_slice key, const struct dueq_slice *parts,
                      size_t count, size_t size, bool absent)
{
    const uint8_t *stored;

    return memtable_put(kv->active, key, parts, count, absent, &stored) == DUEQ_OK &&
           batch_put(&kv->batch, key, stored, size);
}

void kv_lend(struct kv *kv, struct dueq_loan *loans, size_t count)
{
    kv->loans = loans;
    kv->loan_count = count;
}

/* The loan that is the last of the parts and has room for the other parts; NULL: none. */
static struct dueq_loan *find_loan(const struct kv *kv, const struct dueq_slice *parts,
                                   size_t count, size_t size)
{
    const struct dueq_slice *last = &parts[count - 1];

    for (size_t i = 0; i < kv->loan_count; i++) {
        struct dueq_loan *loan = &kv->loans[i];

        if (loan->memory != NULL && loan->data == last->data && loan->size == last->size &&
            size - last->size <= loan->before)
            return loan;
    }
    return NULL;
}

static struct large_value *take_over(struct dueq_loan *loan, const struct dueq_slice *parts,
                                     size_t count, size_t size)
{
    uint8_t *begin = loan->data - (size - loan->size), *at = begin;
    struct large_value *value = large_value_take(loan->memory, begin, size);

    if (value == NULL)
        return NULL;
    for (size_t i = 0; i + 1 < count; i++) {
        if (parts[i].size > 0)
            memcpy(at, parts[i].data, parts[i].size);
        at += parts[i].size;
    }
    loan->memory = NULL;
    return value;
}

static bool put_large(struct kv *kv, struct dueq_slice key, const struct dueq_slice *parts,
                      size_t count, size_t size, bool absent)
{
    struct dueq_loan *loan = find_loan(kv, parts, count, size);
    struct large_value *value =
        loan != NULL ? take_over(loan, parts, count, size) : large_value_new(parts, count);
    bool done = value != NULL &&
                memtable_put_large(kv->active, key, value, absent) == DUEQ_OK &&
                batch_put_large(&kv->batch, key, value);

    large_value_release(value);
    return done;
}

void kv_putv(struct kv *kv, struct dueq_slice key, const struct dueq_slice *parts, size_t count,
             bool absent)
{
    size_t size = 0;

    assert(count <= KV_PUT_PARTS_MAX);
    assert(is_key(key));
    if (kv_failed(kv))
        return;
    for (size_t i = 0; i < count; i++)
        size += parts[i].size;
    if (size > UINT32_MAX || kv_batch_bytes(kv) + size > kv->options.record_bytes) {
        fail(kv, DUEQ_TOOBIG, "a batch is larger than one record of the journal can be");
        return;
    }
    kv_end_slices(kv);
    dead_ranges_put(&kv->dead_ranges, key);
    kv_room_put(&kv->room, size);
    if (size <= BATCH_COPY_MAX ? !put_small(kv, key, parts, count, size, absent)
                               : !put_large(kv, key, parts, count, size, absent))
        fail(kv, DUEQ_NOMEM, "out of memory");
}

void kv_put(struct kv *kv, struct dueq_slice key, struct dueq_slice value, bool absent)
{
    kv_putv(kv, key, &value, 1, absent);
}

void kv_del(struct kv *kv, struct dueq_slice key)
{
    assert(is_key(key));
    if (kv_failed(kv))
        return;
    kv_end_slices(kv);
    dead_ranges_del(&kv->dead_ranges,
                    key); /* first: `key` may point into the record that is removed */
    if (!batch_del(&kv->batch, key) || memtable_del(kv->active, key) != DUEQ_OK)
        fail(kv, DUEQ_NOMEM, "out of memory");
}

/* ---- levels */

/* Gives the frozen table away if it is merged. */
static void release_frozen(struct kv *kv)
{
    if (kv->frozen == NULL || checkpoint_running(kv->checkpoint))
        return;
    if (lmdb_renew(kv->lmdb) != DUEQ_OK) {
        fail(kv, DUEQ_IO, lmdb_error_text(kv->lmdb));
        return;
    }
    kv->commits_seen = checkpoint_commits(kv->checkpoint);
    kv->merge_usec = kv->io->monotonic_usec(kv->io->arg) - kv->frozen_at;
    checkpoint_dispose(kv->checkpoint, kv->frozen);
    kv->frozen = NULL;
    kv->levels++;
    kv_room_release(kv);
    kv_compaction_measured(kv);
    kv_backup_checkpoint_ended(kv);
}

static void renew_snapshot(struct kv *kv)
{
    uint64_t commits = checkpoint_commits(kv->checkpoint);

    if (commits == kv->commits_seen)
        return;
    if (lmdb_renew(kv->lmdb) != DUEQ_OK)
        fail(kv, DUEQ_IO, lmdb_error_text(kv->lmdb));
    kv->commits_seen = commits;
}

struct checkpoint_mark kv_mark(const struct kv *kv)
{
    return (struct checkpoint_mark){
        .lsn = kv->lsn, .time = kv->time_floor, .seed = kv->seed, .history = kv->history};
}

void kv_freeze(struct kv *kv)
{
    struct checkpoint_mark mark = kv_mark(kv);
    struct memtable *fresh;

    release_frozen(kv);
    if (kv->frozen != NULL || kv->since_freeze == 0 || kv_batch_bytes(kv) > 0)
        return;
    fresh = memtable_new(kv->chunks);
    if (fresh == NULL)
        return; /* a later call tries again */
    kv->frozen_run = kv_see_runs(kv) == DUEQ_OK ? kv->runs.next : 0;
    kv->frozen = kv->active;
    memtable_freeze(kv->frozen);
    kv->active = fresh;
    kv_room_freeze(kv);
    kv->levels++;
    kv->since_freeze = 0;
    kv->early_ends = 0;
    kv->paced = (struct kv_paced){0, 0};
    kv->frozen_at = kv->io->monotonic_usec(kv->io->arg);
    kv->passed_then = kv->stats.tombstones_passed;
    checkpoint_start(kv->checkpoint, kv->frozen, &mark);
}

static bool want_freeze(const struct kv *kv)
{
    return memtable_reserved(kv->active) >= kv->options.memtable_bytes ||
           kv->since_freeze >= kv->options.journal_bytes / 2;
}

/* False on a full disk: the wait may never end, and kv_room answers DUEQ_FULL. */
static bool is_too_large_now(const struct kv *kv, size_t bytes)
{
    if (journal_status(kv->journal) != DUEQ_OK || !checkpoint_has_room(kv->checkpoint))
        return false;
    return journal_pending(kv->journal) > 0 ||
           (checkpoint_running(kv->checkpoint) &&
            (memtable_reserved(kv->active) + bytes >= kv->options.memtable_bytes ||
             kv->since_freeze + bytes >= kv->options.journal_bytes / 2));
}

bool kv_is_busy(const struct kv *kv, size_t bytes)
{
    if (bytes < kv->options.segment_bytes / LATER_SHARE || !is_too_large_now(kv, bytes))
        return false;
    owned(kv)->large_waits = true;
    return true;
}

bool kv_is_behind(const struct kv *kv)
{
    return kv_pressure(kv) > 0;
}

/* Waits for the running checkpoint. Without room it gives up when the checkpoint has been
 * refused `patience` times meanwhile, or waits for a copy of data.mdb, which may take long:
 * pushes are then refused, and what drains goes on in memory and journal. Refusals are counted
 * and not time, which says nothing on a busy machine; they count from the last renewal of the
 * snapshot, which sets pages free for it. False: it still runs. */
static bool wait_for_checkpoint(struct kv *kv, unsigned patience)
{
    uint64_t before = checkpoint_refusals(kv->checkpoint);

    while (checkpoint_running(kv->checkpoint)) {
        uint64_t commits = kv->commits_seen;

        checkpoint_hurry(kv->checkpoint);
        if (kv_failed(kv) || (!checkpoint_has_room(kv->checkpoint) &&
                              (kv->compaction.running ||
                               checkpoint_refusals(kv->checkpoint) - before >= patience)))
            return false;
        checkpoint_wait(kv->checkpoint, WAIT_USEC);
        renew_snapshot(kv);
        if (kv->commits_seen != commits)
            before = checkpoint_refusals(kv->checkpoint);
    }
    return true;
}

/* Freezes a full memtable. If the frozen one is not merged yet, goes on while the reserve
 * lasts, then waits for the checkpoint. One who waits with a large value goes into the full
 * memtable before it is frozen: else the next checkpoint would be in the way again, and so
 * on. */
static void freeze_when_full(struct kv *kv)
{
    uint64_t began;

    if (!want_freeze(kv) || (kv->large_waits && !checkpoint_running(kv->checkpoint)))
        return;
    kv_freeze(kv);
    if (kv->options.heeds_pressure || kv_pressure(kv) < KV_PRESSURE_MOST)
        return;
    began = kv->io->monotonic_usec(kv->io->arg);
    kv->stats.stalls++;
    wait_for_checkpoint(kv, 0);
    kv->stats.stall_usec_total += kv->io->monotonic_usec(kv->io->arg) - began;
    kv_freeze(kv);
}

/* On a full disk: what the changes so far take is measured before more of them come. */
static void merge_when_tight(struct kv *kv)
{
    if (!kv_room_is_tight(kv))
        return;
    kv_freeze(kv);
    if (wait_for_checkpoint(kv, 0))
        release_frozen(kv);
}

/* ---- the batch */

size_t kv_batch_bytes(const struct kv *kv)
{
    return batch_bytes(&kv->batch);
}

static void release_batch(void *owner)
{
    struct batch *batch = owner;

    batch_release(batch);
    free(batch);
}

void kv_ask(struct kv *kv, unsigned asks)
{
    kv->asks |= asks;
}

static unsigned batch_asks(const struct kv *kv)
{
    return kv->asks == 0 ? ASKS_MODE : kv->asks;
}

/* Gives the batch to the sync thread and begins an empty one. On failure takes it back. */
static enum dueq_status append_later(struct kv *kv, int64_t now)
{
    struct batch *batch = malloc(sizeof(*batch));
    struct journal_payload payload = {.owner = batch, .release = release_batch};
    enum dueq_status status;

    if (batch == NULL)
        return DUEQ_NOMEM;
    payload.parts = batch_parts(&kv->batch, &payload.count);
    if (payload.parts == NULL) {
        free(batch);
        return DUEQ_NOMEM;
    }
    *batch = kv->batch;
    kv->batch = (struct batch){0};
    status = journal_append_later(kv->journal, now, &payload, batch_asks(kv), &kv->lsn);
    if (status == DUEQ_OK)
        return DUEQ_OK;
    kv->batch = *batch;
    free(batch);
    return status;
}

/* The sync thread writes large batches, unless the batches that wait for it take too much
 * memory. */
static bool is_for_later(const struct kv *kv)
{
    size_t segment = kv->options.segment_bytes;

    return kv_batch_bytes(kv) >= segment / LATER_SHARE &&
           journal_pending(kv->journal) <= segment;
}

static enum dueq_status append_batch(struct kv *kv, int64_t now)
{
    struct iovec *parts;
    int count;

    if (is_for_later(kv))
        return append_later(kv, now);
    parts = batch_parts(&kv->batch, &count);
    return parts == NULL
               ? DUEQ_NOMEM
               : journal_append(kv->journal, now, parts, count, batch_asks(kv), &kv->lsn);
}

/* Waits for a running checkpoint, which frees segments, but not again for one that was refused
 * all the time and has committed nothing since. */
static bool wait_for_segment(struct kv *kv)
{
    if (kv->vain_commits == checkpoint_commits(kv->checkpoint))
        return false;
    if (wait_for_checkpoint(kv, APPEND_PATIENCE))
        return true;
    kv->vain_commits = kv->commits_seen;
    return false;
}

static enum dueq_status append(struct kv *kv, int64_t now)
{
    enum dueq_status status = append_batch(kv, now);

    if (status == DUEQ_FULL && wait_for_segment(kv))
        status = append_batch(kv, now);
    if (journal_segment(kv->journal) != kv->segment_seen) {
        kv->segment_seen = journal_segment(kv->journal);
        checkpoint_wake(kv->checkpoint);
    }
    return status;
}

static void note_commit(struct kv *kv, size_t size, int64_t now)
{
    batch_clear(&kv->batch);
    kv->asks = 0;
    kv->room.granted = 0;
    kv->since_freeze += size;
    if (now > kv->time_floor)
        kv->time_floor = now;
    if (journal_wants_trim(kv->journal))
        kv_freeze(kv);
    freeze_when_full(kv);
    merge_when_tight(kv);
}

enum dueq_status kv_commit(struct kv *kv, int64_t now, uint64_t *ret_lsn)
{
    size_t size = kv_batch_bytes(kv);
    uint64_t before = kv->lsn;
    enum dueq_status status;

    if (kv_failed(kv))
        return kv->status;
    if (size > 0) {
        status = append(kv, now);
        if (status == DUEQ_FULL || status == DUEQ_NOMEM)
            return status;
        if (status != DUEQ_OK)
            return fail(kv, status,
                        status == DUEQ_IO ? journal_failure(kv->journal)
                                          : dueq_status_text(status));
        assert(kv->lsn == before + 1);
        note_commit(kv, size, now);
    }
    lmdb_release_snapshot(kv->lmdb);
    *ret_lsn = kv->lsn;
    return DUEQ_OK;
}

uint64_t kv_written_lsn(const struct kv *kv)
{
    return journal_written_lsn(kv->journal);
}

uint64_t kv_durable_lsn(const struct kv *kv)
{
    return journal_durable_lsn(kv->journal);
}

bool kv_may_sync(const struct kv *kv, uint64_t *ret_usec)
{
    *ret_usec = journal_sync_usec(kv->journal);
    return journal_durable_lsn(kv->journal) == kv->lsn;
}

uint64_t kv_last_lsn(const struct kv *kv)
{
    return kv->lsn;
}

int64_t kv_time_floor(const struct kv *kv)
{
    return kv->time_floor;
}

uint64_t kv_seed(const struct kv *kv)
{
    return kv->seed;
}

uint64_t kv_epoch(const struct kv *kv)
{
    return history_epoch(kv->history.id);
}

uint64_t kv_memtable_limit(const struct kv *kv)
{
    return kv->options.memtable_bytes;
}

enum dueq_status kv_wait(struct kv *kv, uint64_t lsn)
{
    return journal_wait(kv->journal, lsn);
}

enum dueq_durability kv_durability(const struct kv *kv)
{
    return journal_durability(kv->journal);
}

void kv_set_durability(struct kv *kv, enum dueq_durability durability, unsigned interval_ms)
{
    journal_set_durability(kv->journal, durability, interval_ms);
}

/* ---- housekeeping */

static bool worth_a_checkpoint(const struct kv *kv)
{
    return memtable_reserved(kv->active) >= IDLE_MEMTABLE || kv->since_freeze >= IDLE_JOURNAL;
}

/* What an idle store has kept for the next load goes back to the system. */
static void tend_chunks(struct kv *kv)
{
    if (kv->idle_turns >= IDLE_TURNS)
        chunk_pool_trim(kv->chunks);
    if (chunk_pool_wants_tending(kv->chunks))
        checkpoint_wake(kv->checkpoint);
}

/* On a full disk the journal may have a single file that is full. When everything in it is in
 * data.mdb it can begin anew; before that a checkpoint is needed. */
static void free_last_segment(struct kv *kv)
{
    if (kv_batch_bytes(kv) > 0 || !journal_leave(kv->journal, kv_room_slack(kv)))
        return;
    if (kv->frozen != NULL || kv->since_freeze > 0)
        return;
    journal_trim(kv->journal, kv->lsn);
    checkpoint_wake(kv->checkpoint);
}

/* A segment that ends early has a whole file, which only a checkpoint frees; records that come
 * slowly would fill the disk with such files long before they are worth a checkpoint.
 * Segments that wait for the archive are given up when the disk is full; without a change there
 * is no checkpoint that would trim them. */
static void tend_archive(struct kv *kv)
{
    if (kv->archive == NULL)
        return;
    if (archive_wants_switch(kv->archive) && journal_switch(kv->journal))
        kv->early_ends++;
    if (kv->early_ends >= EARLY_ENDS)
        kv_freeze(kv);
    if (journal_wants_trim(kv->journal) && kv->frozen == NULL && kv->since_freeze == 0 &&
        kv_batch_bytes(kv) == 0) {
        journal_trim(kv->journal, kv->lsn);
        checkpoint_wake(kv->checkpoint);
    }
}

void kv_drop_pages(struct kv *kv)
{
    if (kv->options.drop_pages && !kv_failed(kv))
        lmdb_drop(kv->lmdb);
}

void kv_maintain(struct kv *kv, bool idle)
{
    if (kv_failed(kv))
        return;
    kv_renew_slices(kv);
    release_frozen(kv);
    renew_snapshot(kv);
    kv_backup_turn(kv);
    if (kv_room_check(kv))
        kv_drop_pages(kv);
    kv_room_ahead(kv);
    kv->large_waits = false;
    kv->idle_turns = idle ? kv->idle_turns + 1 : 0;
    tend_chunks(kv);
    if (kv_pressure(kv) >= KV_PRESSURE_FULL)
        checkpoint_hurry(kv->checkpoint);
    free_last_segment(kv);
    tend_archive(kv);
    if (kv->stats.tombstones_passed - kv->passed_then >= TOMBSTONES_TIRING ||
        journal_wants_trim(kv->journal) || kv_room_is_drained(kv))
        kv_freeze(kv);
    if (kv->idle_turns >= IDLE_TURNS && worth_a_checkpoint(kv) && kv_batch_bytes(kv) == 0) {
        kv->idle_turns = 0;
        kv_freeze(kv);
    }
    kv_compaction_turn(kv);
    lmdb_release_snapshot(kv->lmdb);
}

bool kv_rests(const struct kv *kv)
{
    return kv->state == KV_SOUND && kv->frozen == NULL && kv_batch_bytes(kv) == 0 &&
           !worth_a_checkpoint(kv) && chunk_pool_bytes(kv->chunks) == 0 &&
           kv_compaction_rests(kv) && kv_backup_rests(kv);
}

void kv_checkpoint_start(struct kv *kv)
{
    if (kv_batch_bytes(kv) == 0 && kv_status(kv) == DUEQ_OK)
        kv_freeze(kv);
    lmdb_release_snapshot(kv->lmdb);
}

enum dueq_status kv_checkpoint(struct kv *kv)
{
    bool done;

    if (kv_batch_bytes(kv) > 0)
        return DUEQ_INVALID;
    done = kv_status(kv) == DUEQ_OK && wait_for_checkpoint(kv, CLOSE_PATIENCE);
    if (done) {
        kv_freeze(kv);
        done = wait_for_checkpoint(kv, CLOSE_PATIENCE);
    }
    if (done)
        release_frozen(kv);
    if (kv_status(kv) != DUEQ_OK)
        return kv_status(kv);
    return done ? DUEQ_OK : DUEQ_FULL;
}

/* Of the disk that has less: data.mdb may be a link to another one. 0: it is not known. */
static uint64_t free_bytes(const struct kv *kv)
{
    const struct dueq_io *io = kv->io;
    uint64_t here, there;

    if (io->free_bytes(io->arg, kv->dir, &here) != 0 ||
        io->free_bytes(io->arg, lmdb_place(kv->lmdb), &there) != 0)
        return 0;
    return here < there ? here : there;
}

void kv_get_stats(const struct kv *kv, struct dueq_stats *ret_stats)
{
    struct checkpoint_stats checkpoint;
    struct journal_stats journal;

    journal_get_stats(kv->journal, &journal);
    checkpoint_get_stats(kv->checkpoint, &checkpoint);
    *ret_stats = kv->stats;
    ret_stats->lsn = kv->lsn;
    ret_stats->synced_lsn = journal_synced_lsn(kv->journal);
    ret_stats->checkpoint_lsn = checkpoint.lsn;
    ret_stats->journal_bytes = journal.live_bytes;
    ret_stats->journal_segments = journal.segments;
    ret_stats->journal_written_bytes = journal.written_bytes;
    ret_stats->syncs = journal.syncs;
    ret_stats->sync_usec_total = journal.sync_usec_total;
    ret_stats->sync_usec_max = journal.sync_usec_max;
    ret_stats->sync_spans = journal.syncs_took;
    ret_stats->memtable_bytes = memtable_reserved(kv->active);
    ret_stats->memtable_entries = memtable_entries(kv->active);
    ret_stats->frozen_bytes = kv->frozen == NULL ? 0 : memtable_reserved(kv->frozen);
    ret_stats->mapped_bytes = memtable_mapped(kv->active);
    if (kv->frozen != NULL)
        ret_stats->mapped_bytes += memtable_mapped(kv->frozen);
    ret_stats->mapped_bytes += chunk_pool_bytes(kv->chunks);
    ret_stats->checkpoints = checkpoint.count;
    ret_stats->checkpoint_usec_last = checkpoint.usec_last;
    ret_stats->checkpoint_spans = checkpoint.took;
    ret_stats->checkpoint_failures = checkpoint.failures;
    ret_stats->runs = checkpoint.runs;
    ret_stats->folded_records = checkpoint.folded;
    ret_stats->run_filter_bytes = filter_bytes(kv);
    ret_stats->checkpoint_running = checkpoint_running(kv->checkpoint);
    ret_stats->map_bytes = kv->options.map_bytes;
    ret_stats->map_used_bytes = checkpoint.room.used;
    ret_stats->data_file_bytes = kv->room.data.file;
    ret_stats->disk_free_bytes = free_bytes(kv);
    ret_stats->full = kv->state == KV_FULL;
    kv_compaction_get_stats(kv, ret_stats);
    kv_backup_get_stats(kv, ret_stats);
    ret_stats->archive = (struct dueq_archive_stats){.on = kv->archive != NULL};
    if (kv->archive != NULL)
        archive_get_stats(kv->archive, &ret_stats->archive);
}

enum dueq_status kv_check(struct kv *kv, uint64_t *ret_records)
{
    struct lmdb_census census;
    enum dueq_status status = lmdb_check(kv->lmdb, &census);

    if (status == DUEQ_OK)
        *ret_records = census.records;
    return status;
}

const char *kv_damage(const struct kv *kv)
{
    return lmdb_damage(kv->lmdb);
}

void kv_forget_damage(struct kv *kv)
{
    lmdb_forget_damage(kv->lmdb);
}
