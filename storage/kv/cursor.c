/* The merged cursor: active memtable over frozen memtable over LMDB. */
#include "storage/kv/kv_store.h"

#include <stdlib.h>

enum { LEVEL_ACTIVE, LEVEL_FROZEN, LEVEL_LMDB, LEVELS };
enum direction { FORWARD, BACKWARD };

/* One level's next candidate in the cursor's direction. */
struct level {
    bool placed; /* the place below is where the level stands; else it must be sought */
    bool there;  /* false: past the end */
    bool tombstone;
    struct memtable_cursor table;
    struct dueq_slice key, value;
    /* forward: the level has no key from here (open: behind here) up to `key` */
    uint8_t lower[KV_KEY_MAX];
    size_t lower_size;
    bool lower_open;
};

struct kv_cursor {
    struct kv *kv;
    struct lmdb_cursor *lmdb;
    struct level levels[LEVELS];
    enum direction direction;
    uint64_t levels_seen, version_seen, generation_seen;
    uint8_t key[KV_KEY_MAX];
    size_t key_size;
    struct dueq_slice value;
    uint64_t passed; /* tombstones, by the last move */
};

struct kv_cursor *kv_cursor_new(struct kv *kv)
{
    struct kv_cursor *cursor = calloc(1, sizeof(*cursor));

    if (cursor == NULL)
        return NULL;
    cursor->kv = kv;
    cursor->lmdb = lmdb_cursor_new(kv->lmdb);
    if (cursor->lmdb == NULL) {
        free(cursor);
        return NULL;
    }
    return cursor;
}

void kv_cursor_free(struct kv_cursor *cursor)
{
    if (cursor == NULL)
        return;
    lmdb_cursor_free(cursor->lmdb);
    free(cursor);
}

struct dueq_slice kv_cursor_key(const struct kv_cursor *cursor)
{
    return dueq_slice(cursor->key, cursor->key_size);
}

struct dueq_slice kv_cursor_value(const struct kv_cursor *cursor)
{
    return cursor->value;
}

uint64_t kv_cursor_passed(const struct kv_cursor *cursor)
{
    return cursor->passed;
}

/* ---- one level */

static const struct memtable *table_of(const struct kv_cursor *cursor, int index)
{
    return index == LEVEL_ACTIVE ? cursor->kv->active : cursor->kv->frozen;
}

static void take_table(struct level *level, bool there)
{
    struct memtable_entry entry;

    level->placed = true;
    level->there = there;
    if (!there)
        return;
    entry = memtable_at(&level->table);
    level->tombstone = entry.tombstone;
    level->key = dueq_slice(entry.key, entry.key_size);
    level->value = dueq_slice(entry.value, entry.value_size);
}

static enum dueq_status take_lmdb(struct kv_cursor *cursor, enum dueq_status status)
{
    struct level *level = &cursor->levels[LEVEL_LMDB];

    level->placed = true;
    level->there = status == DUEQ_OK;
    if (level->there) {
        level->key = lmdb_key(cursor->lmdb);
        level->value = lmdb_value(cursor->lmdb);
        /* the checkpoint's mark is nobody's key */
        if (*(const uint8_t *)level->key.data == 0) {
            if (cursor->direction == FORWARD)
                return take_lmdb(cursor, lmdb_next(cursor->lmdb));
            level->there = false;
        }
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static enum dueq_status seek_lmdb(struct kv_cursor *cursor, struct dueq_slice key)
{
    enum dueq_status status = lmdb_seek(cursor->lmdb, key);

    if (cursor->direction == FORWARD)
        return take_lmdb(cursor, status);
    if (status == DUEQ_OK)
        status = lmdb_prev(cursor->lmdb);
    else if (status == DUEQ_NOTFOUND)
        status = lmdb_last(cursor->lmdb);
    return take_lmdb(cursor, status);
}

static void set_lower(struct level *level, struct dueq_slice key, bool open)
{
    memcpy(level->lower, key.data, key.size);
    level->lower_size = key.size;
    level->lower_open = open;
}

/* The place where the level stands is where a search forward for the key would end: a queue
 * that is drained looks for its head again and again, a little further on each time. */
static bool covers(const struct level *level, struct dueq_slice key)
{
    int order;

    if (!level->placed || (level->there && dueq_slice_compare(key, level->key) > 0))
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
    if (index == LEVEL_LMDB)
        return seek_lmdb(cursor, key);
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
    if (index == LEVEL_LMDB)
        return take_lmdb(cursor, forward ? lmdb_next(cursor->lmdb) : lmdb_prev(cursor->lmdb));
    take_table(level, forward ? memtable_next(&level->table) : memtable_prev(&level->table));
    return DUEQ_OK;
}

/* ---- all levels */

/* Forgets the places that writes or checkpoints have made void. */
static void notice_changes(struct kv_cursor *cursor)
{
    const struct kv *kv = cursor->kv;

    if (cursor->levels_seen != kv->levels)
        cursor->levels[LEVEL_ACTIVE].placed = cursor->levels[LEVEL_FROZEN].placed = false;
    if (cursor->version_seen != memtable_version(kv->active))
        cursor->levels[LEVEL_ACTIVE].placed = false;
    if (cursor->generation_seen != lmdb_generation(kv->lmdb))
        cursor->levels[LEVEL_LMDB].placed = false;
    cursor->levels_seen = kv->levels;
    cursor->version_seen = memtable_version(kv->active);
    cursor->generation_seen = lmdb_generation(kv->lmdb);
}

static bool ahead_of(const struct kv_cursor *cursor, const struct level *a,
                     const struct level *b)
{
    int order = dueq_slice_compare(a->key, b->key);

    return cursor->direction == FORWARD ? order < 0 : order > 0;
}

/* The upper level wins among equals. */
static const struct level *nearest(const struct kv_cursor *cursor)
{
    const struct level *best = NULL;

    for (int i = 0; i < LEVELS; i++) {
        const struct level *level = &cursor->levels[i];

        if (level->there && (best == NULL || ahead_of(cursor, level, best)))
            best = level;
    }
    return best;
}

/* Moves every level that stands at the cursor's key past it. */
static enum dueq_status pass_key(struct kv_cursor *cursor)
{
    struct dueq_slice key = kv_cursor_key(cursor);

    for (int i = 0; i < LEVELS; i++)
        if (cursor->levels[i].there && dueq_slice_equal(cursor->levels[i].key, key)) {
            enum dueq_status status = step_level(cursor, i);

            if (status != DUEQ_OK)
                return status;
        }
    return DUEQ_OK;
}

/* Takes the nearest candidate that is not deleted as the cursor's position. */
static enum dueq_status settle(struct kv_cursor *cursor)
{
    cursor->passed = 0;
    for (;;) {
        const struct level *level = nearest(cursor);
        bool tombstone;
        enum dueq_status status;

        if (level == NULL) {
            cursor->key_size = 0;
            return DUEQ_NOTFOUND;
        }
        memcpy(cursor->key, level->key.data, level->key.size);
        cursor->key_size = level->key.size;
        cursor->value = level->value;
        tombstone = level != &cursor->levels[LEVEL_LMDB] && level->tombstone;
        if (!tombstone)
            return DUEQ_OK;
        cursor->passed++;
        cursor->kv->stats.tombstones_passed++;
        status = pass_key(cursor);
        if (status != DUEQ_OK)
            return status;
    }
}

static enum dueq_status seek(struct kv_cursor *cursor, struct dueq_slice key,
                             enum direction direction)
{
    bool onward = direction == FORWARD && cursor->direction == FORWARD;

    cursor->direction = direction;
    notice_changes(cursor);
    for (int i = 0; i < LEVELS; i++) {
        enum dueq_status status =
            onward && covers(&cursor->levels[i], key) ? DUEQ_OK : seek_level(cursor, i, key);

        if (status != DUEQ_OK)
            return status;
    }
    return settle(cursor);
}

enum dueq_status kv_cursor_seek(struct kv_cursor *cursor, struct dueq_slice key)
{
    return seek(cursor, key, FORWARD);
}

enum dueq_status kv_cursor_seek_last(struct kv_cursor *cursor, struct dueq_slice key)
{
    return seek(cursor, key, BACKWARD);
}

/* One step: levels whose place still holds are moved, the others sought anew. */
static enum dueq_status step(struct kv_cursor *cursor, enum direction direction)
{
    enum dueq_status status = DUEQ_OK;

    if (cursor->key_size == 0)
        return DUEQ_NOTFOUND;
    notice_changes(cursor);
    if (cursor->direction != direction)
        for (int i = 0; i < LEVELS; i++)
            cursor->levels[i].placed = false;
    cursor->direction = direction;
    for (int i = 0; i < LEVELS && status == DUEQ_OK; i++)
        if (!cursor->levels[i].placed)
            status = seek_level(cursor, i, kv_cursor_key(cursor));
    if (status == DUEQ_OK)
        status = pass_key(cursor);
    return status == DUEQ_OK ? settle(cursor) : status;
}

enum dueq_status kv_cursor_next(struct kv_cursor *cursor)
{
    return step(cursor, FORWARD);
}

enum dueq_status kv_cursor_prev(struct kv_cursor *cursor)
{
    return step(cursor, BACKWARD);
}
