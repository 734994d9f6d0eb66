#include "storage/keys/keys_salvage.h"

#include "storage/bytes.h"
#include "storage/keys/garbage/cuts.h"
#include "storage/keys/index/databases.h"
#include "storage/keys/index/member.h"
#include "storage/keys/record/entry_record.h"
#include "storage/keys/record/garbage_record.h"
#include "storage/keys/record/zset_order.h"
#include "storage/keys/keys_restore.h"
#include "storage/keys/zset/zset.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "storage/salvage.h"
#include "storage/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct making {
    struct salvage *salvage;
    struct keys *from;      /* as far as it could be read */
    struct id_list objects; /* of all keys, those of flushed databases as well */
    uint64_t unknown;       /* one more than a physical database without a number; 0: none */
    bool noted[KEYS_DATABASES_MAX];
    enum dueq_status status;
    /* The key that is made: */
    struct keys_view view;
    struct keys_entry *entry;
    struct entry_record record;
    struct keys_restored key;
    struct cuts cuts;
    uint64_t elements;
    char quoted[FINDINGS_QUOTED_MAX];
};

/* Calls for each record with the prefix, while making->status is DUEQ_OK. */
static bool each(struct making *making, const struct kv_key *prefix, findings_fn fn)
{
    struct findings findings = {.verify = NULL};

    if (!findings_walk(&findings, making->salvage->from, prefix, fn, making))
        making->status = DUEQ_IO;
    return making->status == DUEQ_OK;
}

static bool each_of_table(struct making *making, uint8_t table, findings_fn fn)
{
    struct kv_key prefix;

    kv_key_start(&prefix, table);
    return each(making, &prefix, fn);
}

static bool each_of_object(struct making *making, uint8_t table, findings_fn fn)
{
    struct kv_key prefix = object_key_prefix(table, making->entry->object);

    return each(making, &prefix, fn);
}

static bool has_garbage(const struct making *making, uint64_t id, uint8_t kind)
{
    struct kv_key record = garbage_record_key(id, kind);
    struct dueq_slice value;

    return kv_get(making->salvage->from, kv_key_slice(&record), &value) == DUEQ_OK;
}

static void note(struct making *making, enum salvage_finding finding, const char *what)
{
    salvage_note(making->salvage, finding, "database %u, key %s: %s", making->view.database,
                 making->quoted, what);
}

/* ---- elements */

static bool add(struct making *making, struct dueq_slice element, struct dueq_slice value,
                double score)
{
    making->status = keys_restore_add(&making->view, keys_entry_name(making->entry),
                                      &making->key, element, value, score);
    making->elements++;
    if (making->status == DUEQ_OK)
        making->status = salvage_step(making->salvage);
    return making->status == DUEQ_OK;
}

static bool add_member(struct making *making, struct dueq_slice name, struct dueq_slice value)
{
    double score = 0;

    if (making->key.type == KEYS_ZSET) {
        if (value.size != 8)
            return true;
        score = zset_order_read_score(value);
        if (isnan(score)) /* no command gives one, and nothing finds its place in an order */
            return true;
    }
    return add(making, name, value, score);
}

static void add_packed(struct making *making)
{
    struct dueq_slice cells = making->record.value, name, value = dueq_slice(NULL, 0);
    enum keys_type type = making->key.type;
    size_t at = 0;

    if (type == KEYS_STRING) {
        add(making, cells, value, 0);
        return;
    }
    while (type == KEYS_LIST ? packed_next(cells, &at, &name)
                             : member_next_packed(type, cells, &at, &name, &value))
        if (!add_member(making, name, value))
            return;
}

static bool is_cut(struct making *making, struct dueq_slice key, struct dueq_slice value)
{
    return member_check_cut(&making->cuts, making->entry, key, value) == DUEQ_OK &&
           making->cuts.gone;
}

static bool at_member(void *arg, struct dueq_slice key, struct dueq_slice record)
{
    struct making *making = arg;
    struct dueq_slice name, value;

    if (!member_is_sound(making->from, making->entry, key, record) ||
        is_cut(making, key, record) ||
        !member_read(making->key.type, key, record, &name, &value))
        return true;
    return add_member(making, name, value);
}

static bool at_element(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;
    int64_t index;

    if (key.size != 1 + 8 + 8)
        return true;
    index = bytes_read_time((const uint8_t *)key.data + 9);
    if ((uint64_t)index - (uint64_t)making->record.head >= making->record.count)
        return true; /* cut off, and not erased yet */
    return add(making, value, dueq_slice(NULL, 0), 0);
}

static bool at_string(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    return key.size != 1 + 8 || add(arg, value, dueq_slice(NULL, 0), 0);
}

/* A member whose record is lost, or has no score, is still in the order. */
static void add_ordered(struct making *making, const struct kv_cursor *at)
{
    struct zset_entry entry;
    struct dueq_slice name = keys_entry_name(making->entry);
    double score;

    zset_order_read(at, &entry);
    if (is_cut(making, kv_cursor_key(at), kv_cursor_value(at)) || isnan(entry.score))
        return;
    making->status = zset_score(&making->view, name, entry.member, &score);
    if (making->status == DUEQ_NOTFOUND || (making->status == DUEQ_OK && isnan(score)))
        add(making, entry.member, dueq_slice(NULL, 0), entry.score);
}

static void add_order(struct making *making)
{
    struct kv_cursor *at = kv_cursor_new(making->salvage->from);
    struct kv_key first = zset_order_first(making->entry);
    enum dueq_status status =
        at == NULL ? DUEQ_NOMEM : kv_cursor_seek(at, kv_key_slice(&first));

    while (status == DUEQ_OK && making->status == DUEQ_OK &&
           zset_order_holds(making->entry, at)) {
        add_ordered(making, at);
        status = kv_cursor_next(at);
    }
    kv_cursor_free(at);
    if (making->status == DUEQ_OK && status != DUEQ_NOTFOUND)
        making->status = status;
}

static void add_records(struct making *making)
{
    cuts_begin(&making->cuts, making->from, making->entry);
    switch (making->key.type) {
    case KEYS_STRING:
        each_of_object(making, TABLE_STRING, at_string);
        return;
    case KEYS_LIST:
        each_of_object(making, TABLE_ELEMENT, at_element);
        return;
    default:
        if (each_of_object(making, TABLE_MEMBER, at_member) && making->key.type == KEYS_ZSET)
            add_order(making);
    }
}

/* ---- a key */

/* What was added twice is there once. */
static void count_elements(struct making *making)
{
    struct keys_info info;

    if (making->key.type == KEYS_STRING || making->elements == 0)
        return;
    making->status = keys_info(&making->view, keys_entry_name(making->entry), &info);
    if (making->status == DUEQ_OK)
        making->elements = info.count;
}

static void note_loss(struct making *making)
{
    char text[128];

    if (making->elements >= making->record.count)
        return;
    if (making->elements == 0)
        snprintf(text, sizeof(text), "its value is lost");
    else
        snprintf(text, sizeof(text), "%" PRIu64 " of its %" PRIu64 " elements are lost",
                 making->record.count - making->elements, making->record.count);
    note(making, SALVAGE_LOST, text);
}

static void note_doubts(struct making *making, struct dueq_slice key)
{
    const char *doubt = salvage_doubt(making->salvage, key, true);
    const uint8_t *tables = object_key_tables(making->key.type);

    for (; doubt == NULL && !making->record.packed && *tables != 0; tables++) {
        struct kv_key prefix = object_key_prefix(*tables, making->record.object);

        doubt = salvage_doubt(making->salvage, kv_key_slice(&prefix), false);
    }
    if (doubt != NULL)
        note(making, SALVAGE_DOUBTFUL, doubt);
}

static void make_key(struct making *making, struct dueq_slice key)
{
    keys_restore_begin(making->view.keys, &making->key);
    making->elements = 0;
    if (making->record.packed)
        add_packed(making);
    else
        add_records(making);
    if (making->status == DUEQ_OK)
        count_elements(making);
    if (making->status != DUEQ_OK)
        return;
    note_loss(making);
    if (making->elements == 0)
        return;
    making->status =
        keys_restore_end(&making->view, keys_entry_name(making->entry), &making->key);
    making->salvage->keys++;
    note_doubts(making, key);
}

/* ---- databases */

/* Without its record a database has the physical one that it had at first. */
static void note_record_lost(struct making *making, unsigned number)
{
    struct kv_key key = databases_key(number);
    struct dueq_slice value;

    if (making->noted[number] ||
        kv_get(making->salvage->from, kv_key_slice(&key), &value) == DUEQ_OK)
        return;
    making->noted[number] = true;
    salvage_note(making->salvage, SALVAGE_DOUBTFUL,
                 "database %u: its record is lost; if it was flushed, its keys are there again",
                 number);
}

/* The last database that has no keys of its own gets those of a lost number. */
static unsigned find_free_database(struct making *making, uint64_t physical)
{
    unsigned number = KEYS_DATABASES_MAX - 1;

    while (number > 0 && making->from->databases[number].count > 0)
        number--;
    if (making->unknown != physical + 1)
        salvage_note(
            making->salvage, SALVAGE_LOST,
            "the number of a database: its keys, flushed ones perhaps, are in database "
            "%u",
            number);
    making->unknown = physical + 1;
    return number;
}

/* The number of the database; KEYS_DATABASES_MAX: it is flushed. */
static unsigned find_database(struct making *making, uint64_t physical)
{
    const struct keys_database *database = databases_find(making->from, physical);
    unsigned number;

    if (has_garbage(making, physical, GARBAGE_DATABASE))
        return KEYS_DATABASES_MAX;
    if (database == NULL)
        return find_free_database(making, physical);
    number = (unsigned)(database - making->from->databases);
    note_record_lost(making, number);
    return number;
}

static bool at_key(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;
    uint64_t physical;
    unsigned number;

    if (key.size < ENTRY_RECORD_KEY_FIXED || !entry_record_read(key, value, &making->record)) {
        salvage_note(making->salvage, SALVAGE_LOST, "a key does not read");
        return true;
    }
    if (!making->record.packed && !id_list_add(&making->objects, making->record.object))
        making->status = DUEQ_NOMEM;
    physical = bytes_read_u64((const uint8_t *)key.data + 1);
    number = find_database(making, physical);
    if (number == KEYS_DATABASES_MAX || making->status != DUEQ_OK)
        return making->status == DUEQ_OK;
    making->entry = entry_record_open(making->from, physical, &making->record);
    if (making->entry == NULL) {
        making->status = DUEQ_NOMEM;
        return false;
    }
    making->view = keys_restore_view(making->salvage->into->keys, number);
    making->key = (struct keys_restored){making->record.type, making->record.encoding,
                                         making->record.expires};
    findings_quote(making->quoted, making->record.name);
    make_key(making, key);
    free(making->entry);
    return making->status == DUEQ_OK;
}

/* ---- values of which the key is lost */

static size_t object_head(struct dueq_slice key)
{
    return key.size < 9 ? key.size : 9;
}

static bool at_object(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;
    const uint8_t *bytes = key.data;
    uint64_t object = key.size < 9 ? 0 : bytes_read_u64(bytes + 1);

    (void)value;
    if (object == 0 || id_list_has(&making->objects, object))
        return true;
    for (int type = KEYS_STRING; type <= KEYS_HASH; type++)
        if (has_garbage(making, object, (uint8_t)type))
            return true;
    salvage_note(making->salvage, SALVAGE_LOST,
                 "a key with elements in table %c (value number %" PRIu64
                 "): its name is lost, and so are they",
                 bytes[0], object);
    return true;
}

static void find_nameless(struct making *making)
{
    static const uint8_t tables[] = {TABLE_STRING, TABLE_MEMBER, TABLE_ELEMENT};

    id_list_sort(&making->objects);
    for (size_t i = 0; i < sizeof(tables) && making->status == DUEQ_OK; i++) {
        struct findings findings = {.verify = NULL};
        struct kv_key table;

        kv_key_start(&table, tables[i]);
        if (!findings_walk_heads(&findings, making->salvage->from, &table, object_head,
                                 at_object, making))
            making->status = DUEQ_IO;
    }
}

/* ---- all */

static bool at_cut(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;

    (void)value;
    if (key.size >= 9 &&
        !id_list_add(&making->objects, bytes_read_u64((const uint8_t *)key.data + 1)))
        making->status = DUEQ_NOMEM;
    return making->status == DUEQ_OK;
}

/* Cuts are looked for only when garbage says that there are some, which may be lost. */
static void flag_cuts(struct making *making)
{
    each_of_table(making, TABLE_CUT, at_cut);
    for (size_t i = 0; i < making->objects.count; i++) {
        struct kv_key flag = garbage_record_key(making->objects.ids[i], GARBAGE_CUTS);

        kv_put(making->salvage->from, kv_key_slice(&flag), dueq_slice(NULL, 0), false);
    }
    id_list_release(&making->objects);
}

enum dueq_status keys_salvage(struct salvage *salvage)
{
    struct making making = {.salvage = salvage};

    making.status = keys_new(salvage->from, &making.from);
    if (making.status != DUEQ_OK)
        return making.status;
    flag_cuts(&making);
    if (making.status == DUEQ_OK && each_of_table(&making, TABLE_KEY, at_key))
        find_nameless(&making);
    id_list_release(&making.objects);
    keys_free(making.from);
    return making.status;
}
