#include "storage/kv/compaction.h"

#include "storage/kv/kv_internal.h"

#define WAIT_USEC ((uint64_t)60 * 1000 * 1000) /* after a failure; then twice as long */
#define WAIT_MOST ((uint64_t)3600 * 1000 * 1000)

enum {
    QUIET_USEC = 5 * 1000 * 1000,
    SPARSE_CHECKPOINTS = 8, /* that the file stays sparse under load: no tide fills it again */
    GAIN_SHARE = 4,         /* of the file, one in so many bytes must come back */
    ASKED_SHARE = 64,       /* likewise, when somebody asks */
    ASKED_LEAST = 65536,    /* and so many */
    SCATTERED_SHARE = 4     /* of the pages in use, as many are free at least */
};

/* ---- is it worth it? */

/* The length that the file would have. */
static uint64_t compact_size(const struct kv *kv)
{
    return kv->room.data.used + kv_room_promised(kv);
}

static uint64_t gain(const struct kv *kv)
{
    uint64_t size = compact_size(kv);

    return kv->room.data.file > size ? kv->room.data.file - size : 0;
}

static bool is_worth_it(const struct kv *kv)
{
    const struct lmdb_room *data = &kv->room.data;
    uint64_t unused = data->end - data->used;
    unsigned percent = kv->options.auto_compact_percent;

    return percent > 0 && data->end > kv->options.auto_compact_bytes &&
           unused / percent > data->used / 100 && gain(kv) > data->file / GAIN_SHARE;
}

static bool is_worth_asking(const struct kv *kv)
{
    return gain(kv) >= ASKED_LEAST && gain(kv) > kv->room.data.file / ASKED_SHARE;
}

/* Pushes are refused, although many pages are free: here and there, where large values cannot
 * use them. However small the file is. */
static bool is_scattered(const struct kv *kv)
{
    const struct lmdb_room *data = &kv->room.data;

    return kv->room.refused && kv->options.auto_compact_percent > 0 &&
           data->end - data->used > data->used / SCATTERED_SHARE && is_worth_asking(kv);
}

static bool has_disk_space(const struct kv *kv)
{
    uint64_t available, needed = compact_size(kv) + kv->options.disk_reserve_bytes;

    return kv->io->free_bytes(kv->io->arg, lmdb_place(kv->lmdb), &available) == 0 &&
           available >= needed;
}

/* ---- one compaction */

static void note_end(struct kv *kv, enum dueq_status status)
{
    struct kv_compaction *compaction = &kv->compaction;

    compaction->sparse = 0;
    kv->stats.compaction_status = status;
    if (status == DUEQ_OK) {
        compaction->done++;
        compaction->wait_usec = 0;
        return;
    }
    if (status != DUEQ_BUSY) /* it has given way to a table */
        compaction->failed++;
    compaction->wait_usec = compaction->wait_usec == 0 ? WAIT_USEC : compaction->wait_usec * 2;
    if (compaction->wait_usec > WAIT_MOST)
        compaction->wait_usec = WAIT_MOST;
    compaction->wait_until = kv->io->monotonic_usec(kv->io->arg) + compaction->wait_usec;
}

static void see_end(struct kv *kv)
{
    struct kv_compaction *compaction = &kv->compaction;
    struct checkpoint_compaction last;
    uint64_t used;

    if (!compaction->running || checkpoint_compactions(kv->checkpoint) == compaction->seen)
        return;
    checkpoint_get_compaction(kv->checkpoint, &last);
    compaction->seen = last.ended;
    compaction->running = false;
    lmdb_end_promise(kv->lmdb);
    if (last.status == DUEQ_OK && last.before > last.after)
        compaction->returned += last.before - last.after;
    note_end(kv, last.status);
    used = kv->room.data.used;
    kv_room_measure(kv);
    if (kv->frozen != NULL && kv->room.data.used > used)
        kv->room.data.used = used; /* the frozen table is counted as a whole */
}

static void start(struct kv *kv)
{
    kv->compaction.asked = false;
    kv->room.refused = false;
    if (!has_disk_space(kv)) {
        note_end(kv, DUEQ_FULL);
        return;
    }
    kv->compaction.running = true;
    lmdb_begin_promise(kv->lmdb, kv_room_promised(kv), kv->options.disk_reserve_bytes);
    checkpoint_compact(kv->checkpoint);
}

/* What was deleted before it was asked for is in memory perhaps. */
static void go_on_as_asked(struct kv *kv)
{
    struct kv_compaction *compaction = &kv->compaction;

    if (kv->frozen != NULL)
        return;
    if (!compaction->checkpointed && kv->since_freeze > 0) {
        kv_freeze(kv);
        compaction->checkpointed = kv->frozen != NULL;
        return;
    }
    if (!is_worth_asking(kv))
        compaction->asked = false;
    else
        start(kv);
}

/* Little is written: for some time no memtable was full. So none will be before a copy is
 * complete, as a rule. */
static bool is_quiet(struct kv *kv, uint64_t now)
{
    if (kv->compaction.measured == 0)
        kv->compaction.measured = now;
    return kv->frozen == NULL && now - kv->compaction.measured >= QUIET_USEC;
}

static bool is_due(struct kv *kv)
{
    const struct kv_compaction *compaction = &kv->compaction;
    uint64_t now;

    if (!is_worth_it(kv) && !is_scattered(kv))
        return false;
    now = kv->io->monotonic_usec(kv->io->arg);
    return (compaction->sparse >= SPARSE_CHECKPOINTS || is_quiet(kv, now)) &&
           (compaction->wait_usec == 0 || now >= compaction->wait_until);
}

void kv_compaction_turn(struct kv *kv)
{
    struct kv_compaction *compaction = &kv->compaction;
    bool helps;

    see_end(kv);
    if (lmdb_has_unused(kv->lmdb))
        checkpoint_wake(kv->checkpoint);
    if (compaction->running) {
        lmdb_promise(kv->lmdb, kv_room_promised(kv));
        return;
    }
    if (lmdb_has_before(kv->lmdb))
        return; /* a hold keeps the file before */
    helps = checkpoint_is_cramped(kv->checkpoint) && has_disk_space(kv);
    if (compaction->asked && !helps)
        go_on_as_asked(kv);
    else if (helps || is_due(kv)) /* if it helps, whatever auto-compact says */
        start(kv);
}

bool kv_compaction_rests(const struct kv *kv)
{
    return !kv->compaction.running && !kv->compaction.asked && !is_worth_it(kv) &&
           !is_scattered(kv);
}

void kv_compaction_measured(struct kv *kv)
{
    kv->compaction.sparse = is_worth_it(kv) ? kv->compaction.sparse + 1 : 0;
    kv->compaction.measured = kv->io->monotonic_usec(kv->io->arg);
}

/* ---- for others */

enum dueq_status kv_compact(struct kv *kv)
{
    if (kv_failed(kv))
        return kv->status;
    if (kv->compaction.running || kv->compaction.asked)
        return DUEQ_OK;
    if (is_worth_asking(kv) && !has_disk_space(kv))
        return DUEQ_FULL;
    kv->compaction.asked = true;
    kv->compaction.checkpointed = false;
    return DUEQ_OK;
}

void kv_set_auto_compact(struct kv *kv, unsigned percent, uint64_t bytes)
{
    kv->options.auto_compact_percent = percent;
    kv->options.auto_compact_bytes = bytes;
    kv->compaction.sparse = 0;
}

void kv_compaction_get_stats(const struct kv *kv, struct dueq_stats *ret_stats)
{
    const struct kv_compaction *compaction = &kv->compaction;
    struct checkpoint_compaction last;

    checkpoint_get_compaction(kv->checkpoint, &last);
    ret_stats->compactions = compaction->done;
    ret_stats->compaction_failures = compaction->failed;
    ret_stats->compaction_running = compaction->running || compaction->asked;
    ret_stats->compaction_copied_bytes = last.copied;
    ret_stats->compaction_used_bytes = last.used;
    ret_stats->compaction_before_bytes = last.before;
    ret_stats->compaction_after_bytes = last.after;
    ret_stats->compaction_returned_bytes = compaction->returned;
    ret_stats->compaction_usec_last = last.usec;
}
