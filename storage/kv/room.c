#include "storage/kv/room.h"

#include "storage/kv/kv_internal.h"

#include <assert.h>

enum {
    CHECK_USEC = 200 * 1000,
    DRAINED_USEC = 1000 * 1000, /* between checkpoints of a full store with so much to merge, */
    DRAINED_SHARE = 32,         /* a share of a memtable, */
    DRAINED_MOST_USEC = 10 * DRAINED_USEC, /* or with less */
    FOLDED_MORE = 24,   /* bytes that a record takes more in a table than in a run */
    MODEST = 16 * 1024, /* bytes; a store without room for this much is full */
    AHEAD_USEC = 20 * 1000,
    AHEAD_SHARE = 4 /* of a memtable, filled so far; and of the disk that is free */
};

#define MIB            ((uint64_t)1 << 20)
#define HEADROOM_LEAST (2 * MIB)
#define DRAIN_MOST     (128 * MIB)
#define STEP_LEAST     (MIB / 4)
#define STEP_MOST      (32 * MIB)
#define SPARE          ((uint64_t)LMDB_SPARE * 4096)
#define OWN_STEP       (4 * MIB) /* a millisecond where the kernel writes zeros into blocks */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* ---- the room that is needed */

/* Bytes of the map that are reserved for what drains the store. */
static uint64_t headroom(const struct kv *kv)
{
    uint64_t share = kv->options.map_bytes / 100 * (100 - kv->options.high_water_percent);

    return share > HEADROOM_LEAST ? share : HEADROOM_LEAST;
}

/* Bytes of data.mdb that are reserved for what drains: a claim makes the smallest job a third
 * larger, and a transaction copies each page that it changes, and leaves some. */
static uint64_t drain_room(const struct kv *kv)
{
    uint64_t share = SPARE + kv->options.memtable_bytes / 8 + kv->room.data.used / 3;

    return least(least(share, DRAIN_MOST), headroom(kv));
}

/* What tables will take more than runs did when these are folded: a run's pages are full. */
static uint64_t folding(const struct kv *kv)
{
    return least(kv->room.run_records * FOLDED_MORE, kv->room.data.used / 4);
}

/* The most bytes of data.mdb that the memtables and `bytes` more will take: pages may be only
 * half full. */
static uint64_t pending(const struct kv *kv, uint64_t bytes)
{
    uint64_t held = memtable_bytes(kv->active);

    if (kv->frozen != NULL)
        held += memtable_bytes(kv->frozen);
    return 2 * (held + bytes) + folding(kv);
}

static uint64_t lacking(const struct kv *kv, uint64_t bytes)
{
    const struct lmdb_room *data = &kv->room.data;

    return difference(pending(kv, bytes) + drain_room(kv), difference(data->file, data->used));
}

/* The bytes that consecutive pages lack: a large value cannot use single free pages. */
static uint64_t lacking_in_a_row(const struct kv *kv, uint64_t bytes)
{
    const struct lmdb_room *data = &kv->room.data;
    uint64_t tail = difference(data->file, data->end);
    uint64_t large = kv->room.active.large + kv->room.frozen.large,
             huge = kv->room.active.huge + kv->room.frozen.huge;
    uint64_t lacks;

    large += bytes > ROOM_LARGE ? bytes : 0;
    huge += bytes > ROOM_HUGE ? bytes : 0;
    lacks = difference(large, tail + data->runs / 4 * 3);
    huge = difference(huge, tail);
    return lacks > huge ? lacks : huge;
}

static bool map_is_full(const struct kv *kv, uint64_t bytes)
{
    return kv->room.data.used + pending(kv, bytes) + headroom(kv) > kv->options.map_bytes;
}

/* What removals alone may use: the last part of what is reserved for what drains. */
static uint64_t last_room(const struct kv *kv)
{
    return drain_room(kv) / 4;
}

/* What is left of so many bytes after the checkpoints of what is in memory. */
static uint64_t left_of(const struct kv *kv, uint64_t bytes)
{
    return difference(bytes, kv->room.data.used + pending(kv, 0));
}

/* By how much data.mdb is too short for so many bytes to be left of it. */
static uint64_t short_of(const struct kv *kv, uint64_t bytes)
{
    return difference(kv->room.data.used + pending(kv, 0) + bytes, kv->room.data.file);
}

/* ---- reserving it */

/* Bytes by which data.mdb can become longer, if `reserve` bytes of the disk stay free. */
static uint64_t most_growth(const struct kv *kv, uint64_t reserve)
{
    uint64_t available;

    if (kv->io->free_bytes(kv->io->arg, lmdb_place(kv->lmdb), &available) != 0)
        available = 0;
    return least(difference(available, reserve),
                 difference(kv->options.map_bytes, kv->room.data.file));
}

static uint64_t step_of(const struct kv *kv)
{
    uint64_t step = kv->room.data.file / 8;

    return step < STEP_LEAST ? STEP_LEAST : least(step, STEP_MOST);
}

/* Makes data.mdb longer by at least `bytes`, if `reserve` bytes of the disk stay free. */
static enum dueq_status grow(struct kv *kv, uint64_t bytes, uint64_t reserve)
{
    struct lmdb_room *data = &kv->room.data;
    uint64_t step = least(step_of(kv), OWN_STEP), most = most_growth(kv, reserve);

    if (most < bytes)
        return DUEQ_FULL;
    return lmdb_grow(kv->lmdb, least(most, bytes > step ? bytes : step), &data->file);
}

uint64_t kv_room_promised(const struct kv *kv)
{
    return least(pending(kv, 0) + drain_room(kv),
                 difference(kv->options.map_bytes, kv->room.data.used));
}

/* A copy that is to become data.mdb must have the room as well. */
static enum dueq_status reserve_copy(struct kv *kv, uint64_t bytes)
{
    return kv->compaction.running ? lmdb_promise(kv->lmdb, pending(kv, bytes) + drain_room(kv))
                                  : DUEQ_OK;
}

/* A compaction measures the file itself when it has ended. */
static void see_growth(struct kv *kv)
{
    if (!kv->room.grows || kv->compaction.running)
        return;
    kv->room.grows = lmdb_wants_growth(kv->lmdb);
    kv->room.data.file = lmdb_allocated(kv->lmdb);
}

static uint64_t lacking_at_all(const struct kv *kv, uint64_t bytes)
{
    uint64_t lacks = lacking(kv, bytes), in_a_row = lacking_in_a_row(kv, bytes);

    return in_a_row > lacks ? in_a_row : lacks;
}

static enum dueq_status reserve_data(struct kv *kv, uint64_t bytes)
{
    uint64_t lacks = lacking_at_all(kv, bytes);

    if (map_is_full(kv, bytes) || reserve_copy(kv, bytes) != DUEQ_OK)
        return DUEQ_FULL;
    if (lacks > 0 && kv->room.grows) {
        see_growth(kv);
        lacks = lacking_at_all(kv, bytes);
    }
    return lacks == 0 ? DUEQ_OK : grow(kv, lacks, kv->options.disk_reserve_bytes);
}

/* What drains the store goes into the same record as the requested change. */
size_t kv_room_slack(const struct kv *kv)
{
    return kv->options.segment_bytes / 16;
}

static enum dueq_status reserve(struct kv *kv, size_t bytes)
{
    enum dueq_status status;

    if (!checkpoint_has_room(kv->checkpoint))
        return DUEQ_FULL;
    status = journal_reserve(kv->journal, kv_batch_bytes(kv) + bytes + kv_room_slack(kv));
    return status == DUEQ_OK ? reserve_data(kv, bytes) : status;
}

/* ---- growing ahead */

/* Only what grows: a store that rests keeps the length that a compaction gave it. */
static bool is_growing(const struct kv *kv)
{
    return memtable_bytes(kv->active) >= kv->options.memtable_bytes / AHEAD_SHARE;
}

void kv_room_ahead(struct kv *kv)
{
    const struct lmdb_room *data = &kv->room.data;
    uint64_t step = step_of(kv), now;

    see_growth(kv);
    if (kv->room.grows || kv->compaction.running || step <= OWN_STEP || !is_growing(kv) ||
        difference(data->file, data->used) >= pending(kv, 0) + drain_room(kv) + step)
        return;
    now = kv->io->monotonic_usec(kv->io->arg);
    if (now - kv->room.grown < AHEAD_USEC ||
        most_growth(kv, kv->options.disk_reserve_bytes) / AHEAD_SHARE < step)
        return;
    kv->room.grown = now;
    kv->room.grows = true;
    lmdb_ask_growth(kv->lmdb, step);
    checkpoint_wake(kv->checkpoint);
}

/* ---- the state */

static void set_full(struct kv *kv, bool full)
{
    if (kv->state != KV_FAILED)
        kv->state = full ? KV_FULL : KV_SOUND;
}

static bool is_time(struct kv *kv)
{
    uint64_t now = kv->io->monotonic_usec(kv->io->arg);

    if (now - kv->room.checked < CHECK_USEC)
        return false;
    kv->room.checked = now;
    return true;
}

bool kv_room_check(struct kv *kv)
{
    if (!is_time(kv))
        return false;
    set_full(kv, reserve(kv, MODEST) == DUEQ_FULL);
    return true;
}

/* An eighth of a record is kept for what drains the store and for what a request adds. */
static bool fits_record(const struct kv *kv, uint64_t bytes)
{
    uint64_t most = kv->options.record_bytes / 8 * 7, taken = kv_batch_bytes(kv);

    return taken <= most && bytes <= most - taken;
}

static bool is_granted(const struct kv *kv, size_t bytes)
{
    return kv->room.granted > 0 &&
           kv_batch_bytes(kv) + bytes <= kv->room.granted + kv_room_slack(kv);
}

enum dueq_status kv_room(struct kv *kv, uint64_t bytes)
{
    enum dueq_status status;

    if (kv_failed(kv))
        return kv->status;
    if (!fits_record(kv, bytes))
        return DUEQ_TOOBIG;
    if (is_granted(kv, (size_t)bytes))
        return DUEQ_OK;
    if (kv->state == KV_FULL)
        kv_room_check(kv);
    status = kv->state == KV_FULL ? DUEQ_FULL : reserve(kv, (size_t)bytes);
    if (status != DUEQ_FULL)
        return status;
    kv->room.refused = true;
    if (bytes <= MODEST) /* small requests fail too, not only large ones */
        set_full(kv, true);
    return DUEQ_FULL;
}

enum dueq_status kv_room_moves(struct kv *kv, bool with_text)
{
    uint64_t kept = with_text ? drain_room(kv) / 2 : last_room(kv), lacks;

    if (kv_failed(kv))
        return kv->status;
    if (short_of(kv, kept) > 0)
        see_growth(kv);
    lacks = short_of(kv, kept);
    if (lacks == 0 || grow(kv, lacks, 0) == DUEQ_OK)
        return DUEQ_OK;
    set_full(kv, true);
    return DUEQ_FULL;
}

bool kv_room_is_tight(const struct kv *kv)
{
    uint64_t limit = kv->state == KV_FULL ? kv->room.data.file : kv->options.map_bytes;

    return left_of(kv, limit) < drain_room(kv) / 2 && pending(kv, 0) >= last_room(kv) / 2;
}

bool kv_room_is_drained(const struct kv *kv)
{
    uint64_t usec;

    if (kv->state != KV_FULL || kv->since_freeze == 0 || kv->frozen != NULL ||
        !journal_drains(kv->journal, kv->options.segment_bytes / 2))
        return false;
    usec = kv->io->monotonic_usec(kv->io->arg) - kv->frozen_at;
    return usec >= DRAINED_MOST_USEC ||
           (usec >= DRAINED_USEC &&
            memtable_bytes(kv->active) >= kv->options.memtable_bytes / DRAINED_SHARE);
}

enum dueq_status kv_room_drains(struct kv *kv)
{
    if (kv_failed(kv))
        return kv->status;
    return journal_drains(kv->journal, kv_batch_bytes(kv) + kv_room_slack(kv)) ? DUEQ_OK
                                                                               : DUEQ_FULL;
}

enum dueq_status kv_room_grant(struct kv *kv, uint64_t bytes)
{
    enum dueq_status status = kv_room(kv, bytes);

    if (status == DUEQ_OK && kv->room.granted < kv_batch_bytes(kv) + bytes)
        kv->room.granted = kv_batch_bytes(kv) + (size_t)bytes;
    return status;
}

/* ---- when the levels change */

void kv_room_open(struct kv *kv)
{
    uint64_t lacks;

    kv_room_measure(kv);
    lacks = lacking(kv, 0);
    if (lacks > 0)
        grow(kv, lacks, 0); /* if it fails, kv_room refuses growth */
    kv->room.checked = kv->io->monotonic_usec(kv->io->arg) - CHECK_USEC;
    kv_room_check(kv);
}

void kv_room_measure(struct kv *kv)
{
    struct checkpoint_stats stats;

    checkpoint_get_stats(kv->checkpoint, &stats);
    kv->room.data = stats.room;
    kv->room.run_records = stats.run_records;
    kv->room.data.file = least(lmdb_allocated(kv->lmdb), kv->options.map_bytes);
}

void kv_room_freeze(struct kv *kv)
{
    assert(kv->room.frozen.large == 0 && kv->room.frozen.huge == 0);
    kv->room.frozen = kv->room.active;
    kv->room.active = (struct room_values){0, 0};
}

void kv_room_release(struct kv *kv)
{
    kv->room.frozen = (struct room_values){0, 0};
    kv_room_measure(kv);
}
