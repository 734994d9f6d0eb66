/* The self-check of the keys: what each record says of another is true. For dueq_verify. It
 * reads records, not open entries: all changes are committed. */
#include "storage/bytes.h"
#include "storage/keys/garbage/cuts.h"
#include "storage/keys/index/databases.h"
#include "storage/keys/index/member.h"
#include "storage/keys/keys.h"
#include "storage/keys/record/entry_record.h"
#include "storage/keys/record/garbage_record.h"
#include "storage/keys/record/zset_order.h"
#include "storage/kv/kv.h"
#include "storage/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct audit {
    struct keys *keys;
    struct findings *findings;
    struct {
        uint64_t keys, expiring;
    } found[KEYS_DATABASES_MAX];
    struct id_list objects; /* of the entries */
    bool unreadable;        /* so that nothing is known of the counts */
    /* The key that is looked at: */
    struct keys_entry *entry;
    struct entry_record record;
    unsigned database;
    struct cuts cuts;
    uint64_t elements, ordered;
};

static void blame(struct audit *audit, bool sound, const char *what)
{
    char name[FINDINGS_QUOTED_MAX];

    if (!sound)
        findings_add(audit->findings, what, "database %u, key %s", audit->database,
                     findings_quote(name, keys_entry_name(audit->entry)));
}

static void blame_member(struct audit *audit, bool sound, const char *what,
                         struct dueq_slice member)
{
    char name[FINDINGS_QUOTED_MAX], text[FINDINGS_QUOTED_MAX];

    if (!sound)
        findings_add(audit->findings, what, "database %u, key %s, member %s", audit->database,
                     findings_quote(name, keys_entry_name(audit->entry)),
                     findings_quote(text, member));
}

static void add_object(struct audit *audit, uint64_t object)
{
    if (!id_list_add(&audit->objects, object))
        findings_stop(audit->findings, DUEQ_NOMEM);
}

/* Calls fn for each record of the entry's object in that table. */
static void walk_object(struct audit *audit, uint8_t table, findings_fn fn)
{
    struct kv_key prefix = object_key_prefix(table, audit->entry->object);

    if (!findings_walk(audit->findings, audit->keys->kv, &prefix, fn, audit))
        audit->unreadable = true;
}

static bool has_garbage(struct audit *audit, uint64_t id, uint8_t kind,
                        struct dueq_slice *ret_value)
{
    struct kv_key record = garbage_record_key(id, kind);

    return kv_get(audit->keys->kv, kv_key_slice(&record), ret_value) == DUEQ_OK;
}

/* ---- packed values */

static bool next_element(enum keys_type type, struct dueq_slice cells, size_t *at,
                         struct dueq_slice *ret_name, struct dueq_slice *ret_value)
{
    if (type == KEYS_LIST)
        return packed_next(cells, at, ret_name);
    return member_next_packed(type, cells, at, ret_name, ret_value);
}

/* No command makes NaN a score: nothing finds its place in an order. */
static bool is_score(struct dueq_slice value)
{
    return value.size == 8 && !isnan(zset_order_read_score(value));
}

static void audit_packed(struct audit *audit)
{
    struct dueq_slice cells = audit->record.value, name, value = dueq_slice(NULL, 0);
    enum keys_type type = audit->record.type;
    uint64_t count = 0;
    size_t at = 0;

    if (type == KEYS_STRING) {
        blame(audit, audit->record.encoding != KEYS_INT || packed_is_integer(cells),
              "a string that should be a number is none");
        return;
    }
    while (next_element(type, cells, &at, &name, &value)) {
        count++;
        blame_member(audit, type != KEYS_ZSET || is_score(value), "a score does not read",
                     name);
    }
    blame(audit, at == cells.size, "a packed value does not read");
    blame(audit, count == audit->record.count, "the size of the value is wrong");
}

/* ---- hashes, sets and sorted sets with records of their own */

/* Is the record at the cursor deleted by a cut? */
static bool is_cut(struct audit *audit, struct dueq_slice key, struct dueq_slice value)
{
    enum dueq_status status = member_check_cut(&audit->cuts, audit->entry, key, value);

    if (status != DUEQ_OK && status != DUEQ_NOTFOUND) {
        audit->unreadable = true;
        blame(audit, false, "a deleted range of the value does not read");
    }
    return status == DUEQ_OK && audit->cuts.gone;
}

static void audit_order_of(struct audit *audit, struct dueq_slice name, struct dueq_slice value)
{
    struct kv_key order;
    struct dueq_slice found;

    if (!is_score(value)) {
        blame_member(audit, false, "a score does not read", name);
        return;
    }
    order = zset_order_key(audit->keys, audit->entry, zset_order_read_score(value), name);
    blame_member(audit, kv_get(audit->keys->kv, kv_key_slice(&order), &found) == DUEQ_OK,
                 "a member is not in the order by scores", name);
}

static bool at_member(void *arg, struct dueq_slice key, struct dueq_slice record)
{
    struct audit *audit = arg;
    struct dueq_slice name, value;

    if (!member_is_sound(audit->keys, audit->entry, key, record)) {
        blame(audit, false, "a member does not read");
        return true;
    }
    if (is_cut(audit, key, record))
        return true;
    audit->elements++;
    if (member_read(audit->record.type, key, record, &name, &value) &&
        audit->record.type == KEYS_ZSET)
        audit_order_of(audit, name, value);
    return true;
}

static bool at_order(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;

    if (key.size < ZSET_ORDER_KEY_FIXED)
        blame(audit, false, "an entry of the order by scores does not read");
    else
        audit->ordered += !is_cut(audit, key, value);
    return true;
}

static void audit_members(struct audit *audit)
{
    cuts_begin(&audit->cuts, audit->keys, audit->entry);
    walk_object(audit, TABLE_MEMBER, at_member);
    if (audit->record.type == KEYS_ZSET) {
        walk_object(audit, TABLE_ORDER, at_order);
        blame(audit, audit->ordered == audit->elements,
              "the order by scores has an entry too many");
    }
    blame(audit, audit->elements == audit->record.count, "the size of the value is wrong");
}

/* ---- lists and strings with records of their own */

/* More indexes than any list gives to elements before ticks erase some of them. */
#define RANGE_MOST ((uint64_t)1 << 40)

/* Indexes from `first` to before `end`, which ticks will erase. */
struct range {
    int64_t first, end;
};

static bool read_range(struct dueq_slice value, struct range *ret_range)
{
    if (value.size != 16)
        return false;
    ret_range->first = (int64_t)bytes_read_u64(value.data);
    ret_range->end = (int64_t)bytes_read_u64((const uint8_t *)value.data + 8);
    return ret_range->first < ret_range->end;
}

static bool is_endless(const struct range *range)
{
    return (uint64_t)range->end - (uint64_t)range->first > RANGE_MOST;
}

/* Of the list, at that end of it. */
static bool find_range(struct audit *audit, uint8_t kind, struct range *ret_range)
{
    struct dueq_slice value;

    return has_garbage(audit, audit->entry->object, kind, &value) &&
           read_range(value, ret_range);
}

static bool in_range(struct audit *audit, uint8_t kind, int64_t index)
{
    struct range range;

    return find_range(audit, kind, &range) && index >= range.first && index < range.end;
}

/* What is to be erased lies before the first element, or after the last. */
static void audit_ranges(struct audit *audit)
{
    int64_t head = audit->record.head, end = head + (int64_t)audit->record.count;
    struct range range;

    blame(audit,
          (!find_range(audit, GARBAGE_HEAD, &range) || range.end <= head) &&
              (!find_range(audit, GARBAGE_TAIL, &range) || range.first >= end),
          "elements of the list are to be erased");
}

static bool at_element(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    int64_t index;
    uint64_t place;

    (void)value;
    if (key.size != 1 + 8 + 8) {
        blame(audit, false, "an element of the list does not read");
        return true;
    }
    index = bytes_read_time((const uint8_t *)key.data + 9);
    place = (uint64_t)index - (uint64_t)audit->record.head;
    if (place < audit->record.count)
        audit->elements++;
    else
        blame(audit,
              in_range(audit, GARBAGE_HEAD, index) || in_range(audit, GARBAGE_TAIL, index),
              "an element is outside of the list");
    return true;
}

static bool at_string(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;

    (void)value;
    audit->elements += key.size == 1 + 8;
    return true;
}

static void audit_records(struct audit *audit)
{
    add_object(audit, audit->record.object);
    blame(audit, audit->record.object < audit->keys->next_object,
          "the number of the value comes from the future");
    switch (audit->record.type) {
    case KEYS_STRING:
        walk_object(audit, TABLE_STRING, at_string);
        blame(audit, audit->elements == 1, "the value is missing");
        return;
    case KEYS_LIST:
        walk_object(audit, TABLE_ELEMENT, at_element);
        blame(audit, audit->elements == audit->record.count, "the size of the list is wrong");
        audit_ranges(audit);
        return;
    default:
        audit_members(audit);
    }
}

/* ---- each key */

static void audit_expiry(struct audit *audit)
{
    struct kv_key expiry;
    struct dueq_slice value;

    if (audit->record.expires == DUEQ_NEVER)
        return;
    audit->found[audit->database].expiring++;
    entry_record_expiry_key(audit->keys, audit->entry, &expiry);
    blame(audit, kv_get(audit->keys->kv, kv_key_slice(&expiry), &value) == DUEQ_OK,
          "a key that expires is not among those that do");
}

static void audit_key(struct audit *audit, struct dueq_slice key)
{
    struct kv_key own;

    audit->elements = audit->ordered = 0;
    entry_record_own_key(audit->keys, audit->entry, &own);
    blame(audit, dueq_slice_equal(kv_key_slice(&own), key), "a key is not where its name says");
    audit_expiry(audit);
    if (audit->record.packed)
        audit_packed(audit);
    else
        audit_records(audit);
}

static bool at_key(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    uint64_t physical = bytes_read_u64((const uint8_t *)key.data + 1);

    if (!entry_record_read(key, value, &audit->record)) {
        audit->unreadable = true;
        findings_add(audit->findings, "a key does not read", "database %u", audit->database);
        return true;
    }
    audit->found[audit->database].keys++;
    audit->entry = entry_record_open(audit->keys, physical, &audit->record);
    if (audit->entry == NULL) {
        findings_stop(audit->findings, DUEQ_NOMEM);
        return false;
    }
    audit_key(audit, key);
    free(audit->entry);
    return true;
}

static void audit_database(struct audit *audit, unsigned number)
{
    const struct keys_database *database = &audit->keys->databases[number];
    struct kv_key prefix;

    audit->database = number;
    kv_key_start(&prefix, TABLE_KEY);
    kv_key_u64(&prefix, database->physical);
    if (!findings_walk(audit->findings, audit->keys->kv, &prefix, at_key, audit))
        audit->unreadable = true;
}

/* ---- expiries */

static bool expires_then(struct audit *audit, uint64_t physical, struct dueq_slice name,
                         int64_t expires)
{
    struct entry_record record;
    struct dueq_slice value;
    struct kv_key key;

    entry_record_key(audit->keys, physical, name, name_hash(audit->keys, name), &key);
    return kv_get(audit->keys->kv, kv_key_slice(&key), &value) == DUEQ_OK &&
           entry_record_read(kv_key_slice(&key), value, &record) && record.expires == expires;
}

static bool at_expiry(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    const uint8_t *bytes = key.data;
    char text[FINDINGS_QUOTED_MAX];
    struct dueq_slice name;
    uint64_t physical;

    if (key.size < ENTRY_RECORD_EXPIRY_FIXED) {
        findings_add(audit->findings, "an expiry does not read", "table e");
        return true;
    }
    physical = bytes_read_u64(bytes + 9);
    name = entry_record_expiring_name(key, value);
    if (databases_find(audit->keys, physical) != NULL &&
        !expires_then(audit, physical, name, bytes_read_time(bytes + 1)))
        findings_add(audit->findings, "no such key expires then", "key %s",
                     findings_quote(text, name));
    return true;
}

/* ---- what belongs to no key */

static size_t object_head(struct dueq_slice key)
{
    return key.size < 9 ? key.size : 9;
}

/* Ticks erase what was deleted, and what was being built when the process ended. */
static bool is_garbage(struct audit *audit, uint64_t object)
{
    struct dueq_slice value;

    for (int type = KEYS_STRING; type <= KEYS_HASH; type++)
        if (has_garbage(audit, object, (uint8_t)type, &value))
            return true;
    return false;
}

static bool at_object(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    const uint8_t *bytes = key.data;
    uint64_t object = key.size < 9 ? 0 : bytes_read_u64(bytes + 1);

    (void)value;
    if (!id_list_has(&audit->objects, object) && !is_garbage(audit, object))
        findings_add(audit->findings, "records belong to no key",
                     "table %c, value number %" PRIu64, bytes[0], object);
    return true;
}

/* The values of a flushed database are still those of its keys. */
static bool at_flushed(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    struct entry_record record;

    if (!entry_record_read(key, value, &record))
        findings_add(audit->findings, "a key does not read", "a flushed database");
    else if (!record.packed)
        add_object(audit, record.object);
    return true;
}

static bool at_physical(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    uint64_t physical = key.size < 9 ? 0 : bytes_read_u64((const uint8_t *)key.data + 1);
    struct kv_key prefix;

    if (databases_find(audit->keys, physical) != NULL)
        return true;
    if (!has_garbage(audit, physical, GARBAGE_DATABASE, &value)) {
        findings_add(audit->findings, "keys belong to no database",
                     "physical database %" PRIu64, physical);
        return true;
    }
    kv_key_start(&prefix, TABLE_KEY);
    kv_key_u64(&prefix, physical);
    return findings_walk(audit->findings, audit->keys->kv, &prefix, at_flushed, audit);
}

static void audit_flushed(struct audit *audit)
{
    struct kv_key prefix;

    kv_key_start(&prefix, TABLE_KEY);
    findings_walk_heads(audit->findings, audit->keys->kv, &prefix, object_head, at_physical,
                        audit);
}

static bool at_garbage(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    const uint8_t *bytes = key.data;
    bool reads = garbage_record_reads(key);
    uint8_t kind = reads ? bytes[9] : 0;
    uint64_t id = reads ? bytes_read_u64(bytes + 1) : 0;
    bool is_range = kind == GARBAGE_HEAD || kind == GARBAGE_TAIL;
    struct range range;

    if (!reads || (is_range && !read_range(value, &range)))
        findings_add(audit->findings, "what is to be erased does not read", "table g");
    else if (is_range && is_endless(&range))
        findings_add(audit->findings, "more elements are to be erased than a list can have",
                     "value number %" PRIu64, id);
    else if (kind <= KEYS_HASH && id_list_has(&audit->objects, id))
        findings_add(audit->findings, "the value of a key is to be erased",
                     "value number %" PRIu64, id);
    else if (kind == GARBAGE_DATABASE && databases_find(audit->keys, id) != NULL)
        findings_add(audit->findings, "a database in use is to be erased",
                     "physical database %" PRIu64, id);
    return true;
}

static void find_orphans(struct audit *audit)
{
    static const uint8_t tables[] = {TABLE_STRING, TABLE_MEMBER, TABLE_ORDER, TABLE_ELEMENT,
                                     TABLE_CUT};
    uint64_t twice = id_list_sort(&audit->objects);
    struct kv_key prefix;

    if (twice != 0)
        findings_add(audit->findings, "two keys have the same value", "value number %" PRIu64,
                     twice);
    for (size_t i = 0; i < sizeof(tables); i++) {
        kv_key_start(&prefix, tables[i]);
        findings_walk_heads(audit->findings, audit->keys->kv, &prefix, object_head, at_object,
                            audit);
    }
    kv_key_start(&prefix, TABLE_RECLAIM);
    findings_walk(audit->findings, audit->keys->kv, &prefix, at_garbage, audit);
}

/* ---- all of them */

static void compare_counts(struct audit *audit)
{
    for (unsigned i = 0; i < KEYS_DATABASES_MAX; i++) {
        const struct keys_database *database = &audit->keys->databases[i];

        if (audit->found[i].keys != database->count)
            findings_add(audit->findings, "the number of keys is wrong", "database %u", i);
        if (audit->found[i].expiring != database->expiring)
            findings_add(audit->findings, "the number of keys that expire is wrong",
                         "database %u", i);
    }
}

void keys_verify(struct keys *keys, struct findings *findings)
{
    struct audit audit = {.keys = keys, .findings = findings};
    struct kv_key expiries;

    for (unsigned i = 0; i < KEYS_DATABASES_MAX && !findings->stopped; i++)
        audit_database(&audit, i);
    kv_key_start(&expiries, TABLE_EXPIRY);
    findings_walk(findings, keys->kv, &expiries, at_expiry, &audit);
    if (!audit.unreadable && !findings->stopped) {
        compare_counts(&audit);
        audit_flushed(&audit);
        find_orphans(&audit);
    }
    id_list_release(&audit.objects);
}
