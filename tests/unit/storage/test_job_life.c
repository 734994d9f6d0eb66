/* What holds for a job whatever was done to it before: the end of its ttl, its attempts, what
 * is counted, and who learns of it. */
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include "tests/support/cmocka.h"

enum { LEASE = 100 };

static struct store_fixture test;

static struct dueq_push push_of(const char *id)
{
    struct dueq_push push;

    dueq_push_init(&push);
    push.topic = text("t");
    push.id = text(id);
    push.body = text("12345");
    return push;
}

static void add(const struct dueq_push *push, enum dueq_push_outcome wanted)
{
    struct dueq_pushed pushed;

    assert_int_equal(dueq_push_unique(test.store, push, test.time, &pushed), DUEQ_OK);
    assert_int_equal(pushed.outcome, wanted);
}

/* Returns the token. */
static int64_t claim(int64_t lease)
{
    struct dueq_job job;

    assert_int_equal(dueq_claim(test.store, text("t"), lease, test.time, &job), DUEQ_OK);
    return job.token;
}

static void pass(int64_t ms)
{
    store_fixture_pass(&test, ms);
    store_fixture_tick(&test, 100);
    assert_null(queue_check(test.store->queue));
}

static struct dueq_job get(const char *id)
{
    struct dueq_job job;

    assert_int_equal(dueq_get(test.store, text("t"), text(id), test.time, &job), DUEQ_OK);
    return job;
}

static void reschedule_at(const char *id, int64_t wait)
{
    int64_t due;

    assert_int_equal(dueq_reschedule(test.store, text("t"), text(id), true,
                                     test.time.wall + wait, test.time, &due),
                     DUEQ_OK);
}

static enum dueq_state nack(const char *id, int64_t token)
{
    struct dueq_nack nack = {.delay = 0};
    enum dueq_state state;

    assert_int_equal(
        dueq_nack(test.store, text("t"), text(id), token, &nack, test.time, &state), DUEQ_OK);
    return state;
}

/* ---- what is counted */

static void expect_bytes(uint64_t wanted)
{
    struct dueq_topic_stats stats;

    assert_int_equal(dueq_total_stats(test.store, test.time, &stats), DUEQ_OK);
    assert_int_equal(stats.bytes, wanted);
}

static void the_totals_have_the_bytes_of_all_topics(void **state)
{
    struct dueq_push push = push_of("a");

    (void)state;
    add(&push, DUEQ_CREATED);
    claim(LEASE);
    push.on_duplicate = DUEQ_REPLACE;
    add(&push, DUEQ_FOLLOWS);
    push.topic = text("other");
    add(&push, DUEQ_CREATED);
    expect_bytes(15);
    store_fixture_reopen(&test);
    expect_bytes(15);
    pass(LEASE);
    expect_bytes(10);
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    expect_bytes(0);
}

static void a_lease_that_ends_counts_when_its_job_is_cancelled(void **state)
{
    struct dueq_push push = push_of("a");
    struct dueq_topic_stats stats;
    bool claimed;

    (void)state;
    add(&push, DUEQ_CREATED);
    claim(LEASE);
    assert_int_equal(dueq_cancel(test.store, text("t"), text("a"), test.time, &claimed),
                     DUEQ_OK);
    pass(LEASE);
    assert_int_equal(dueq_topic_stats(test.store, text("t"), test.time, &stats), DUEQ_OK);
    assert_int_equal(stats.cancelled, 1);
    assert_int_equal(stats.leases_expired, 1);
}

/* ---- attempts */

/* Its ttl is over when the claim is undone. */
static void a_claim_that_no_worker_has_seen_is_no_attempt_of_a_dead_job(void **state)
{
    struct dueq_nack nack = {.unseen = true};
    struct dueq_push push = push_of("a");
    enum dueq_state job_state;
    int64_t token;

    (void)state;
    push.ttl = 10;
    add(&push, DUEQ_CREATED);
    token = claim(LEASE);
    pass(20);
    assert_int_equal(
        dueq_nack(test.store, text("t"), text("a"), token, &nack, test.time, &job_state),
        DUEQ_OK);
    assert_int_equal(job_state, DUEQ_DEAD);
    assert_int_equal(get("a").attempt, 0);
}

static void a_late_nack_is_as_long_after_the_claim_as_it_says(void **state)
{
    struct dueq_push push = push_of("a");
    struct dueq_attempt attempts[DUEQ_ATTEMPTS_KEPT];
    struct dueq_job job;
    int64_t token;

    (void)state;
    add(&push, DUEQ_CREATED);
    token = claim(LEASE);
    pass(LEASE);
    reschedule_at("a", 5000);
    pass(50);
    nack("a", token);
    job = get("a");
    assert_int_equal(dueq_job_attempts(&job, attempts), 1);
    assert_int_equal(attempts[0].duration, LEASE + 50);
}

/* The worker lives: the claim goes on, and its lease did not end for want of a worker. */
static void a_late_extension_forgets_the_crash(void **state)
{
    struct dueq_push push = push_of("a");
    struct dueq_job job;
    int64_t token, end, claimed_at = test.time.wall;

    (void)state;
    push.crashes = 0;
    add(&push, DUEQ_CREATED);
    token = claim(LEASE);
    pass(5);
    assert_int_equal(
        dueq_extend(test.store, text("t"), text("a"), token, LEASE, test.time, &end), DUEQ_OK);
    push.crashes = 1;
    assert_int_equal(dueq_update(test.store, &push, false, test.time), DUEQ_OK);
    for (int i = 0; i < 3; i++) {
        pass(LEASE);
        job = get("a");
        assert_int_equal(job.leases_expired, 1);
        assert_int_equal(dueq_job_attempts(&job, (struct dueq_attempt[DUEQ_ATTEMPTS_KEPT]){0}),
                         1);
        assert_int_equal(
            dueq_extend(test.store, text("t"), text("a"), token, LEASE, test.time, &end),
            DUEQ_OK);
        store_fixture_reopen(&test);
        job = get("a");
        assert_int_equal(job.state, DUEQ_CLAIMED);
        assert_int_equal(job.leases_expired, 0);
        assert_int_equal(job.attempt, 1);
        assert_int_equal(job.claimed_at, claimed_at);
        assert_int_equal(dueq_job_attempts(&job, (struct dueq_attempt[DUEQ_ATTEMPTS_KEPT]){0}),
                         0);
    }
    nack("a", token);
    assert_int_equal(get("a").failures, 1);
    assert_int_equal(get("a").leases_expired, 0);
}

/* On a full disk a crash is counted and not remembered: the attempt before it stays. */
static void only_a_crash_is_forgotten(void **state)
{
    uint8_t bytes[2][JOB_RECORD_HISTORY_MAX];
    struct dueq_attempt failed = {.outcome = DUEQ_FAILED, .worker = text("w")},
                        crashed = {.outcome = DUEQ_CRASHED};
    struct dueq_slice none = {NULL, 0}, one, two;

    (void)state;
    one = job_record_append_attempt(bytes[0], none, &failed);
    two = job_record_append_attempt(bytes[1], one, &crashed);
    assert_int_equal(job_record_forget_crash(none).size, 0);
    assert_int_equal(job_record_forget_crash(one).size, one.size);
    assert_true(dueq_slice_equal(job_record_forget_crash(two), one));
}

/* ---- the end of the ttl */

/* Set forward, it makes the job due earlier and shortens no life. */
static void a_replaced_job_lives_as_long_as_a_new_one(void **state)
{
    struct dueq_push push = push_of("a");

    (void)state;
    add(&push, DUEQ_CREATED);
    pass(100000);
    push.on_duplicate = DUEQ_REPLACE;
    push.absolute = true;
    push.at = test.time.wall + 5000;
    push.ttl = 1000;
    add(&push, DUEQ_REPLACED);
    push.id = text("new");
    add(&push, DUEQ_CREATED);
    test.time.wall += 3000;
    pass(5999);
    store_fixture_reopen(&test);
    assert_int_equal(get("new").state, DUEQ_READY);
    assert_int_equal(get("a").state, DUEQ_READY);
    pass(1);
    assert_int_equal(get("new").state, DUEQ_DEAD);
    assert_int_equal(get("a").state, DUEQ_DEAD);
}

static void a_ttl_after_an_endless_one_counts_from_the_claim(void **state)
{
    struct dueq_push push = push_of("a");
    int64_t token;

    (void)state;
    push.ttl = INT64_MAX;
    add(&push, DUEQ_CREATED);
    token = claim(LEASE);
    push.ttl = 1000;
    assert_int_equal(dueq_update(test.store, &push, false, test.time), DUEQ_OK);
    assert_int_equal(nack("a", token), DUEQ_READY);
    pass(999);
    assert_int_equal(get("a").state, DUEQ_READY);
    pass(1);
    assert_int_equal(get("a").state, DUEQ_DEAD);
}

/* The lease of its claim is over; it waits on the wall clock, which is set back. */
static int64_t make_late_claim(const char *id)
{
    struct dueq_push push = push_of(id);
    int64_t token;

    push.ttl = 500;
    add(&push, DUEQ_CREATED);
    token = claim(LEASE);
    pass(LEASE);
    reschedule_at(id, 1000);
    test.time.wall -= 10000;
    pass(1000);
    return token;
}

static void a_late_extension_follows_a_wall_clock_set_back(void **state)
{
    int64_t token = make_late_claim("a"), end;

    (void)state;
    assert_int_equal(
        dueq_extend(test.store, text("t"), text("a"), token, 5000, test.time, &end), DUEQ_OK);
    pass(1000);
    assert_int_equal(nack("a", token), DUEQ_READY);
}

static void a_late_nack_follows_a_wall_clock_set_back(void **state)
{
    int64_t token = make_late_claim("a");

    (void)state;
    store_fixture_pass(&test, 1000);
    assert_int_equal(nack("a", token), DUEQ_READY);
}

/* ---- what ticks and waiters learn of */

static void a_topic_without_dead_jobs_has_none_to_remove(void **state)
{
    struct dueq_push push = push_of("a");
    struct dueq_nack nack = {.outcome = DUEQ_FATAL};
    struct dueq_settings settings;
    enum dueq_state now;

    (void)state;
    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_DEAD_KEEP] = 1000000;
    assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_OK);
    add(&push, DUEQ_CREATED);
    assert_int_equal(
        dueq_nack(test.store, text("t"), text("a"), claim(LEASE), &nack, test.time, &now),
        DUEQ_OK);
    pass(5000);
    assert_int_equal(dueq_del(test.store, text("t"), text("a"), test.time), DUEQ_OK);
    settings.numbers[DUEQ_SET_DEAD_KEEP] = 1000;
    assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_OK);
    assert_null(queue_check(test.store->queue));
}

/* The clock goes back before a tick counts the job out, and then on again. */
static void a_claim_in_vain_is_signalled_after_a_wall_clock_set_back(void **state)
{
    struct dueq_push push = push_of("a");
    struct dueq_slice topic;
    struct dueq_job job;

    (void)state;
    push.absolute = true;
    push.at = test.time.wall + 100;
    add(&push, DUEQ_CREATED);
    pass(200);
    while (dueq_next_signal(test.store, &topic) == DUEQ_OK)
        continue;
    test.time.wall -= 150;
    assert_int_equal(dueq_claim(test.store, text("t"), LEASE, test.time, &job), DUEQ_NOTFOUND);
    test.time.wall += 150;
    pass(1);
    assert_int_equal(dueq_next_signal(test.store, &topic), DUEQ_OK);
    assert_true(dueq_slice_equal(topic, text("t")));
}

#define life_test(function) store_fixture_test(function, test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        life_test(the_totals_have_the_bytes_of_all_topics),
        life_test(a_lease_that_ends_counts_when_its_job_is_cancelled),
        life_test(a_claim_that_no_worker_has_seen_is_no_attempt_of_a_dead_job),
        life_test(a_late_nack_is_as_long_after_the_claim_as_it_says),
        life_test(a_late_extension_forgets_the_crash),
        life_test(only_a_crash_is_forgotten),
        life_test(a_replaced_job_lives_as_long_as_a_new_one),
        life_test(a_ttl_after_an_endless_one_counts_from_the_claim),
        life_test(a_late_extension_follows_a_wall_clock_set_back),
        life_test(a_late_nack_follows_a_wall_clock_set_back),
        life_test(a_topic_without_dead_jobs_has_none_to_remove),
        life_test(a_claim_in_vain_is_signalled_after_a_wall_clock_set_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
