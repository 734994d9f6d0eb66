/* Dead jobs: how long they are kept, where they go, and what dueq_dead does with them. */
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>

#include "tests/support/cmocka.h"

enum { MANY = 2000, LARGE = 100 * 1024, TICK_STEPS = 100 };

static struct store_fixture test;

/* ---- making jobs dead */

static struct dueq_slice numbered(int number)
{
    static char name[16];

    return dueq_slice(name, (size_t)snprintf(name, sizeof(name), "%d", number));
}

static struct dueq_push push_of(const char *topic, struct dueq_slice id)
{
    struct dueq_push push;

    dueq_push_init(&push);
    push.topic = text(topic);
    push.id = id;
    push.body = text("body");
    return push;
}

static void add(const struct dueq_push *push)
{
    struct dueq_slice id;

    assert_int_equal(dueq_push(test.store, push, test.time, &id), DUEQ_OK);
}

/* The next job of the topic dies. */
static void kill_next(const char *topic, const char *error)
{
    struct dueq_nack nack = {.delay = DUEQ_DEFAULT, .outcome = DUEQ_FATAL};
    struct dueq_job job;
    enum dueq_state now;
    char id[DUEQ_NAME_MAX];

    nack.error = text(error);
    assert_int_equal(
        dueq_claim_as(test.store, text(topic), 1000, text("worker"), test.time, &job), DUEQ_OK);
    memcpy(id, job.id.data, job.id.size);
    assert_int_equal(dueq_nack(test.store, text(topic), dueq_slice(id, job.id.size), job.token,
                               &nack, test.time, &now),
                     DUEQ_OK);
    assert_int_equal(now, DUEQ_DEAD);
}

static void add_dead(const char *topic, struct dueq_slice id, const char *error)
{
    struct dueq_push push = push_of(topic, id);

    add(&push);
    kill_next(topic, error);
}

static void add_many_dead(int count)
{
    for (int i = 0; i < count; i++)
        add_dead("t", numbered(i), "broken");
}

static struct dueq_topic_stats stats_of(const char *topic)
{
    struct dueq_topic_stats stats;

    memset(&stats, 0, sizeof(stats));
    dueq_topic_stats(test.store, text(topic), test.time, &stats);
    return stats;
}

static uint64_t dead_of(const char *topic)
{
    return stats_of(topic).counts[DUEQ_DEAD];
}

static struct dueq_job get(const char *topic, struct dueq_slice id)
{
    struct dueq_job job;

    assert_int_equal(dueq_get(test.store, text(topic), id, test.time, &job), DUEQ_OK);
    return job;
}

static bool is_there(const char *topic, struct dueq_slice id)
{
    struct dueq_job job;

    return dueq_get(test.store, text(topic), id, test.time, &job) == DUEQ_OK;
}

static void tick_all(void)
{
    store_fixture_tick(&test, TICK_STEPS);
}

static void wait_ms(int64_t ms)
{
    store_fixture_pass(&test, ms);
    tick_all();
}

/* The timer of a lease that ended early is gone by then. */
static void expect_rest(void)
{
    wait_ms(2000);
    assert_int_equal(dueq_next_tick(test.store, test.time), DUEQ_NEVER);
}

static void check(void)
{
    assert_null(queue_check(test.store->queue));
}

/* ---- settings */

static struct dueq_settings no_settings(void)
{
    struct dueq_settings settings;

    dueq_settings_init(&settings);
    return settings;
}

static void put(const char *scope, const struct dueq_settings *settings)
{
    assert_int_equal(dueq_put_settings(test.store, text(scope), settings), DUEQ_OK);
}

static void set_number(const char *scope, enum dueq_setting setting, int64_t number)
{
    struct dueq_settings settings = no_settings();

    settings.numbers[setting] = number;
    put(scope, &settings);
}

static struct dueq_settings dead_topic(const char *to)
{
    struct dueq_settings settings = no_settings();

    settings.dead_topic_size = strlen(to);
    memcpy(settings.dead_topic, to, settings.dead_topic_size);
    return settings;
}

static void send_dead(const char *scope, const char *to)
{
    struct dueq_settings settings = dead_topic(to);

    put(scope, &settings);
}

/* ---- retention */

static void dead_jobs_are_kept_for_ever_by_default(void **state)
{
    (void)state;
    add_many_dead(10);
    expect_rest();
    wait_ms(INT64_C(1000) * 365 * 86400 * 1000);
    assert_int_equal(dead_of("t"), 10);
}

static void dead_jobs_go_by_age(void **state)
{
    (void)state;
    set_number("t", DUEQ_SET_DEAD_KEEP, 1000);
    add_dead("t", text("a"), "x");
    wait_ms(400);
    add_dead("t", text("b"), "x");
    assert_in_range(dueq_next_tick(test.store, test.time), 1, 600);
    wait_ms(599);
    assert_int_equal(dead_of("t"), 2);
    wait_ms(1);
    assert_int_equal(dead_of("t"), 1);
    assert_true(is_there("t", text("b")));
    check();
    wait_ms(400);
    assert_int_equal(dead_of("t"), 0);
    assert_int_equal(stats_of("t").dead_removed, 2);
    assert_int_equal(stats_of("t").deleted, 0);
    check();
}

static void the_oldest_dead_job_goes_by_number(void **state)
{
    (void)state;
    set_number("*", DUEQ_SET_DEAD_MAX, 2);
    add_many_dead(5);
    tick_all();
    assert_int_equal(dead_of("t"), 2);
    assert_true(is_there("t", numbered(3)) && is_there("t", numbered(4)));
    assert_int_equal(stats_of("t").dead_removed, 3);
    check();
}

static void no_dead_job_stays_when_none_may(void **state)
{
    (void)state;
    set_number("t", DUEQ_SET_DEAD_MAX, 0);
    add_many_dead(3);
    tick_all();
    assert_int_equal(dead_of("t"), 0);
    expect_rest();
    check();
}

static void a_limit_set_later_counts_for_those_that_are_dead(void **state)
{
    (void)state;
    add_many_dead(MANY);
    tick_all();
    set_number("t", DUEQ_SET_DEAD_MAX, 10);
    tick_all();
    assert_int_equal(dead_of("t"), 10);
    assert_true(is_there("t", numbered(MANY - 1)));
    check();
}

/* The scope with the topic's name goes: what the pattern says is less. */
static void a_limit_that_shows_when_another_goes_counts_too(void **state)
{
    struct dueq_settings none = no_settings();

    (void)state;
    set_number("*", DUEQ_SET_DEAD_MAX, 1);
    set_number("t", DUEQ_SET_DEAD_MAX, 100);
    add_many_dead(5);
    tick_all();
    assert_int_equal(dead_of("t"), 5);
    put("t", &none);
    tick_all();
    assert_int_equal(dead_of("t"), 1);
}

static void ages_go_on_over_a_restart(void **state)
{
    (void)state;
    set_number("t", DUEQ_SET_DEAD_KEEP, 1000);
    add_many_dead(3);
    store_fixture_commit(&test);
    wait_ms(999);
    store_fixture_crash(&test);
    tick_all();
    assert_int_equal(dead_of("t"), 3);
    wait_ms(1);
    assert_int_equal(dead_of("t"), 0);
    check();
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    assert_int_equal(stats_of("t").dead_removed, 3);
}

/* Each tick is bounded, and goes on where the last one stopped. */
static void retention_is_done_in_parts(void **state)
{
    int ticks = 0;

    (void)state;
    add_many_dead(MANY);
    tick_all();
    store_fixture_commit(&test);
    set_number("t", DUEQ_SET_DEAD_MAX, 0);
    while (dueq_tick(test.store, test.time, TICK_STEPS))
        ticks++;
    assert_int_equal(dead_of("t"), 0);
    assert_in_range(ticks, 4 * MANY / TICK_STEPS, 10 * MANY / TICK_STEPS);
}

/* ---- dead-letter topics */

static void a_dead_job_goes_to_another_topic(void **state)
{
    struct dueq_push push = push_of("t", text("a"));
    struct dueq_attempt attempts[DUEQ_ATTEMPTS_KEPT];
    struct dueq_job job;

    (void)state;
    send_dead("t", "dead");
    push.retries = 7;
    push.ttl = 5000;
    add(&push);
    kill_next("t", "broken");
    assert_false(is_there("t", text("a")));
    job = get("dead", text("a"));
    assert_int_equal(job.state, DUEQ_READY);
    assert_int_equal(job.attempt + job.failures + job.leases_expired + job.token, 0);
    assert_int_equal(job.retries, 7);
    assert_true(dueq_slice_equal(job.body, text("body")));
    assert_true(dueq_slice_equal(job.error, text("broken")));
    assert_int_equal(dueq_job_attempts(&job, attempts), 1);
    assert_true(dueq_slice_equal(attempts[0].worker, text("worker")));
    assert_int_equal(stats_of("t").dead, 1);
    assert_int_equal(stats_of("t").bytes, 0);
    assert_int_equal(stats_of("dead").pushed, 1);
    assert_int_equal(stats_of("dead").bytes, 4);
    check();
    wait_ms(10000);
    assert_int_equal(get("dead", text("a")).state, DUEQ_READY);
}

/* Each time it is claimed once: nothing turns by itself. */
static void two_topics_can_send_to_each_other(void **state)
{
    struct dueq_push push = push_of("a", text("j"));

    (void)state;
    send_dead("a", "b");
    send_dead("b", "a");
    push.ttl = 0;
    add(&push);
    wait_ms(1000);
    assert_int_equal(get("b", text("j")).state, DUEQ_READY);
    for (int i = 0; i < 10; i++)
        kill_next(i % 2 == 0 ? "b" : "a", "again");
    assert_int_equal(get("b", text("j")).state, DUEQ_READY);
    expect_rest();
    check();
}

static void a_topic_is_not_its_own_dead_letter_topic(void **state)
{
    struct dueq_settings settings = dead_topic("t");

    (void)state;
    assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_INVALID);
    send_dead("*", "t");
    add_dead("t", text("a"), "x");
    assert_int_equal(get("t", text("a")).state, DUEQ_DEAD);
    check();
}

/* However jobs die there, they stay: nothing goes round. */
static void a_pattern_may_match_its_dead_letter_topic(void **state)
{
    struct dueq_push push = push_of("graves", text("expired"));
    struct dueq_job job;

    (void)state;
    send_dead("*", "graves");
    add_dead("t", text("failed"), "x");
    kill_next("graves", "again");
    push.ttl = 5;
    add(&push);
    wait_ms(5);
    push = push_of("graves", text("crashed"));
    push.crashes = 0;
    add(&push);
    assert_int_equal(dueq_claim(test.store, text("graves"), 10, test.time, &job), DUEQ_OK);
    wait_ms(10);
    assert_int_equal(dead_of("graves"), 3);
    assert_int_equal(stats_of("graves").dead, 3);
    assert_int_equal(stats_of("graves").pushed, 3);
    expect_rest();
    check();
}

static void a_taken_id_becomes_another_one(void **state)
{
    struct dueq_push push = push_of("dead", text("a"));

    (void)state;
    send_dead("t", "dead");
    add(&push);
    add_dead("t", text("a"), "x");
    assert_int_equal(stats_of("dead").counts[DUEQ_READY], 2);
    assert_int_equal(get("dead", text("a")).error.size, 0);
    check();
}

static void an_id_of_the_store_s_stays_too(void **state)
{
    struct dueq_push push = push_of("t", text(""));
    struct dueq_slice id;
    char kept[DUEQ_NAME_MAX];

    (void)state;
    send_dead("t", "dead");
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    memcpy(kept, id.data, id.size);
    id.data = kept;
    kill_next("t", "x");
    assert_int_equal(get("dead", id).state, DUEQ_READY);
    assert_false(is_there("t", id));
    check();
}

static void a_pause_does_not_hold_the_dead_up(void **state)
{
    (void)state;
    send_dead("t", "dead");
    assert_int_equal(dueq_pause(test.store, text("dead"), true, true, DUEQ_DEFAULT, test.time),
                     DUEQ_OK);
    add_dead("t", text("a"), "x");
    assert_int_equal(get("dead", text("a")).state, DUEQ_READY);
}

static void what_crashes_or_expires_goes_there_too(void **state)
{
    struct dueq_push push = push_of("t", text("crashed"));
    struct dueq_job job;

    (void)state;
    send_dead("t", "dead");
    push.crashes = 0;
    add(&push);
    assert_int_equal(dueq_claim(test.store, text("t"), 10, test.time, &job), DUEQ_OK);
    wait_ms(10);
    push = push_of("t", text("expired"));
    push.ttl = 5;
    add(&push);
    wait_ms(5);
    job = get("dead", text("crashed"));
    assert_true(dueq_slice_equal(job.error, text("crashed: 1 leases expired")));
    assert_true(dueq_slice_equal(get("dead", text("expired")).error, text("expired")));
    assert_int_equal(stats_of("t").dead, 2);
    check();
}

/* A claim comes before the tick, and meets large jobs whose ttl has run out. */
static void a_claim_moves_only_so_many_bytes(void **state)
{
    static char large[LARGE];
    struct dueq_push push = push_of("t", text(""));
    struct dueq_job job;

    (void)state;
    send_dead("t", "dead");
    push.body = dueq_slice(large, sizeof(large));
    push.ttl = 5;
    for (int i = 0; i < 100; i++)
        add(&push);
    store_fixture_commit(&test);
    store_fixture_pass(&test, 10);
    assert_int_equal(dueq_claim(test.store, text("t"), 10, test.time, &job), DUEQ_BUSY);
    assert_in_range(stats_of("dead").pushed, 1, 40);
    dueq_tick(test.store, test.time, TICK_STEPS);
    assert_in_range(stats_of("dead").pushed, 1, 50);
    tick_all();
    assert_int_equal(stats_of("dead").pushed, 100);
    check();
}

static void a_job_without_room_there_is_dead_here(void **state)
{
    static char large[LARGE];
    struct dueq_push push = push_of("t", text("a"));

    (void)state;
    store_fixture_close(&test);
    test.options.record_bytes = 160 * 1024;
    store_fixture_open(&test);
    send_dead("t", "dead");
    push.body = dueq_slice(large, sizeof(large));
    add(&push);
    kill_next("t", "broken"); /* in the batch of the push there is no room for it twice */
    assert_int_equal(get("t", text("a")).state, DUEQ_DEAD);
    check();
}

/* ---- dueq_dead */

static struct dueq_dead query_of(enum dueq_dead_action action)
{
    struct dueq_dead query;

    dueq_dead_init(&query);
    query.topic = text("t");
    query.action = action;
    return query;
}

static struct dueq_dead_progress run(const struct dueq_dead *query)
{
    struct dueq_dead_progress progress = {.is_over = false};

    assert_int_equal(dueq_dead(test.store, query, test.time, UINT32_MAX, NULL, NULL, &progress),
                     DUEQ_OK);
    assert_true(progress.is_over);
    return progress;
}

static bool count_job(void *arg, const struct dueq_job *job)
{
    assert_int_equal(job->state, DUEQ_DEAD);
    return --*(int *)arg > 0;
}

static void a_look_finds_by_id_error_and_age(void **state)
{
    struct dueq_dead query = query_of(DUEQ_DEAD_LOOK);

    (void)state;
    add_dead("t", text("mail-1"), "smtp: 451");
    wait_ms(1000);
    add_dead("t", text("mail-2"), "smtp: 550");
    add_dead("t", text("sms-1"), "timeout");
    assert_int_equal(run(&query).found, 3);
    query.match = text("mail-*");
    assert_int_equal(run(&query).found, 2);
    query.error = text("*550");
    assert_int_equal(run(&query).found, 1);
    query = query_of(DUEQ_DEAD_LOOK);
    query.older = 1000;
    assert_int_equal(run(&query).found, 1);
    query.older = 1001;
    assert_int_equal(run(&query).found, 0);
    query.older = INT64_MAX;
    assert_int_equal(run(&query).found, 0);
    query.older = 0;
    query.limit = 2;
    assert_int_equal(run(&query).found, 2);
    query.limit = 0;
    assert_int_equal(run(&query).found, 0);
    assert_int_equal(dead_of("t"), 3);
}

static void a_look_stops_when_it_is_told_to(void **state)
{
    struct dueq_dead query = query_of(DUEQ_DEAD_LOOK);
    struct dueq_dead_progress progress = {.is_over = false};
    int wanted = 3;

    (void)state;
    add_many_dead(5);
    assert_int_equal(
        dueq_dead(test.store, &query, test.time, 1000, count_job, &wanted, &progress), DUEQ_OK);
    assert_true(progress.is_over);
    assert_int_equal(progress.found, 3);
}

static void a_purge_removes_in_parts(void **state)
{
    struct dueq_dead query = query_of(DUEQ_DEAD_PURGE);
    struct dueq_dead_progress progress = {.is_over = false};
    int calls = 0;

    (void)state;
    add_many_dead(MANY);
    store_fixture_checkpoint(&test);
    for (; !progress.is_over; calls++) {
        assert_int_equal(
            dueq_dead(test.store, &query, test.time, TICK_STEPS, NULL, NULL, &progress),
            DUEQ_OK);
        if (calls == 7)
            store_fixture_crash(&test); /* what was not committed is dead again */
    }
    assert_int_equal(progress.found, MANY);
    assert_in_range(calls, MANY * 4 / TICK_STEPS, MANY * 10 / TICK_STEPS);
    assert_in_range(dead_of("t"), 1, 10 * TICK_STEPS);
    run(&query);
    assert_int_equal(dead_of("t"), 0);
    assert_int_equal(stats_of("t").dead_removed, 0);
    check();
}

static void a_redriven_job_begins_anew(void **state)
{
    struct dueq_dead query = query_of(DUEQ_DEAD_REDRIVE);
    struct dueq_push push = push_of("t", text("a"));
    struct dueq_attempt attempts[DUEQ_ATTEMPTS_KEPT];
    struct dueq_job job;

    (void)state;
    push.retries = 0;
    push.ttl = 500;
    add(&push);
    kill_next("t", "broken");
    wait_ms(1000);
    assert_int_equal(run(&query).found, 1);
    job = get("t", text("a"));
    assert_int_equal(job.state, DUEQ_READY);
    assert_int_equal(job.attempt + job.failures + job.leases_expired, 0);
    assert_true(dueq_slice_equal(job.error, text("broken")));
    assert_int_equal(dueq_job_attempts(&job, attempts), 1);
    check();
    assert_int_equal(dueq_ack(test.store, text("t"), text("a"), 1, test.time), DUEQ_STALE);
    wait_ms(500); /* its ttl counts from the new due time */
    assert_int_equal(get("t", text("a")).state, DUEQ_DEAD);
    check();
}

static void a_redrive_spreads_jobs_over_time(void **state)
{
    struct dueq_dead query = query_of(DUEQ_DEAD_REDRIVE);

    (void)state;
    add_many_dead(7);
    query.rate = 3;
    query.period = 1000;
    assert_int_equal(run(&query).found, 7);
    for (int i = 0; i < 7; i++)
        assert_int_equal(get("t", numbered(i)).due, STORE_FIXTURE_START + i * 1000 / 3);
    check();
}

static void a_rate_can_be_out_of_all_proportion(void **state)
{
    struct dueq_dead query = query_of(DUEQ_DEAD_REDRIVE);

    (void)state;
    add_many_dead(5);
    query.rate = 1;
    query.period = INT64_MAX;
    assert_int_equal(run(&query).found, 5);
    assert_int_equal(stats_of("t").counts[DUEQ_READY], 1);
    check();
    query.rate = DUEQ_RATE_MAX + 1;
    assert_int_equal(dueq_dead(test.store, &query, test.time, 1, NULL, NULL,
                               &(struct dueq_dead_progress){.is_over = false}),
                     DUEQ_INVALID);
}

/* Those that die again meanwhile are not taken a second time. */
static void a_redrive_ends_though_jobs_die_on(void **state)
{
    struct dueq_dead query = query_of(DUEQ_DEAD_REDRIVE);
    struct dueq_dead_progress progress = {.is_over = false};

    (void)state;
    add_many_dead(100);
    for (int i = 0; !progress.is_over; i++) {
        assert_true(i < 1000);
        assert_int_equal(dueq_dead(test.store, &query, test.time, 1, NULL, NULL, &progress),
                         DUEQ_OK);
        wait_ms(1);
        if (stats_of("t").counts[DUEQ_READY] > 0)
            kill_next("t", "again");
    }
    assert_int_equal(progress.found, 100);
    assert_int_equal(dead_of("t"), 100);
}

/* The clock stands still: they are dead again before the walk has come to its end. */
static void a_redrive_ends_though_no_time_passes(void **state)
{
    struct dueq_dead query = query_of(DUEQ_DEAD_REDRIVE);
    struct dueq_dead_progress progress = {.is_over = false};

    (void)state;
    for (int i = 0; i < 100; i++) {
        struct dueq_push push = push_of("t", numbered(i));

        push.ttl = 0;
        add(&push);
    }
    tick_all();
    wait_ms(10);
    assert_int_equal(dead_of("t"), 100);
    for (int i = 0; !progress.is_over && i < 1000; i++) {
        assert_int_equal(dueq_dead(test.store, &query, test.time, 10, NULL, NULL, &progress),
                         DUEQ_OK);
        tick_all();
    }
    assert_true(progress.is_over);
    assert_int_equal(progress.found, 100);
}

static void a_redrive_to_another_topic_skips_taken_ids(void **state)
{
    struct dueq_dead query = query_of(DUEQ_DEAD_REDRIVE);
    struct dueq_push push = push_of("other", numbered(1));
    struct dueq_dead_progress progress;

    (void)state;
    add_many_dead(3);
    add(&push);
    query.to = text("other");
    query.dry_run = true;
    progress = run(&query);
    assert_int_equal(progress.found, 2);
    assert_int_equal(progress.skipped, 1);
    assert_int_equal(dead_of("t"), 3);
    query.dry_run = false;
    progress = run(&query);
    assert_int_equal(progress.found, 2);
    assert_int_equal(progress.skipped, 1);
    assert_int_equal(dead_of("t"), 1);
    assert_int_equal(stats_of("other").counts[DUEQ_READY], 3);
    check();
}

/* One batch cannot hold all of them: a call stops where it is full. */
static void a_redrive_of_large_jobs_stops_at_a_full_batch(void **state)
{
    static char large[LARGE];
    struct dueq_dead query = query_of(DUEQ_DEAD_REDRIVE);
    struct dueq_dead_progress progress = {.is_over = false};
    struct dueq_push push = push_of("t", text(""));
    int calls = 0;

    (void)state;
    store_fixture_close(&test);
    test.options.record_bytes = 1 << 20;
    store_fixture_open(&test);
    push.body = dueq_slice(large, sizeof(large));
    for (int i = 0; i < 30; i++) {
        add(&push);
        kill_next("t", "x");
        store_fixture_commit(&test);
    }
    query.to = text("other");
    for (; !progress.is_over && calls < 30; calls++) {
        assert_int_equal(
            dueq_dead(test.store, &query, test.time, UINT32_MAX, NULL, NULL, &progress),
            DUEQ_OK);
        store_fixture_commit(&test);
    }
    assert_int_equal(progress.found, 30);
    assert_in_range(calls, 4, 10);
    check();
}

static void a_job_that_no_batch_can_hold_is_an_error(void **state)
{
    static char large[LARGE];
    struct dueq_dead query = query_of(DUEQ_DEAD_REDRIVE);
    struct dueq_dead_progress progress = {.is_over = false};
    struct dueq_push push = push_of("t", text("a"));

    (void)state;
    push.body = dueq_slice(large, sizeof(large));
    add(&push);
    kill_next("t", "x");
    store_fixture_close(&test);
    test.options.record_bytes = LARGE;
    store_fixture_open(&test);
    query.to = text("other");
    assert_int_equal(
        dueq_dead(test.store, &query, test.time, UINT32_MAX, NULL, NULL, &progress),
        DUEQ_TOOBIG);
    assert_int_equal(dead_of("t"), 1);
    check();
}

static void a_dry_run_makes_no_topic(void **state)
{
    struct dueq_dead query = query_of(DUEQ_DEAD_REDRIVE);

    (void)state;
    add_many_dead(3);
    query.to = text("other");
    query.dry_run = true;
    assert_int_equal(run(&query).found, 3);
    assert_int_equal(dueq_topic_count(test.store), 1);
    query.match = text("nothing");
    query.dry_run = false;
    assert_int_equal(run(&query).found, 0);
    assert_int_equal(dueq_topic_count(test.store), 1);
}

static void a_redrive_to_its_own_topic_is_one_in_place(void **state)
{
    struct dueq_dead query = query_of(DUEQ_DEAD_REDRIVE);

    (void)state;
    add_many_dead(3);
    query.to = text("t");
    assert_int_equal(run(&query).found, 3);
    assert_int_equal(stats_of("t").counts[DUEQ_READY], 3);
    check();
}

static void a_topic_that_is_not_there_has_no_dead(void **state)
{
    struct dueq_dead query = query_of(DUEQ_DEAD_PURGE);

    (void)state;
    assert_int_equal(run(&query).found, 0);
    assert_int_equal(dueq_topic_count(test.store), 0);
}

#define dead_test(function) store_fixture_test(function, test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        dead_test(dead_jobs_are_kept_for_ever_by_default),
        dead_test(dead_jobs_go_by_age),
        dead_test(the_oldest_dead_job_goes_by_number),
        dead_test(no_dead_job_stays_when_none_may),
        dead_test(a_limit_set_later_counts_for_those_that_are_dead),
        dead_test(a_limit_that_shows_when_another_goes_counts_too),
        dead_test(ages_go_on_over_a_restart),
        dead_test(retention_is_done_in_parts),
        dead_test(a_dead_job_goes_to_another_topic),
        dead_test(two_topics_can_send_to_each_other),
        dead_test(a_topic_is_not_its_own_dead_letter_topic),
        dead_test(a_pattern_may_match_its_dead_letter_topic),
        dead_test(a_taken_id_becomes_another_one),
        dead_test(an_id_of_the_store_s_stays_too),
        dead_test(a_pause_does_not_hold_the_dead_up),
        dead_test(what_crashes_or_expires_goes_there_too),
        dead_test(a_claim_moves_only_so_many_bytes),
        dead_test(a_job_without_room_there_is_dead_here),
        dead_test(a_look_finds_by_id_error_and_age),
        dead_test(a_look_stops_when_it_is_told_to),
        dead_test(a_purge_removes_in_parts),
        dead_test(a_redriven_job_begins_anew),
        dead_test(a_redrive_spreads_jobs_over_time),
        dead_test(a_rate_can_be_out_of_all_proportion),
        dead_test(a_redrive_ends_though_jobs_die_on),
        dead_test(a_redrive_ends_though_no_time_passes),
        dead_test(a_redrive_to_another_topic_skips_taken_ids),
        dead_test(a_redrive_of_large_jobs_stops_at_a_full_batch),
        dead_test(a_job_that_no_batch_can_hold_is_an_error),
        dead_test(a_dry_run_makes_no_topic),
        dead_test(a_redrive_to_its_own_topic_is_one_in_place),
        dead_test(a_topic_that_is_not_there_has_no_dead),
    };

    return cmocka_run_group_tests_name("dead jobs", tests, NULL, NULL);
}
