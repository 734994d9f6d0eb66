/* The index of callers' ids and its filter: a present id is refused before, while and after the
 * filter is filled. */
#include "storage/store.h"
#include "storage/dueq.h"
#include "storage/queue/queue.h"
#include "tests/support/store/store_fixture.h"

#include <stdio.h>

#include "tests/support/cmocka.h"

enum {
    IDS = 5000,
    MEMTABLE = 256 * 1024,
    BATCH = 500,
    MOST = MEMTABLE / 3 * 2 / 64 * 64 /* ids of a filter: whole lines of 64, a byte each */
};

static struct store_fixture test;

static int set_up(void **state)
{
    *state = &test;
    store_fixture_init(&test);
    test.options.memtable_bytes = MEMTABLE;
    store_fixture_open(&test);
    return 0;
}

static enum dueq_status push(int number)
{
    char id[32];
    struct dueq_push push;
    struct dueq_slice given;

    dueq_push_init(&push);
    push.topic = dueq_slice("topic", 5);
    push.id = dueq_slice(id, (size_t)snprintf(id, sizeof(id), "a caller's id: %d", number));
    push.body = dueq_slice("body", 4);
    return dueq_push(test.store, &push, test.time, &given);
}

static void commit(void)
{
    store_fixture_commit(&test);
    dueq_maintain(test.store, false);
}

static void push_ids(int from, int to)
{
    for (int number = from; number < to; number++) {
        assert_int_equal(push(number), DUEQ_OK);
        if (number % BATCH == 0)
            commit();
    }
    commit();
}

static void expect_duplicates(int to)
{
    for (int number = 0; number < to; number++)
        assert_int_equal(push(number), DUEQ_DUPLICATE);
}

static bool is_filled(void)
{
    return test.store->queue->ids.filter.words != NULL &&
           !id_index_busy(&test.store->queue->ids);
}

static void fill(void)
{
    while (dueq_next_tick(test.store, test.time) == 0)
        dueq_tick(test.store, test.time, 100);
    assert_true(is_filled());
}

static void a_new_store_has_a_filter_from_its_first_tick(void **state)
{
    (void)state;
    dueq_tick(test.store, test.time, 100);
    assert_true(is_filled());
    push_ids(0, IDS);
    expect_duplicates(IDS);
}

static void an_old_store_fills_its_filter_a_few_ids_at_a_time(void **state)
{
    int ticks = 0;

    (void)state;
    push_ids(0, IDS);
    store_fixture_reopen(&test);
    expect_duplicates(IDS);
    for (; !is_filled(); ticks++) {
        dueq_tick(test.store, test.time, 500);
        assert_int_equal(push(IDS + ticks),
                         DUEQ_OK); /* before, after and at the walk's position */
        expect_duplicates(IDS + ticks + 1);
    }
    assert_in_range(ticks, IDS / 500, 2 * IDS / 500);
    assert_true(test.store->queue->ids.filter.ids >= (uint64_t)IDS);
    assert_null(queue_check(test.store->queue));
}

static void a_full_filter_is_followed_by_a_larger_one(void **state)
{
    uint64_t capacity;

    (void)state;
    fill();
    capacity = test.store->queue->ids.filter.capacity;
    push_ids(0, (int)capacity);
    assert_false(is_filled());
    fill();
    assert_true(test.store->queue->ids.filter.capacity > capacity);
    expect_duplicates((int)capacity);
    assert_null(queue_check(test.store->queue));
}

/* Removed ids stay in a filter until it is replaced. */
static void ids_that_are_gone_do_not_make_it_larger(void **state)
{
    uint64_t capacity;

    (void)state;
    fill();
    capacity = test.store->queue->ids.filter.capacity;
    push_ids(0, (int)capacity);
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    fill();
    assert_int_equal(test.store->queue->ids.filter.capacity, capacity);
    assert_int_equal(test.store->queue->ids.filter.ids, 0);
    push_ids(0, IDS);
}

static void it_takes_no_more_memory_than_it_may(void **state)
{
    uint64_t most = MOST;

    (void)state;
    push_ids(0, (int)most + 1000);
    fill();
    assert_int_equal(test.store->queue->ids.filter.capacity, most);
    assert_int_equal(test.store->queue->ids.renew_at, 2 * test.store->queue->ids.filter.ids);
    expect_duplicates((int)most + 1000);
}

/* It would be as large, and as full: to fill it would read the whole index. */
static void another_one_that_is_no_better_is_not_filled(void **state)
{
    const struct id_index *index = &test.store->queue->ids;
    uint64_t most = MOST, before;

    (void)state;
    push_ids(0, (int)most);
    fill();
    push_ids((int)most, 2 * (int)most + 1000);
    assert_true(index->filter.ids >= index->renew_at);
    before = index->filter.ids;
    dueq_tick(test.store, test.time, 1);
    assert_true(is_filled());
    assert_int_equal(before, index->filter.ids);
    assert_int_equal(before / 2 * 3, index->renew_at);
    expect_duplicates(2 * (int)most + 1000);
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    push_ids(0, 2 * (int)most);
    store_fixture_checkpoint(&test); /* while one runs, what is gone is not collected */
    fill();
    assert_int_not_equal(before / 2 * 3, index->renew_at); /* most were of jobs that are gone */
    assert_in_range(index->filter.ids, 2 * most, before + 2 * most - 1);
}

static void two_filters_have_half_as_much_again_as_one(void **state)
{
    const struct id_index *index = &test.store->queue->ids;
    uint64_t most = MOST;

    (void)state;
    push_ids(0, (int)most);
    fill();
    assert_int_equal(index->filter.capacity, most);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
        push_ids(0, (int)most / 2 + 1000);
    }
    assert_true(id_index_wants_filter(index));
    for (int ticks = 0; index->next.words == NULL && ticks < IDS * 100; ticks++)
        dueq_tick(test.store, test.time, 1); /* other work may come first */
    assert_int_equal(index->next.capacity, most / 2);
    fill();
    expect_duplicates((int)most / 2 + 1000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, store_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_store_has_a_filter_from_its_first_tick),
        TEST(an_old_store_fills_its_filter_a_few_ids_at_a_time),
        TEST(a_full_filter_is_followed_by_a_larger_one),
        TEST(ids_that_are_gone_do_not_make_it_larger),
        TEST(it_takes_no_more_memory_than_it_may),
        TEST(another_one_that_is_no_better_is_not_filled),
        TEST(two_filters_have_half_as_much_again_as_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
