/* Recurring jobs in the store alone: the test moves the clocks. */
#include "storage/kv/kv.h"
#include "storage/queue/cron_entries.h"
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>

#include "tests/support/cmocka.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };
#define DAY ((int64_t)24 * HOUR)

static struct store_fixture test;
static struct dueq_error error;

/* ---- what the tests do */

/* Two hours ahead of UTC in the second half of each year of 364 days; one hour in the first. */
static bool zone_of_test(void *arg, const char *zone, int64_t time, int32_t *ret_offset)
{
    const bool *is_there = arg;

    if (!*is_there || strcmp(zone, "Test/Place") != 0)
        return false;
    *ret_offset = time % (364 * 86400) < 182 * 86400 ? 3600 : 7200;
    return true;
}

static bool zones_are_there;

static int set_up(void **state)
{
    *state = &test;
    zones_are_there = true;
    store_fixture_init(&test);
    store_fixture_open(&test);
    dueq_set_zones(test.store, zone_of_test, &zones_are_there);
    while (dueq_tick(test.store, test.time, 1000) || dueq_next_tick(test.store, test.time) == 0)
        continue;
    return 0;
}

/* Both clocks go on to a whole hour: times are met, not missed. */
static void align(void)
{
    store_fixture_pass(&test, HOUR - test.time.wall % HOUR);
}

static struct dueq_cron cron_of(const char *name)
{
    struct dueq_cron cron;

    dueq_cron_init(&cron);
    cron.name = text(name);
    cron.push.topic = text("t");
    cron.push.body = text("body");
    return cron;
}

static struct dueq_cron every(const char *name, int64_t ms)
{
    struct dueq_cron cron = cron_of(name);

    cron.every = ms;
    return cron;
}

static struct dueq_cron by_spec(const char *name, const char *spec)
{
    struct dueq_cron cron = cron_of(name);

    cron.spec = text(spec);
    return cron;
}

static void set(const struct dueq_cron *cron)
{
    enum dueq_status status = dueq_cron_set(test.store, cron, test.time, &error);

    if (status != DUEQ_OK)
        fail_msg("%s", error.text);
}

static struct dueq_cron_state state_of(const char *name)
{
    struct dueq_cron_state state;
    struct dueq_cron cron;

    assert_int_equal(dueq_cron_get(test.store, text(name), &cron, &state), DUEQ_OK);
    return state;
}

static uint64_t fired(const char *name)
{
    return state_of(name).fired;
}

static uint64_t ready(void)
{
    struct dueq_topic_stats stats;

    if (dueq_topic_stats(test.store, text("t"), test.time, &stats) != DUEQ_OK)
        return 0;
    return stats.counts[DUEQ_READY];
}

static void tick(void)
{
    while (dueq_tick(test.store, test.time, 100) || dueq_next_tick(test.store, test.time) == 0)
        continue;
    assert_null(queue_check(test.store->queue));
}

static void pass(int64_t ms)
{
    store_fixture_pass(&test, ms);
    tick();
}

/* Only the wall clock. */
static void step(int64_t ms)
{
    test.time.wall += ms;
    tick();
}

static void reopen(void)
{
    store_fixture_reopen(&test);
    dueq_set_zones(test.store, zone_of_test, &zones_are_there);
}

static void crash(void)
{
    store_fixture_crash(&test);
    dueq_set_zones(test.store, zone_of_test, &zones_are_there);
}

static void claim(struct dueq_job *ret_job)
{
    assert_int_equal(dueq_claim(test.store, text("t"), DUEQ_DEFAULT, test.time, ret_job),
                     DUEQ_OK);
}

/* ---- firing */

static void it_fires_every_so_often(void **state)
{
    struct dueq_cron cron = every("a", 5 * SECOND);
    struct dueq_job job;

    (void)state;
    cron.push.priority = 7;
    cron.push.retries = 3;
    cron.push.group = text("group");
    cron.push.weight = 5;
    set(&cron);
    assert_int_equal(dueq_next_tick(test.store, test.time), 5 * SECOND);
    pass(5 * SECOND - 1);
    assert_int_equal(fired("a"), 0);
    pass(1);
    assert_int_equal(fired("a"), 1);
    for (int i = 0; i < 10; i++)
        pass(5 * SECOND);
    assert_int_equal(fired("a"), 11);
    assert_int_equal(ready(), 11);
    claim(&job);
    assert_int_equal(job.priority, 7);
    assert_int_equal(job.retries, 3);
    assert_true(dueq_slice_equal(job.group, text("group")));
    assert_int_equal(job.weight, 5);
    assert_true(dueq_slice_equal(job.body, text("body")));
    assert_int_equal(state_of("a").next, test.time.wall + 5 * SECOND);
    assert_int_equal(state_of("a").last, test.time.wall);
}

static void it_fires_by_spec_in_a_zone(void **state)
{
    struct dueq_cron cron = by_spec("a", "30 6 * * *");
    int64_t times[3], offset;
    size_t count;

    (void)state;
    cron.zone = text("Test/Place");
    set(&cron);
    assert_int_equal(dueq_cron_next(test.store, text("a"), test.time, 3, times, &count),
                     DUEQ_OK);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++) {
        int32_t seconds = 0;

        assert_true(zone_of_test(&zones_are_there, "Test/Place", times[i] / SECOND, &seconds));
        offset = (times[i] + (int64_t)seconds * SECOND) % DAY;
        assert_int_equal(offset, 6 * HOUR + 30 * MINUTE);
    }
    for (size_t i = 0; i < count; i++) {
        pass(times[i] - test.time.wall - 1);
        assert_int_equal(fired("a"), i);
        pass(1);
        assert_int_equal(fired("a"), i + 1);
    }
}

static void jitter_is_always_the_same(void **state)
{
    struct dueq_cron plain = by_spec("a", "@daily"), late = plain, other = plain;
    int64_t delay;

    (void)state;
    late.jitter = other.jitter = HOUR;
    other.name = text("b");
    set(&plain);
    delay = state_of("a").next;
    set(&late);
    delay = state_of("a").next - delay;
    assert_in_range(delay, 1, HOUR - 1);
    set(&other);
    assert_int_not_equal(state_of("b").next, state_of("a").next);
    reopen();
    set(&plain);
    set(&late);
    assert_int_equal((state_of("a").next - delay) % DAY, 0);
}

static void a_firing_and_the_next_time_are_one_commit(void **state)
{
    struct dueq_cron cron = every("a", 5 * SECOND);

    (void)state;
    set(&cron);
    store_fixture_commit(&test);
    pass(5 * SECOND);
    assert_int_equal(fired("a"), 1);
    crash();
    assert_int_equal(fired("a"), 0);
    assert_int_equal(ready(), 0);
    tick();
    assert_int_equal(fired("a"), 1);
    assert_int_equal(ready(), 1);
    store_fixture_commit(&test);
    crash();
    tick();
    assert_int_equal(fired("a"), 1);
    assert_int_equal(ready(), 1);
    store_fixture_verify(&test);
}

/* ---- missed times */

static void fire_after_a_day(enum dueq_catchup catchup)
{
    struct dueq_cron cron = by_spec("a", "0 * * * *"), counted = every("b", HOUR);

    cron.catchup = counted.catchup = catchup;
    set(&cron);
    set(&counted);
    store_fixture_commit(&test);
    store_fixture_close(&test);
    store_fixture_pass(&test, DAY);
    store_fixture_open(&test);
    tick();
}

static void missed_times_are_passed_over(void **state)
{
    (void)state;
    fire_after_a_day(DUEQ_CATCHUP_NONE);
    assert_int_equal(fired("a"), 0);
    assert_int_equal(state_of("a").missed, 1);
    assert_int_equal(fired("b"), 0);
    assert_true(state_of("a").next > test.time.wall);
    assert_true(state_of("a").next <= test.time.wall + HOUR);
    assert_int_equal(state_of("b").next, test.time.wall + HOUR);
}

static void one_firing_makes_up_for_all(void **state)
{
    (void)state;
    fire_after_a_day(DUEQ_CATCHUP_ONE);
    assert_int_equal(fired("a"), 1);
    assert_int_equal(fired("b"), 1);
    assert_int_equal(ready(), 2);
    pass(HOUR);
    assert_int_equal(fired("a"), 2);
    assert_int_equal(fired("b"), 2);
}

static void each_missed_time_is_made_up_for(void **state)
{
    (void)state;
    fire_after_a_day(DUEQ_CATCHUP_ALL);
    assert_int_equal(fired("a"), 24);
    assert_int_equal(fired("b"), 24);
}

static void a_short_delay_misses_nothing(void **state)
{
    struct dueq_cron cron = every("a", SECOND);

    (void)state;
    set(&cron);
    pass(30 * SECOND);
    assert_int_equal(fired("a"), 30);
    assert_int_equal(state_of("a").missed, 0);
}

/* From 1970 on, with each tick bounded. */
static void fifty_years_are_made_up_for_in_bounds(void **state)
{
    struct dueq_cron cron = by_spec("a", "* * * * * *");
    uint64_t most = 0, before = 0;

    (void)state;
    store_fixture_close(&test);
    store_fixture_release(&test);
    store_fixture_init(&test);
    test.time = (struct dueq_time){5000, 5000, 5000};
    store_fixture_open(&test);
    cron.catchup = DUEQ_CATCHUP_ALL;
    set(&cron);
    cron = every("b", SECOND);
    cron.catchup = DUEQ_CATCHUP_ALL;
    set(&cron);
    test.time.wall += 50 * 365 * DAY; /* the clock is set: the queue's goes on */
    do {
        dueq_tick(test.store, test.time, 20);
        most = fired("a") - before > most ? fired("a") - before : most;
        before = fired("a");
        store_fixture_commit(&test);
    } while (dueq_next_tick(test.store, test.time) == 0);
    assert_int_equal(fired("a"), DUEQ_CRON_MADE_UP_MAX);
    assert_int_equal(state_of("a").missed, 1);
    assert_in_range(most, 1, 3);
    assert_int_equal(fired("b"), 0);
    /* the queue's clock misses as much after so long a time without the program */
    test.time.now += 50 * 365 * DAY;
    tick();
    assert_int_equal(fired("b"), DUEQ_CRON_MADE_UP_MAX);
    pass(SECOND);
    assert_int_equal(fired("b"), DUEQ_CRON_MADE_UP_MAX + 1);
    store_fixture_commit(&test);
    store_fixture_verify(&test);
}

/* ---- overlap */

static void no_job_while_the_one_before_is_there(void **state)
{
    struct dueq_cron cron = every("a", 5 * SECOND);
    struct dueq_pushed pushed;
    struct dueq_job job;

    (void)state;
    cron.overlap = DUEQ_OVERLAP_SKIP;
    set(&cron);
    pass(5 * SECOND);
    pass(5 * SECOND);
    assert_int_equal(ready(), 1);
    assert_int_equal(state_of("a").overlapped, 1);
    claim(&job);
    pass(5 * SECOND);
    assert_int_equal(state_of("a").overlapped, 2);
    assert_int_equal(dueq_cron_run(test.store, text("a"), test.time, &pushed), DUEQ_WRONGSTATE);
    assert_int_equal(dueq_ack(test.store, text("t"), text(state_of("a").last_id), 1, test.time),
                     DUEQ_OK);
    store_fixture_commit(&test);
    reopen();
    pass(5 * SECOND);
    assert_int_equal(fired("a"), 2);
    assert_int_equal(ready(), 1);
    assert_int_equal(dueq_drop(test.store, text("t"), test.time), DUEQ_OK);
    pass(5 * SECOND);
    assert_int_equal(fired("a"), 3);
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    pass(5 * SECOND);
    assert_int_equal(fired("a"), 4); /* entries are settings: a flush leaves them */
}

static void a_dead_job_does_not_overlap(void **state)
{
    struct dueq_cron cron = every("a", 5 * SECOND);
    struct dueq_nack nack = {.outcome = DUEQ_FATAL};
    enum dueq_state became;
    struct dueq_job job;

    (void)state;
    cron.overlap = DUEQ_OVERLAP_SKIP;
    set(&cron);
    pass(5 * SECOND);
    claim(&job);
    assert_int_equal(
        dueq_nack(test.store, text("t"), job.id, job.token, &nack, test.time, &became),
        DUEQ_OK);
    pass(5 * SECOND);
    assert_int_equal(fired("a"), 2);
}

/* ---- pause, run, changes */

static void a_pause_misses_nothing(void **state)
{
    struct dueq_cron cron = every("a", 10 * SECOND);
    struct dueq_pushed pushed;

    (void)state;
    cron.catchup = DUEQ_CATCHUP_ALL;
    set(&cron);
    assert_int_equal(dueq_cron_pause(test.store, text("a"), true, test.time), DUEQ_OK);
    store_fixture_commit(&test);
    reopen();
    pass(HOUR + SECOND);
    assert_int_equal(state_of("a").next, DUEQ_NEVER);
    assert_int_equal(dueq_next_tick(test.store, test.time), DUEQ_NEVER);
    assert_int_equal(dueq_cron_run(test.store, text("a"), test.time, &pushed), DUEQ_OK);
    assert_int_equal(dueq_cron_pause(test.store, text("a"), false, test.time), DUEQ_OK);
    assert_int_equal(state_of("a").next, test.time.wall + 9 * SECOND);
    pass(9 * SECOND);
    assert_int_equal(fired("a"), 2);
    assert_int_equal(dueq_cron_pause(test.store, text("b"), false, test.time), DUEQ_NOTFOUND);
}

static void a_run_does_not_move_the_next_time(void **state)
{
    struct dueq_cron cron = by_spec("a", "@hourly");
    struct dueq_pushed pushed;
    int64_t next;

    (void)state;
    set(&cron);
    next = state_of("a").next;
    pass(MINUTE);
    assert_int_equal(dueq_cron_run(test.store, text("a"), test.time, &pushed), DUEQ_OK);
    assert_int_equal(state_of("a").next, next);
    assert_true(dueq_slice_equal(pushed.id, text(state_of("a").last_id)));
    assert_int_equal(ready(), 1);
    assert_int_equal(dueq_cron_run(test.store, text("b"), test.time, &pushed), DUEQ_NOTFOUND);
}

static void a_change_keeps_what_it_does_not_change(void **state)
{
    struct dueq_cron cron = every("a", 10 * SECOND);

    (void)state;
    set(&cron);
    pass(10 * SECOND);
    pass(4 * SECOND);
    cron.push.body = text("another");
    set(&cron);
    assert_int_equal(state_of("a").next, test.time.wall + 6 * SECOND);
    assert_int_equal(fired("a"), 1);
    cron.every = 20 * SECOND;
    set(&cron);
    assert_int_equal(state_of("a").next, test.time.wall + 20 * SECOND);
    cron = by_spec("a", "@hourly");
    set(&cron);
    assert_int_equal(state_of("a").next % HOUR, 0);
    assert_int_equal(dueq_cron_del(test.store, text("a")), DUEQ_OK);
    assert_int_equal(dueq_cron_del(test.store, text("a")), DUEQ_NOTFOUND);
    pass(2 * HOUR);
    assert_int_equal(ready(), 1);
}

static void a_topic_that_takes_nothing_makes_it_wait(void **state)
{
    struct dueq_cron cron = every("a", 10 * SECOND);

    (void)state;
    set(&cron);
    assert_int_equal(dueq_pause(test.store, text("t"), true, false, DUEQ_DEFAULT, test.time),
                     DUEQ_OK);
    pass(12 * SECOND);
    assert_int_equal(fired("a"), 0);
    assert_int_equal(state_of("a").failure, DUEQ_PAUSED);
    assert_int_equal(dueq_next_tick(test.store, test.time), SECOND);
    assert_int_equal(dueq_pause(test.store, text("t"), false, false, DUEQ_DEFAULT, test.time),
                     DUEQ_OK);
    pass(SECOND);
    assert_int_equal(fired("a"), 1);
    assert_int_equal(state_of("a").failure, DUEQ_OK);
}

static void a_zone_that_is_gone_makes_it_wait(void **state)
{
    struct dueq_cron cron = by_spec("a", "@hourly"), unknown = by_spec("b", "@hourly");

    (void)state;
    cron.zone = text("Test/Place");
    unknown.zone = text("Test/Nowhere");
    set(&cron);
    assert_int_equal(dueq_cron_set(test.store, &unknown, test.time, &error), DUEQ_INVALID);
    assert_non_null(strstr(error.text, "Test/Nowhere"));
    zones_are_there = false;
    pass(HOUR);
    assert_int_equal(fired("a"), 0);
    assert_int_equal(state_of("a").failure, DUEQ_NOTFOUND);
    zones_are_there = true;
    cron.catchup = DUEQ_CATCHUP_ONE;
    set(&cron);
    tick();
    assert_int_equal(fired("a"), 1);
}

/* ---- the wall clock is set */

static void a_month_back_and_forth(void **state)
{
    struct dueq_cron wild = by_spec("wild", "*/10 * * * *"),
                     fixed = by_spec("fixed", "0 6 * * *"), counted = every("counted", HOUR);

    (void)state;
    align();
    set(&wild);
    set(&fixed);
    set(&counted);
    for (int i = 0; i < 6 * 48; i++)
        pass(10 * MINUTE);
    assert_int_equal(fired("wild"), 6 * 48);
    assert_int_equal(fired("fixed"), 2);
    assert_int_equal(fired("counted"), 48);
    step(-30 * DAY);
    for (int i = 0; i < 6 * 24; i++)
        pass(10 * MINUTE);
    assert_int_equal(fired("wild"), 6 * 72);
    assert_int_equal(fired("fixed"), 3);
    assert_int_equal(fired("counted"), 72);
    store_fixture_commit(&test);
    step(30 * DAY);
    for (int i = 0; i < 6 * 24; i++)
        pass(10 * MINUTE);
    assert_in_range(fired("wild"), 6 * 96 - 1, 6 * 96);
    assert_int_equal(fired("fixed"), 4);
    assert_int_equal(fired("counted"), 96);
    assert_int_equal(state_of("wild").missed, 1);
}

/* While the program does not run. */
static void a_month_back_across_a_restart(void **state)
{
    struct dueq_cron wild = by_spec("wild", "*/10 * * * *");

    (void)state;
    align();
    set(&wild);
    pass(10 * MINUTE);
    store_fixture_commit(&test);
    store_fixture_close(&test);
    test.time.wall -= 30 * DAY;
    store_fixture_open(&test);
    tick();
    pass(10 * MINUTE);
    assert_int_equal(fired("wild"), 2);
}

/* As cron: the moment of the day does not come again. */
static void an_hour_back(void **state)
{
    struct dueq_cron wild = by_spec("wild", "0 * * * *"),
                     fixed = by_spec("fixed", "30 6 * * *");

    (void)state;
    set(&wild);
    set(&fixed);
    pass(state_of("fixed").next - test.time.wall);
    assert_int_equal(fired("fixed"), 1);
    pass(state_of("wild").next - test.time.wall);
    step(-HOUR);
    pass(HOUR - 1);
    assert_int_equal(fired("fixed"), 1);
    pass(1);
    assert_int_equal(state_of("wild").last, test.time.wall);
    pass(state_of("fixed").next - test.time.wall);
    assert_int_equal(fired("fixed"), 2);
    /* half a second back is nothing */
    pass(state_of("wild").next - test.time.wall);
    step(-500);
    pass(500);
    assert_true(state_of("wild").next == test.time.wall + HOUR);
}

/* ---- bounds, names, order */

/* A day's firing that the topic did not take comes at its time, not an hour before. */
static void what_was_refused_waits_for_its_time_again(void **state)
{
    struct dueq_cron fixed = by_spec("fixed", "30 6 * * *");

    (void)state;
    set(&fixed);
    dueq_pause(test.store, text("t"), true, false, DUEQ_DEFAULT, test.time);
    pass(state_of("fixed").next - test.time.wall);
    assert_int_equal(state_of("fixed").failure, DUEQ_PAUSED);
    step(-HOUR);
    dueq_pause(test.store, text("t"), false, false, DUEQ_DEFAULT, test.time);
    pass(HOUR - 1);
    assert_int_equal(fired("fixed"), 0);
    assert_int_equal(state_of("fixed").failure, DUEQ_OK);
    pass(1);
    assert_int_equal(fired("fixed"), 1);
    assert_int_equal(state_of("fixed").last, test.time.wall);
}

static void bad_entries_are_refused(void **state)
{
    struct dueq_cron cron = cron_of("a");
    static char body[DUEQ_CRON_BODY_MAX + 1];

    (void)state;
#define REFUSED(status)                                                                        \
    assert_int_equal(dueq_cron_set(test.store, &cron, test.time, &error), status)
    REFUSED(DUEQ_INVALID);
    cron.every = 999;
    REFUSED(DUEQ_INVALID);
    cron.every = SECOND;
    cron.spec = text("@daily");
    REFUSED(DUEQ_INVALID);
    cron.every = 0;
    cron.spec = text("0 0 30 2 *");
    REFUSED(DUEQ_INVALID);
    assert_non_null(strstr(error.text, "no such date"));
    cron.spec = text("@daily");
    cron.jitter = -1;
    REFUSED(DUEQ_INVALID);
    cron.jitter = 0;
    cron.push.body = dueq_slice(body, sizeof(body));
    REFUSED(DUEQ_TOOBIG);
    cron.push.body = dueq_slice(body, sizeof(body) - 1);
    cron.push.priority = 256;
    REFUSED(DUEQ_INVALID);
    cron.push.priority = 255;
    cron.name = text("");
    REFUSED(DUEQ_INVALID);
    cron.name = text("a");
    dueq_set_cron_limit(test.store, 1);
    set(&cron);
    cron.name = text("b");
    REFUSED(DUEQ_TOOBIG);
    cron.name = text("a");
    set(&cron);
    pass(state_of("a").next - test.time.wall);
    assert_int_equal(fired("a"), 1);
}

/* As of a dump that somebody has made by hand. */
static void no_entry_of_a_dump_has_a_time_that_cannot_be_counted_with(void **state)
{
    struct dueq_cron one = by_spec("a", "@daily");
    struct cron cron;
    struct queue *queue = test.store->queue;

    (void)state;
    set(&one);
    assert_int_equal(cron_load(queue, text("a"), &cron), DUEQ_OK);
    cron.state.local = INT64_MAX;
    assert_int_equal(queue_restore_cron(queue, text("b"), &cron), DUEQ_INVALID);
    cron.state.local = INT64_MIN;
    assert_int_equal(queue_restore_cron(queue, text("b"), &cron), DUEQ_INVALID);
    cron.state.local = SAFE_TIME_MAX / 1000;
    assert_int_equal(queue_restore_cron(queue, text("b"), &cron), DUEQ_OK);
    cron.state.last = INT64_MIN;
    assert_int_equal(queue_restore_cron(queue, text("c"), &cron), DUEQ_INVALID);
    pass(2 * DAY);
}

static void damage_rule(const char *name)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_CRON);
    kv_key_name(&key, text(name), 0);
    kv_put(test.store->kv, kv_key_slice(&key), text("junk"), false);
}

/* It is found by who asks for it; the store opens, and the others fire. */
static void a_damaged_rule_stops_no_other(void **state)
{
    struct dueq_cron damaged = every("damaged", SECOND), sound = every("sound", SECOND), cron;
    struct dueq_cron_state found;
    struct dueq_cron_stats stats;

    (void)state;
    set(&damaged);
    set(&sound);
    damage_rule("damaged");
    store_fixture_commit(&test);
    reopen();
    assert_int_equal(dueq_cron_get(test.store, text("damaged"), &cron, &found), DUEQ_CORRUPT);
    for (int i = 0; i < 100; i++) {
        store_fixture_pass(&test, SECOND);
        while (dueq_tick(test.store, test.time, 100))
            continue;
    }
    assert_true(fired("sound") >= 100);
    dueq_get_cron_stats(test.store, &stats);
    assert_int_equal(stats.entries, 2);
    assert_true(stats.failures >= 2);
    assert_int_equal(dueq_cron_del(test.store, text("damaged")), DUEQ_OK);
    tick();
    store_fixture_commit(&test);
    store_fixture_verify(&test);
}

static void ten_thousand_entries(void **state)
{
    struct dueq_slice name = {NULL, 0};
    struct dueq_cron_stats stats;
    char text_of[32];
    int found = 0;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        struct dueq_cron cron = every("x", MINUTE + i % 100);

        cron.name = dueq_slice(text_of, (size_t)snprintf(text_of, sizeof(text_of), "%d", i));
        set(&cron);
    }
    while (dueq_cron_after(test.store, name, &name) == DUEQ_OK)
        found++;
    assert_int_equal(found, 10000);
    store_fixture_commit(&test);
    reopen();
    pass(MINUTE + 100);
    dueq_get_cron_stats(test.store, &stats);
    assert_int_equal(stats.entries, 10000);
    assert_int_equal(stats.fired, 10000);
    assert_int_equal(ready(), 10000);
    store_fixture_commit(&test);
    store_fixture_verify(&test);
}

int main(void)
{
#define WITH_STORE(function)                                                                   \
    cmocka_unit_test_setup_teardown(function, set_up, store_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        WITH_STORE(it_fires_every_so_often),
        WITH_STORE(it_fires_by_spec_in_a_zone),
        WITH_STORE(jitter_is_always_the_same),
        WITH_STORE(a_firing_and_the_next_time_are_one_commit),
        WITH_STORE(missed_times_are_passed_over),
        WITH_STORE(one_firing_makes_up_for_all),
        WITH_STORE(each_missed_time_is_made_up_for),
        WITH_STORE(a_short_delay_misses_nothing),
        WITH_STORE(fifty_years_are_made_up_for_in_bounds),
        WITH_STORE(no_job_while_the_one_before_is_there),
        WITH_STORE(a_dead_job_does_not_overlap),
        WITH_STORE(a_pause_misses_nothing),
        WITH_STORE(a_run_does_not_move_the_next_time),
        WITH_STORE(a_change_keeps_what_it_does_not_change),
        WITH_STORE(a_topic_that_takes_nothing_makes_it_wait),
        WITH_STORE(a_zone_that_is_gone_makes_it_wait),
        WITH_STORE(a_month_back_and_forth),
        WITH_STORE(a_month_back_across_a_restart),
        WITH_STORE(an_hour_back),
        WITH_STORE(what_was_refused_waits_for_its_time_again),
        WITH_STORE(bad_entries_are_refused),
        WITH_STORE(no_entry_of_a_dump_has_a_time_that_cannot_be_counted_with),
        WITH_STORE(a_damaged_rule_stops_no_other),
        WITH_STORE(ten_thousand_entries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
