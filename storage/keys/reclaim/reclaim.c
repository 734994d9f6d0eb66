#include "storage/keys/reclaim/reclaim.h"

#include "storage/bytes.h"
#include "storage/keys/reclaim/cut_eraser.h"
#include "storage/keys/garbage/discard.h"
#include "storage/keys/record/entry_record.h"
#include "storage/keys/garbage/erase.h"
#include "storage/keys/reclaim/expired.h"
#include "storage/keys/record/garbage_record.h"
#include "storage/keys/garbage/list_stub.h"
#include "storage/keys/state/unfinished.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

/* ---- a flushed database: each of its keys is deleted */

static void drop_index(struct keys *keys, struct dueq_slice key, struct dueq_slice name,
                       int64_t expires)
{
    struct kv_key index;

    kv_key_start(&index, TABLE_EXPIRY);
    kv_key_time(&index, expires);
    kv_key_u64(&index, bytes_read_u64((const uint8_t *)key.data + 1));
    name_hash_append(&index, name_hash_read((const uint8_t *)key.data + 9));
    if (name.size > 0)
        kv_key_name(&index, name, keys->seed);
    kv_del(keys->kv, kv_key_slice(&index));
}

/* `value` is valid only before the first change. */
static void erase_listed(struct keys *keys, struct dueq_slice key, struct dueq_slice value)
{
    struct entry_record record;

    if (!entry_record_read(key, value, &record))
        return;
    if (record.expires != DUEQ_NEVER)
        drop_index(keys, key, record.name, record.expires);
    if (!record.packed)
        discard_object(keys, record.type, record.object, record.count);
}

static enum dueq_status erase_database(struct keys *keys, uint64_t physical, unsigned *budget)
{
    struct kv_key prefix = object_key_prefix(TABLE_KEY, physical);
    struct kv_cursor *at = keys_take_cursor(keys);
    enum dueq_status status;

    if (at == NULL)
        return DUEQ_NOMEM;
    erase_begin(&keys->garbage_at, &prefix);
    while ((status = erase_seek(at, &keys->garbage_at, &prefix, budget)) == DUEQ_OK) {
        kv_key_copy(&keys->garbage_at, kv_cursor_key(at));
        erase_listed(keys, kv_key_slice(&keys->garbage_at), kv_cursor_value(at));
        kv_del(keys->kv, kv_key_slice(&keys->garbage_at));
        *budget -= *budget > 0;
        *budget = discard_pay(keys, *budget);
    }
    keys_give_cursor(keys);
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* ---- garbage records */

static enum dueq_status collect_one(struct keys *keys, const struct kv_key *record,
                                    unsigned *budget)
{
    uint64_t object = bytes_read_u64(record->bytes + 1);
    uint8_t kind = record->bytes[9];
    enum dueq_status status;

    if (!garbage_record_reads(kv_key_slice(record)))
        return DUEQ_CORRUPT;
    switch (kind) {
    case GARBAGE_HEAD:
    case GARBAGE_TAIL:
        return list_stub_erase(keys, record, budget);
    case GARBAGE_DATABASE:
        return erase_database(keys, object, budget);
    case GARBAGE_CUTS:
        return cut_eraser_run(keys, object, budget);
    default:
        status = erase_object(keys, kind, object, &keys->garbage_at, budget);
        return status == DUEQ_OK
                   ? erase_table(keys, TABLE_CUT, object, &keys->garbage_at, budget)
                   : status;
    }
}

/* Finds the first garbage record of an object that is not being built. */
static bool seek_garbage(struct keys *keys, struct kv_cursor *at, unsigned *budget)
{
    struct kv_key from = keys->garbage_first;
    enum dueq_status status;

    while ((status = kv_cursor_seek_within(at, kv_key_slice(&from), budget)) == DUEQ_OK) {
        const uint8_t *key = kv_cursor_key(at).data;

        if (key[0] != TABLE_RECLAIM)
            return false;
        if (!garbage_record_reads(kv_cursor_key(at)) ||
            !unfinished_builds(keys, bytes_read_u64(key + 1)))
            return true;
        kv_key_copy(&from, kv_cursor_key(at)); /* the last kind of an id is 255 */
        kv_key_follow(&from);
    }
    keys->garbage_stays |= status != DUEQ_NOTFOUND;
    return false;
}

/* Finds the first garbage record, unless one is in work. That one is finished first, even if a
 * record before it was added: coming back to it later would pass all that is erased already. */
static bool choose_garbage(struct keys *keys, unsigned *budget)
{
    struct kv_cursor *at;
    bool found;

    if (keys->garbage_now.size > 0)
        return true;
    at = keys_take_cursor(keys);
    if (at == NULL)
        return false;
    found = seek_garbage(keys, at, budget);
    keys->garbage = found || *budget == 0;
    if (found) {
        kv_key_copy(&keys->garbage_first, kv_cursor_key(at));
        keys->garbage_now = keys->garbage_first;
        keys->garbage_at.size = 0;
    }
    keys_give_cursor(keys);
    return found;
}

/* The record stays until the next open, so that ticks do not try it without end. */
static void leave_garbage(struct keys *keys)
{
    keys->garbage_first = keys->garbage_now;
    kv_key_follow(&keys->garbage_first);
    keys->garbage_stays = true;
}

static unsigned collect_garbage(struct keys *keys, unsigned budget)
{
    while (budget > 0 && choose_garbage(keys, &budget)) {
        enum dueq_status status = collect_one(keys, &keys->garbage_now, &budget);

        if (status == DUEQ_BUSY)
            return 0;
        if (status == DUEQ_OK)
            kv_del(keys->kv, kv_key_slice(&keys->garbage_now));
        else
            leave_garbage(keys);
        keys->garbage_now.size = 0;
    }
    return budget;
}

/* ---- both */

/* Erasing fills a memtable with tombstones; it is not urgent. */
static bool may_collect(const struct keys *keys)
{
    return keys->garbage && !kv_is_behind(keys->kv);
}

void reclaim_tick(struct keys *keys, struct dueq_time time, unsigned *budget)
{
    keys->erased = 0;
    expired_remove(keys, time, budget);
    if (*budget > 0 && may_collect(keys))
        *budget = collect_garbage(keys, *budget);
}

int64_t reclaim_next_tick(const struct keys *keys, struct dueq_time time)
{
    return may_collect(keys) ? 0 : expired_next(keys, time);
}
