/* What the store tells about its jobs for monitoring: how long they waited, ran and were late,
 * and which topics were used last. */
#include "storage/dueq.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { TOPICS = 40 };

static struct store_fixture test;

static struct dueq_slice push_at(const char *topic, int64_t delay)
{
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.topic = dueq_slice(topic, strlen(topic));
    push.delay = delay;
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    return id;
}

/* Valid until the next claim: an id may be inside of the struct. */
static const struct dueq_job *claim(const char *topic)
{
    static struct dueq_job job;

    assert_int_equal(
        dueq_claim(test.store, dueq_slice(topic, strlen(topic)), DUEQ_DEFAULT, test.time, &job),
        DUEQ_OK);
    return &job;
}

static void ack(const char *topic, const struct dueq_job *job)
{
    assert_int_equal(
        dueq_ack(test.store, dueq_slice(topic, strlen(topic)), job->id, job->token, test.time),
        DUEQ_OK);
}

static void expect(enum dueq_span span, uint64_t count, uint64_t sum, int bucket)
{
    const struct dueq_spans *spans = dueq_get_spans(test.store, span);

    assert_int_equal(spans->count, count);
    assert_int_equal(spans->sum, sum);
    if (count > 0)
        assert_true(spans->buckets[bucket] > 0);
}

static void times_go_into_their_buckets(void **state)
{
    const struct dueq_job *job;

    (void)state;
    push_at("t", 0);
    store_fixture_pass(&test, 1024);
    job = claim("t");
    expect(DUEQ_SPAN_WAIT, 1, 1024, 10);
    expect(DUEQ_SPAN_RUN, 0, 0, 0);
    store_fixture_pass(&test, 1025);
    ack("t", job);
    expect(DUEQ_SPAN_RUN, 1, 1025, 11);
    expect(DUEQ_SPAN_LATE, 0, 0, 0);
}

static void a_delayed_job_waits_from_its_due_time(void **state)
{
    (void)state;
    push_at("t", 500);
    store_fixture_pass(&test, 507);
    store_fixture_tick(&test, 100);
    expect(DUEQ_SPAN_LATE, 1, 7, 3);
    (void)claim("t");
    expect(DUEQ_SPAN_WAIT, 1, 7, 3);
}

static void a_job_due_in_the_past_waits_from_its_push(void **state)
{
    struct dueq_push push;
    struct dueq_slice id;

    (void)state;
    dueq_push_init(&push);
    push.topic = text("t");
    push.at = 1;
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    store_fixture_pass(&test, 3);
    (void)claim("t");
    expect(DUEQ_SPAN_WAIT, 1, 3, 2);
}

static void a_late_ack_is_no_run(void **state)
{
    const struct dueq_job *job;

    (void)state;
    push_at("t", 0);
    job = claim("t");
    store_fixture_pass(&test, 3600 * 1000);
    store_fixture_tick(&test, 100);
    ack("t", job);
    expect(DUEQ_SPAN_RUN, 0, 0, 0);
}

/* ---- topics */

static bool contains(const struct dueq_slice *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (dueq_slice_equal(names[i], dueq_slice(name, strlen(name))))
            return true;
    return false;
}

static void push_many(void)
{
    for (int i = 0; i < TOPICS; i++) {
        char name[32];

        snprintf(name, sizeof(name), "topic-%d", i);
        push_at(name, 0);
        store_fixture_commit(&test);
    }
}

static void the_topics_used_last_come_first(void **state)
{
    struct dueq_slice names[TOPICS];
    const struct dueq_job *job;

    (void)state;
    push_many();
    job = claim("topic-7");
    assert_int_equal(dueq_recent_topics(test.store, names, 3), 3);
    assert_true(contains(names, 1, "topic-7"));
    assert_true(contains(names, 3, "topic-39"));
    ack("topic-7", job);
    store_fixture_commit(&test);
    assert_int_equal(dueq_recent_topics(test.store, names, TOPICS), TOPICS);
    assert_true(contains(names + TOPICS - 1, 1, "topic-7")); /* it has no jobs */
    assert_int_equal(dueq_recent_topics(test.store, names, 0), 0);
}

static void a_look_at_all_topics_is_no_use(void **state)
{
    struct dueq_slice names[3];
    struct dueq_topic_stats stats;

    (void)state;
    push_many();
    assert_int_equal(dueq_total_stats(test.store, test.time, &stats), DUEQ_OK);
    assert_int_equal(dueq_recent_topics(test.store, names, 3), 3);
    assert_true(contains(names, 1, "topic-39"));
    assert_true(contains(names + 1, 1, "topic-38"));
    assert_true(contains(names + 2, 1, "topic-37"));
}

static void topics_that_sleep_are_found(void **state)
{
    struct dueq_slice names[TOPICS + 1];

    (void)state;
    push_many();
    store_fixture_reopen(&test);
    assert_int_equal(dueq_recent_topics(test.store, names, TOPICS + 1), TOPICS);
    for (int i = 0; i < TOPICS; i++) {
        char name[32];

        snprintf(name, sizeof(name), "topic-%d", i);
        assert_true(contains(names, TOPICS, name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_fixture_test(times_go_into_their_buckets, test),
        store_fixture_test(a_delayed_job_waits_from_its_due_time, test),
        store_fixture_test(a_job_due_in_the_past_waits_from_its_push, test),
        store_fixture_test(a_late_ack_is_no_run, test),
        store_fixture_test(the_topics_used_last_come_first, test),
        store_fixture_test(a_look_at_all_topics_is_no_use, test),
        store_fixture_test(topics_that_sleep_are_found, test)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
