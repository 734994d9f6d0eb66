#include "storage/kv/lmdb_parked.h"

#include <string.h>

enum {
    /* LMDB's, of a leaf */
    LEAF_HEADER = sizeof(size_t) + 8,
    NODE_HEADER = 8,
    NODE_PLACE = 2,
    GUARD_SHARE = 4 /* a guard takes that part of a leaf at most */
};

/* ---- records that are out of the tree */

struct sizes {
    uint16_t key, value;
};

static size_t read_at(struct lmdb_parked *parked, size_t at, MDB_val *ret_key,
                      MDB_val *ret_value)
{
    uint8_t *bytes = parked->bytes + at;
    struct sizes sizes;

    memcpy(&sizes, bytes, sizeof(sizes));
    *ret_key = (MDB_val){sizes.key, bytes + sizeof(sizes)};
    *ret_value = (MDB_val){sizes.value, bytes + sizeof(sizes) + sizes.key};
    return sizeof(sizes) + sizes.key + sizes.value;
}

static void write_at(uint8_t *at, const MDB_val *key, const MDB_val *value)
{
    struct sizes sizes = {(uint16_t)key->mv_size, (uint16_t)value->mv_size};

    memcpy(at, &sizes, sizeof(sizes));
    memcpy(at + sizeof(sizes), key->mv_data, key->mv_size);
    memcpy(at + sizeof(sizes) + key->mv_size, value->mv_data, value->mv_size);
}

struct dueq_slice lmdb_parked_first(const struct lmdb_parked *parked)
{
    struct sizes sizes;

    memcpy(&sizes, parked->bytes, sizeof(sizes));
    return dueq_slice(parked->bytes + sizeof(sizes), sizes.key);
}

int lmdb_park(struct lmdb_parked *parked, MDB_cursor *cursor, struct dueq_slice key,
              bool *ret_more)
{
    MDB_val k = {key.size, (void *)(uintptr_t)key.data}, value;
    int error = mdb_cursor_get(cursor, &k, &value, MDB_SET);
    size_t size;

    *ret_more = true;
    if (error == MDB_NOTFOUND) /* deleted in this transaction */
        return MDB_SUCCESS;
    if (error != MDB_SUCCESS)
        return error;
    size = sizeof(struct sizes) + key.size + value.mv_size;
    *ret_more = parked->used + size <= sizeof(parked->bytes);
    if (!*ret_more)
        return MDB_SUCCESS;
    write_at(parked->bytes + parked->used, &k, &value);
    parked->used += size;
    if (LMDB_GUARDS)
        parked->put = LMDB_PARKED_MOST; /* that is not known */
    return mdb_cursor_del(cursor, 0);
}

/* The guard is overwritten by itself. */
int lmdb_unpark(struct lmdb_parked *parked, MDB_cursor *cursor)
{
    size_t at = 0;
    int error = MDB_SUCCESS;

    while (at < parked->used && error == MDB_SUCCESS) {
        MDB_val key, value;

        at += read_at(parked, at, &key, &value);
        error = mdb_cursor_put(cursor, &key, &value, 0);
    }
    parked->used = 0;
    parked->guarded = false;
    return error;
}

/* ---- the guard */

static MDB_stat stat_of(MDB_cursor *cursor)
{
    MDB_stat stat = {0};

    mdb_stat(mdb_cursor_txn(cursor), mdb_cursor_dbi(cursor), &stat);
    return stat;
}

/* What a record takes in a leaf, unless its value is large. */
static size_t leaf_size(size_t key_size, size_t value_size)
{
    return (NODE_PLACE + NODE_HEADER + key_size + value_size + 1) / 2 * 2;
}

/* Not while the leaf is so full that it would hardly stand there. */
static int place_guard(struct lmdb_parked *parked, MDB_cursor *cursor, size_t leaf)
{
    size_t taken = LEAF_HEADER + parked->previous + parked->put, size;
    MDB_val key, value;

    read_at(parked, 0, &key, &value);
    size = leaf_size(key.mv_size, value.mv_size);
    if (size > leaf / GUARD_SHARE || taken + size > leaf)
        return MDB_SUCCESS;
    parked->guarded = true;
    parked->room = leaf - taken - size;
    return mdb_cursor_put(cursor, &key, &value, 0);
}

static int take_guard(struct lmdb_parked *parked, MDB_cursor *cursor)
{
    MDB_val key, value;
    int error;

    read_at(parked, 0, &key, &value);
    parked->guarded = false;
    error = mdb_cursor_get(cursor, &key, NULL, MDB_SET);
    return error == MDB_SUCCESS ? mdb_cursor_del(cursor, 0) : error;
}

int lmdb_parked_before_put(struct lmdb_parked *parked, MDB_cursor *cursor, size_t key_size,
                           size_t value_size)
{
    int error = MDB_SUCCESS;

    parked->previous = parked->put;
    parked->put = leaf_size(key_size, value_size);
    if (parked->guarded && parked->put <= parked->room) {
        parked->room -= parked->put;
        return MDB_SUCCESS;
    }
    if (parked->guarded)
        error = take_guard(parked, cursor);
    parked->leaves = stat_of(cursor).ms_leaf_pages;
    return error;
}

/* A new leaf has the new record, and perhaps the one before. */
int lmdb_parked_after_put(struct lmdb_parked *parked, MDB_cursor *cursor)
{
    MDB_stat stat;

    if (parked->guarded)
        return MDB_SUCCESS;
    stat = stat_of(cursor);
    return stat.ms_leaf_pages == parked->leaves ? MDB_SUCCESS
                                                : place_guard(parked, cursor, stat.ms_psize);
}

void lmdb_parked_before_del(struct lmdb_parked *parked)
{
    parked->room = 0;
}
