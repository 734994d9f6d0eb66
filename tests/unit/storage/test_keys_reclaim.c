/* Reclaiming in slices: its cost, and that nothing remains. tests/model/test_keys_random.c has
 * random changes of keys. */
#include "storage/store.h"
#include "storage/bytes.h"
#include "storage/keys/keys.h"
#include "storage/kv/kv.h"
#include "storage/keys/hash.h"
#include "storage/keys/record/garbage_record.h"
#include "storage/keys/record/object_key.h"
#include "storage/keys/state/keys_internal.h"
#include "storage/keys/string.h"
#include "storage/keys/zset/zset.h"
#include "tests/support/store/record_count.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { MANY = 20000, SLICE = 100, LARGE = 65, OLDER = 100, LARGE_KEYS = 1500 };

static struct store_fixture test;

static struct dueq_slice numbered(int number)
{
    static char name[16];

    return dueq_slice(name, (size_t)snprintf(name, sizeof(name), "%d", number));
}

static void fill_hash(struct dueq_slice name, int count)
{
    bool added;

    for (int i = 0; i < count; i++) {
        char field[16];
        int size = snprintf(field, sizeof(field), "%d", i);

        assert_int_equal(
            hash_set(&test.view, name, dueq_slice(field, (size_t)size), text("v"), &added),
            DUEQ_OK);
    }
}

static void fill_zset(const char *name)
{
    bool added;

    for (int i = 0; i < MANY; i++)
        assert_int_equal(zset_put(&test.view, text(name), numbered(i), i % 7, &added), DUEQ_OK);
}

/* Writes all into LMDB: what is deleted from there leaves a tombstone until the next
 * checkpoint. */
static void checkpoint(void)
{
    store_fixture_checkpoint(&test);
}

/* Ticks in slices until all is erased; returns how many tombstones were stepped over. */
static uint64_t reclaim_all(void)
{
    uint64_t before = store_fixture_stats(&test).tombstones_passed;

    store_fixture_tick(&test, SLICE);
    return store_fixture_stats(&test).tombstones_passed - before;
}

static void expect_empty(void)
{
    store_fixture_commit(&test);
    assert_int_equal(record_count(test.store, "eghklvy"), 0);
}

/* ---- tests */

static void a_large_hash_is_erased_in_linear_time(void **state)
{
    (void)state;
    fill_hash(text("k"), MANY);
    checkpoint();
    assert_int_equal(keys_del(&test.view, text("k")), DUEQ_OK);
    assert_int_equal(record_count(test.store, "h"), MANY);
    assert_true(reclaim_all() < 4 * MANY);
    expect_empty();
}

static void a_large_sorted_set_is_erased_in_linear_time(void **state)
{
    (void)state;
    fill_zset("k");
    checkpoint();
    assert_int_equal(keys_del(&test.view, text("k")), DUEQ_OK);
    assert_true(reclaim_all() < 8 * MANY);
    expect_empty();
}

/* They are read from data.mdb and checked: 64 of 16 MiB took 200 ms at once. */
static void few_large_elements_are_erased_in_slices(void **state)
{
    static uint8_t bytes[1 << 20];
    bool added;
    uint64_t left;

    (void)state;
    for (int i = 0; i < 12; i++)
        assert_int_equal(hash_set(&test.view, text("k"), numbered(i),
                                  dueq_slice(bytes, sizeof(bytes)), &added),
                         DUEQ_OK);
    checkpoint();
    assert_int_equal(keys_del(&test.view, text("k")), DUEQ_OK);
    left = record_count(test.store, "h");
    assert_in_range(left, 1, 8);
    while (left > 0) {
        uint64_t before = left;

        dueq_tick(test.store, test.time, 20);
        left = record_count(test.store, "h");
        assert_in_range(left, before - 1, before);
    }
    reclaim_all();
    expect_empty();
}

/* Garbage records are in the order of their objects' age. */
static void older_keys_deleted_meanwhile_do_not_slow_it_down(void **state)
{
    uint64_t before = store_fixture_stats(&test).tombstones_passed;

    (void)state;
    for (int i = 0; i < OLDER; i++)
        fill_hash(numbered(i), LARGE);
    fill_hash(text("newer"), MANY);
    checkpoint();
    keys_del(&test.view, text("newer"));
    for (int i = 0; i < OLDER; i++) {
        dueq_tick(test.store, test.time, SLICE);
        keys_del(&test.view, numbered(i));
    }
    reclaim_all();
    assert_true(store_fixture_stats(&test).tombstones_passed - before < 6 * MANY);
    expect_empty();
}

/* A checkpoint comes before all are erased, and the deleted garbage records leave tombstones,
 * too. */
static void many_large_keys_are_erased_in_linear_time(void **state)
{
    (void)state;
    for (int i = 0; i < LARGE_KEYS; i++)
        fill_hash(numbered(i), LARGE);
    for (int i = 0; i < LARGE_KEYS; i++)
        keys_del(&test.view, numbered(i));
    checkpoint();
    assert_true(reclaim_all() < 4 * LARGE_KEYS * LARGE);
    expect_empty();
}

static void a_flushed_database_is_erased_in_linear_time(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++)
        assert_int_equal(string_set(&test.view, numbered(i), text("v"),
                                    i % 2 ? DUEQ_NEVER : test.time.now + 1000, STRING_GIVEN),
                         DUEQ_OK);
    checkpoint();
    assert_int_equal(keys_flush(store_keys(test.store), 0), DUEQ_OK);
    assert_int_equal(keys_count(store_keys(test.store), 0), 0);
    assert_true(reclaim_all() < 8 * MANY);
    expect_empty();
}

static void keys_that_expire_together_are_reclaimed_in_linear_time(void **state)
{
    int64_t expiries[] = {expiry_after(test.time, 1), expiry_at(test.time.wall + 1)};
    uint64_t before;

    (void)state;
    for (int i = 0; i < MANY; i++)
        assert_int_equal(
            string_set(&test.view, numbered(i), text("v"), expiries[i % 2], STRING_GIVEN),
            DUEQ_OK);
    checkpoint();
    before = store_fixture_stats(&test).tombstones_passed;
    store_fixture_pass(&test, 2);
    store_fixture_tick(&test, SLICE);
    assert_true(store_fixture_stats(&test).tombstones_passed - before < 8 * MANY);
    expect_empty();
}

static void put_element(uint64_t object, int64_t index)
{
    struct kv_key key = object_key_element(object, index);

    kv_put(store_keys(test.store)->kv, kv_key_slice(&key), text("v"), true);
}

/* Only what is there is erased: to try each index would take ten thousand years. */
static void a_damaged_range_of_list_elements_comes_to_an_end(void **state)
{
    static const int64_t places[] = {INT64_MIN, -7, 0, 1, 999, (int64_t)1 << 40, INT64_MAX - 1};
    struct kv_key record = garbage_record_key(7, GARBAGE_HEAD);
    uint8_t range[16];

    (void)state;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        put_element(7, places[i]);
    put_element(8, 5);
    checkpoint();
    bytes_write_u64(range, (uint64_t)INT64_MIN);
    bytes_write_u64(range + 8, (uint64_t)INT64_MAX);
    garbage_record_put(store_keys(test.store), &record, dueq_slice(range, sizeof(range)), true);
    for (int i = 0; i < 200 && record_count(test.store, "g") > 0; i++)
        dueq_tick(test.store, test.time, SLICE);
    assert_int_equal(record_count(test.store, "g"), 0);
    assert_int_equal(record_count(test.store, "l"), 1);
}

static void a_copy_of_nothing_leaves_the_target_alone(void **state)
{
    struct dueq_slice value;

    (void)state;
    string_set(&test.view, text("to"), text("v"), DUEQ_NEVER, STRING_GIVEN);
    assert_int_equal(keys_copy(&test.view, text("none"), 0, text("to")), DUEQ_NOTFOUND);
    assert_int_equal(string_get(&test.view, text("to"), &value), DUEQ_OK);
    assert_int_equal(keys_copy(&test.view, text("to"), 0, text("to")), DUEQ_OK);
    assert_int_equal(string_get(&test.view, text("to"), &value), DUEQ_OK);
}

#define reclaim_test(function) store_fixture_test(function, test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        reclaim_test(a_large_hash_is_erased_in_linear_time),
        reclaim_test(a_large_sorted_set_is_erased_in_linear_time),
        reclaim_test(few_large_elements_are_erased_in_slices),
        reclaim_test(older_keys_deleted_meanwhile_do_not_slow_it_down),
        reclaim_test(many_large_keys_are_erased_in_linear_time),
        reclaim_test(a_flushed_database_is_erased_in_linear_time),
        reclaim_test(keys_that_expire_together_are_reclaimed_in_linear_time),
        reclaim_test(a_damaged_range_of_list_elements_comes_to_an_end),
        reclaim_test(a_copy_of_nothing_leaves_the_target_alone),
    };
    return cmocka_run_group_tests_name("reclaiming keys", tests, NULL, NULL);
}
