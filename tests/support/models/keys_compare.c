#include "storage/kv/cursor.h"
#include "storage/store.h"
#include "tests/support/models/keys_compare.h"

#include "storage/kv/kv.h"
#include "storage/keys/hash.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/string.h"
#include "storage/keys/zset/zset.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

/* The state of an iteration over a key's elements. */
struct comparison {
    const struct model_key *key;
    uint64_t seen;
    struct zset_entry last; /* of a sorted set; the member is one of model_text */
    int last_member;        /* of a set or hash */
};

/* ---- elements */

static bool compare_string(const struct keys_view *view, int name, const struct model_key *key)
{
    struct dueq_slice value;

    assert_int_equal(string_get(view, model_text(name), &value), DUEQ_OK);
    return dueq_slice_equal(value, model_text(key->slots[0]));
}

static bool compare_element(void *arg, struct dueq_slice element, struct dueq_slice unused)
{
    struct comparison *comparison = arg;

    (void)unused;
    assert_true(comparison->seen < comparison->key->count);
    assert_int_equal(model_number(element), comparison->key->slots[comparison->seen]);
    comparison->seen++;
    return true;
}

static int member_of(const struct comparison *comparison, struct dueq_slice text)
{
    int member = model_number(text);

    assert_true(member >= 0);
    assert_true(comparison->key->slots[member] >= 0);
    return member;
}

static long long integer_of(int member)
{
    char text[32] = "";
    struct dueq_slice slice = model_text(member);

    memcpy(text, slice.data, slice.size);
    return strtoll(text, NULL, 10);
}

/* A small hash has its fields in order of insertion, a set of integers has them in order of the
 * numbers. */
static void compare_place(const struct comparison *comparison, int member)
{
    const struct model_key *key = comparison->key;

    if (comparison->seen > 0 && key->encoding == KEYS_LISTPACK)
        assert_true(key->serials[member] > key->serials[comparison->last_member]);
    if (comparison->seen > 0 && key->encoding == KEYS_INTSET)
        assert_true(integer_of(member) > integer_of(comparison->last_member));
}

static bool compare_member(void *arg, struct dueq_slice text, struct dueq_slice value)
{
    struct comparison *comparison = arg;
    int member = member_of(comparison, text);

    /* A set's value is empty, which is text 0. */
    assert_int_equal(model_number(value), comparison->key->slots[member]);
    compare_place(comparison, member);
    comparison->last_member = member;
    comparison->seen++;
    return true;
}

static bool compare_entry(void *arg, const struct zset_entry *entry)
{
    struct comparison *comparison = arg;
    struct zset_entry *last = &comparison->last;
    int member = member_of(comparison, entry->member);

    assert_true(entry->score == model_score(comparison->key->slots[member]));
    if (comparison->seen++ > 0) {
        assert_true(entry->score >= last->score);
        assert_true(entry->score > last->score ||
                    dueq_slice_compare(entry->member, last->member) > 0);
    }
    *last = (struct zset_entry){model_text(member), entry->score};
    return true;
}

static enum dueq_status iterate(const struct keys_view *view, struct dueq_slice name,
                                struct comparison *comparison)
{
    static const struct zset_range all = {{.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, false};

    switch (comparison->key->type) {
    case KEYS_LIST:
        return list_each(view, name, 0, LIST_TAIL, compare_element, comparison);
    case KEYS_SET:
        return set_each(view, name, compare_member, comparison);
    case KEYS_HASH:
        return hash_each(view, name, compare_member, comparison);
    default:
        return zset_each(view, name, &all, compare_entry, comparison);
    }
}

/* ---- keys */

static uint64_t size_of(const struct model_key *key)
{
    return key->type == KEYS_STRING ? model_text(key->slots[0]).size : key->count;
}

void compare_key(const struct keys_view *view, int name, const struct model_key *key)
{
    struct comparison comparison = {.key = key};
    struct keys_info info;
    enum dueq_status status = keys_info(view, model_text(name), &info);

    assert_int_equal(status, key->type == KEYS_NONE ? DUEQ_NOTFOUND : DUEQ_OK);
    if (status != DUEQ_OK)
        return;
    assert_int_equal(info.type, key->type);
    assert_int_equal(info.count, size_of(key));
    assert_int_equal(info.expires, key->expires);
    assert_string_equal(keys_encoding_name(info.encoding), keys_encoding_name(key->encoding));
    if (key->type == KEYS_STRING) {
        assert_true(compare_string(view, name, key));
        return;
    }
    assert_int_equal(iterate(view, model_text(name), &comparison), DUEQ_OK);
    assert_int_equal(comparison.seen, key->count);
}

void compare_keys(struct dueq *store, struct dueq_time time, const struct keys_model *model)
{
    for (unsigned database = 0; database < KEYS_MODEL_DATABASES; database++)
        for (int name = 0; name < KEYS_MODEL_NAMES; name++)
            compare_key(&(struct keys_view){store_keys(store), database, time}, name,
                        &model->keys[database][name]);
}

/* ---- the space */

enum { TABLES = 256 };

/* Counts the records that each table must contain. */
static void count_model(const struct keys_model *model, uint64_t *counts)
{
    static const struct {
        uint8_t tables[2];
    } of_type[] = {[KEYS_LIST] = {{'l', 0}},
                   [KEYS_SET] = {{'h', 0}},
                   [KEYS_ZSET] = {{'h', 'y'}},
                   [KEYS_HASH] = {{'h', 0}},
                   [KEYS_STRING] = {{'v', 0}}};

    for (unsigned database = 0; database < KEYS_MODEL_DATABASES; database++)
        for (int name = 0; name < KEYS_MODEL_NAMES; name++) {
            const struct model_key *key = &model->keys[database][name];

            if (key->type == KEYS_NONE)
                continue;
            counts['k']++;
            counts['e'] += key->expires != DUEQ_NEVER;
            if (key->packed)
                continue;
            counts[of_type[key->type].tables[0]] += key->count;
            counts[of_type[key->type].tables[1]] += key->count;
        }
}

static void count_space(struct dueq *store, uint64_t *counts)
{
    struct kv_cursor *cursor = kv_cursor_new(store->kv);
    enum dueq_status status;

    assert_non_null(cursor);
    for (status = kv_cursor_seek(cursor, dueq_slice("a", 1)); status == DUEQ_OK;
         status = kv_cursor_next(cursor))
        counts[*(const uint8_t *)kv_cursor_key(cursor).data]++;
    kv_cursor_free(cursor);
    assert_int_equal(status, DUEQ_NOTFOUND);
}

void compare_space(struct dueq *store, const struct keys_model *model)
{
    uint64_t wanted[TABLES] = {0}, found[TABLES] = {0};
    bool keeps_counters[TABLES] = {['c'] = true, ['d'] = true};

    for (unsigned database = 0; database < KEYS_MODEL_DATABASES; database++) {
        assert_int_equal(keys_count(store_keys(store), database), model_keys(model, database));
        assert_int_equal(keys_expiring(store_keys(store), database),
                         model_expiring(model, database));
    }
    count_model(model, wanted);
    count_space(store, found);
    for (int table = 'a'; table < TABLES; table++)
        if (!keeps_counters[table] && found[table] != wanted[table])
            fail_msg("%d records in table %c, where %d belong", (int)found[table], table,
                     (int)wanted[table]);
}
