/* A job that hands over to others: what its ack leaves is what the pushes meet. */
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include "tests/support/cmocka.h"

static struct store_fixture test;

static struct dueq_push push_of(const char *id, const char *body)
{
    struct dueq_push push;

    dueq_push_init(&push);
    push.topic = text("t");
    push.id = text(id);
    push.body = text(body);
    return push;
}

static void push(const char *id, int64_t crashes)
{
    struct dueq_push made = push_of(id, "1234");
    struct dueq_slice given;

    made.crashes = crashes;
    assert_int_equal(dueq_push(test.store, &made, test.time, &given), DUEQ_OK);
}

static int64_t claim(void)
{
    struct dueq_job job;

    assert_int_equal(dueq_claim(test.store, text("t"), 1000, test.time, &job), DUEQ_OK);
    return job.token;
}

static void end_lease(void)
{
    store_fixture_pass(&test, 1000);
    store_fixture_tick(&test, 100);
}

static void set(enum dueq_setting setting, int64_t value)
{
    struct dueq_settings settings;

    dueq_settings_init(&settings);
    settings.numbers[setting] = value;
    settings.numbers[DUEQ_SET_OVERFLOW] = DUEQ_OVERFLOW_DROP_OLDEST;
    assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_OK);
}

static enum dueq_status hand_over(int64_t token, const struct dueq_done *done,
                                  const struct dueq_push *pushes, size_t count)
{
    struct dueq_pushed pushed[4];

    return dueq_hand_over(test.store, text("t"), text("a"), token, done, pushes, count,
                          test.time, pushed);
}

static void expect_jobs(uint64_t waiting, uint64_t done)
{
    struct dueq_topic_stats stats;

    assert_null(queue_check(test.store->queue));
    assert_int_equal(dueq_topic_stats(test.store, text("t"), test.time, &stats), DUEQ_OK);
    assert_int_equal(stats.counts[DUEQ_DELAYED] + stats.counts[DUEQ_READY], waiting);
    assert_int_equal(stats.counts[DUEQ_DONE], done);
}

/* A late ack makes a dead job a done one, which IGNOREDEAD does not remove. */
static void a_dead_job_that_is_kept_as_done_keeps_its_id(void **state)
{
    struct dueq_done done = {.has_result = true, .keep = 1000};
    struct dueq_push again = push_of("a", "again");
    int64_t token;

    (void)state;
    push("a", 0);
    token = claim();
    end_lease();
    again.ignore_dead = true;
    assert_int_equal(hand_over(token, &done, &again, 1), DUEQ_DUPLICATE);
    again.on_duplicate = DUEQ_REPLACE;
    assert_int_equal(hand_over(token, &done, &again, 1), DUEQ_OK);
    expect_jobs(0, 1);
}

static void an_ack_that_keeps_nothing_frees_the_id(void **state)
{
    struct dueq_done done = {.keep = 0};
    struct dueq_push again = push_of("a", "again");

    (void)state;
    set(DUEQ_SET_KEEP, 1000);
    push("a", DUEQ_DEFAULT);
    assert_int_equal(hand_over(claim(), &done, &again, 1), DUEQ_OK);
    expect_jobs(1, 0);
}

static void the_body_of_a_job_that_goes_makes_room(void **state)
{
    struct dueq_push next = push_of("b", "1234");

    (void)state;
    push("a", DUEQ_DEFAULT);
    set(DUEQ_SET_MAX_BYTES, 4);
    assert_int_equal(hand_over(claim(), NULL, &next, 1), DUEQ_OK);
    expect_jobs(1, 0);
}

static void a_body_that_is_kept_makes_no_room(void **state)
{
    struct dueq_done done = {.keep = 1000};
    struct dueq_push next = push_of("b", "1234");

    (void)state;
    push("a", DUEQ_DEFAULT);
    set(DUEQ_SET_MAX_BYTES, 4);
    assert_int_equal(hand_over(claim(), &done, &next, 1), DUEQ_LIMIT);
}

/* The acked job waits again, as the oldest: it goes, and so does the next one. */
static void a_job_that_goes_is_not_dropped_too(void **state)
{
    struct dueq_push next[2] = {push_of("x", "1"), push_of("y", "2")};
    int64_t token;

    (void)state;
    push("a", DUEQ_DEFAULT);
    token = claim();
    end_lease();
    push("b", DUEQ_DEFAULT);
    set(DUEQ_SET_MAX_LENGTH, 2);
    assert_int_equal(hand_over(token, NULL, next, 2), DUEQ_OK);
    expect_jobs(2, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_fixture_test(a_dead_job_that_is_kept_as_done_keeps_its_id, test),
        store_fixture_test(an_ack_that_keeps_nothing_frees_the_id, test),
        store_fixture_test(the_body_of_a_job_that_goes_makes_room, test),
        store_fixture_test(a_body_that_is_kept_makes_no_room, test),
        store_fixture_test(a_job_that_goes_is_not_dropped_too, test),
    };
    return cmocka_run_group_tests_name("hand over", tests, NULL, NULL);
}
