/* Records of lists in the key space: which remain when elements are removed.
 * tests/model/test_lists_random.c compares the contents with arrays. */
#include "storage/store.h"
#include "storage/keys/keys.h"
#include "storage/kv/kv.h"
#include "storage/keys/state/keys_internal.h"
#include "storage/keys/list.h"
#include "tests/support/store/record_count.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { MANY = 10000, SLICE = 100 };

static struct store_fixture test;

static int set_up(void **state)
{
    *state = &test;
    store_fixture_init(&test);
    store_fixture_open(&test);
    store_fixture_tick(&test, SLICE);
    return 0;
}

/* Pushes numbers from 0 on. */
static void fill(const char *name, int count)
{
    char number[16];

    for (int i = 0; i < count; i++) {
        snprintf(number, sizeof(number), "%d", i);
        assert_int_equal(list_push(&test.view, text(name), LIST_TAIL, text(number)), DUEQ_OK);
    }
}

static uint64_t count_of(const char *name)
{
    struct keys_info info = {.count = 0};

    keys_info(&test.view, text(name), &info);
    return info.count;
}

static void assert_element(const char *name, uint64_t index, const char *expected)
{
    struct dueq_slice value;

    assert_int_equal(list_at(&test.view, text(name), index, &value), DUEQ_OK);
    assert_int_equal(value.size, strlen(expected));
    assert_memory_equal(value.data, expected, value.size);
}

static void reclaim_all(void)
{
    store_fixture_tick(&test, SLICE);
}

static void a_large_cut_is_reclaimed_in_slices(void **state)
{
    (void)state;
    fill("k", MANY);
    assert_int_equal(list_trim(&test.view, text("k"), MANY / 2, 10), DUEQ_OK);
    assert_int_equal(count_of("k"), 10);
    assert_int_equal(record_count(test.store, "l"), MANY);
    assert_int_equal(dueq_next_tick(test.store, test.time), 0);
    assert_true(dueq_tick(test.store, test.time, SLICE));
    assert_int_equal(record_count(test.store, "l"), MANY - SLICE);
    reclaim_all();
    assert_int_equal(record_count(test.store, "l"), 10);
    assert_element("k", 0, "5000");
    assert_element("k", 9, "5009");
}

static void a_small_cut_leaves_nothing_to_reclaim(void **state)
{
    (void)state;
    fill("k", 1000);
    assert_int_equal(list_trim(&test.view, text("k"), 10, 950), DUEQ_OK);
    assert_int_equal(record_count(test.store, "l"), 950);
    assert_false(dueq_tick(test.store, test.time, SLICE));
}

static void a_cut_list_grows_over_what_was_cut_off(void **state)
{
    (void)state;
    fill("k", MANY);
    assert_int_equal(list_trim(&test.view, text("k"), MANY / 2, 10), DUEQ_OK);
    for (int i = 0; i < SLICE; i++) {
        assert_int_equal(list_push(&test.view, text("k"), LIST_HEAD, text("head")), DUEQ_OK);
        assert_int_equal(list_push(&test.view, text("k"), LIST_TAIL, text("tail")), DUEQ_OK);
    }
    assert_int_equal(record_count(test.store, "l"), MANY);
    reclaim_all();
    assert_int_equal(record_count(test.store, "l"), 10 + SLICE * 2);
    assert_element("k", 0, "head");
    assert_element("k", SLICE, "5000");
    assert_element("k", SLICE * 2 + 9, "tail");
}

static void cuts_of_the_same_end_are_one(void **state)
{
    (void)state;
    fill("k", MANY);
    for (int i = 0; i < 9; i++) {
        assert_int_equal(list_trim(&test.view, text("k"), 1000, UINT64_MAX), DUEQ_OK);
        assert_true(dueq_tick(test.store, test.time, SLICE));
    }
    assert_int_equal(record_count(test.store, "l"), MANY - 9 * SLICE);
    reclaim_all();
    assert_int_equal(record_count(test.store, "l"), 1000);
    assert_element("k", 0, "9000");
}

static void a_short_list_with_a_long_past_goes_away_whole(void **state)
{
    (void)state;
    fill("k", MANY);
    assert_int_equal(list_trim(&test.view, text("k"), MANY / 2, 1), DUEQ_OK);
    assert_int_equal(keys_del(&test.view, text("k")), DUEQ_OK);
    reclaim_all();
    assert_int_equal(record_count(test.store, "l"), 0);
}

static void a_list_popped_to_its_end_goes_away_whole(void **state)
{
    (void)state;
    fill("k", MANY);
    assert_int_equal(list_trim(&test.view, text("k"), MANY / 2, 1), DUEQ_OK);
    assert_int_equal(list_pop(&test.view, text("k"), LIST_HEAD), DUEQ_OK);
    assert_int_equal(count_of("k"), 0);
    reclaim_all();
    assert_int_equal(record_count(test.store, "l"), 0);
}

static void a_flushed_list_goes_away_whole(void **state)
{
    (void)state;
    fill("k", MANY);
    assert_int_equal(list_trim(&test.view, text("k"), MANY / 2, 1), DUEQ_OK);
    store_fixture_commit(&test);
    assert_int_equal(keys_flush(store_keys(test.store), 0), DUEQ_OK);
    reclaim_all();
    assert_int_equal(record_count(test.store, "l"), 0);
}

static void a_copy_has_nothing_of_what_was_cut_off(void **state)
{
    (void)state;
    fill("k", MANY);
    assert_int_equal(list_trim(&test.view, text("k"), MANY / 2, 10), DUEQ_OK);
    assert_int_equal(keys_copy(&test.view, text("k"), 0, text("copy")), DUEQ_OK);
    assert_int_equal(record_count(test.store, "l"), MANY + 10);
    assert_element("copy", 9, "5009");
}

static void what_was_cut_off_is_reclaimed_after_a_restart(void **state)
{
    (void)state;
    fill("k", MANY);
    assert_int_equal(list_trim(&test.view, text("k"), 9000, 1000), DUEQ_OK);
    assert_true(dueq_tick(test.store, test.time, SLICE));
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    assert_int_equal(record_count(test.store, "l"), MANY - SLICE);
    reclaim_all();
    assert_int_equal(record_count(test.store, "l"), 1000);
    assert_element("k", 999, "9999");
}

/* Returns the bytes written since the last commit, which show how many elements moved. */
static size_t bytes_written_by_removing(const char *value, uint64_t expected)
{
    uint64_t removed = 0;
    size_t bytes;

    store_fixture_commit(&test);
    assert_int_equal(
        list_remove_equal(&test.view, text("k"), text(value), LIST_TAIL, UINT64_MAX, &removed),
        DUEQ_OK);
    assert_int_equal(removed, expected);
    bytes = dueq_batch_bytes(test.store);
    store_fixture_commit(&test);
    return bytes;
}

static void removing_near_both_ends_moves_only_what_is_outside(void **state)
{
    (void)state;
    fill("k", MANY);
    assert_int_equal(list_put(&test.view, text("k"), 3, text("x")), DUEQ_OK);
    assert_int_equal(list_put(&test.view, text("k"), MANY - 4, text("x")), DUEQ_OK);
    assert_in_range(bytes_written_by_removing("x", 2), 1, 2000);
    assert_element("k", 2, "2");
    assert_element("k", 3, "4");
    assert_element("k", MANY - 3, "9999");
    assert_int_equal(record_count(test.store, "l"), MANY - 2);
}

static void removing_every_other_moves_each_once(void **state)
{
    (void)state;
    for (int i = 0; i < MANY / 2; i++) {
        assert_int_equal(list_push(&test.view, text("k"), LIST_TAIL, text("x")), DUEQ_OK);
        assert_int_equal(list_push(&test.view, text("k"), LIST_TAIL, text("y")), DUEQ_OK);
    }
    assert_in_range(bytes_written_by_removing("x", MANY / 2), 1, MANY * 40);
    reclaim_all();
    assert_int_equal(record_count(test.store, "l"), MANY / 2);
    assert_element("k", MANY / 2 - 1, "y");
}

static void elements_are_of_any_size(void **state)
{
    static const size_t size = 3 << 20;
    char *large = malloc(size);
    struct dueq_slice value;

    (void)state;
    assert_non_null(large);
    memset(large, 'x', size);
    assert_int_equal(list_push(&test.view, text("k"), LIST_TAIL, dueq_slice(large, size)),
                     DUEQ_OK);
    assert_int_equal(list_push(&test.view, text("k"), LIST_TAIL, dueq_slice(NULL, 0)), DUEQ_OK);
    assert_int_equal(list_move(&test.view, text("k"), LIST_HEAD, text("l"), LIST_HEAD, &value),
                     DUEQ_OK);
    assert_int_equal(value.size, size);
    assert_int_equal(list_at(&test.view, text("l"), 0, &value), DUEQ_OK);
    assert_int_equal(value.size, size);
    assert_memory_equal(value.data, large, size);
    assert_element("k", 0, "");
    free(large);
}

static void assert_told(const char *name, bool created)
{
    struct keys_change change;

    assert_int_equal(changes_next(store_keys(test.store), &change), DUEQ_OK);
    assert_true(dueq_slice_equal(change.name, text(name)));
    assert_false(change.expired);
    assert_int_equal(change.created, created);
}

static void assert_change(const char *name)
{
    assert_told(name, false);
}

static void a_run_of_changes_of_one_key_is_told_once(void **state)
{
    struct keys_change change;

    (void)state;
    changes_enable(store_keys(test.store), true);
    fill("k", 3);
    fill("l", 3);
    fill("k", 1);
    assert_told("k", true);
    assert_change("k");
    assert_told("l", true);
    assert_change("l");
    fill("l", 1);
    assert_change("k");
    assert_change("l");
    fill("l", 1);
    assert_change("l");
    assert_int_equal(changes_next(store_keys(test.store), &change), DUEQ_NOTFOUND);
    fill("l", 1);
    assert_change("l");
    assert_int_equal(changes_next(store_keys(test.store), &change), DUEQ_NOTFOUND);
}

/* Makes the log want more memory than any allocator has; the caller repairs the log. */
static void lose_a_change(const char *name)
{
    struct change_log *log = &store_keys(test.store)->changes;
    struct change_log kept = *log;

    log->read = log->size = SIZE_MAX / 4;
    changes_record(store_keys(test.store), 0, text(name), CHANGE_VALUE);
    kept.lost = log->lost;
    *log = kept;
}

static void a_change_that_finds_no_memory_counts_for_every_key(void **state)
{
    bool told[KEYS_DATABASES_MAX] = {false};
    struct keys_change change;

    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* its allocator ends the process instead of returning NULL */
#endif
    changes_enable(store_keys(test.store), true);
    fill("k", 1);
    lose_a_change("l");
    assert_told("k", true);
    assert_change("k");
    for (unsigned i = 0; i < KEYS_DATABASES_MAX; i++) {
        assert_int_equal(changes_next(store_keys(test.store), &change), DUEQ_OK);
        assert_true(change.flushed);
        assert_false(told[change.database]);
        told[change.database] = true;
    }
    assert_int_equal(changes_next(store_keys(test.store), &change), DUEQ_NOTFOUND);
    fill("k", 1);
    assert_change("k");
    assert_int_equal(changes_next(store_keys(test.store), &change), DUEQ_NOTFOUND);
}

#define list_test(function)                                                                    \
    cmocka_unit_test_setup_teardown(function, set_up, store_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        list_test(a_large_cut_is_reclaimed_in_slices),
        list_test(a_small_cut_leaves_nothing_to_reclaim),
        list_test(a_cut_list_grows_over_what_was_cut_off),
        list_test(cuts_of_the_same_end_are_one),
        list_test(a_short_list_with_a_long_past_goes_away_whole),
        list_test(a_list_popped_to_its_end_goes_away_whole),
        list_test(a_flushed_list_goes_away_whole),
        list_test(a_copy_has_nothing_of_what_was_cut_off),
        list_test(what_was_cut_off_is_reclaimed_after_a_restart),
        list_test(removing_near_both_ends_moves_only_what_is_outside),
        list_test(removing_every_other_moves_each_once),
        list_test(elements_are_of_any_size),
        list_test(a_run_of_changes_of_one_key_is_told_once),
        list_test(a_change_that_finds_no_memory_counts_for_every_key),
    };
    return cmocka_run_group_tests_name("lists in the space", tests, NULL, NULL);
}
