/* Rates of claims: of a topic, and of each of its groups. */
#include "storage/queue/core/queue_state.h"
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/dice.h"
#include "tests/support/store/record_count.h"
#include "tests/support/store/topic_jobs.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

static struct store_fixture test;

/* ---- helpers */

static struct dueq_settings settings;

static enum dueq_status put_settings(void)
{
    return dueq_put_settings(test.store, text("t"), &settings);
}

/* count 0: none. burst 0: as many as the rate. */
static void choose_rate(enum dueq_setting setting, int64_t count, int64_t period, int64_t burst)
{
    int64_t *numbers = settings.numbers + setting;

    numbers[0] = count == 0 ? DUEQ_DEFAULT : count;
    numbers[1] = count == 0 ? DUEQ_DEFAULT : period;
    numbers[2] = burst == 0 ? DUEQ_DEFAULT : burst;
}

static void set_rate(int64_t count, int64_t period, int64_t burst)
{
    choose_rate(DUEQ_SET_RATE, count, period, burst);
    assert_int_equal(put_settings(), DUEQ_OK);
}

static void set_group_rate(int64_t count, int64_t period, int64_t burst)
{
    choose_rate(DUEQ_SET_GROUP_RATE, count, period, burst);
    assert_int_equal(put_settings(), DUEQ_OK);
}

static void push(const char *id, const char *group)
{
    topic_jobs_push(&test, id, group, DUEQ_DEFAULT);
}

static void push_some(int from, int to, const char *group)
{
    char id[32];

    for (int i = from; i < to; i++) {
        snprintf(id, sizeof(id), "%s%d", group, i);
        push(id, group);
    }
}

/* The id of the job that a claim gets; "": there is none. */
static const char *claim(void)
{
    return topic_jobs_claim(&test, 60000000, NULL);
}

static int claim_all(void)
{
    int count = 0;

    while (claim()[0] != '\0')
        count++;
    return count;
}

static void ack(const char *id)
{
    topic_jobs_ack(&test, id);
}

/* As Q.POP. */
static bool pop(void)
{
    const char *id = claim();

    if (id[0] == '\0')
        return false;
    ack(id);
    return true;
}

static bool is_signalled(void)
{
    return topic_jobs_are_signalled(&test);
}

static void check(void)
{
    topic_jobs_check(&test);
}

static void pass(int64_t ms)
{
    topic_jobs_pass(&test, ms);
}

static struct dueq_topic_stats stats(void)
{
    struct dueq_topic_stats stats;

    assert_int_equal(dueq_topic_stats(test.store, text("t"), test.time, &stats), DUEQ_OK);
    return stats;
}

static struct dueq_group_stats group_stats(const char *id)
{
    struct dueq_group_stats stats;

    assert_int_equal(dueq_group_stats(test.store, text("t"), text(id), &stats), DUEQ_OK);
    return stats;
}

static int set_up(void **state)
{
    dueq_settings_init(&settings);
    return store_fixture_set_up(state);
}

/* ---- a topic */

static void a_topic_gives_its_burst_and_then_a_job_for_each_permit(void **state)
{
    (void)state;
    set_rate(2, 1000, 0);
    push_some(0, 5, "");
    assert_int_equal(stats().rate_left, 2);
    assert_int_equal(claim_all(), 2);
    assert_int_equal(stats().rate_left, 0);
    assert_int_equal(stats().counts[DUEQ_READY], 3);
    assert_int_equal(stats().rate_next, test.time.wall + 500);
    is_signalled();
    pass(499);
    assert_false(is_signalled());
    assert_string_equal(claim(), "");
    assert_int_equal(dueq_next_tick(test.store, test.time), 1);
    pass(1);
    assert_true(is_signalled());
    assert_int_equal(claim_all(), 1);
    pass(10000);
    assert_int_equal(stats().rate_left, 2);
    assert_int_equal(claim_all(), 2);
    check();
}

/* Each: a rate, a time, and how many jobs may be claimed in it, a try in each ms. */
static void rates_are_exact_however_short_a_permit_takes(void **state)
{
    static const struct {
        int64_t count, period, burst, ms, claims;
    } cases[] = {{3, 1000, 1, 3000, 9},     {7, 10, 1, 1000, 700},    {1, 1, 1, 50, 50},
                 {7000, 1000, 1, 100, 700}, {2, 3, 5, 300, 200 + 4},  {999, 1000, 1, 1000, 999},
                 {60, 60000, 1, 5000, 5},   {1000, 3000, 1, 300, 100}};

    int pushed = 1000;

    (void)state;
    push_some(0, pushed, "");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int claims = 0;

        set_rate(0, 0, 0);
        pass(1);
        set_rate(cases[i].count, cases[i].period, cases[i].burst);
        for (int64_t ms = 0; ms < cases[i].ms; ms++) {
            for (; pop(); claims++, pushed++)
                push_some(pushed, pushed + 1, "");
            pass(1);
        }
        assert_int_equal(claims, cases[i].claims);
    }
    check();
}

/* In no time that passes are more jobs claimed than come back in it, and the burst. */
static void no_time_has_more_claims_than_the_rate_lets(void **state)
{
    enum { CLAIMS = 600, COUNT = 3, PERIOD = 70, BURST = 5 };
    int64_t times[CLAIMS];
    struct dice dice;
    int count = 0;

    (void)state;
    dice_begin(&dice);
    set_rate(COUNT, PERIOD, BURST);
    push_some(0, CLAIMS, "");
    while (count < CLAIMS) {
        if (dice_once_in(&dice, 20))
            store_fixture_reopen(&test);
        else if (dice_once_in(&dice, 20))
            test.time.wall += (int64_t)dice_roll(&dice, 2000000000) - 1000000000;
        while (count < CLAIMS && claim()[0] != '\0')
            times[count++] = test.time.now;
        pass((int64_t)dice_roll(&dice, dice_once_in(&dice, 10) ? 300 : 10));
    }
    for (int i = 0; i < CLAIMS; i++)
        for (int j = i; j < CLAIMS; j++)
            assert_true((j - i + 1 - BURST) * PERIOD <= (times[j] - times[i] + 1) * COUNT);
}

static void a_permit_that_comes_back_writes_nothing(void **state)
{
    (void)state;
    set_rate(1, 1000, 0);
    push_some(0, 3, "");
    assert_int_equal(claim_all(), 1);
    store_fixture_commit(&test);
    pass(1000);
    assert_true(is_signalled());
    assert_int_equal(dueq_batch_bytes(test.store), 0);
}

static void a_restart_gives_no_new_burst(void **state)
{
    (void)state;
    set_rate(2, 100000, 0);
    set_group_rate(1, 70000, 0);
    push_some(0, 4, "a");
    push_some(0, 4, "b");
    assert_int_equal(claim_all(), 2);
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    check();
    assert_int_equal(claim_all(), 0);
    assert_int_equal(stats().rate_next, test.time.wall + 50000);
    assert_int_equal(group_stats("a2").next, test.time.wall + 70000);
    store_fixture_reopen(&test);
    pass(49999);
    assert_int_equal(claim_all(), 0);
    pass(1);
    assert_int_equal(claim_all(), 0); /* both groups wait */
    pass(20000);
    assert_int_equal(claim_all(), 1);
    check();
    store_fixture_commit(&test);
    store_fixture_verify(&test);
}

/* Else each crash would let it begin to wait anew. */
static void a_bucket_that_a_new_rate_cut_down_is_cut_once(void **state)
{
    (void)state;
    set_rate(1, 3600000, 0);
    push_some(0, 2, "");
    assert_int_equal(claim_all(), 1);
    store_fixture_commit(&test);
    set_rate(1, 1000, 0);
    store_fixture_commit(&test); /* the tick comes after */
    pass(0);
    assert_int_equal(stats().rate_next, test.time.wall + 1000);
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    pass(999);
    assert_int_equal(claim_all(), 0);
    pass(1);
    assert_int_equal(claim_all(), 1);
}

/* The rate is unset for as long as a tick takes. */
static void a_bucket_that_was_forgotten_stays_so(void **state)
{
    (void)state;
    set_rate(1, 3600000, 0);
    push_some(0, 2, "");
    assert_int_equal(claim_all(), 1);
    store_fixture_commit(&test);
    set_rate(DUEQ_DEFAULT, DUEQ_DEFAULT, 0);
    pass(0);
    set_rate(1, 3600000, 0);
    store_fixture_commit(&test);
    assert_int_equal(stats().rate_left, 1);
    store_fixture_crash(&test);
    assert_int_equal(stats().rate_left, 1);
    assert_int_equal(claim_all(), 1);
    assert_int_equal(claim_all(), 0);
}

/* It stays for its bucket, and goes when that is full. */
static void an_empty_topic_keeps_its_bucket_as_long_as_that_matters(void **state)
{
    (void)state;
    test.store->queue->empty_kept = 0;
    set_rate(2, 100000, 0);
    set_group_rate(1, 30000, 0);
    push("a", "g");
    assert_true(pop());
    store_fixture_commit(&test);
    assert_int_equal(dueq_topic_count(test.store), 1);
    store_fixture_crash(&test);
    test.store->queue->empty_kept = 0;
    check();
    assert_int_equal(stats().rate_left, 1);
    push("b", "g");
    assert_string_equal(claim(), "");
    assert_int_equal(dueq_del(test.store, text("t"), text("b"), test.time), DUEQ_OK);
    assert_int_equal(record_count(test.store, "W"), 1);
    pass(30000);
    store_fixture_commit(&test);
    assert_int_equal(record_count(test.store, "WO"), 0);
    assert_int_equal(dueq_topic_count(test.store), 1);
    check();
    pass(20000);
    store_fixture_commit(&test);
    assert_int_equal(dueq_topic_count(test.store), 0);
    assert_int_equal(record_count(test.store, "T"), 0);
}

/* The claim is the first to find out, and changes nothing. */
static void an_empty_topic_goes_when_a_claim_finds_its_bucket_full(void **state)
{
    (void)state;
    test.store->queue->empty_kept = 0;
    set_rate(2, 100000, 0);
    push("a", "");
    assert_true(pop());
    store_fixture_commit(&test);
    assert_int_equal(dueq_topic_count(test.store), 1);
    store_fixture_pass(&test, 50000);
    assert_string_equal(claim(), "");
    store_fixture_tick(&test, 1000);
    store_fixture_commit(&test);
    assert_int_equal(dueq_topic_count(test.store), 0);
    assert_int_equal(record_count(test.store, "T"), 0);
}

/* ---- changes of the rate */

static void a_rate_that_is_raised_or_unset_wakes_claims(void **state)
{
    (void)state;
    set_rate(1, 3600000, 0);
    push_some(0, 9, "");
    assert_int_equal(claim_all(), 1);
    is_signalled();
    pass(10);
    assert_false(is_signalled());
    set_rate(10, 1000, 0);
    pass(0);
    assert_false(is_signalled()); /* its bucket is empty */
    pass(99);
    assert_false(is_signalled());
    pass(1);
    assert_true(is_signalled());
    assert_int_equal(claim_all(), 1);
    set_rate(1, 3600000, 0);
    assert_int_equal(claim_all(), 0);
    is_signalled();
    set_rate(0, 0, 0);
    pass(0);
    assert_true(is_signalled());
    assert_int_equal(claim_all(), 7);
    check();
}

static void a_group_rate_that_is_raised_or_unset_wakes_claims(void **state)
{
    (void)state;
    set_group_rate(1, 3600000, 0);
    push_some(0, 9, "a");
    assert_int_equal(claim_all(), 1);
    is_signalled();
    set_group_rate(10, 1000, 0);
    pass(0);
    is_signalled();
    assert_int_equal(claim_all(), 0);
    pass(99);
    assert_false(is_signalled());
    pass(1);
    assert_true(is_signalled());
    assert_int_equal(claim_all(), 1);
    set_group_rate(0, 0, 0);
    pass(0);
    assert_true(is_signalled());
    assert_int_equal(claim_all(), 7);
    for (int i = 0; i < 9; i++) {
        char id[16];

        snprintf(id, sizeof(id), "a%d", i);
        ack(id);
    }
    assert_int_equal(record_count(test.store, "WO"), 0);
    check();
}

static void a_rate_comes_from_one_scope(void **state)
{
    struct dueq_settings all;

    (void)state;
    dueq_settings_init(&all);
    all.numbers[DUEQ_SET_RATE] = 5;
    all.numbers[DUEQ_SET_RATE_PERIOD] = 1000;
    all.numbers[DUEQ_SET_RATE_BURST] = 7;
    assert_int_equal(dueq_put_settings(test.store, text("*"), &all), DUEQ_OK);
    push_some(0, 9, "");
    assert_int_equal(stats().rate_left, 7);
    set_rate(2, 100, 0);
    assert_int_equal(stats().rate_left, 2);
    set_rate(0, 0, 0);
    assert_int_equal(claim_all(), 7);
}

static void numbers_have_ends(void **state)
{
    static const int64_t wrong[][3] = {{0, 1000, 0},       {1000001, 1000, 0},
                                       {1, 0, 0},          {1, -1, 0},
                                       {1, 1000, 1000001}, {1, DUEQ_RATE_PERIOD_MAX + 1, 0},
                                       {-2, 1000, 0},      {1, 1000, -2}};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        for (int setting = DUEQ_SET_RATE; setting <= DUEQ_SET_GROUP_RATE; setting += 3) {
            dueq_settings_init(&settings);
            settings.numbers[setting] = wrong[i][0];
            settings.numbers[setting + 1] = wrong[i][1];
            if (wrong[i][2] != 0)
                settings.numbers[setting + 2] = wrong[i][2];
            assert_int_equal(put_settings(), DUEQ_INVALID);
        }
    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_RATE_PERIOD] = 1000;
    assert_int_equal(put_settings(), DUEQ_INVALID);
    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_GROUP_RATE_BURST] = 1;
    assert_int_equal(put_settings(), DUEQ_INVALID);
}

/* The greatest numbers, and clocks far from now. */
static void the_greatest_rates_and_times_do_not_overflow(void **state)
{
    static const int64_t rates[][3] = {{1, DUEQ_RATE_PERIOD_MAX, DUEQ_RATE_MAX},
                                       {DUEQ_RATE_MAX, DUEQ_RATE_PERIOD_MAX, 1},
                                       {DUEQ_RATE_MAX, 1, DUEQ_RATE_MAX},
                                       {1, 1, 1}};
    int64_t times[] = {test.time.now, test.time.now + 1000, INT64_MAX / 4, INT64_MAX};

    (void)state;
    push_some(0, 100, "g");
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        test.time.now = test.time.ceiling = times[i];
        for (size_t j = 0; j < sizeof(rates) / sizeof(rates[0]); j++) {
            set_rate(rates[j][0], rates[j][1], rates[j][2]);
            set_group_rate(rates[j][0], rates[j][1], rates[j][2]);
            store_fixture_tick(&test, 1000);
            (void)claim();
            (void)claim();
            (void)stats();
            (void)group_stats("g99");
            store_fixture_tick(&test, 1000);
            check();
        }
    }
}

/* ---- groups */

static void each_group_has_its_own_rate(void **state)
{
    (void)state;
    set_group_rate(1, 1000, 2);
    push_some(0, 4, "a");
    push_some(0, 3, "b");
    push_some(0, 2, "");
    assert_int_equal(claim_all(), 6); /* a and b two each, and those without a group */
    assert_int_equal(group_stats("a2").next, test.time.wall + 1000);
    assert_int_equal(group_stats("a2").topic_next, 0);
    assert_false(group_stats("a2").waits);
    is_signalled();
    pass(999);
    assert_false(is_signalled());
    assert_int_equal(claim_all(), 0);
    pass(1);
    assert_true(is_signalled());
    assert_int_equal(claim_all(), 2);
    check();
    pass(100000);
    assert_int_equal(claim_all(), 1);
    check();
}

static void a_group_waits_for_place_and_permit(void **state)
{
    (void)state;
    settings.numbers[DUEQ_SET_GROUP_MODE] = DUEQ_GROUP_SERIAL;
    set_group_rate(1, 1000, 0);
    push_some(0, 3, "a");
    assert_string_equal(claim(), "a0");
    pass(500);
    ack("a0");
    check();
    assert_string_equal(claim(), ""); /* no permit */
    pass(500);
    assert_string_equal(claim(), "a1");
    pass(5000);
    assert_string_equal(claim(), ""); /* no place */
    check();
    ack("a1");
    assert_string_equal(claim(), "a2");
    ack("a2");
    check();
    pass(1000);
    assert_int_equal(record_count(test.store, "WO"), 0);
}

static void groups_with_permits_take_turns(void **state)
{
    char last = 0;

    (void)state;
    settings.numbers[DUEQ_SET_GROUP_MODE] = DUEQ_GROUP_FAIR;
    set_group_rate(1, 1000, 2);
    push_some(0, 9, "a");
    push_some(0, 2, "b");
    for (int i = 0; i < 4; i++) { /* which of the two is first is up to their numbers */
        char group = claim()[0];

        assert_true(group == 'a' || group == 'b');
        assert_true(i % 2 == 0 || group != last);
        last = group;
    }
    assert_string_equal(claim(), "");
    push_some(2, 4, "b");
    check();
    pass(1000);
    assert_int_equal(claim_all(), 2);
    check();
}

static void limits_of_the_topic_and_of_groups_hold_together(void **state)
{
    (void)state;
    settings.numbers[DUEQ_SET_CONCURRENCY] = 2;
    settings.numbers[DUEQ_SET_AGE_AFTER] = 10;
    choose_rate(DUEQ_SET_RATE, 1, 100, 3);
    set_group_rate(1, 1000, 2);
    push_some(0, 5, "a");
    push_some(0, 5, "b");
    assert_int_equal(claim_all(), 2); /* no place */
    ack("a0");
    ack("a1");
    assert_string_equal(claim(), "b0");
    assert_string_equal(claim(), ""); /* no permit of the topic */
    pass(100);
    assert_string_equal(claim(), "b1");
    ack("b0");
    ack("b1");
    pass(800);
    assert_string_equal(claim(), ""); /* none of a group */
    pass(100);
    assert_int_equal(claim_all(), 2);
    check();
}

/* ---- the life of jobs */

static void a_late_extend_needs_no_permit(void **state)
{
    struct dueq_job job;
    int64_t end;

    (void)state;
    set_rate(1, 3600000, 0);
    set_group_rate(1, 3600000, 0);
    push("a", "g");
    push("b", "g");
    assert_int_equal(dueq_claim(test.store, text("t"), 1000, test.time, &job), DUEQ_OK);
    pass(2000);
    assert_int_equal(
        dueq_extend(test.store, text("t"), text("a"), job.token, 60000, test.time, &end),
        DUEQ_OK);
    check();
}

static void a_pause_and_its_end_change_no_bucket(void **state)
{
    (void)state;
    set_rate(1, 1000, 0);
    push_some(0, 3, "");
    assert_int_equal(claim_all(), 1);
    assert_int_equal(dueq_pause(test.store, text("t"), false, true, DUEQ_DEFAULT, test.time),
                     DUEQ_OK);
    pass(1000);
    assert_int_equal(claim_all(), 0);
    assert_int_equal(stats().rate_left, 1);
    assert_int_equal(dueq_pause(test.store, text("t"), false, false, DUEQ_DEFAULT, test.time),
                     DUEQ_OK);
    assert_true(is_signalled());
    assert_int_equal(claim_all(), 1);
}

static void steps_of_the_wall_clock_change_no_bucket(void **state)
{
    const int64_t month = INT64_C(30) * 86400 * 1000;

    (void)state;
    set_rate(1, 1000, 0);
    set_group_rate(1, 2000, 0);
    push_some(0, 3, "g");
    assert_int_equal(claim_all(), 1);
    for (int i = 0; i < 4; i++) {
        test.time.wall += i % 2 == 0 ? month : -month;
        pass(250);
        assert_int_equal(claim_all(), 0);
        if (i < 3)
            assert_int_equal(stats().rate_next, test.time.wall + 1000 - 250 * (i + 1));
        assert_int_equal(group_stats("g1").next, test.time.wall + 2000 - 250 * (i + 1));
    }
    assert_int_equal(stats().rate_left, 1);
    is_signalled();
    pass(1000);
    assert_true(is_signalled());
    assert_int_equal(claim_all(), 1);
    check();
}

static void a_dropped_topic_has_a_full_bucket_when_it_comes_back(void **state)
{
    (void)state;
    set_rate(1, 3600000, 0);
    set_group_rate(1, 3600000, 0);
    push_some(0, 3, "g");
    assert_int_equal(claim_all(), 1);
    assert_int_equal(dueq_drop(test.store, text("t"), test.time), DUEQ_OK);
    store_fixture_tick(&test, 1000);
    store_fixture_commit(&test);
    assert_int_equal(record_count(test.store, "WO"), 0);
    set_rate(1, 3600000, 0);
    push("a", "g");
    assert_string_equal(claim(), "a");
    check();
}

/* ---- many */

enum { MANY = 10000 };

static void push_many(void)
{
    char name[16];

    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "g%d-", i);
        push_some(0, 2, name);
        if (i % 500 == 0)
            store_fixture_commit(&test);
    }
}

/* Their permits come in the same ms: a tick looks at as many as its budget lets. */
static void ten_thousand_groups_get_their_permits_in_slices(void **state)
{
    int ticks = 0, claims = 0;

    (void)state;
    set_group_rate(1, 1000, 0);
    push_many();
    assert_int_equal(claim_all(), MANY);
    store_fixture_commit(&test);
    check();
    store_fixture_pass(&test, 1000);
    is_signalled();
    do {
        uint64_t before = test.store->queue->rate_releases;

        ticks += dueq_tick(test.store, test.time, 800);
        assert_true(test.store->queue->rate_releases - before <= 101);
        claims += claim_all();
        dueq_commit(test.store, test.time, &(uint64_t){0});
    } while (claims < MANY && ticks < MANY);
    assert_int_equal(claims, MANY);
    assert_in_range(ticks, 90, 110);
    check();
}

/* What waits for a permit is met by no claim. */
static void a_claim_among_ten_thousand_groups_without_permits_is_short(void **state)
{
    uint64_t before;

    (void)state;
    set_group_rate(1, 3600000, 0);
    push_many();
    assert_int_equal(claim_all(), MANY);
    store_fixture_commit(&test);
    store_fixture_tick(&test, 100000);
    push("new", "new");
    before = store_fixture_stats(&test).tombstones_passed;
    for (int i = 0; i < 50; i++)
        assert_string_equal(claim(), i == 0 ? "new" : "");
    assert_true(store_fixture_stats(&test).tombstones_passed - before < 100);
    assert_int_equal(test.store->queue->parked, 0);
    check();
}

/* ---- damage */

static void a_check_finds_a_group_that_is_looked_at_too_late(void **state)
{
    struct group_record record;
    struct queue *queue;
    uint8_t bytes[GROUP_RECORD_MAX];
    struct kv_key key;
    struct dueq_slice value;

    (void)state;
    set_group_rate(1, 1000, 0);
    push_some(0, 2, "a");
    assert_int_equal(claim_all(), 1);
    check();
    queue = test.store->queue;
    queue_key_group(&key, 1, groups_number(queue, text("a")));
    assert_int_equal(kv_get(test.store->kv, kv_key_slice(&key), &value), DUEQ_OK);
    assert_true(group_record_read(value, &record));
    assert_int_equal(record.order, GROUP_BY_PERMIT);
    record.at++;
    kv_put(test.store->kv, kv_key_slice(&key),
           dueq_slice(bytes, group_record_write(bytes, &record)), false);
    assert_non_null(queue_check(queue));
}

/* As bits that flip leave it. */
static void damage_group(const char *group, bool lost)
{
    struct queue *queue = test.store->queue;
    struct kv_key key;

    store_fixture_commit(&test);
    queue_key_group(&key, 1, groups_number(queue, text(group)));
    if (lost)
        kv_del(queue->kv, kv_key_slice(&key));
    else
        kv_put(queue->kv, kv_key_slice(&key), text("?"), false);
    queue->group.loaded = false;
    assert_non_null(queue_check(queue));
}

/* The damaged one is due first. Repair needs no turns: it makes them anew. */
static void a_damaged_group_does_not_stop_the_releases_of_others(void **state)
{
    for (int lost = 0; lost < 2; lost++) {
        set_group_rate(1, 1000, 0);
        push_some(0, 3, "a");
        push_some(0, 3, "b");
        push_some(0, 3, "c");
        assert_int_equal(claim_all(), 3);
        damage_group("a", lost == 1);
        for (int i = 0; i < 2; i++) {
            pass(1000);
            assert_int_equal(claim_all(), 2);
        }
        store_fixture_tear_down(state);
        set_up(state);
    }
}

/* When its turn has come, the others are found behind it. */
static void a_damaged_group_does_not_stop_claims_from_others(void **state)
{
    for (int lost = 0; lost < 2; lost++) {
        set_group_rate(1, 1000, 0);
        push_some(0, 3, "a");
        push_some(0, 3, "b");
        assert_int_equal(claim_all(), 2);
        pass(1000);
        damage_group("a", lost == 1);
        assert_int_equal(claim_all(), 1);
        pass(1000);
        assert_int_equal(claim_all(), 1);
        store_fixture_tear_down(state);
        set_up(state);
    }
}

static void a_damaged_group_does_not_keep_others_from_new_rules(void **state)
{
    (void)state;
    set_group_rate(1, 1000, 0);
    push_some(0, 3, "a");
    push_some(0, 3, "b");
    push_some(0, 3, "c");
    assert_int_equal(claim_all(), 3);
    damage_group("a", false);
    set_group_rate(0, 0, 0);
    pass(0);
    assert_int_equal(claim_all(), 4);
}

#define TEST(function)                                                                         \
    cmocka_unit_test_prestate_setup_teardown(function, set_up, store_fixture_tear_down, &test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_topic_gives_its_burst_and_then_a_job_for_each_permit),
        TEST(rates_are_exact_however_short_a_permit_takes),
        TEST(no_time_has_more_claims_than_the_rate_lets),
        TEST(a_permit_that_comes_back_writes_nothing),
        TEST(a_restart_gives_no_new_burst),
        TEST(a_bucket_that_a_new_rate_cut_down_is_cut_once),
        TEST(a_bucket_that_was_forgotten_stays_so),
        TEST(an_empty_topic_keeps_its_bucket_as_long_as_that_matters),
        TEST(an_empty_topic_goes_when_a_claim_finds_its_bucket_full),
        TEST(a_rate_that_is_raised_or_unset_wakes_claims),
        TEST(a_group_rate_that_is_raised_or_unset_wakes_claims),
        TEST(a_rate_comes_from_one_scope),
        TEST(numbers_have_ends),
        TEST(the_greatest_rates_and_times_do_not_overflow),
        TEST(each_group_has_its_own_rate),
        TEST(a_group_waits_for_place_and_permit),
        TEST(groups_with_permits_take_turns),
        TEST(limits_of_the_topic_and_of_groups_hold_together),
        TEST(a_late_extend_needs_no_permit),
        TEST(a_pause_and_its_end_change_no_bucket),
        TEST(steps_of_the_wall_clock_change_no_bucket),
        TEST(a_dropped_topic_has_a_full_bucket_when_it_comes_back),
        TEST(ten_thousand_groups_get_their_permits_in_slices),
        TEST(a_claim_among_ten_thousand_groups_without_permits_is_short),
        TEST(a_check_finds_a_group_that_is_looked_at_too_late),
        TEST(a_damaged_group_does_not_stop_the_releases_of_others),
        TEST(a_damaged_group_does_not_stop_claims_from_others),
        TEST(a_damaged_group_does_not_keep_others_from_new_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
