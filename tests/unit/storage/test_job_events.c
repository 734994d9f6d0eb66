/* What happens to jobs, for a caller that listens. */
#include "storage/dueq.h"
#include "storage/queue/core/queue_state.h"
#include "storage/store.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

static struct store_fixture test;

static struct dueq_push push_of(const char *topic, const char *id)
{
    struct dueq_push push;

    dueq_push_init(&push);
    push.topic = dueq_slice(topic, strlen(topic));
    push.id = dueq_slice(id, strlen(id));
    return push;
}

static void push(const char *topic, const char *id, int64_t delay)
{
    struct dueq_push push = push_of(topic, id);
    struct dueq_slice given;

    push.delay = delay;
    assert_int_equal(dueq_push(test.store, &push, test.time, &given), DUEQ_OK);
}

static int64_t claim(const char *topic)
{
    struct dueq_job job;

    assert_int_equal(
        dueq_claim(test.store, dueq_slice(topic, strlen(topic)), 1000, test.time, &job),
        DUEQ_OK);
    return job.token;
}

/* The events so far are these: "pushed t a, claimed t a". */
static void expect(const char *wanted)
{
    char text[1024] = "";
    struct dueq_event event;

    while (dueq_next_event(test.store, &event)) {
        size_t size = strlen(text);

        snprintf(text + size, sizeof(text) - size, "%s%s %.*s %.*s", size > 0 ? ", " : "",
                 dueq_event_name(event.type), (int)event.topic.size,
                 (const char *)event.topic.data, (int)event.id.size,
                 (const char *)event.id.data);
    }
    assert_string_equal(text, wanted);
}

static void a_life_is_told(void **state)
{
    (void)state;
    dueq_listen(test.store, true);
    push("t", "a", 0);
    expect("pushed t a");
    assert_int_equal(dueq_ack(test.store, text("t"), text("a"), claim("t"), test.time),
                     DUEQ_OK);
    expect("claimed t a, acked t a");
}

static void a_given_id_is_told(void **state)
{
    struct dueq_push push = push_of("t", "");
    struct dueq_slice id;
    struct dueq_event event;

    (void)state;
    dueq_listen(test.store, true);
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    assert_true(dueq_next_event(test.store, &event));
    assert_true(dueq_slice_equal(event.id, id));
    assert_false(dueq_next_event(test.store, &event));
}

static void a_delayed_job_falls_due(void **state)
{
    (void)state;
    dueq_listen(test.store, true);
    push("t", "a", 500);
    push("t", "b", 5000);
    store_fixture_pass(&test, 500);
    store_fixture_tick(&test, 100);
    expect("pushed t a, pushed t b, due t a");
}

static void failures_are_told(void **state)
{
    struct dueq_nack nack = {.delay = 0}, fatal = {.outcome = DUEQ_FATAL};
    enum dueq_state now;

    (void)state;
    dueq_listen(test.store, true);
    push("t", "a", 0);
    assert_int_equal(
        dueq_nack(test.store, text("t"), text("a"), claim("t"), &nack, test.time, &now),
        DUEQ_OK);
    expect("pushed t a, claimed t a, nacked t a");
    (void)claim("t");
    store_fixture_pass(&test, 2000);
    store_fixture_tick(&test, 100);
    expect("claimed t a, expired t a");
    fatal.delay = DUEQ_DEFAULT;
    assert_int_equal(
        dueq_nack(test.store, text("t"), text("a"), claim("t"), &fatal, test.time, &now),
        DUEQ_OK);
    expect("claimed t a, nacked t a, dead t a");
}

static void a_life_that_ends_is_told(void **state)
{
    struct dueq_push push = push_of("t", "a");
    struct dueq_slice id;

    (void)state;
    dueq_listen(test.store, true);
    push.ttl = 100;
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    store_fixture_pass(&test, 100);
    store_fixture_tick(&test, 100);
    expect("pushed t a, lapsed t a, dead t a");
}

static void a_cancel_is_told_when_the_claim_ends(void **state)
{
    bool claimed;
    int64_t token;

    (void)state;
    dueq_listen(test.store, true);
    push("t", "a", 0);
    push("t", "b", 0);
    token = claim("t");
    assert_int_equal(dueq_cancel(test.store, text("t"), text("b"), test.time, &claimed),
                     DUEQ_OK);
    expect("pushed t a, pushed t b, claimed t a, cancelled t b");
    assert_int_equal(dueq_cancel(test.store, text("t"), text("a"), test.time, &claimed),
                     DUEQ_OK);
    expect("");
    assert_int_equal(dueq_ack(test.store, text("t"), text("a"), token, test.time),
                     DUEQ_CANCELLED);
    expect("cancelled t a");
}

static void a_moved_job_comes_elsewhere(void **state)
{
    (void)state;
    push("t", "a", 0);
    dueq_listen(test.store, true);
    assert_int_equal(dueq_move(test.store, text("t"), text("a"), text("other"), test.time),
                     DUEQ_OK);
    expect("pushed other a");
}

static void nobody_listens(void **state)
{
    (void)state;
    push("t", "a", 0);
    assert_int_equal(test.store->queue->events.count, 0);
    dueq_listen(test.store, true);
    expect("");
    push("t", "b", 0);
    dueq_listen(test.store, false);
    assert_int_equal(test.store->queue->events.count, 0);
    dueq_listen(test.store, true);
    expect("");
}

/* Also when one is lent. */
static void what_is_not_taken_is_bounded(void **state)
{
    struct dueq_event event;
    int found = 1;

    (void)state;
    dueq_listen(test.store, true);
    push("t", "first", 0);
    assert_true(dueq_next_event(test.store, &event));
    for (int i = 0; i < DUEQ_EVENTS_MOST + 100; i++) {
        char id[32];

        snprintf(id, sizeof(id), "%d", i);
        push("t", id, 0);
    }
    assert_int_equal(test.store->queue->events.count, DUEQ_EVENTS_MOST);
    while (dueq_next_event(test.store, &event))
        found++;
    assert_int_equal(found, DUEQ_EVENTS_MOST);
    push("t", "last", 0);
    expect("pushed t last");
    assert_true(dueq_next_event(test.store, &event) == false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_fixture_test(a_life_is_told, test),
        store_fixture_test(a_given_id_is_told, test),
        store_fixture_test(a_delayed_job_falls_due, test),
        store_fixture_test(failures_are_told, test),
        store_fixture_test(a_life_that_ends_is_told, test),
        store_fixture_test(a_cancel_is_told_when_the_claim_ends, test),
        store_fixture_test(a_moved_job_comes_elsewhere, test),
        store_fixture_test(nobody_listens, test),
        store_fixture_test(what_is_not_taken_is_bounded, test)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
