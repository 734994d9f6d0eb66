/* Topics that are purged and dropped, in the store alone: budgets, crashes in between. */
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/store/record_count.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>

#include "tests/support/cmocka.h"

static struct store_fixture test;

static void push(const char *topic, int count)
{
    for (int i = 0; i < count; i++) {
        struct dueq_slice id;
        struct dueq_push job;

        dueq_push_init(&job);
        job.topic = text(topic);
        job.body = text("body");
        job.ttl = 1000000;
        assert_int_equal(dueq_push(test.store, &job, test.time, &id), DUEQ_OK);
    }
}

static enum dueq_status drop(const char *topic)
{
    return dueq_drop(test.store, text(topic), test.time);
}

static void expect_sound(void)
{
    assert_null(queue_check(test.store->queue));
}

static void expect_no_record(void)
{
    assert_int_equal(record_count(test.store, "BSQUFRG"), 0);
}

static void a_drop_that_was_not_committed_did_not_happen(void **state)
{
    struct dueq_topic_stats stats;

    (void)state;
    push("t", 10);
    store_fixture_commit(&test);
    assert_int_equal(drop("t"), DUEQ_OK);
    store_fixture_crash(&test);
    assert_int_equal(dueq_topic_stats(test.store, text("t"), test.time, &stats), DUEQ_OK);
    assert_int_equal(stats.counts[DUEQ_READY], 10);
    expect_sound();
}

static void crashes_in_between_leave_no_record(void **state)
{
    (void)state;
    push("t", 500);
    push("u", 500);
    store_fixture_checkpoint(&test);
    push("t", 500);
    assert_int_equal(drop("t"), DUEQ_OK);
    assert_int_equal(drop("t"), DUEQ_NOTFOUND);
    store_fixture_commit(&test);
    for (int i = 0; i < 20; i++) {
        dueq_tick(test.store, test.time, 100);
        store_fixture_commit(&test);
        if (i == 10)
            assert_int_equal(drop("u"), DUEQ_OK);
        store_fixture_crash(&test);
        expect_sound();
    }
    drop("u");
    store_fixture_tick(&test, 100);
    expect_sound();
    expect_no_record();
}

/* Each mark and each record is looked at once, not again after each removal. */
static void many_drops_cost_a_few_steps_a_record(void **state)
{
    enum { TOPICS = 2000 };
    int ticks = 0;

    (void)state;
    for (int i = 0; i < TOPICS; i++) {
        char name[16];

        snprintf(name, sizeof(name), "t%d", i);
        push(name, 3);
        assert_int_equal(drop(name), DUEQ_OK);
    }
    store_fixture_commit(&test);
    while (dueq_tick(test.store, test.time, 1000))
        ticks++;
    assert_true(ticks < 100);
    expect_no_record();
    assert_int_equal(dueq_topic_count(test.store), 0);
}

static void a_flush_takes_dropped_topics_along(void **state)
{
    (void)state;
    push("t", 100);
    assert_int_equal(drop("t"), DUEQ_OK);
    push("t", 100);
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    store_fixture_commit(&test);
    store_fixture_tick(&test, 50);
    expect_no_record();
    expect_sound();
}

/* One step does not pay for the search that finds nothing more behind the last record. */
static void the_smallest_budget_comes_to_an_end(void **state)
{
    struct dueq_topic_stats stats;
    int ticks = 0;

    (void)state;
    push("t", 10);
    push("u", 10);
    assert_int_equal(drop("u"), DUEQ_OK);
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    push("t", 10);
    test.time.now += 1000000; /* their ttl has run out */
    test.time.wall += 1000000;
    while (dueq_next_tick(test.store, test.time) == 0 && ++ticks < 1000)
        dueq_tick(test.store, test.time, 1);
    assert_true(ticks < 1000);
    assert_int_equal(dueq_topic_stats(test.store, text("t"), test.time, &stats), DUEQ_OK);
    assert_int_equal(stats.counts[DUEQ_DEAD], 10);
    assert_int_equal(record_count(test.store, "B"), 10); /* of the others nothing is left */
    expect_sound();
}

static void a_purge_goes_on_within_its_budget_and_ends(void **state)
{
    struct dueq_purge purge = {.topic = text("t"), .state = DUEQ_DEFAULT};
    struct dueq_purge_progress progress = {.removed = 0};
    int calls = 0;

    (void)state;
    push("t", 100);
    while (!progress.is_over) {
        push("t", 1);
        assert_int_equal(dueq_purge(test.store, &purge, test.time, 40, &progress), DUEQ_OK);
        calls++;
    }
    assert_int_equal(progress.removed, 101);
    assert_true(calls > 10);
    purge.state = DUEQ_CLAIMED;
    assert_int_equal(dueq_purge(test.store, &purge, test.time, 40, &progress), DUEQ_INVALID);
    expect_sound();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_fixture_test(a_drop_that_was_not_committed_did_not_happen, test),
        store_fixture_test(crashes_in_between_leave_no_record, test),
        store_fixture_test(many_drops_cost_a_few_steps_a_record, test),
        store_fixture_test(a_flush_takes_dropped_topics_along, test),
        store_fixture_test(the_smallest_budget_comes_to_an_end, test),
        store_fixture_test(a_purge_goes_on_within_its_budget_and_ends, test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
