/* What time brings to jobs with large bodies: a tick reads and checks no more of them than its
 * budget pays for, however few jobs that are, and all are done in the end. */
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum {
    LARGE = 3 << 20,    /* a part of it is checked in a call */
    MIDDLE = 100 << 10, /* several steps each */
    FEW = 6,
    MANY = 60,
    BUDGET = 20, /* that of the server */
    LATER = 10000
};

static struct store_fixture test;

/* ---- jobs */

static struct dueq_slice numbered(int number)
{
    static char name[16];

    return dueq_slice(name, (size_t)snprintf(name, sizeof(name), "id%d", number));
}

static void push(int number, size_t size, int64_t ttl, const struct dueq_prerequisite *after)
{
    struct dueq_push push;
    struct dueq_slice given;
    char *body = malloc(size);

    assert_non_null(body);
    memset(body, 'a' + number % 26, size);
    dueq_push_init(&push);
    push.topic = text("t");
    push.id = numbered(number);
    push.body = dueq_slice(body, size);
    push.ttl = ttl;
    push.after = after;
    push.after_count = after != NULL;
    assert_int_equal(dueq_push(test.store, &push, test.time, &given), DUEQ_OK);
    store_fixture_commit(&test);
    free(body);
}

static int64_t claim(void)
{
    struct dueq_job job;

    assert_int_equal(dueq_claim(test.store, text("t"), LATER, test.time, &job), DUEQ_OK);
    return job.token;
}

static uint64_t count_of(enum dueq_state state)
{
    struct dueq_topic_stats stats;

    if (dueq_topic_stats(test.store, text("t"), test.time, &stats) != DUEQ_OK)
        return 0; /* it has gone with its last job */
    return stats.counts[state];
}

/* ---- what will happen to them, and the state that they leave then */

static void make_lives(int count, size_t size)
{
    for (int i = 0; i < count; i++)
        push(i, size, LATER, NULL);
}

static void make_leases(int count, size_t size)
{
    for (int i = 0; i < count; i++) {
        push(i, size, DUEQ_DEFAULT, NULL);
        claim();
    }
}

static void make_done(int count, size_t size)
{
    struct dueq_done done = {.keep = LATER};

    for (int i = 0; i < count; i++) {
        push(i, size, DUEQ_DEFAULT, NULL);
        int64_t token = claim();
        assert_int_equal(
            dueq_finish(test.store, text("t"), numbered(i), token, &done, test.time), DUEQ_OK);
    }
}

static void make_dead(int count, size_t size)
{
    struct dueq_nack nack = {.delay = DUEQ_DEFAULT, .outcome = DUEQ_FATAL};
    struct dueq_settings settings;
    enum dueq_state state;

    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_DEAD_KEEP] = LATER;
    assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_OK);
    for (int i = 0; i < count; i++) {
        push(i, size, DUEQ_DEFAULT, NULL);
        int64_t token = claim();
        assert_int_equal(
            dueq_nack(test.store, text("t"), numbered(i), token, &nack, test.time, &state),
            DUEQ_OK);
    }
}

/* They wait for a job that is deleted later. */
static void make_waiting(int count, size_t size)
{
    struct dueq_prerequisite first = {.id = text("first")};
    struct dueq_push push_first;
    struct dueq_slice given;

    dueq_push_init(&push_first);
    push_first.topic = text("t");
    push_first.id = first.id;
    assert_int_equal(dueq_push(test.store, &push_first, test.time, &given), DUEQ_OK);
    for (int i = 0; i < count; i++)
        push(i, size, DUEQ_DEFAULT, &first);
}

static void end_waiting(void)
{
    assert_int_equal(dueq_del(test.store, text("t"), text("first"), test.time), DUEQ_OK);
}

struct kind {
    void (*make)(int count, size_t size);
    void (*end)(void);
    enum dueq_state state;
};

static const struct kind kinds[] = {
    {make_lives, NULL, DUEQ_READY},
    {make_leases, NULL, DUEQ_CLAIMED},
    {make_done, NULL, DUEQ_DONE},
    {make_dead, NULL, DUEQ_DEAD},
    {make_waiting, end_waiting, DUEQ_WAITING},
};

/* ---- */

/* A call ends `most` jobs at most. Returns the number of calls. */
static int tick_all(const struct kind *kind, uint64_t most)
{
    uint64_t left = count_of(kind->state);
    int calls = 0;

    while (left > 0) {
        uint64_t before = left;

        dueq_tick(test.store, test.time, BUDGET);
        store_fixture_commit(&test);
        left = count_of(kind->state);
        assert_in_range(before - left, 0, most);
        assert_in_range(++calls, 1, 1000);
    }
    return calls;
}

static int run(const struct kind *kind, int count, size_t size, uint64_t most)
{
    int calls;

    kind->make(count, size);
    assert_int_equal(count_of(kind->state), count);
    store_fixture_commit(&test);
    store_fixture_checkpoint(&test);
    store_fixture_reopen(&test); /* nothing is known to be sound */
    store_fixture_pass(&test, LATER + 1);
    if (kind->end != NULL)
        kind->end();
    calls = tick_all(kind, most);
    assert_null(queue_check(test.store->queue));
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    store_fixture_tick(&test, 1000);
    store_fixture_commit(&test);
    return calls;
}

static void a_large_body_is_checked_in_parts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        assert_true(run(&kinds[i], FEW, LARGE, 1) >= FEW);
}

static void bodies_cost_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        run(&kinds[i], MANY, MIDDLE, 1 + BUDGET / queue_read_steps(MIDDLE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_fixture_test(a_large_body_is_checked_in_parts, test),
        store_fixture_test(bodies_cost_steps, test),
    };
    return cmocka_run_group_tests_name("large ticks", tests, NULL, NULL);
}
