/* Random changes of a memtable, compared with the simplest map: an array with an element per
 * possible key. SEED= reproduces, STEPS= scales. */
#include "storage/kv/memtable/memtable.h"

#include "storage/kv/memtable/large_value.h"
#include "tests/support/dice.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka.h"

enum { UNIVERSE = 3000, VALUE_MAX = 300 };

struct model_entry {
    bool present, tombstone, fresh;
    size_t value_size;
    uint8_t fill;
};

struct keys {
    uint8_t bytes[UNIVERSE][512];
    size_t sizes[UNIVERSE];
};

static struct keys keys;
static struct model_entry model[UNIVERSE];
static uint64_t absent_share; /* percent of the puts of what is not there */

static int compare_index(const void *a, const void *b)
{
    const int *x = a, *y = b;

    return dueq_slice_compare(dueq_slice(keys.bytes[*x], keys.sizes[*x]),
                              dueq_slice(keys.bytes[*y], keys.sizes[*y]));
}

/* Makes keys that share prefixes, are prefixes of each other, and contain zeros and runs of
 * 0xff. Half of them have one size, as the keys of one table have. */
static void make_universe(struct dice *dice)
{
    static int order[UNIVERSE];
    static struct keys sorted;
    int distinct = 0;

    for (int i = 0; i < UNIVERSE; i++) {
        size_t size = 1 + dice_roll(dice, i % 10 == 0 ? 511 : 24);

        if (i % 2 == 1)
            size = 12;
        for (size_t at = 0; at < size; at++)
            keys.bytes[i][at] = (uint8_t[]){0, 1, 0xff, 'k'}[dice_roll(dice, 4)];
        if (i % 3 == 0)
            memset(keys.bytes[i], 'p', size * 3 / 4);
        keys.sizes[i] = size;
        order[i] = i;
    }
    qsort(order, UNIVERSE, sizeof(order[0]), compare_index);
    for (int i = 0; i < UNIVERSE; i++)
        if (i == 0 || compare_index(&order[i - 1], &order[i]) != 0) {
            memcpy(sorted.bytes[distinct], keys.bytes[order[i]], 512);
            sorted.sizes[distinct++] = keys.sizes[order[i]];
        }
    for (int i = distinct; i < UNIVERSE; i++) { /* fill up after the last */
        memset(sorted.bytes[i], 0xff, 500);
        snprintf((char *)sorted.bytes[i] + 500, 12, "%06d", i);
        sorted.sizes[i] = 506;
    }
    keys = sorted;
}

static struct dueq_slice key_at(size_t i)
{
    return dueq_slice(keys.bytes[i], keys.sizes[i]);
}

/* As a large value, whatever its size: the table does not check it. */
static void put_large(struct memtable *table, size_t i, const struct dueq_slice *parts,
                      bool absent)
{
    struct large_value *value = large_value_new(parts, 2);

    assert_non_null(value);
    assert_int_equal(memtable_put_large(table, key_at(i), value, absent), DUEQ_OK);
    large_value_release(value);
}

static void put_random(struct memtable *table, struct dice *dice, size_t i)
{
    uint8_t value[VALUE_MAX];
    struct model_entry *entry = &model[i];
    bool hidden = !entry->present || entry->tombstone;
    bool absent = hidden && dice_roll(dice, 100) < absent_share;
    struct dueq_slice parts[2];

    entry->value_size = dice_roll(dice, VALUE_MAX);
    entry->fill = (uint8_t)dice_roll(dice, 256);
    memset(value, entry->fill, sizeof(value));
    parts[0] = dueq_slice(value, entry->value_size / 3);
    parts[1] = dueq_slice(value, entry->value_size - entry->value_size / 3);
    if (dice_roll(dice, 8) == 0)
        put_large(table, i, parts, absent);
    else
        assert_int_equal(memtable_put(table, key_at(i), parts, 2, absent, NULL), DUEQ_OK);
    if (!entry->present)
        entry->fresh = absent;
    entry->present = true;
    entry->tombstone = false;
}

static void del_random(struct memtable *table, size_t i)
{
    struct model_entry *entry = &model[i];

    assert_int_equal(memtable_del(table, key_at(i)), DUEQ_OK);
    if (entry->present && entry->fresh) {
        *entry = (struct model_entry){0};
        return;
    }
    *entry = (struct model_entry){.present = true, .tombstone = true};
}

static void check_entry(const struct memtable_entry *entry, size_t i)
{
    assert_int_equal(entry->tombstone, model[i].tombstone);
    assert_int_equal(entry->key_size, keys.sizes[i]);
    assert_memory_equal(entry->key, keys.bytes[i], keys.sizes[i]);
    if (entry->tombstone)
        return;
    assert_int_equal(entry->value_size, model[i].value_size);
    for (size_t at = 0; at < entry->value_size; at++)
        assert_int_equal(entry->value[at], model[i].fill);
}

static void get_random(const struct memtable *table, size_t i)
{
    struct memtable_entry entry;
    bool found = memtable_get(table, key_at(i), &entry);

    assert_int_equal(found, model[i].present);
    if (found)
        check_entry(&entry, i);
}

/* A seek and a walk of some steps, in one direction. */
static void walk_random(const struct memtable *table, struct dice *dice, size_t i)
{
    bool forward = dice_roll(dice, 2) == 0;
    struct memtable_cursor cursor;
    bool more = forward ? memtable_seek(&cursor, table, key_at(i))
                        : memtable_seek_last(&cursor, table, key_at(i));
    int at = forward ? (int)i : (int)i - 1;

    for (int step = 0; step < 20; step++) {
        struct memtable_entry entry;

        while (at >= 0 && at < UNIVERSE && !model[at].present)
            at += forward ? 1 : -1;
        assert_int_equal(more, at >= 0 && at < UNIVERSE);
        if (!more)
            return;
        entry = memtable_at(&cursor);
        check_entry(&entry, (size_t)at);
        more = forward ? memtable_next(&cursor) : memtable_prev(&cursor);
        at += forward ? 1 : -1;
    }
}

/* What is expected and comes, comes late or never comes changes no result. */
static void expect_random(struct memtable *table, struct dice *dice, size_t i)
{
    if (dice_roll(dice, 3) == 0)
        memtable_expect(table, key_at(dice_roll(dice, UNIVERSE)));
    if (dice_roll(dice, 2) == 0)
        memtable_expect(table, key_at(i));
}

/* Often a neighbour of the last one: searches remember where they ended. */
static size_t choose_key(struct dice *dice, size_t last)
{
    if (dice_roll(dice, 2) == 0)
        return dice_roll(dice, UNIVERSE);
    return (last + dice_roll(dice, 5) + UNIVERSE - 2) % UNIVERSE;
}

static void change_at_random(uint64_t absent)
{
    struct dice dice;
    long steps = dice_setting("STEPS", 400000);
    struct memtable *table = memtable_new(NULL);
    uint64_t put_share = 50;
    size_t i = 0;

    absent_share = absent;
    dice_begin(&dice);
    make_universe(&dice);
    memset(model, 0, sizeof(model));
    for (long step = 0; step < steps; step++) {
        uint64_t face = dice_roll(&dice, 100);

        if (step % 20000 == 0) /* the table grows and shrinks in turn */
            put_share = 10 + dice_roll(&dice, 60);
        i = choose_key(&dice, i);
        expect_random(table, &dice, i);
        if (face < put_share)
            put_random(table, &dice, i);
        else if (face < 80)
            del_random(table, i);
        else if (face < 90)
            get_random(table, i);
        else
            walk_random(table, &dice, i);
        if (step % 997 == 0)
            assert_string_equal(memtable_check(table) == NULL ? "" : memtable_check(table), "");
    }
    memtable_free(table);
}

static void a_memtable_is_the_map_it_claims_to_be(void **state)
{
    (void)state;
    change_at_random(50);
}

/* Without tombstones it shrinks: leaves are merged and removed. */
static void the_same_when_nothing_is_in_a_lower_level(void **state)
{
    (void)state;
    change_at_random(100);
}

enum { RUN = 10000 };

/* A table with ascending keys, and one key after all of them if that is not empty. */
static size_t bytes_of_run(struct dueq_slice after)
{
    struct memtable *table = memtable_new(NULL);
    struct dueq_slice nothing = dueq_slice(NULL, 0);
    size_t bytes;

    if (after.size > 0)
        assert_int_equal(memtable_put(table, after, &nothing, 1, true, NULL), DUEQ_OK);
    for (unsigned i = 0; i < RUN; i++) {
        char key[16];
        int size = snprintf(key, sizeof(key), "b%08u", i);

        assert_int_equal(
            memtable_put(table, dueq_slice(key, (size_t)size), &nothing, 1, true, NULL),
            DUEQ_OK);
    }
    bytes = memtable_bytes(table);
    assert_null(memtable_check(table));
    memtable_free(table);
    return bytes;
}

/* Each of a queue's tables grows at its end, and has others after it. */
static void ascending_keys_fill_their_leaves_wherever_they_are(void **state)
{
    (void)state;
    assert_in_range(bytes_of_run(dueq_slice("z", 1)), 1,
                    bytes_of_run(dueq_slice(NULL, 0)) / 20 * 21);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_memtable_is_the_map_it_claims_to_be),
        cmocka_unit_test(the_same_when_nothing_is_in_a_lower_level),
        cmocka_unit_test(ascending_keys_fill_their_leaves_wherever_they_are)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
