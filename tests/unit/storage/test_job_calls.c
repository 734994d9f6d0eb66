/* The public calls on jobs and topics: names that no topic and no job can have, and those calls
 * that no other test of this layer makes. */
#include "storage/dueq.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include "tests/support/cmocka.h"

static struct store_fixture test;

static void push(const char *topic, const char *id, int priority, int64_t delay)
{
    struct dueq_push push;
    struct dueq_slice given;

    dueq_push_init(&push);
    push.topic = text(topic);
    push.id = text(id);
    push.body = text("body");
    push.priority = priority;
    push.delay = delay;
    assert_int_equal(dueq_push(test.store, &push, test.time, &given), DUEQ_OK);
}

static int64_t claim(const char *topic)
{
    struct dueq_job job;

    assert_int_equal(dueq_claim(test.store, text(topic), 1000, test.time, &job), DUEQ_OK);
    return job.token;
}

/* ---- each call with a topic and an id */

static enum dueq_status call_push(struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_push push;
    struct dueq_slice given;

    dueq_push_init(&push);
    push.topic = topic;
    push.id = id;
    return dueq_push(test.store, &push, test.time, &given);
}

static enum dueq_status call_push_unique(struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_push push;
    struct dueq_pushed pushed;

    dueq_push_init(&push);
    push.topic = topic;
    push.id = id;
    push.on_duplicate = DUEQ_REPLACE;
    return dueq_push_unique(test.store, &push, test.time, &pushed);
}

static enum dueq_status call_push_many(struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_push pushes[2];
    struct dueq_pushed pushed[2];

    dueq_push_init(&pushes[0]);
    pushes[0].topic = text("t");
    pushes[1] = pushes[0];
    pushes[1].topic = topic;
    pushes[1].id = id;
    return dueq_push_many(test.store, pushes, 2, test.time, pushed);
}

static enum dueq_status call_ack(struct dueq_slice topic, struct dueq_slice id)
{
    return dueq_ack(test.store, topic, id, 1, test.time);
}

static enum dueq_status call_finish(struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_done done = {.keep = 10};

    return dueq_finish(test.store, topic, id, 1, &done, test.time);
}

static enum dueq_status call_holds(struct dueq_slice topic, struct dueq_slice id)
{
    return dueq_holds(test.store, topic, id, 1);
}

static enum dueq_status call_hand_over(struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_push push;
    struct dueq_pushed pushed;

    dueq_push_init(&push);
    push.topic = text("t");
    return dueq_hand_over(test.store, topic, id, 1, NULL, &push, 1, test.time, &pushed);
}

static enum dueq_status call_nack(struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_nack nack = {.delay = DUEQ_DEFAULT};
    enum dueq_state state;

    return dueq_nack(test.store, topic, id, 1, &nack, test.time, &state);
}

static enum dueq_status call_extend(struct dueq_slice topic, struct dueq_slice id)
{
    int64_t end;

    return dueq_extend(test.store, topic, id, 1, 10, test.time, &end);
}

static enum dueq_status call_reschedule(struct dueq_slice topic, struct dueq_slice id)
{
    int64_t due;

    return dueq_reschedule(test.store, topic, id, false, 10, test.time, &due);
}

static enum dueq_status call_update(struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_push changes;

    dueq_push_init(&changes);
    changes.topic = topic;
    changes.id = id;
    changes.retries = 1;
    return dueq_update(test.store, &changes, false, test.time);
}

static enum dueq_status call_move(struct dueq_slice topic, struct dueq_slice id)
{
    return dueq_move(test.store, topic, id, text("other"), test.time);
}

static enum dueq_status call_cancel(struct dueq_slice topic, struct dueq_slice id)
{
    bool claimed;

    return dueq_cancel(test.store, topic, id, test.time, &claimed);
}

static enum dueq_status call_get(struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_job job;

    return dueq_get(test.store, topic, id, test.time, &job);
}

static enum dueq_status call_del(struct dueq_slice topic, struct dueq_slice id)
{
    return dueq_del(test.store, topic, id, test.time);
}

static enum dueq_status call_watch(struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_watch *watch;

    return dueq_watch_end(test.store, topic, id, NULL, &watch);
}

static enum dueq_status call_ahead(struct dueq_slice topic, struct dueq_slice id)
{
    uint64_t ahead;

    return dueq_ahead(test.store, topic, id, test.time, &ahead);
}

/* ---- each call with a topic only */

static enum dueq_status call_claim(struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_job job;

    (void)id;
    return dueq_claim(test.store, topic, 10, test.time, &job);
}

static enum dueq_status call_claim_to_ack(struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_job job;

    (void)id;
    return dueq_claim_to_ack(test.store, topic, test.time, &job);
}

static enum dueq_status call_move_to(struct dueq_slice topic, struct dueq_slice id)
{
    (void)id;
    return dueq_move(test.store, text("t"), text("a"), topic, test.time);
}

static bool ignore(void *arg, const struct dueq_job *job)
{
    (void)arg;
    (void)job;
    return true;
}

static enum dueq_status call_scan(struct dueq_slice topic, struct dueq_slice id)
{
    char cursor[DUEQ_CURSOR_SIZE];
    struct dueq_scan scan;

    (void)id;
    dueq_scan_init(&scan);
    scan.topic = topic;
    return dueq_scan(test.store, &scan, text("0"), test.time, ignore, NULL, cursor);
}

static enum dueq_status call_peek(struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_peek peek = {.topic = topic, .state = DUEQ_DEFAULT, .count = 1};

    (void)id;
    return dueq_peek(test.store, &peek, test.time, ignore, NULL);
}

static enum dueq_status call_forecast(struct dueq_slice topic, struct dueq_slice id)
{
    uint64_t counts[1] = {0};
    unsigned budget = 100;
    struct dueq_forecast forecast = {.topic = topic, .bucket = 1, .count = 1, .counts = counts};

    (void)id;
    return dueq_forecast(test.store, &forecast, test.time, &budget);
}

static enum dueq_status call_dead(struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_dead_progress progress = {.is_over = false};
    struct dueq_dead query;

    (void)id;
    dueq_dead_init(&query);
    query.topic = topic;
    return dueq_dead(test.store, &query, test.time, 10, ignore, NULL, &progress);
}

static enum dueq_status call_purge(struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_purge_progress progress = {.is_over = false};
    struct dueq_purge purge = {.topic = topic, .state = DUEQ_DEFAULT};

    (void)id;
    return dueq_purge(test.store, &purge, test.time, 10, &progress);
}

static enum dueq_status call_pause(struct dueq_slice topic, struct dueq_slice id)
{
    (void)id;
    return dueq_pause(test.store, topic, true, true, DUEQ_DEFAULT, test.time);
}

static enum dueq_status call_drop(struct dueq_slice topic, struct dueq_slice id)
{
    (void)id;
    return dueq_drop(test.store, topic, test.time);
}

static enum dueq_status call_put_settings(struct dueq_slice scope, struct dueq_slice id)
{
    struct dueq_settings settings;

    (void)id;
    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_RETRIES] = 1;
    return dueq_put_settings(test.store, scope, &settings);
}

typedef enum dueq_status (*call)(struct dueq_slice topic, struct dueq_slice id);

static const call with_id[] = {
    call_push,      call_push_unique, call_push_many, call_ack,        call_finish, call_holds,
    call_hand_over, call_nack,        call_extend,    call_reschedule, call_update, call_move,
    call_cancel,    call_get,         call_del,       call_watch,      call_ahead};
static const call with_topic[] = {call_claim, call_claim_to_ack, call_move_to,     call_scan,
                                  call_peek,  call_forecast,     call_dead,        call_purge,
                                  call_pause, call_drop,         call_put_settings};

/* ---- names */

enum { LONG = 64 * 1024 };

/* Nothing is there but the job "a" of the topic "t". */
static void expect_unchanged(void)
{
    struct dueq_topic_stats stats;
    struct dueq_slice scope;

    assert_int_equal(dueq_topic_count(test.store), 1);
    assert_int_equal(dueq_topic_stats(test.store, text("t"), test.time, &stats), DUEQ_OK);
    assert_int_equal(stats.counts[DUEQ_READY], 1);
    assert_int_equal(stats.pushed, 1);
    assert_int_equal(dueq_settings_after(test.store, dueq_slice(NULL, 0), &scope),
                     DUEQ_NOTFOUND);
}

static void names_of_0_or_more_than_255_bytes_are_refused(void **state)
{
    static const size_t sizes[] = {0, DUEQ_NAME_MAX + 1, LONG};
    static char bytes[LONG];

    (void)state;
    memset(bytes, 'n', sizeof(bytes));
    push("t", "a", 0, 0);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct dueq_slice name = dueq_slice(bytes, sizes[i]);

        for (size_t j = 0; j < sizeof(with_id) / sizeof(with_id[0]); j++) {
            bool gives_id = with_id[j] == call_push || with_id[j] == call_push_unique ||
                            with_id[j] == call_push_many;

            assert_int_equal(with_id[j](name, text("a")), DUEQ_INVALID);
            if (sizes[i] > 0 || !gives_id)
                assert_int_equal(with_id[j](text("t"), name), DUEQ_INVALID);
        }
        for (size_t j = 0; j < sizeof(with_topic) / sizeof(with_topic[0]); j++)
            assert_int_equal(with_topic[j](name, text("a")), DUEQ_INVALID);
    }
    expect_unchanged();
}

static void a_name_of_255_bytes_is_one_like_others(void **state)
{
    static char bytes[DUEQ_NAME_MAX];
    struct dueq_slice name = dueq_slice(bytes, sizeof(bytes));

    (void)state;
    memset(bytes, 'n', sizeof(bytes));
    assert_int_equal(call_push(name, name), DUEQ_OK);
    store_fixture_reopen(&test);
    assert_int_equal(call_get(name, name), DUEQ_OK);
    assert_int_equal(call_ahead(name, name), DUEQ_OK);
    assert_int_equal(call_move(name, name), DUEQ_OK);
    assert_int_equal(call_get(text("other"), name), DUEQ_OK);
    assert_int_equal(call_get(name, name), DUEQ_NOTFOUND);
}

/* ---- calls that no other test makes */

static void a_pop_is_a_claim_and_an_ack(void **state)
{
    struct dueq_topic_stats stats;
    struct dueq_job job;

    (void)state;
    push("t", "a", 5, 0);
    push("t", "b", 1, 0);
    assert_int_equal(dueq_claim_to_ack(test.store, text("t"), test.time, &job), DUEQ_OK);
    assert_true(dueq_slice_equal(job.id, text("b")));
    assert_int_equal(dueq_ack(test.store, text("t"), text("b"), job.token, test.time), DUEQ_OK);
    assert_int_equal(dueq_topic_stats(test.store, text("t"), test.time, &stats), DUEQ_OK);
    assert_int_equal(stats.claimed, 1);
    assert_int_equal(stats.acked, 1);
    assert_int_equal(stats.counts[DUEQ_READY], 1);
}

static uint64_t ahead_of(const char *id)
{
    uint64_t ahead = 99;

    assert_int_equal(dueq_ahead(test.store, text("t"), text(id), test.time, &ahead), DUEQ_OK);
    return ahead;
}

/* A job that is not ready has no place. */
static void a_ready_job_knows_how_many_come_before_it(void **state)
{
    (void)state;
    push("t", "first", 1, 0);
    push("t", "second", 5, 0);
    store_fixture_pass(&test, 1);
    push("t", "third", 5, 0);
    push("t", "later", 0, 1000);
    assert_int_equal(ahead_of("first"), 0);
    assert_int_equal(ahead_of("second"), 1);
    assert_int_equal(ahead_of("third"), 2);
    assert_int_equal(ahead_of("later"), 0);
    claim("t");
    assert_int_equal(ahead_of("first"), 0);
    assert_int_equal(ahead_of("third"), 1);
    store_fixture_pass(&test, 1000);
    assert_int_equal(ahead_of("later"), 0);
    assert_int_equal(ahead_of("third"), 2);
}

enum { BUCKETS = 4 };

static void expect_forecast(int64_t bucket, const uint64_t wanted[BUCKETS])
{
    uint64_t counts[BUCKETS] = {0};
    struct dueq_forecast forecast = {
        .topic = text("t"), .bucket = bucket, .count = BUCKETS, .counts = counts};
    unsigned budget = 1000;

    assert_int_equal(dueq_forecast(test.store, &forecast, test.time, &budget), DUEQ_OK);
    assert_memory_equal(counts, wanted, sizeof(counts));
}

/* A bucket has the job that is due at its end, not the one at its beginning: that is ready. */
static void a_forecast_counts_each_job_in_one_bucket(void **state)
{
    (void)state;
    push("t", "now", 0, 0);
    push("t", "in 1", 0, 1);
    push("t", "in 100", 0, 100);
    push("t", "in 101", 7, 101);
    push("t", "in 400", 0, 400);
    push("t", "in 401", 0, 401);
    expect_forecast(100, (const uint64_t[BUCKETS]){2, 1, 0, 1});
    store_fixture_pass(&test, 1);
    expect_forecast(100, (const uint64_t[BUCKETS]){2, 0, 0, 2});
    expect_forecast(1, (const uint64_t[BUCKETS]){0, 0, 0, 0});
    expect_forecast(INT64_MAX, (const uint64_t[BUCKETS]){4, 0, 0, 0});
}

/* Neither a pause nor the end of all time hides a job. */
static void a_forecast_has_paused_jobs_and_the_latest(void **state)
{
    (void)state;
    push("t", "a", 0, 10);
    push("t", "last", 0, INT64_MAX);
    assert_int_equal(dueq_pause(test.store, text("t"), true, true, DUEQ_DEFAULT, test.time),
                     DUEQ_OK);
    expect_forecast(10, (const uint64_t[BUCKETS]){1, 0, 0, 0});
    expect_forecast(INT64_MAX, (const uint64_t[BUCKETS]){2, 0, 0, 0});
    expect_forecast(INT64_MAX / 2, (const uint64_t[BUCKETS]){2, 0, 0, 0});
}

static void a_moved_job_has_its_options_and_no_token(void **state)
{
    struct dueq_job job;
    int64_t token;

    (void)state;
    push("t", "a", 3, 0);
    token = claim("t");
    store_fixture_pass(&test, 1000);
    store_fixture_tick(&test, 100);
    push("other", "b", 3, 0);
    assert_int_equal(dueq_move(test.store, text("t"), text("b"), text("other"), test.time),
                     DUEQ_NOTFOUND);
    assert_int_equal(dueq_move(test.store, text("t"), text("a"), text("other"), test.time),
                     DUEQ_OK);
    store_fixture_reopen(&test);
    assert_int_equal(dueq_get(test.store, text("other"), text("a"), test.time, &job), DUEQ_OK);
    assert_int_equal(job.priority, 3);
    assert_int_equal(job.leases_expired, 1);
    assert_int_equal(dueq_ack(test.store, text("other"), text("a"), token, test.time),
                     DUEQ_STALE);
    push("t", "a", 3, 0);
    assert_int_equal(dueq_move(test.store, text("t"), text("a"), text("other"), test.time),
                     DUEQ_DUPLICATE);
}

static void expect_ack(const char *topic, const char *id, int64_t token,
                       enum dueq_status status)
{
    assert_int_equal(dueq_ack(test.store, text(topic), text(id), token, test.time), status);
}

/* Whether the store still knows the claim by heart or has just been opened. */
static void a_token_is_that_of_one_job(void **state)
{
    int64_t first, second, other;

    (void)state;
    for (int reopens = 0; reopens < 2; reopens++) {
        push("t", "a", 3, 0);
        push("t", "b", 3, 0);
        push("u", "a", 3, 0);
        first = claim("t");
        second = claim("t");
        other = claim("u");
        if (reopens)
            store_fixture_reopen(&test);
        expect_ack("t", "a", second, DUEQ_STALE);
        expect_ack("t", "b", first, DUEQ_STALE);
        expect_ack("t", "c", second, DUEQ_NOTFOUND);
        expect_ack("t", "b", second, DUEQ_OK);
        expect_ack("t", "b", second, DUEQ_NOTFOUND);
        push("t", "b", 3, 0);
        expect_ack("t", "b", second, DUEQ_STALE);
        expect_ack("t", "a", first, DUEQ_OK);
        expect_ack("u", "a", other, DUEQ_OK);
        expect_ack("t", "b", claim("t"), DUEQ_OK);
    }
}

/* ---- settings and defaults */

static void a_setting_tells_its_scope(void **state)
{
    struct dueq_settings settings;
    struct dueq_defaults defaults;
    struct dueq_slice scope;

    (void)state;
    assert_int_equal(call_put_settings(text("t*"), text("")), DUEQ_OK);
    scope = dueq_setting_source(test.store, text("tasks"), DUEQ_SET_RETRIES);
    assert_true(dueq_slice_equal(scope, text("t*")));
    assert_int_equal(dueq_setting_source(test.store, text("tasks"), DUEQ_SET_LEASE).size, 0);
    assert_int_equal(dueq_setting_source(test.store, text("jobs"), DUEQ_SET_RETRIES).size, 0);
    assert_int_equal(dueq_get_settings(test.store, text("t*"), &settings), DUEQ_OK);
    assert_int_equal(settings.numbers[DUEQ_SET_RETRIES], 1);
    assert_int_equal(dueq_get_settings(test.store, text("tasks"), &settings), DUEQ_NOTFOUND);
    dueq_get_defaults(test.store, &defaults);
    defaults.lease = 7;
    dueq_set_defaults(test.store, &defaults);
    push("tasks", "a", 0, 0);
    assert_int_equal(dueq_claim(test.store, text("tasks"), DUEQ_DEFAULT, test.time,
                                &(struct dueq_job){.attempt = 0}),
                     DUEQ_OK);
    store_fixture_pass(&test, 7);
    store_fixture_tick(&test, 100);
    assert_true(claim("tasks") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_fixture_test(names_of_0_or_more_than_255_bytes_are_refused, test),
        store_fixture_test(a_name_of_255_bytes_is_one_like_others, test),
        store_fixture_test(a_pop_is_a_claim_and_an_ack, test),
        store_fixture_test(a_ready_job_knows_how_many_come_before_it, test),
        store_fixture_test(a_forecast_counts_each_job_in_one_bucket, test),
        store_fixture_test(a_forecast_has_paused_jobs_and_the_latest, test),
        store_fixture_test(a_moved_job_has_its_options_and_no_token, test),
        store_fixture_test(a_token_is_that_of_one_job, test),
        store_fixture_test(a_setting_tells_its_scope, test),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
