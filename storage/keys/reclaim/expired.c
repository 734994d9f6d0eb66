#include "storage/keys/reclaim/expired.h"

#include "storage/bytes.h"
#include "storage/keys/garbage/discard.h"
#include "storage/keys/record/entry_record.h"
#include "storage/keys/index/key_index.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

enum { RETRY_MS = 1000 };

/* Removes the key of an expiry record, if it still has that expiry. If the key cannot be read,
 * the record stays until the next open. */
static void expire_key(struct keys *keys, struct dueq_slice key, struct dueq_slice value,
                       const struct keys_view *view)
{
    struct dueq_slice name = entry_record_expiring_name(key, value);
    struct keys_view before = {view->keys, view->database, EXPIRY_LONG_AGO};
    struct keys_entry *entry;
    struct kv_key record;
    enum dueq_status status;
    int64_t expires;

    kv_key_copy(&record, key);
    expires = bytes_read_time(record.bytes + 1);
    name = keys_keep(keys, name);
    status = key_index_find(&before, name, KEYS_NONE, &entry);
    if (status == DUEQ_OK && entry->expires == expires) {
        key_index_remove(keys, entry, true);
    } else if (status == DUEQ_OK || status == DUEQ_NOTFOUND) {
        kv_del(keys->kv, kv_key_slice(&record));
    } else {
        kv_key_follow(&record);
        keys->first_expiry[expiry_on_wall(expires)] = record;
    }
}

static bool logical_of(const struct keys *keys, uint64_t physical, unsigned *ret_number)
{
    for (unsigned i = 0; i < KEYS_DATABASES_MAX; i++)
        if (keys->databases[i].physical == physical) {
            *ret_number = i;
            return true;
        }
    return false;
}

/* Finds the earliest expiry record of that clock and sets next_expiry from it. True: it is due,
 * and the cursor is at it. A search that spends the budget leaves next_expiry unchanged; after
 * a failure the next one is in RETRY_MS. */
static bool find_expired(struct keys *keys, struct kv_cursor *at, bool wall,
                         struct dueq_time time, unsigned *budget)
{
    struct dueq_slice key;
    int64_t found;
    enum dueq_status status =
        kv_cursor_seek_within(at, kv_key_slice(&keys->first_expiry[wall]), budget);

    if (status == DUEQ_NOTFOUND && *budget == 0)
        return false;
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND) {
        keys->next_expiry[wall] =
            wall ? expiry_at(time.wall + RETRY_MS) : expiry_after(time, RETRY_MS);
        return false;
    }
    keys->next_expiry[wall] = DUEQ_NEVER;
    if (status != DUEQ_OK || *(const uint8_t *)kv_cursor_key(at).data != TABLE_EXPIRY)
        return false;
    key = kv_cursor_key(at);
    found = bytes_read_time((const uint8_t *)key.data + 1);
    if (expiry_on_wall(found) != wall)
        return false;
    kv_key_copy(&keys->first_expiry[wall], key);
    keys->next_expiry[wall] = found;
    return expiry_is_over(found, time);
}

/* Handles the earliest expiry record of that clock, if it is due. True: it was. */
static bool expire_first(struct keys *keys, bool wall, struct dueq_time time, unsigned *budget)
{
    struct kv_cursor *at = keys_take_cursor(keys);
    struct keys_view view = {.keys = keys, .time = time};
    struct dueq_slice key;
    bool due;

    if (at == NULL)
        return false;
    due = find_expired(keys, at, wall, time, budget);
    if (due) {
        key = kv_cursor_key(at);
        if (logical_of(keys, bytes_read_u64((const uint8_t *)key.data + 9), &view.database))
            expire_key(keys, key, kv_cursor_value(at), &view);
        else
            kv_del(keys->kv, kv_key_slice(&keys->first_expiry[wall]));
    }
    keys_give_cursor(keys);
    return due;
}

static void expire_on(struct keys *keys, bool wall, struct dueq_time time, unsigned *budget)
{
    while (*budget > 0 && expiry_is_over(keys->next_expiry[wall], time)) {
        --*budget;
        if (!expire_first(keys, wall, time, budget))
            break;
        *budget = discard_pay(keys, *budget);
    }
}

void expired_remove(struct keys *keys, struct dueq_time time, unsigned *budget)
{
    expire_on(keys, false, time, budget);
    expire_on(keys, true, time, budget);
}

static int64_t next_of(int64_t next_expiry, struct dueq_time time)
{
    int64_t left;

    if (next_expiry == DUEQ_NEVER)
        return DUEQ_NEVER;
    left = expiry_left(next_expiry, time);
    if (expiry_is_over(next_expiry, time))
        return 0;
    return left == DUEQ_NEVER ? DUEQ_NEVER : left + 1;
}

int64_t expired_next(const struct keys *keys, struct dueq_time time)
{
    int64_t a = next_of(keys->next_expiry[0], time), b = next_of(keys->next_expiry[1], time);

    return a < b ? a : b;
}
