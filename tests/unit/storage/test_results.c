/* Done jobs that are kept, their results, and watches for the end of jobs. */
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka.h"

enum { SECOND = 1000, HOUR = 3600 * SECOND, MANY = 100000, TICK = 1000 };

static struct store_fixture test;

static void sound(void)
{
    const char *wrong = queue_check(test.store->queue);

    if (wrong != NULL)
        fail_msg("%s", wrong);
}

static void push(const char *id, int64_t window)
{
    struct dueq_push push;
    struct dueq_pushed pushed;

    dueq_push_init(&push);
    push.topic = text("t");
    push.id = text(id);
    push.body = text("body");
    push.window = window;
    assert_int_equal(dueq_push_unique(test.store, &push, test.time, &pushed), DUEQ_OK);
}

static int64_t claim(void)
{
    struct dueq_job job;

    assert_int_equal(dueq_claim(test.store, text("t"), 100 * HOUR, test.time, &job), DUEQ_OK);
    return job.token;
}

static int64_t take(const char *id)
{
    push(id, DUEQ_DEFAULT);
    return claim();
}

static struct dueq_done done_with(const char *result, int64_t keep)
{
    return (struct dueq_done){.has_result = result != NULL,
                              .result = text(result == NULL ? "" : result),
                              .keep = keep};
}

static enum dueq_status finish(const char *id, int64_t token, struct dueq_done done)
{
    return dueq_finish(test.store, text("t"), text(id), token, &done, test.time);
}

static struct dueq_job get(const char *id)
{
    struct dueq_job job;

    assert_int_equal(dueq_get(test.store, text("t"), text(id), test.time, &job), DUEQ_OK);
    return job;
}

static bool exists(const char *id)
{
    struct dueq_job job;
    enum dueq_status status = dueq_get(test.store, text("t"), text(id), test.time, &job);

    if (status != DUEQ_OK)
        assert_int_equal(status, DUEQ_NOTFOUND);
    return status == DUEQ_OK;
}

static uint64_t done_jobs(void)
{
    struct dueq_topic_stats stats;

    assert_int_equal(dueq_topic_stats(test.store, text("t"), test.time, &stats), DUEQ_OK);
    return stats.counts[DUEQ_DONE];
}

static void expect_result(const char *id, const char *result, int64_t kept)
{
    struct dueq_job job = get(id);

    assert_int_equal(job.state, DUEQ_DONE);
    assert_true(job.has_result);
    assert_true(dueq_slice_equal(job.result, text(result)));
    assert_true(dueq_slice_equal(job.body, text("body")));
    assert_int_equal(job.kept_until - job.due, kept);
}

/* ---- results */

static void a_result_is_kept_for_an_hour(void **state)
{
    int64_t token = take("a");

    (void)state;
    assert_int_equal(finish("a", token, done_with("42", DUEQ_DEFAULT)), DUEQ_OK);
    expect_result("a", "42", HOUR);
    sound();
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    expect_result("a", "42", HOUR);
    store_fixture_pass(&test, HOUR - 1);
    store_fixture_tick(&test, TICK);
    assert_true(exists("a"));
    store_fixture_pass(&test, 1);
    store_fixture_tick(&test, TICK);
    assert_false(exists("a"));
    assert_int_equal(done_jobs(), 0);
    sound();
}

static void an_empty_result_is_one(void **state)
{
    (void)state;
    assert_int_equal(finish("a", take("a"), done_with("", SECOND)), DUEQ_OK);
    expect_result("a", "", SECOND);
    assert_int_equal(finish("b", take("b"), done_with(NULL, SECOND)), DUEQ_OK);
    assert_int_equal(get("b").state, DUEQ_DONE);
    assert_false(get("b").has_result);
    sound();
}

static void the_topic_says_how_long(void **state)
{
    struct dueq_settings settings;

    (void)state;
    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_KEEP] = 5 * SECOND;
    assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_OK);
    assert_int_equal(finish("a", take("a"), done_with("1", DUEQ_DEFAULT)), DUEQ_OK);
    expect_result("a", "1", 5 * SECOND);
    assert_int_equal(finish("b", take("b"), done_with("1", SECOND)), DUEQ_OK);
    expect_result("b", "1", SECOND);
    assert_int_equal(finish("c", take("c"), done_with(NULL, 0)), DUEQ_OK);
    assert_false(exists("c"));
    sound();
}

static void a_longer_window_wins(void **state)
{
    (void)state;
    push("a", 2 * HOUR);
    assert_int_equal(finish("a", claim(), done_with("1", SECOND)), DUEQ_OK);
    expect_result("a", "1", 2 * HOUR);
    push("b", SECOND);
    assert_int_equal(finish("b", claim(), done_with("1", HOUR)), DUEQ_OK);
    expect_result("b", "1", HOUR);
    sound();
}

static void a_second_ack_changes_nothing(void **state)
{
    int64_t token = take("a");

    (void)state;
    assert_int_equal(finish("a", token, done_with("first", SECOND)), DUEQ_OK);
    assert_int_equal(finish("a", token, done_with("second", HOUR)), DUEQ_OK);
    assert_int_equal(dueq_ack(test.store, text("t"), text("a"), token, test.time), DUEQ_OK);
    assert_int_equal(finish("a", token + 1, done_with("third", HOUR)), DUEQ_STALE);
    expect_result("a", "first", SECOND);
    assert_int_equal(finish("b", token, done_with("1", HOUR)), DUEQ_NOTFOUND);
    sound();
}

static void what_contradicts_itself_is_refused(void **state)
{
    int64_t token = take("a");
    struct dueq_done large = {
        .has_result = true, .result = {"", DUEQ_BODY_MAX + 1}, .keep = SECOND};

    (void)state;
    assert_int_equal(finish("a", token, done_with("1", 0)), DUEQ_INVALID);
    assert_int_equal(finish("a", token, done_with("1", -2)), DUEQ_INVALID);
    assert_int_equal(finish("a", token, large), DUEQ_TOOBIG);
    assert_int_equal(get("a").state, DUEQ_CLAIMED);
    assert_int_equal(finish("a", token, done_with("1", INT64_MAX)), DUEQ_OK);
    assert_int_equal(get("a").state, DUEQ_DONE);
    sound();
}

static void a_cancelled_job_has_no_result(void **state)
{
    int64_t token = take("a");
    bool claimed;

    (void)state;
    assert_int_equal(dueq_cancel(test.store, text("t"), text("a"), test.time, &claimed),
                     DUEQ_OK);
    assert_int_equal(finish("a", token, done_with("1", HOUR)), DUEQ_CANCELLED);
    assert_false(exists("a"));
    sound();
}

static void a_deleted_job_takes_its_result_along(void **state)
{
    (void)state;
    assert_int_equal(finish("a", take("a"), done_with("1", HOUR)), DUEQ_OK);
    assert_int_equal(dueq_del(test.store, text("t"), text("a"), test.time), DUEQ_OK);
    sound();
    take("a");
    assert_false(get("a").has_result);
    sound();
}

/* All are to be removed in the same ms. Each tick does its share only. */
static void many_done_jobs_go_within_the_budget_of_ticks(void **state)
{
    int ticks = 0;
    uint64_t before = MANY;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        char id[16];

        snprintf(id, sizeof(id), "j%d", i);
        assert_int_equal(finish(id, take(id), done_with("1", HOUR)), DUEQ_OK);
        if (i % 1000 == 0)
            store_fixture_commit(&test);
    }
    store_fixture_commit(&test);
    assert_int_equal(done_jobs(), MANY);
    store_fixture_reopen(&test);
    assert_int_equal(done_jobs(), MANY);
    store_fixture_pass(&test, HOUR);
    while (dueq_tick(test.store, test.time, TICK)) {
        uint64_t left = done_jobs();

        assert_true(before - left <= TICK);
        before = left;
        ticks++;
        store_fixture_commit(&test);
    }
    assert_int_equal(done_jobs(), 0);
    assert_in_range(ticks, MANY / TICK, 4 * MANY / TICK);
    sound();
}

/* ---- progress */

static void a_worker_tells_how_far_it_is(void **state)
{
    char longer[2 * DUEQ_PROGRESS_MAX];
    int64_t token = take("a"), end;

    (void)state;
    assert_int_equal(dueq_extend_with(test.store, text("t"), text("a"), token, HOUR,
                                      text("page 7"), test.time, &end),
                     DUEQ_OK);
    assert_true(dueq_slice_equal(get("a").progress, text("page 7")));
    assert_int_equal(
        dueq_extend(test.store, text("t"), text("a"), token, HOUR, test.time, &end), DUEQ_OK);
    assert_true(dueq_slice_equal(get("a").progress, text("page 7")));
    memset(longer, 'x', sizeof(longer));
    assert_int_equal(dueq_extend_with(test.store, text("t"), text("a"), token, HOUR,
                                      dueq_slice(longer, sizeof(longer)), test.time, &end),
                     DUEQ_OK);
    assert_int_equal(get("a").progress.size, DUEQ_PROGRESS_MAX);
    assert_int_equal(finish("a", token, done_with("1", HOUR)), DUEQ_OK);
    assert_int_equal(get("a").progress.size, DUEQ_PROGRESS_MAX);
}

/* ---- watches */

static struct dueq_watch *watch(const char *id, int *arg)
{
    struct dueq_watch *watch;

    assert_int_equal(dueq_watch_end(test.store, text("t"), text(id), arg, &watch), DUEQ_OK);
    return watch;
}

static void expect_no_end(void)
{
    void *arg;
    enum dueq_end end;

    assert_false(dueq_next_end(test.store, &arg, &end));
}

static void expect_end(int *expected, enum dueq_end how)
{
    void *arg;
    enum dueq_end end;

    assert_true(dueq_next_end(test.store, &arg, &end));
    assert_ptr_equal(arg, expected);
    assert_int_equal(end, how);
}

static void give_back(const char *id, int64_t token, enum dueq_outcome outcome)
{
    struct dueq_nack nack = {.delay = 0, .outcome = outcome};
    enum dueq_state state;

    assert_int_equal(
        dueq_nack(test.store, text("t"), text(id), token, &nack, test.time, &state), DUEQ_OK);
}

static void acks_end_a_watch(void **state)
{
    int a, b;
    int64_t token = take("a");

    (void)state;
    watch("a", &a);
    give_back("a", token, DUEQ_FAILED);
    expect_no_end();
    token = claim();
    assert_int_equal(dueq_ack(test.store, text("t"), text("a"), token, test.time), DUEQ_OK);
    expect_end(&a, DUEQ_END_DONE);
    expect_no_end();
    token = take("b");
    watch("b", &b);
    assert_int_equal(finish("b", token, done_with("1", SECOND)), DUEQ_OK);
    expect_end(&b, DUEQ_END_DONE);
    store_fixture_pass(&test, SECOND);
    store_fixture_tick(&test, TICK);
    expect_no_end();
}

static void deaths_cancels_and_deletes_end_watches(void **state)
{
    int watched[5];
    bool claimed;
    int64_t token = take("a");

    (void)state;
    watch("a", &watched[0]);
    give_back("a", token, DUEQ_FATAL);
    expect_end(&watched[0], DUEQ_END_DEAD);

    token = take("b");
    watch("b", &watched[1]);
    assert_int_equal(dueq_cancel(test.store, text("t"), text("b"), test.time, &claimed),
                     DUEQ_OK);
    expect_no_end(); /* its worker does not know yet */
    assert_int_equal(dueq_ack(test.store, text("t"), text("b"), token, test.time),
                     DUEQ_CANCELLED);
    expect_end(&watched[1], DUEQ_END_CANCELLED);

    push("c", DUEQ_DEFAULT);
    watch("c", &watched[2]);
    assert_int_equal(dueq_cancel(test.store, text("t"), text("c"), test.time, &claimed),
                     DUEQ_OK);
    expect_end(&watched[2], DUEQ_END_CANCELLED);

    push("d", DUEQ_DEFAULT);
    push("e", DUEQ_DEFAULT);
    watch("d", &watched[3]);
    watch("e", &watched[4]);
    assert_int_equal(dueq_del(test.store, text("t"), text("d"), test.time), DUEQ_OK);
    expect_end(&watched[3], DUEQ_END_GONE);
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    expect_end(&watched[4], DUEQ_END_GONE);
    expect_no_end();
}

static void a_follow_up_is_watched_on(void **state)
{
    int a;
    int64_t token = take("a");
    struct dueq_push push;
    struct dueq_pushed pushed;

    (void)state;
    watch("a", &a);
    dueq_push_init(&push);
    push.topic = text("t");
    push.id = text("a");
    push.body = text("second");
    push.on_duplicate = DUEQ_REPLACE;
    assert_int_equal(dueq_push_unique(test.store, &push, test.time, &pushed), DUEQ_OK);
    assert_int_equal(pushed.outcome, DUEQ_FOLLOWS);
    assert_int_equal(finish("a", token, done_with("1", HOUR)), DUEQ_OK);
    expect_no_end();
    assert_int_equal(finish("a", claim(), done_with("2", HOUR)), DUEQ_OK);
    expect_end(&a, DUEQ_END_DONE);
    sound();
}

/* However many jobs of other topics are watched. */
static void a_drop_looks_at_the_watches_of_its_topic_only(void **state)
{
    enum { WATCHED = 1000 };
    struct endings *endings = &test.store->queue->endings;
    struct dueq_push push;
    struct dueq_slice given;
    char id[16];
    int a;

    (void)state;
    for (int i = 0; i < WATCHED; i++) {
        snprintf(id, sizeof(id), "%d", i);
        take(id);
        watch(id, &a);
    }
    dueq_push_init(&push);
    push.topic = text("other");
    push.body = text("body");
    assert_int_equal(dueq_push(test.store, &push, test.time, &given), DUEQ_OK);
    assert_int_equal(dueq_drop(test.store, text("other"), test.time), DUEQ_OK);
    assert_int_equal(endings->steps, 0);
    expect_no_end();
    assert_int_equal(dueq_drop(test.store, text("t"), test.time), DUEQ_OK);
    assert_int_equal(endings->steps, WATCHED);
    for (int i = 0; i < WATCHED; i++)
        expect_end(&a, DUEQ_END_GONE);
    expect_no_end();
}

static void only_jobs_that_can_end_are_watched_once(void **state)
{
    int a, b;
    struct dueq_watch *none = NULL, *first;

    (void)state;
    assert_int_equal(dueq_watch_end(test.store, text("t"), text("a"), &a, &none),
                     DUEQ_NOTFOUND);
    push("a", DUEQ_DEFAULT);
    first = watch("a", &a);
    assert_int_equal(dueq_watch_end(test.store, text("t"), text("a"), &b, &none),
                     DUEQ_DUPLICATE);
    dueq_unwatch(test.store, first);
    first = watch("a", &b);
    assert_int_equal(finish("a", claim(), done_with("1", HOUR)), DUEQ_OK);
    assert_int_equal(dueq_watch_end(test.store, text("t"), text("a"), &a, &none),
                     DUEQ_WRONGSTATE);
    dueq_unwatch(test.store, first); /* before its end was handed out */
    expect_no_end();
    push("b", DUEQ_DEFAULT);
    watch("b", &b); /* it goes with the store */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_fixture_test(a_result_is_kept_for_an_hour, test),
        store_fixture_test(an_empty_result_is_one, test),
        store_fixture_test(the_topic_says_how_long, test),
        store_fixture_test(a_longer_window_wins, test),
        store_fixture_test(a_second_ack_changes_nothing, test),
        store_fixture_test(what_contradicts_itself_is_refused, test),
        store_fixture_test(a_cancelled_job_has_no_result, test),
        store_fixture_test(a_deleted_job_takes_its_result_along, test),
        store_fixture_test(many_done_jobs_go_within_the_budget_of_ticks, test),
        store_fixture_test(a_worker_tells_how_far_it_is, test),
        store_fixture_test(acks_end_a_watch, test),
        store_fixture_test(deaths_cancels_and_deletes_end_watches, test),
        store_fixture_test(a_follow_up_is_watched_on, test),
        store_fixture_test(a_drop_looks_at_the_watches_of_its_topic_only, test),
        store_fixture_test(only_jobs_that_can_end_are_watched_once, test),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
