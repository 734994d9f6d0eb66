/* The merged cursor: the active memtable hides the frozen one, both hide the runs of LMDB, of
 * which the newer hide the older, and these hide its tables. */
#include "storage/kv/kv_internal.h"

#include <assert.h>
#include <stdlib.h>

enum {
    LEVEL_ACTIVE,
    LEVEL_FROZEN,
    LEVEL_RUN, /* the newest; the tables follow after the oldest */
    LEVELS_MOST = LEVEL_RUN + RUNS_MOST + 1,
    NO_LEVEL = -1,
    NOT_KNOWN = -2
};
enum direction { FORWARD, BACKWARD };

/* libdueq-small does without the shorter step. */
#ifdef DUEQ_SMALL
enum { CURSOR_LEADS = 0 };
#else
enum { CURSOR_LEADS = 1 };
#endif

/* One level's next candidate in the cursor's direction. */
struct level {
    bool found; /* the fields below are the level's position; false: seek again */
    bool there; /* false: past the end */
    bool tombstone;
    bool vague; /* a run that was not searched yet: it has nothing before `key`, or after it */
    uint8_t edge[RUNS_KEY_MAX]; /* this key */
    struct memtable_cursor table;
    struct lmdb_cursor *lmdb; /* from LEVEL_RUN on; NULL: not used yet */
    struct dueq_slice key, value;
    /* forward: the level has no key from `lower` on (open: after `lower`) up to `key` */
    uint8_t lower[KV_KEY_MAX];
    size_t lower_size;
    bool lower_open;
};

/* The range that the present move has stepped over or gone around. */
struct passage {
    bool any; /* from and to are set: no record lives at `from` or after it, before `to` */
    unsigned around; /* dead ranges */
    uint64_t passed; /* tombstones */
    struct kv_key from, to;
};

struct kv_cursor {
    struct kv *kv;
    struct level levels[LEVELS_MOST];
    int bottom; /* the level of LMDB's tables, the last one */
    enum direction direction;
    uint64_t levels_seen, version_seen, generation_seen;
    uint8_t key[KV_KEY_MAX];
    size_t key_size;
    struct dueq_slice value;
    struct passage passage; /* of the last move */
    int lead;               /* the level that the record is from; NO_LEVEL: not known */
    int rival; /* the nearest of the others; NO_LEVEL: they are at their ends; NOT_KNOWN */
};

struct kv_cursor *kv_cursor_new(struct kv *kv)
{
    struct kv_cursor *cursor = calloc(1, sizeof(*cursor));

    if (cursor == NULL)
        return NULL;
    cursor->kv = kv;
    cursor->bottom = LEVEL_RUN;
    if (CURSOR_LEADS)
        cursor->lead = NO_LEVEL;
    cursor->generation_seen = UINT64_MAX;
    return cursor;
}

void kv_cursor_free(struct kv_cursor *cursor)
{
    if (cursor == NULL)
        return;
    for (int i = LEVEL_RUN; i < LEVELS_MOST; i++)
        lmdb_cursor_free(cursor->levels[i].lmdb);
    free(cursor);
}

struct dueq_slice kv_cursor_key(const struct kv_cursor *cursor)
{
    assert(cursor->key_size > 0);
    return dueq_slice(cursor->key, cursor->key_size);
}

struct dueq_slice kv_cursor_value(const struct kv_cursor *cursor)
{
    assert(cursor->key_size > 0);
    return cursor->value;
}

uint64_t kv_cursor_passed(const struct kv_cursor *cursor)
{
    return cursor->passage.passed;
}

/* ---- one level */

static const struct memtable *table_of(const struct kv_cursor *cursor, int index)
{
    return index == LEVEL_ACTIVE ? cursor->kv->active : cursor->kv->frozen;
}

static void take_table(struct level *level, bool there)
{
    struct memtable_entry entry;

    level->found = true;
    level->there = there;
    if (!there)
        return;
    entry = memtable_at(&level->table);
    level->tombstone = entry.tombstone;
    level->key = dueq_slice(entry.key, entry.key_size);
    level->value = dueq_slice(entry.value, entry.value_size);
}

/* Runs and the mark are not part of the tables. */
static enum dueq_status take_lmdb(struct kv_cursor *cursor, enum dueq_status status)
{
    struct level *level = &cursor->levels[cursor->bottom];
    uint8_t table;

    level->found = true;
    level->there = status == DUEQ_OK;
    if (level->there) {
        level->key = lmdb_key(level->lmdb);
        level->value = lmdb_value(level->lmdb);
        table = *(const uint8_t *)level->key.data;
        if (table == 0 && cursor->direction == FORWARD)
            return take_lmdb(cursor, lmdb_next(level->lmdb));
        level->there = table != 0 && table != RUNS_LEAD;
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* The last record before the key. */
static enum dueq_status seek_before(struct lmdb_cursor *lmdb, struct dueq_slice key)
{
    enum dueq_status status = lmdb_seek(lmdb, key);

    if (status == DUEQ_OK)
        return lmdb_prev(lmdb);
    return status == DUEQ_NOTFOUND ? lmdb_last(lmdb) : status;
}

static enum dueq_status seek_lmdb(struct kv_cursor *cursor, struct dueq_slice key)
{
    static const uint8_t runs = RUNS_LEAD;
    struct lmdb_cursor *lmdb = cursor->levels[cursor->bottom].lmdb;

    if (cursor->direction == FORWARD)
        return take_lmdb(cursor, lmdb_seek(lmdb, key));
    if (*(const uint8_t *)key.data == RUNS_LEAD)
        key = dueq_slice(&runs, 1);
    return take_lmdb(cursor, seek_before(lmdb, key));
}

/* ---- a run */

static const struct run *run_at(const struct kv_cursor *cursor, int index)
{
    const struct run_list *runs = &cursor->kv->runs;

    return &runs->runs[runs->count - 1 - (unsigned)(index - LEVEL_RUN)];
}

static uint64_t run_of(const struct kv_cursor *cursor, int index)
{
    return run_at(cursor, index)->number;
}

static enum dueq_status take_run(struct kv_cursor *cursor, int index, struct run_key *run,
                                 enum dueq_status status)
{
    struct level *level = &cursor->levels[index];

    level->found = true;
    level->vague = false;
    level->there = status == DUEQ_OK && run_key_read(run, lmdb_key(level->lmdb), &level->key);
    if (level->there &&
        !run_value_read(lmdb_value(level->lmdb), &level->tombstone, &level->value))
        return DUEQ_CORRUPT;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static enum dueq_status search_run(struct kv_cursor *cursor, int index, struct dueq_slice key)
{
    struct level *level = &cursor->levels[index];
    bool forward = cursor->direction == FORWARD;
    struct run_key run;
    struct dueq_slice whole;
    enum dueq_status status;

    run_key_start(&run, run_of(cursor, index));
    whole = run_key_of(&run, key);
    key = dueq_slice((const uint8_t *)whole.data + run.head, key.size);
    status =
        take_run(cursor, index, &run,
                 forward ? lmdb_seek(level->lmdb, whole) : seek_before(level->lmdb, whole));
    if (status == DUEQ_OK && forward && run_at(cursor, index)->whole)
        gaps_note(&cursor->kv->gaps, run_of(cursor, index), key,
                  level->there ? level->key : dueq_slice(NULL, 0));
    return status;
}

/* The run has something from that key on at the earliest (backward: before it). Size 0: it has
 * nothing. */
static void be_vague(struct level *level, struct dueq_slice key)
{
    level->found = true;
    level->there = level->vague = key.size > 0;
    if (key.size > 0)
        memcpy(level->edge, key.data, key.size);
    level->key = dueq_slice(level->edge, key.size);
}

static enum dueq_status step_run(struct kv_cursor *cursor, int index)
{
    struct lmdb_cursor *lmdb = cursor->levels[index].lmdb;
    struct run_key run;

    run_key_start(&run, run_of(cursor, index));
    return take_run(cursor, index, &run,
                    cursor->direction == FORWARD ? lmdb_next(lmdb) : lmdb_prev(lmdb));
}

/* For a key of another table than runs have. */
static void seek_table(const struct kv_cursor *cursor, struct level *level, uint8_t table)
{
    bool forward = cursor->direction == FORWARD;
    uint8_t next = forward ? runs_table_after(table) : runs_table_before(table);

    next += next != 0 && !forward;
    be_vague(level, dueq_slice(&next, next != 0));
}

/* Searches the run only if it is not known where its next record is. */
static enum dueq_status seek_run(struct kv_cursor *cursor, int index, struct dueq_slice key)
{
    struct level *level = &cursor->levels[index];
    uint8_t table = *(const uint8_t *)key.data;
    struct dueq_slice end;

    if (!runs_take_table(table)) {
        seek_table(cursor, level, table);
        return DUEQ_OK;
    }
    if (cursor->direction == BACKWARD ||
        !gaps_find(&cursor->kv->gaps, run_of(cursor, index), key, &end))
        return search_run(cursor, index, key);
    be_vague(level, end);
    return DUEQ_OK;
}

static void set_lower(struct level *level, struct dueq_slice key, bool open)
{
    memcpy(level->lower, key.data, key.size);
    level->lower_size = key.size;
    level->lower_open = open;
}

/* True: a forward seek of the key would end at the level's present position. A queue that is
 * drained seeks its head again and again, each time a little further. */
static bool covers(const struct level *level, struct dueq_slice key)
{
    int order;

    if (!level->found || (level->there && dueq_slice_compare(key, level->key) > 0))
        return false;
    order = dueq_slice_compare(key, dueq_slice(level->lower, level->lower_size));
    return level->lower_open ? order > 0 : order >= 0;
}

/* Forward: the first key >= `key`; backward: the last below. */
static enum dueq_status seek_level(struct kv_cursor *cursor, int index, struct dueq_slice key)
{
    struct level *level = &cursor->levels[index];
    const struct memtable *table;

    if (cursor->direction == FORWARD)
        set_lower(level, key, false);
    if (index == cursor->bottom)
        return seek_lmdb(cursor, key);
    if (index >= LEVEL_RUN)
        return seek_run(cursor, index, key);
    table = table_of(cursor, index);
    if (table == NULL)
        take_table(level, false);
    else if (cursor->direction == FORWARD)
        take_table(level, memtable_seek(&level->table, table, key));
    else
        take_table(level, memtable_seek_last(&level->table, table, key));
    return DUEQ_OK;
}

static enum dueq_status step_level(struct kv_cursor *cursor, int index)
{
    struct level *level = &cursor->levels[index];
    bool forward = cursor->direction == FORWARD;

    if (forward)
        set_lower(level, level->key, true);
    if (index == cursor->bottom)
        return take_lmdb(cursor, forward ? lmdb_next(level->lmdb) : lmdb_prev(level->lmdb));
    if (index >= LEVEL_RUN)
        return step_run(cursor, index);
    take_table(level, forward ? memtable_next(&level->table) : memtable_prev(&level->table));
    return DUEQ_OK;
}

/* ---- all levels */

static enum dueq_status open_levels(struct kv_cursor *cursor)
{
    for (int i = LEVEL_RUN; i <= cursor->bottom; i++) {
        struct level *level = &cursor->levels[i];

        level->found = level->tombstone = level->vague = false;
        if (level->lmdb == NULL)
            level->lmdb = lmdb_cursor_new(cursor->kv->lmdb);
        if (level->lmdb == NULL)
            return DUEQ_NOMEM;
    }
    return DUEQ_OK;
}

/* The runs of another snapshot may be others. */
static enum dueq_status notice_snapshot(struct kv_cursor *cursor)
{
    struct kv *kv = cursor->kv;
    uint64_t generation = lmdb_generation(kv->lmdb);
    enum dueq_status status;

    if (cursor->generation_seen == generation)
        return DUEQ_OK;
    cursor->generation_seen = UINT64_MAX;
    status = kv_see_runs(kv);
    if (status != DUEQ_OK)
        return status;
    cursor->bottom = LEVEL_RUN + (int)kv->runs.count;
    status = open_levels(cursor);
    if (status == DUEQ_OK)
        cursor->generation_seen = generation;
    return status;
}

/* Forgets the positions that writes or checkpoints have made invalid. */
static enum dueq_status notice_changes(struct kv_cursor *cursor)
{
    const struct kv *kv = cursor->kv;

    if (cursor->levels_seen != kv->levels)
        cursor->levels[LEVEL_ACTIVE].found = cursor->levels[LEVEL_FROZEN].found = false;
    if (cursor->version_seen != memtable_version(kv->active))
        cursor->levels[LEVEL_ACTIVE].found = false;
    cursor->levels_seen = kv->levels;
    cursor->version_seen = memtable_version(kv->active);
    return notice_snapshot(cursor);
}

static bool ahead_of(const struct kv_cursor *cursor, const struct level *a,
                     const struct level *b)
{
    int order = dueq_slice_compare(a->key, b->key);

    return cursor->direction == FORWARD ? order < 0 : order > 0;
}

/* Of `best` (NO_LEVEL: none) and the levels from `from` to before `to`, which are below it. The
 * upper level wins among equals, but first a vague one that might come before. */
static int nearest_of(const struct kv_cursor *cursor, int best, int from, int to)
{
    for (int i = from; i < to; i++) {
        const struct level *level = &cursor->levels[i];

        if (!level->there)
            continue;
        if (best == NO_LEVEL || ahead_of(cursor, level, &cursor->levels[best]) ||
            (level->vague && !cursor->levels[best].vague &&
             dueq_slice_equal(level->key, cursor->levels[best].key)))
            best = i;
    }
    return best;
}

static int nearest_of_all(const struct kv_cursor *cursor)
{
    return nearest_of(cursor, NO_LEVEL, 0, cursor->bottom + 1);
}

/* *ret_level: NULL: there is no record any more. */
static enum dueq_status nearest(struct kv_cursor *cursor, const struct level **ret_level)
{
    int best;

    while ((best = nearest_of_all(cursor)) >= 0 && cursor->levels[best].vague) {
        enum dueq_status status = search_run(cursor, best, cursor->levels[best].key);

        if (status != DUEQ_OK)
            return status;
    }
    *ret_level = best < 0 ? NULL : &cursor->levels[best];
    return DUEQ_OK;
}

static bool is_at(const struct level *level, struct dueq_slice key)
{
    return level->there && dueq_slice_equal(level->key, key);
}

/* Moves every level that is at the cursor's key past it. */
static enum dueq_status pass_key(struct kv_cursor *cursor)
{
    struct dueq_slice key = kv_cursor_key(cursor);
    enum dueq_status status = DUEQ_OK;

    for (int i = 0; i <= cursor->bottom && status == DUEQ_OK; i++) {
        struct level *level = &cursor->levels[i];

        if (level->vague && is_at(level, key))
            status = search_run(cursor, i, key);
        if (status == DUEQ_OK && is_at(level, key))
            status = step_level(cursor, i);
    }
    return status;
}

/* ---- the passed range */

/* Extends the passed range by another one, in the cursor's direction. */
static void extend_passage(struct kv_cursor *cursor, struct dueq_slice from,
                           struct dueq_slice to)
{
    struct passage *passage = &cursor->passage;

    if (!passage->any || cursor->direction == BACKWARD)
        kv_key_copy(&passage->from, from);
    if (!passage->any || cursor->direction == FORWARD)
        kv_key_copy(&passage->to, to);
    passage->any = true;
}

/* Extends the passed range by the tombstone at the cursor's key. */
static void extend_by_key(struct kv_cursor *cursor)
{
    struct kv_key after;

    if (cursor->passage.any && cursor->direction == BACKWARD) {
        kv_key_copy(&cursor->passage.from, kv_cursor_key(cursor));
        return;
    }
    kv_key_copy(&after, kv_cursor_key(cursor));
    kv_key_follow(&after);
    extend_passage(cursor, kv_cursor_key(cursor), kv_key_slice(&after));
}

/* The range ends with its last tombstone, not at the next record, so a put between the two does
 * not split it. */
static void note_passage(struct kv_cursor *cursor, bool stopped)
{
    const struct passage *passage = &cursor->passage;

    if (!passage->any || (passage->passed == 0 && passage->around < 2))
        return;
    if (stopped || passage->around > 0 || passage->passed >= DEAD_RANGE_WORTH)
        dead_ranges_add(&cursor->kv->dead_ranges, &passage->from, &passage->to);
}

static enum dueq_status seek_levels(struct kv_cursor *cursor, struct dueq_slice key,
                                    bool onward)
{
    for (int i = 0; i <= cursor->bottom; i++) {
        enum dueq_status status =
            onward && covers(&cursor->levels[i], key) ? DUEQ_OK : seek_level(cursor, i, key);

        if (status != DUEQ_OK)
            return status;
    }
    return DUEQ_OK;
}

/* Goes around the dead range that contains `key` (backward: the position below it), if there is
 * one. */
static enum dueq_status go_around(struct kv_cursor *cursor, struct dueq_slice key, bool onward,
                                  bool *ret_around)
{
    bool backward = cursor->direction == BACKWARD;
    const struct dead_range *range =
        cursor->kv->dead_ranges.count == 0
            ? NULL
            : dead_ranges_find(&cursor->kv->dead_ranges, key, backward);

    *ret_around = range != NULL;
    if (range == NULL)
        return DUEQ_OK;
    extend_passage(cursor, kv_key_slice(&range->from), kv_key_slice(&range->to));
    cursor->passage.around++;
    return seek_levels(cursor, kv_key_slice(backward ? &range->from : &range->to), onward);
}

static enum dueq_status pass_tombstone(struct kv_cursor *cursor)
{
    struct kv_key edge;
    bool around = false;

    if (cursor->passage.passed % DEAD_RANGE_WORTH == 0 && cursor->kv->dead_ranges.count > 0) {
        enum dueq_status status;

        kv_key_copy(&edge, kv_cursor_key(cursor));
        if (cursor->direction == BACKWARD)
            kv_key_follow(&edge);
        status = go_around(cursor, kv_key_slice(&edge), cursor->direction == FORWARD, &around);
        if (status != DUEQ_OK || around)
            return status;
    }
    extend_by_key(cursor);
    cursor->passage.passed++;
    cursor->kv->stats.tombstones_passed++;
    return pass_key(cursor);
}

/* ---- moves */

static void take_record(struct kv_cursor *cursor, const struct level *level)
{
    memcpy(cursor->key, level->key.data, level->key.size);
    cursor->key_size = level->key.size;
    cursor->value = level->value;
    if (CURSOR_LEADS)
        cursor->lead = (int)(level - cursor->levels);
}

/* Moves to the nearest record that is not deleted. Stops at the first tombstone after
 * `limit`. */
static enum dueq_status skip_deleted(struct kv_cursor *cursor, uint64_t limit)
{
    for (;;) {
        const struct level *level;
        enum dueq_status status = nearest(cursor, &level);
        bool stopped;

        if (status != DUEQ_OK)
            return status;
        stopped = level != NULL && cursor->passage.passed > limit;
        if (level == NULL || stopped) {
            cursor->key_size = 0;
            note_passage(cursor, stopped);
            return DUEQ_NOTFOUND;
        }
        take_record(cursor, level);
        if (CURSOR_LEADS)
            cursor->rival = NOT_KNOWN;
        if (!level->tombstone) {
            note_passage(cursor, false);
            return DUEQ_OK;
        }
        status = pass_tombstone(cursor);
        if (status != DUEQ_OK)
            return status;
    }
}

/* The same, and subtracts the cost from the budget. */
static enum dueq_status skip_deleted_within(struct kv_cursor *cursor, unsigned *budget)
{
    uint64_t limit = budget == NULL ? UINT64_MAX : (uint64_t)*budget * KV_TOMBSTONES_A_STEP;
    enum dueq_status status = skip_deleted(cursor, limit);
    uint64_t spent = cursor->passage.passed / KV_TOMBSTONES_A_STEP;

    if (budget != NULL)
        *budget -= spent < *budget ? (unsigned)spent : *budget;
    return status;
}

static void begin_passage(struct kv_cursor *cursor)
{
    cursor->passage.any = false;
    cursor->passage.around = 0;
    cursor->passage.passed = 0;
}

static enum dueq_status begin_move(struct kv_cursor *cursor)
{
    begin_passage(cursor);
    if (CURSOR_LEADS)
        cursor->lead = NO_LEVEL;
    return notice_changes(cursor);
}

/* After a move that failed in the middle no position is reliable: the next move seeks in all
 * levels, and the error does not count as the end. */
static enum dueq_status end_move(struct kv_cursor *cursor, enum dueq_status status)
{
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        for (int i = 0; i <= cursor->bottom; i++)
            cursor->levels[i].found = false;
    return status;
}

static enum dueq_status seek(struct kv_cursor *cursor, struct dueq_slice key,
                             enum direction direction, unsigned *budget)
{
    bool onward = direction == FORWARD && cursor->direction == FORWARD, around = false;
    enum dueq_status status;

    assert(key.size > 0 && key.size <= KV_KEY_MAX);
    if (kv_failed(cursor->kv))
        return cursor->kv->status;
    cursor->direction = direction;
    status = begin_move(cursor);
    if (status == DUEQ_OK)
        status = go_around(cursor, key, onward, &around);
    if (status == DUEQ_OK && !around)
        status = seek_levels(cursor, key, onward);
    if (status == DUEQ_OK)
        status = skip_deleted_within(cursor, budget);
    return end_move(cursor, status);
}

enum dueq_status kv_cursor_seek(struct kv_cursor *cursor, struct dueq_slice key)
{
    return seek(cursor, key, FORWARD, NULL);
}

enum dueq_status kv_cursor_seek_last(struct kv_cursor *cursor, struct dueq_slice key)
{
    return seek(cursor, key, BACKWARD, NULL);
}

enum dueq_status kv_cursor_seek_within(struct kv_cursor *cursor, struct dueq_slice key,
                                       unsigned *budget)
{
    return seek(cursor, key, FORWARD, budget);
}

enum dueq_status kv_cursor_seek_last_within(struct kv_cursor *cursor, struct dueq_slice key,
                                            unsigned *budget)
{
    return seek(cursor, key, BACKWARD, budget);
}

static bool is_placed(const struct kv_cursor *cursor)
{
    for (int i = 0; i <= cursor->bottom; i++)
        if (!cursor->levels[i].found)
            return false;
    return true;
}

/* Moves the levels that have a position, seeks in the others. */
static enum dueq_status step_all(struct kv_cursor *cursor, unsigned *budget)
{
    enum dueq_status status = DUEQ_OK;

    for (int i = 0; i <= cursor->bottom && status == DUEQ_OK; i++)
        if (!cursor->levels[i].found)
            status = seek_level(cursor, i, kv_cursor_key(cursor));
    if (status == DUEQ_OK)
        status = pass_key(cursor);
    return status == DUEQ_OK ? skip_deleted_within(cursor, budget) : status;
}

/* What comes next is mostly of the level that the record is from: then the others stay where
 * they are, and only the nearest of them is compared. */
static enum dueq_status step_lead(struct kv_cursor *cursor, int lead, unsigned *budget)
{
    const struct level *level = &cursor->levels[lead], *rival;
    enum dueq_status status;

    if (cursor->rival == NOT_KNOWN)
        cursor->rival = nearest_of(cursor, nearest_of(cursor, NO_LEVEL, 0, lead), lead + 1,
                                   cursor->bottom + 1);
    rival = cursor->rival == NO_LEVEL ? NULL : &cursor->levels[cursor->rival];
    if (rival != NULL && dueq_slice_equal(rival->key, kv_cursor_key(cursor)))
        return step_all(cursor, budget);
    status = step_level(cursor, lead);
    if (status != DUEQ_OK)
        return status;
    if (!level->there || level->tombstone || level->vague ||
        (rival != NULL && !ahead_of(cursor, level, rival)))
        return skip_deleted_within(cursor, budget);
    take_record(cursor, level);
    return DUEQ_OK;
}

static enum dueq_status step(struct kv_cursor *cursor, enum direction direction,
                             unsigned *budget)
{
    int lead = CURSOR_LEADS ? cursor->lead : NO_LEVEL;
    enum dueq_status status;

    if (kv_failed(cursor->kv))
        return cursor->kv->status;
    if (cursor->key_size == 0)
        return DUEQ_NOTFOUND;
    status = begin_move(cursor);
    if (cursor->direction != direction)
        for (int i = 0; i <= cursor->bottom; i++)
            cursor->levels[i].found = false;
    cursor->direction = direction;
    if (status == DUEQ_OK)
        status = lead != NO_LEVEL && is_placed(cursor) ? step_lead(cursor, lead, budget)
                                                       : step_all(cursor, budget);
    return end_move(cursor, status);
}

enum dueq_status kv_cursor_next(struct kv_cursor *cursor)
{
    return step(cursor, FORWARD, NULL);
}

enum dueq_status kv_cursor_prev(struct kv_cursor *cursor)
{
    return step(cursor, BACKWARD, NULL);
}

enum dueq_status kv_cursor_next_within(struct kv_cursor *cursor, unsigned *budget)
{
    return step(cursor, FORWARD, budget);
}

/* ---- counting */

/* LMDB's levels, the runs and the tables, are counted apart, each by its pages, up to a key
 * that all of them reach: a slab. That is right where no two of them have one key, as in a
 * table whose deletions are carried out in all of them at once. */
enum {
    SLAB_PAGES = 32,   /* of the level that sets the end of a slab */
    SLAB_MOST = 256,   /* of the others together; beyond that the slab is made smaller */
    SLAB_FRESH = 4096, /* entries of a memtable */
    FRESH_SHARE = 32   /* of them cost as much as a page */
};

struct slab {
    struct kv_key from, end; /* no memtable has a key between them that hides one of LMDB */
    int lead;                /* the level that sets its end */
    unsigned pages, spent;
    uint64_t count;
};

static bool can_skip(uint8_t table)
{
    return !runs_take_table(table) || runs_delete_at_once(table);
}

static bool is_before(const struct level *level, struct dueq_slice end)
{
    return level->there && dueq_slice_compare(level->key, end) < 0;
}

/* Counts at most so many pages of one level. */
static enum dueq_status skip_pages(struct kv_cursor *cursor, int index, struct dueq_slice end,
                                   unsigned pages, struct slab *slab)
{
    struct level *level = &cursor->levels[index];
    enum dueq_status status = DUEQ_OK;
    struct run_key run;
    uint64_t passed;

    if (level->vague && is_before(level, end))
        status = search_run(cursor, index, level->key);
    for (; pages > 0 && status == DUEQ_OK && is_before(level, end); pages--, slab->spent++) {
        passed = 0;
        if (index == cursor->bottom) {
            status = take_lmdb(cursor, lmdb_skip(level->lmdb, end, &passed));
        } else {
            run_key_start(&run, run_of(cursor, index));
            status = lmdb_skip(level->lmdb, run_key_of(&run, end), &passed);
            status = take_run(cursor, index, &run, status);
        }
        set_lower(level, level->there ? level->key : end, false);
        slab->count += passed;
    }
    return status;
}

/* *ret_whole: false: the others have too much of it; *slab->lead is now the one with most. */
static enum dueq_status try_slab(struct kv_cursor *cursor, struct slab *slab, bool *ret_whole)
{
    struct level *lead = &cursor->levels[slab->lead];
    unsigned before, most = 0, limit = slab->spent + slab->pages + SLAB_MOST;
    enum dueq_status status;
    struct kv_key end;

    *ret_whole = true;
    slab->count = 0;
    status = skip_pages(cursor, slab->lead, kv_key_slice(&slab->end), slab->pages, slab);
    end = slab->end;
    if (is_before(lead, kv_key_slice(&end)))
        kv_key_copy(&end, lead->key);
    kv_key_copy(&slab->end, kv_key_slice(&end));
    for (int i = LEVEL_RUN; i <= cursor->bottom && status == DUEQ_OK; i++) {
        before = slab->spent;
        if (&cursor->levels[i] != lead && before < limit)
            status = skip_pages(cursor, i, kv_key_slice(&end), limit - before, slab);
        if (slab->spent - before > most) {
            most = slab->spent - before;
            slab->lead = i;
        }
        *ret_whole = *ret_whole && !is_before(&cursor->levels[i], kv_key_slice(&end));
    }
    return status;
}

/* Does the entry hide nothing of LMDB? A checkpoint may have written it there already: of a run
 * nothing is seen before all of it is there, but the schedule may go past it. */
static bool is_alone(const struct kv_cursor *cursor, int index,
                     const struct memtable_entry *entry)
{
    const struct kv *kv = cursor->kv;

    if (!entry->fresh)
        return false;
    return index == LEVEL_ACTIVE || (kv->runs.count > 0 && kv->runs.next == kv->frozen_run &&
                                     runs_take(dueq_slice(entry->key, entry->key_size)) &&
                                     !checkpoint_went_past_run(kv->checkpoint));
}

/* Moves the slab's end to the first entry of a memtable that is not alone. */
static void end_slab(const struct kv_cursor *cursor, int index, struct slab *slab)
{
    struct memtable_cursor at = cursor->levels[index].table;
    unsigned left = SLAB_FRESH;

    for (bool more = cursor->levels[index].there; more; more = memtable_next(&at)) {
        struct memtable_entry entry = memtable_at(&at);
        struct dueq_slice key = dueq_slice(entry.key, entry.key_size);

        if (dueq_slice_compare(key, kv_key_slice(&slab->end)) >= 0)
            return;
        if (left-- == 0 || !is_alone(cursor, index, &entry)) {
            kv_key_copy(&slab->end, key);
            return;
        }
    }
}

static int first_lead(const struct kv_cursor *cursor, struct dueq_slice end)
{
    int lead = cursor->bottom;

    while (lead > LEVEL_RUN && !is_before(&cursor->levels[lead], end))
        lead--;
    return lead;
}

static void begin_slab(const struct kv_cursor *cursor, struct dueq_slice from,
                       struct dueq_slice end, struct slab *slab)
{
    uint8_t next = *(const uint8_t *)from.data + 1;

    slab->pages = SLAB_PAGES;
    slab->spent = 0;
    kv_key_copy(&slab->from, from);
    kv_key_copy(&slab->end, end);
    if (dueq_slice_compare(dueq_slice(&next, 1), end) < 0)
        kv_key_copy(&slab->end, dueq_slice(&next, 1));
    for (int i = LEVEL_ACTIVE; i < LEVEL_RUN; i++)
        end_slab(cursor, i, slab);
    slab->lead = first_lead(cursor, kv_key_slice(&slab->end));
}

static void count_fresh(struct level *level, struct slab *slab)
{
    struct dueq_slice end = kv_key_slice(&slab->end);
    uint64_t before = slab->count;

    if (!is_before(level, end))
        return;
    for (; is_before(level, end); slab->count++)
        take_table(level, memtable_next(&level->table));
    set_lower(level, end, false);
    slab->spent += (unsigned)(slab->count - before) / FRESH_SHARE;
}

/* Counts what follows, up to a memtable's entry that may hide something. *ret_whole: false:
 * nothing was counted. */
static enum dueq_status count_slab(struct kv_cursor *cursor, struct dueq_slice end,
                                   unsigned *budget, bool *ret_whole, uint64_t *count)
{
    enum dueq_status status = DUEQ_OK;
    struct slab slab;

    *ret_whole = false;
    begin_slab(cursor, dueq_slice(cursor->key, cursor->key_size), end, &slab);
    if (dueq_slice_compare(kv_key_slice(&slab.end), kv_key_slice(&slab.from)) <= 0)
        return DUEQ_OK;
    while (slab.pages > 0 && status == DUEQ_OK && !*ret_whole) {
        status = try_slab(cursor, &slab, ret_whole);
        slab.pages /= 2;
        for (int i = LEVEL_RUN; !*ret_whole && i <= cursor->bottom && status == DUEQ_OK; i++)
            status = seek_level(cursor, i, kv_key_slice(&slab.from));
    }
    for (int i = LEVEL_ACTIVE; i < LEVEL_RUN && *ret_whole; i++)
        count_fresh(&cursor->levels[i], &slab);
    *count += *ret_whole ? slab.count : 0;
    *budget -= slab.spent < *budget ? slab.spent : *budget;
    return status;
}

/* Counts the nearest record, and what follows it without a memtable's change. */
static enum dueq_status count_nearest(struct kv_cursor *cursor, const struct level *level,
                                      struct dueq_slice end, unsigned *budget, uint64_t *count)
{
    enum dueq_status status;
    bool whole;

    memcpy(cursor->key, level->key.data, level->key.size);
    cursor->key_size = level->key.size;
    if (level->tombstone)
        return pass_tombstone(cursor);
    note_passage(cursor, false);
    begin_passage(cursor);
    if (can_skip(cursor->key[0])) {
        status = count_slab(cursor, end, budget, &whole, count);
        if (status != DUEQ_OK || whole)
            return status;
    }
    ++*count;
    return pass_key(cursor);
}

static enum dueq_status count_levels(struct kv_cursor *cursor, struct kv_key *from,
                                     struct dueq_slice end, unsigned *budget, uint64_t *count)
{
    for (;;) {
        const struct level *level;
        enum dueq_status status = nearest(cursor, &level);

        if (status != DUEQ_OK)
            return status;
        if (level == NULL || dueq_slice_compare(level->key, end) >= 0)
            return DUEQ_OK;
        kv_key_copy(from, level->key);
        if (*budget == 0)
            return DUEQ_BUSY;
        --*budget;
        status = count_nearest(cursor, level, end, budget, count);
        if (status != DUEQ_OK)
            return status;
    }
}

enum dueq_status kv_cursor_count(struct kv_cursor *cursor, struct kv_key *from,
                                 struct dueq_slice end, unsigned *budget, uint64_t *count)
{
    enum dueq_status status;
    bool around = false;

    if (kv_failed(cursor->kv))
        return cursor->kv->status;
    cursor->direction = FORWARD;
    status = begin_move(cursor);
    if (status == DUEQ_OK)
        status = go_around(cursor, kv_key_slice(from), false, &around);
    if (status == DUEQ_OK && !around)
        status = seek_levels(cursor, kv_key_slice(from), false);
    if (status == DUEQ_OK)
        status = count_levels(cursor, from, end, budget, count);
    note_passage(cursor, status == DUEQ_BUSY);
    cursor->key_size = 0;
    for (int i = 0; i <= cursor->bottom; i++)
        cursor->levels[i].found = false;
    return status;
}
