#include "storage/keys/index/reclaim.h"

#include "storage/bytes.h"
#include "storage/keys/index/cuts.h"
#include "storage/keys/index/entry_record.h"
#include "storage/keys/index/key_index.h"
#include "storage/keys/index/unfinished.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

enum { RETRY_MS = 1000 };

/* ---- one object */

struct kv_key reclaim_record(uint64_t object, uint8_t kind)
{
    struct kv_key key = object_key_prefix(TABLE_RECLAIM, object);

    kv_key_u8(&key, kind);
    return key;
}

static void copy_key(struct kv_key *to, struct dueq_slice key)
{
    memcpy(to->bytes, key.data, key.size);
    to->size = (uint16_t)key.size;
}

/* `resume` is the position among the records of an object or database, so that the next slice
 * does not pass the records that this one deleted. It starts at the prefix, unless it is
 * already within. */
static void begin_at(struct kv_key *resume, const struct kv_key *prefix)
{
    if (resume->size < prefix->size || memcmp(resume->bytes, prefix->bytes, prefix->size) != 0)
        *resume = *prefix;
}

/* Moves to the first record from `resume` on that has the prefix, and subtracts the cost from
 * *budget. DUEQ_NOTFOUND: there is none; DUEQ_BUSY: the budget is spent. */
static enum dueq_status seek_prefix(struct kv_cursor *at, const struct kv_key *resume,
                                    const struct kv_key *prefix, unsigned *budget)
{
    enum dueq_status status = DUEQ_NOTFOUND;

    if (*budget > 0)
        status = kv_cursor_seek_within(at, kv_key_slice(resume), budget);
    if (status == DUEQ_OK && !kv_key_begins(kv_cursor_key(at), prefix))
        return DUEQ_NOTFOUND;
    return status == DUEQ_NOTFOUND && *budget == 0 ? DUEQ_BUSY : status;
}

/* The functions that erase spend one step of the budget for each record. DUEQ_OK: no record is
 * left; DUEQ_BUSY: the budget is spent, and there may be more. */

/* Deletes the records that have the prefix. */
static enum dueq_status erase_prefix(struct keys *keys, const struct kv_key *prefix,
                                     struct kv_key *resume, unsigned *budget)
{
    struct kv_cursor *at = keys_take_cursor(keys);
    enum dueq_status status;

    if (at == NULL)
        return DUEQ_NOMEM;
    begin_at(resume, prefix);
    while ((status = seek_prefix(at, resume, prefix, budget)) == DUEQ_OK) {
        copy_key(resume, kv_cursor_key(at));
        kv_del(keys->kv, kv_key_slice(resume));
        *budget -= *budget > 0;
    }
    keys_give_cursor(keys);
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* An object's tables are in ascending order: those before the position are empty. */
static enum dueq_status erase_table(struct keys *keys, uint8_t table, uint64_t object,
                                    struct kv_key *resume, unsigned *budget)
{
    struct kv_key prefix = object_key_prefix(table, object);

    if (resume->size > 0 && resume->bytes[0] > table)
        return DUEQ_OK;
    return erase_prefix(keys, &prefix, resume, budget);
}

static enum dueq_status erase_object(struct keys *keys, enum keys_type type, uint64_t object,
                                     struct kv_key *resume, unsigned *budget)
{
    enum dueq_status status = DUEQ_OK;

    for (const uint8_t *table = object_key_tables(type); *table != 0 && status == DUEQ_OK;
         table++)
        status = erase_table(keys, *table, object, resume, budget);
    return status;
}

/* ---- garbage records */

static void put_garbage(struct keys *keys, const struct kv_key *record, struct dueq_slice value,
                        bool absent)
{
    kv_put(keys->kv, kv_key_slice(record), value, absent);
    keys_lower_bound(&keys->garbage_first, record);
    keys->garbage = true;
}

static void add_garbage(struct keys *keys, uint64_t object, uint8_t kind)
{
    struct kv_key record = reclaim_record(object, kind);

    put_garbage(keys, &record, dueq_slice(NULL, 0), true);
}

void reclaim_later(struct keys *keys, uint64_t object, enum keys_type type)
{
    add_garbage(keys, object, (uint8_t)type);
}

void reclaim_passed(struct keys *keys, uint64_t object, enum keys_type type)
{
    struct kv_key record = reclaim_record(object, (uint8_t)type);

    keys_lower_bound(&keys->garbage_first, &record);
    keys->garbage = true;
}

/* ---- elements cut off the ends of a list */

/* Indexes from `first` to before `end`. */
struct stub {
    int64_t first, end;
};

static struct kv_key stub_key(uint64_t object, enum list_end end)
{
    return reclaim_record(object, end == LIST_HEAD ? GARBAGE_HEAD : GARBAGE_TAIL);
}

/* DUEQ_NOTFOUND: no elements are cut off at that end. */
static enum dueq_status read_stub(struct keys *keys, const struct kv_key *record,
                                  struct stub *ret_stub)
{
    struct dueq_slice value;
    enum dueq_status status = DUEQ_NOTFOUND;

    if (keys->garbage || keys->garbage_stays)
        status = kv_get(keys->kv, kv_key_slice(record), &value);
    if (status != DUEQ_OK)
        return status;
    if (value.size != 16)
        return DUEQ_CORRUPT;
    ret_stub->first = (int64_t)bytes_read_u64(value.data);
    ret_stub->end = (int64_t)bytes_read_u64((const uint8_t *)value.data + 8);
    return DUEQ_OK;
}

static void write_stub(struct keys *keys, const struct kv_key *record, const struct stub *stub)
{
    uint8_t value[16];

    if (stub->first == stub->end) {
        kv_del(keys->kv, kv_key_slice(record));
        return;
    }
    bytes_write_u64(value, (uint64_t)stub->first);
    bytes_write_u64(value + 8, (uint64_t)stub->end);
    put_garbage(keys, record, dueq_slice(value, sizeof(value)), false);
}

/* Erases elements and takes them out of *stub. Returns what is left of the budget. */
static unsigned erase_stub(struct keys *keys, uint64_t object, struct stub *stub,
                           unsigned budget)
{
    for (; stub->first < stub->end && budget > 0; stub->first++, budget--) {
        struct kv_key key = object_key_element(object, stub->first);

        kv_del(keys->kv, kv_key_slice(&key));
    }
    return budget;
}

/* Elements that were cut off at that end before, and are not erased yet, are adjacent: one
 * record covers both. A record that cannot be read is overwritten; its elements are erased
 * together with the list. */
void reclaim_elements(struct keys *keys, uint64_t object, enum list_end end, int64_t first,
                      uint64_t count)
{
    struct stub stub = {first, first + (int64_t)count}, before;
    struct kv_key record = stub_key(object, end);

    if (count <= KEYS_SMALL) {
        erase_stub(keys, object, &stub, KEYS_SMALL);
        return;
    }
    if (read_stub(keys, &record, &before) == DUEQ_OK) {
        if (end == LIST_HEAD)
            stub.first = before.first;
        else
            stub.end = before.end;
    }
    write_stub(keys, &record, &stub);
}

enum dueq_status reclaim_take_back(struct keys *keys, uint64_t object, enum list_end end,
                                   int64_t index, bool *ret_taken)
{
    struct kv_key record = stub_key(object, end);
    struct stub stub;
    enum dueq_status status = read_stub(keys, &record, &stub);

    *ret_taken = status == DUEQ_OK && index >= stub.first && index < stub.end;
    if (!*ret_taken)
        return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
    if (end == LIST_HEAD)
        stub.end = index;
    else
        stub.first = index + 1;
    write_stub(keys, &record, &stub);
    return DUEQ_OK;
}

/* Call it when the whole list is deleted. True: it has more records than elements. */
static bool drop_ends(struct keys *keys, uint64_t object)
{
    bool any = false;

    for (enum list_end end = LIST_HEAD; end <= LIST_TAIL; end++) {
        struct kv_key record = stub_key(object, end);
        struct stub stub;

        if (read_stub(keys, &record, &stub) == DUEQ_NOTFOUND)
            continue;
        kv_del(keys->kv, kv_key_slice(&record));
        any = true;
    }
    return any;
}

/* The same for a set or sorted set: its cuts are erased with the object. */
static bool drop_cuts(struct keys *keys, uint64_t object)
{
    struct kv_key record = reclaim_record(object, GARBAGE_CUTS);
    struct dueq_slice value;

    if ((!keys->garbage && !keys->garbage_stays) ||
        kv_get(keys->kv, kv_key_slice(&record), &value) == DUEQ_NOTFOUND)
        return false;
    kv_del(keys->kv, kv_key_slice(&record));
    return true;
}

static bool has_more_records(struct keys *keys, enum keys_type type, uint64_t object)
{
    if (type == KEYS_LIST)
        return drop_ends(keys, object);
    return (type == KEYS_SET || type == KEYS_ZSET) && drop_cuts(keys, object);
}

/* ---- deleted objects */

enum { ERASE_MOST = KEYS_SMALL * 2 + 1 }; /* a sorted set has two records an element */

void reclaim_object(struct keys *keys, enum keys_type type, uint64_t object, uint64_t count)
{
    struct kv_key at = {.size = 0};

    if (has_more_records(keys, type, object))
        count = UINT64_MAX;
    if (count == 0)
        return;
    if (type == KEYS_STRING) {
        at = object_key_prefix(TABLE_STRING, object);
        kv_del(keys->kv, kv_key_slice(&at));
        return;
    }
    if (count <= KEYS_SMALL) {
        unsigned left = ERASE_MOST;
        enum dueq_status status = erase_object(keys, type, object, &at, &left);

        keys->erased += ERASE_MOST - left;
        if (status == DUEQ_OK)
            return; /* otherwise there may be more: the search stopped among deleted records */
    }
    add_garbage(keys, object, (uint8_t)type);
}

/* Subtracts what was erased together with a key from the budget of a tick. */
static unsigned pay_for_erased(struct keys *keys, unsigned budget)
{
    unsigned erased = keys->erased;

    keys->erased = 0;
    return erased < budget ? budget - erased : 0;
}

void reclaim_database(struct keys *keys, uint64_t physical)
{
    add_garbage(keys, physical, GARBAGE_DATABASE);
}

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
        reclaim_object(keys, record.type, record.object, record.count);
}

static enum dueq_status erase_database(struct keys *keys, uint64_t physical, unsigned *budget)
{
    struct kv_key prefix = object_key_prefix(TABLE_KEY, physical);
    struct kv_cursor *at = keys_take_cursor(keys);
    enum dueq_status status;

    if (at == NULL)
        return DUEQ_NOMEM;
    begin_at(&keys->garbage_at, &prefix);
    while ((status = seek_prefix(at, &keys->garbage_at, &prefix, budget)) == DUEQ_OK) {
        copy_key(&keys->garbage_at, kv_cursor_key(at));
        erase_listed(keys, kv_key_slice(&keys->garbage_at), kv_cursor_value(at));
        kv_del(keys->kv, kv_key_slice(&keys->garbage_at));
        *budget -= *budget > 0;
        *budget = pay_for_erased(keys, *budget);
    }
    keys_give_cursor(keys);
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static enum dueq_status collect_stub(struct keys *keys, const struct kv_key *record,
                                     unsigned *budget)
{
    struct stub stub;
    enum dueq_status status = read_stub(keys, record, &stub);

    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
    *budget = erase_stub(keys, bytes_read_u64(record->bytes + 1), &stub, *budget);
    write_stub(keys, record, &stub);
    return stub.first < stub.end ? DUEQ_BUSY : DUEQ_OK;
}

static enum dueq_status collect_one(struct keys *keys, const struct kv_key *record,
                                    unsigned *budget)
{
    uint64_t object = bytes_read_u64(record->bytes + 1);
    uint8_t kind = record->bytes[9];
    enum dueq_status status;

    switch (kind) {
    case GARBAGE_HEAD:
    case GARBAGE_TAIL:
        return collect_stub(keys, record, budget);
    case GARBAGE_DATABASE:
        return erase_database(keys, object, budget);
    case GARBAGE_CUTS:
        return cuts_erase(keys, object, budget);
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
        if (!unfinished_builds(keys, bytes_read_u64(key + 1)))
            return true;
        from = reclaim_record(bytes_read_u64(key + 1), (uint8_t)(key[9] + 1));
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
        copy_key(&keys->garbage_first, kv_cursor_key(at));
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

/* ---- keys whose expiry has passed */

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

    copy_key(&record, key);
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
    copy_key(&keys->first_expiry[wall], key);
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

static void expire_due(struct keys *keys, bool wall, struct dueq_time time, unsigned *budget)
{
    while (*budget > 0 && expiry_is_over(keys->next_expiry[wall], time)) {
        --*budget;
        if (!expire_first(keys, wall, time, budget))
            break;
        *budget = pay_for_erased(keys, *budget);
    }
}

void reclaim_tick(struct keys *keys, struct dueq_time time, unsigned *budget)
{
    keys->erased = 0;
    expire_due(keys, false, time, budget);
    expire_due(keys, true, time, budget);
    if (*budget > 0 && keys->garbage)
        *budget = collect_garbage(keys, *budget);
}

static int64_t next_tick_of(int64_t next_expiry, struct dueq_time time)
{
    int64_t left;

    if (next_expiry == DUEQ_NEVER)
        return DUEQ_NEVER;
    left = expiry_left(next_expiry, time);
    if (expiry_is_over(next_expiry, time))
        return 0;
    return left == DUEQ_NEVER ? DUEQ_NEVER : left + 1;
}

int64_t reclaim_next_tick(const struct keys *keys, struct dueq_time time)
{
    int64_t a = next_tick_of(keys->next_expiry[0], time),
            b = next_tick_of(keys->next_expiry[1], time);

    if (keys->garbage)
        return 0;
    return a < b ? a : b;
}
