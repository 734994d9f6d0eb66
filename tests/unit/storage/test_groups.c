/* Groups of jobs: one at a time, some at a time, in turns; and what becomes of those that wait
 * for their group. */
#include "storage/queue/core/queue_state.h"
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/store/record_count.h"
#include "tests/support/store/topic_jobs.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

static struct store_fixture test;

/* ---- helpers */

static void set_mode_of(const char *topic, int64_t mode, int64_t failure)
{
    struct dueq_settings settings;

    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_GROUP_MODE] = mode;
    settings.numbers[DUEQ_SET_GROUP_ON_FAILURE] = failure;
    settings.numbers[DUEQ_SET_BACKOFF] = 1000;
    settings.numbers[DUEQ_SET_JITTER] = 0;
    assert_int_equal(dueq_put_settings(test.store, text(topic), &settings), DUEQ_OK);
}

static void set_mode(int64_t mode)
{
    set_mode_of("t", mode, DUEQ_DEFAULT);
}

static void push_weighed(const char *id, const char *group, int64_t weight)
{
    topic_jobs_push(&test, id, group, weight);
}

static void push(const char *id, const char *group)
{
    push_weighed(id, group, DUEQ_DEFAULT);
}

/* The id of the job that a claim gets; "": there is none. */
static int64_t token;
static const char *claim(void)
{
    return topic_jobs_claim(&test, 60000, &token);
}

static void ack(const char *id)
{
    topic_jobs_ack(&test, id);
}

static void nack(const char *id)
{
    const struct dueq_nack nack = {.delay = DUEQ_DEFAULT};
    struct dueq_job job;
    enum dueq_state state;

    assert_int_equal(dueq_get(test.store, text("t"), text(id), test.time, &job), DUEQ_OK);
    assert_int_equal(
        dueq_nack(test.store, text("t"), text(id), job.token, &nack, test.time, &state),
        DUEQ_OK);
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

/* ---- one at a time */

static void a_serial_group_runs_one_job_at_a_time_in_order(void **state)
{
    (void)state;
    set_mode(DUEQ_GROUP_SERIAL);
    push("a1", "a");
    push("a2", "a");
    push("a3", "a");
    push("b1", "b");
    push("c", "");
    assert_string_equal(claim(), "a1");
    assert_string_equal(claim(), "b1");
    assert_string_equal(claim(), "c");
    assert_string_equal(claim(), "");
    check();
    is_signalled();
    ack("b1");
    assert_false(is_signalled());
    ack("a1");
    assert_true(is_signalled());
    assert_string_equal(claim(), "a2");
    assert_string_equal(claim(), "");
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    assert_string_equal(claim(), "");
    ack("a2");
    assert_string_equal(claim(), "a3");
    ack("a3");
    check();
    ack("c");
    store_fixture_commit(&test);
    assert_int_equal(record_count(test.store, "OW"), 0);
}

static void a_job_that_failed_holds_its_group(void **state)
{
    (void)state;
    set_mode(DUEQ_GROUP_SERIAL);
    push("a1", "a");
    push("a2", "a");
    assert_string_equal(claim(), "a1");
    nack("a1");
    assert_string_equal(claim(), "");
    check();
    is_signalled();
    pass(1000);
    assert_true(is_signalled());
    assert_string_equal(claim(), "a1");
    nack("a1");
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    assert_string_equal(claim(), "");
    is_signalled();
    assert_int_equal(dueq_del(test.store, text("t"), text("a1"), test.time), DUEQ_OK);
    assert_true(is_signalled());
    assert_string_equal(claim(), "a2");
    check();
}

static void a_job_that_failed_lets_others_pass_when_told_so(void **state)
{
    (void)state;
    set_mode_of("t", DUEQ_GROUP_SERIAL, DUEQ_GROUP_PASS);
    push("a1", "a");
    push("a2", "a");
    assert_string_equal(claim(), "a1");
    assert_string_equal(claim(), "");
    is_signalled();
    nack("a1");
    assert_true(is_signalled());
    assert_string_equal(claim(), "a2");
    check();
}

static void a_lost_lease_holds_too_and_a_death_does_not(void **state)
{
    struct dueq_nack fatal = {.delay = DUEQ_DEFAULT, .outcome = DUEQ_FATAL};
    enum dueq_state now;

    (void)state;
    set_mode(DUEQ_GROUP_SERIAL);
    push("a1", "a");
    push("a2", "a");
    assert_string_equal(claim(), "a1");
    pass(60000);
    assert_string_equal(claim(), "a1");
    assert_string_equal(claim(), "");
    assert_int_equal(
        dueq_nack(test.store, text("t"), text("a1"), token, &fatal, test.time, &now), DUEQ_OK);
    assert_int_equal(now, DUEQ_DEAD);
    assert_string_equal(claim(), "a2");
    check();
}

/* ---- some at a time */

static void a_cap_is_raised_and_lowered_while_jobs_run(void **state)
{
    (void)state;
    set_mode(DUEQ_GROUP_CAP(2));
    push("a1", "a");
    push("a2", "a");
    push("a3", "a");
    push("a4", "a");
    assert_string_equal(claim(), "a1");
    assert_string_equal(claim(), "a2");
    assert_string_equal(claim(), "");
    is_signalled();
    set_mode(DUEQ_GROUP_CAP(3));
    store_fixture_tick(&test, 1000);
    assert_true(is_signalled());
    assert_string_equal(claim(), "a3");
    assert_string_equal(claim(), "");
    set_mode(DUEQ_GROUP_CAP(1));
    ack("a1");
    ack("a2");
    check();
    assert_string_equal(claim(), "");
    ack("a3");
    assert_string_equal(claim(), "a4");
    check();
}

static void what_waits_goes_on_when_groups_are_given_up(void **state)
{
    (void)state;
    set_mode(DUEQ_GROUP_SERIAL);
    push("a1", "a");
    push("a2", "a");
    push("a3", "a");
    assert_string_equal(claim(), "a1");
    assert_string_equal(claim(), "");
    is_signalled();
    set_mode(DUEQ_DEFAULT);
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    store_fixture_tick(&test, 1000);
    assert_true(is_signalled());
    assert_string_equal(claim(), "a2");
    assert_string_equal(claim(), "a3");
    check();
}

/* ---- limits without a mode */

static void set_limit(enum dueq_setting setting, int64_t most)
{
    struct dueq_settings settings;

    dueq_settings_init(&settings);
    settings.numbers[setting] = most;
    assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_OK);
}

static void a_topic_has_no_more_claimed_jobs_than_it_may(void **state)
{
    int64_t end;

    (void)state;
    set_limit(DUEQ_SET_CONCURRENCY, 2);
    push("a", "");
    push("b", "");
    push("c", "g");
    push("d", "");
    assert_string_equal(claim(), "a");
    assert_string_equal(claim(), "b");
    assert_string_equal(claim(), "");
    is_signalled();
    assert_int_equal(
        dueq_extend(test.store, text("t"), text("b"), token, 90000, test.time, &end), DUEQ_OK);
    assert_false(is_signalled());
    ack("a");
    assert_true(is_signalled());
    assert_string_equal(claim(), "c");
    assert_string_equal(claim(), "");
    is_signalled();
    set_limit(DUEQ_SET_CONCURRENCY, 3);
    store_fixture_tick(&test, 1000);
    assert_true(is_signalled());
    assert_string_equal(claim(), "d");
    set_limit(DUEQ_SET_CONCURRENCY, 1);
    push("e", "");
    ack("b");
    ack("c");
    assert_string_equal(claim(), "");
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    assert_string_equal(claim(), "");
    is_signalled();
    pass(60000);
    assert_true(is_signalled());
    assert_string_equal(claim(), "e");
    check();
}

static void a_group_has_no_more_claimed_jobs_than_it_may(void **state)
{
    (void)state;
    set_limit(DUEQ_SET_GROUP_CONCURRENCY, 1);
    push("a1", "a");
    push("a2", "a");
    push("b1", "b");
    assert_string_equal(claim(), "a1");
    assert_string_equal(claim(), "b1");
    assert_string_equal(claim(), "");
    is_signalled();
    ack("a1");
    assert_true(is_signalled());
    assert_string_equal(claim(), "a2");
    check();
}

static void groups_take_turns_within_their_limit(void **state)
{
    struct dueq_settings settings;
    char id[16];

    (void)state;
    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_GROUP_MODE] = DUEQ_GROUP_FAIR;
    settings.numbers[DUEQ_SET_GROUP_CONCURRENCY] = 2;
    assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_OK);
    for (int i = 0; i < 5; i++) {
        snprintf(id, sizeof(id), "a%d", i);
        push(id, "a");
        snprintf(id, sizeof(id), "b%d", i);
        push(id, "b");
    }
    for (int i = 0; i < 4; i++)
        assert_string_not_equal(claim(), "");
    assert_string_equal(claim(), "");
    is_signalled();
    ack("a0");
    assert_true(is_signalled());
    assert_string_equal(claim(), "a2");
    check();
}

/* ---- in turns */

static void groups_take_turns(void **state)
{
    char id[16], order[32] = "";

    (void)state;
    set_mode(DUEQ_GROUP_FAIR);
    for (int i = 0; i < 10; i++) {
        snprintf(id, sizeof(id), "x%d", i);
        push(id, "large");
    }
    push("y0", "small");
    push("y1", "small");
    push("z0", "");
    push("z1", "");
    for (int i = 0; i < 14; i++)
        strncat(order, claim(), 1);
    for (int i = 0; i < 6; i += 3) { /* the first six: each group twice */
        assert_non_null(memchr(order + i, 'x', 3));
        assert_non_null(memchr(order + i, 'y', 3));
        assert_non_null(memchr(order + i, 'z', 3));
    }
    assert_string_equal(order + 6, "xxxxxxxx");
    assert_string_equal(claim(), "");
    check();
}

static void weights_share_the_claims(void **state)
{
    unsigned heavy = 0;
    char id[16];

    (void)state;
    set_mode(DUEQ_GROUP_FAIR);
    for (int i = 0; i < 100; i++) {
        snprintf(id, sizeof(id), "h%d", i);
        push_weighed(id, "heavy", 4);
        snprintf(id, sizeof(id), "l%d", i);
        push_weighed(id, "light", 1);
    }
    for (int i = 0; i < 100; i++)
        heavy += claim()[0] == 'h';
    assert_in_range(heavy, 79, 81);
    check();
}

/* Who comes back at once comes after those that waited. */
static void a_group_that_comes_back_starves_nobody(void **state)
{
    unsigned others = 0;
    char id[16];

    (void)state;
    set_mode(DUEQ_GROUP_FAIR);
    for (int i = 0; i < 50; i++) {
        snprintf(id, sizeof(id), "b%d", i);
        push(id, "b");
        snprintf(id, sizeof(id), "c%d", i);
        push(id, "c");
    }
    push("a", "a");
    for (int i = 0; i < 60; i++) {
        const char *got = claim();

        others += got[0] != 'a';
        if (got[0] != 'a')
            continue;
        ack("a");
        push("a", "a");
    }
    assert_true(others >= 38);
    check();
}

static void delayed_jobs_get_their_turns(void **state)
{
    struct dueq_push delayed;
    struct dueq_slice id;

    (void)state;
    set_mode(DUEQ_GROUP_FAIR);
    dueq_push_init(&delayed);
    delayed.topic = text("t");
    delayed.group = text("a");
    delayed.delay = 500;
    assert_int_equal(dueq_push(test.store, &delayed, test.time, &id), DUEQ_OK);
    assert_string_equal(claim(), "");
    is_signalled();
    pass(500);
    assert_true(is_signalled());
    assert_int_equal(strlen(claim()), 23);
    check();
}

/* ---- ageing */

static void push_urgent(const char *id, const char *group, int priority)
{
    struct dueq_push push;
    struct dueq_slice pushed;

    dueq_push_init(&push);
    push.topic = text("t");
    push.id = text(id);
    push.group = text(group);
    push.priority = priority;
    assert_int_equal(dueq_push(test.store, &push, test.time, &pushed), DUEQ_OK);
}

static void a_job_that_waits_long_enough_goes_first(void **state)
{
    (void)state;
    set_limit(DUEQ_SET_AGE_AFTER, 100);
    push_urgent("old", "", 12);
    pass(900);
    push_urgent("a", "", 2);
    assert_string_equal(claim(), "a");
    pass(100);
    push_urgent("b", "", 2);
    assert_string_equal(claim(), "old");
    assert_string_equal(claim(), "b");
    check();
}

static void parked_jobs_age_too(void **state)
{
    struct dueq_settings settings;

    (void)state;
    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_GROUP_MODE] = DUEQ_GROUP_SERIAL;
    settings.numbers[DUEQ_SET_AGE_AFTER] = 100;
    assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_OK);
    push_urgent("a", "a", 1);
    push_urgent("b", "b", 1);
    push_urgent("old", "a", 12);
    assert_string_equal(claim(), "a");
    assert_string_equal(claim(), "b");
    assert_string_equal(claim(), "");
    pass(1000);
    push_urgent("young", "b", 2);
    assert_string_equal(claim(), "");
    ack("a");
    ack("b");
    assert_string_equal(claim(), "old");
    assert_string_equal(claim(), "young");
    check();
}

/* The first job of each lane is better than those before: all are looked at for each job that
 * is parked. */
static void a_claim_among_many_priorities_that_age_is_short(void **state)
{
    enum { PRIORITIES = 256, EACH = 4, PARKED_MOST = 32 };
    struct dueq_settings settings;
    enum dueq_status status;
    struct dueq_job job;

    (void)state;
    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_GROUP_MODE] = DUEQ_GROUP_SERIAL;
    settings.numbers[DUEQ_SET_AGE_AFTER] = 1000;
    assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_OK);
    for (int priority = PRIORITIES - 1; priority >= 0; priority--) {
        for (int i = 0; i < EACH; i++)
            push_urgent("", "a", priority);
        store_fixture_pass(&test, 2000);
    }
    assert_string_not_equal(claim(), "");
    assert_int_equal(dueq_claim(test.store, text("t"), 1, test.time, &job), DUEQ_BUSY);
    assert_in_range(test.store->queue->parked, 1, PARKED_MOST);
    while ((status = dueq_claim(test.store, text("t"), 1, test.time, &job)) == DUEQ_BUSY)
        continue;
    assert_int_equal(status, DUEQ_NOTFOUND);
    check();
}

/* ---- a claim that goes on after the end of its lease */

static enum dueq_status extend(const char *id, int64_t with)
{
    int64_t end;

    return dueq_extend(test.store, text("t"), text(id), with, 60000, test.time, &end);
}

/* As when it is claimed anew: others may have its place. */
static void a_late_extend_needs_a_place(void **state)
{
    int64_t first;

    (void)state;
    set_mode_of("t", DUEQ_GROUP_SERIAL, DUEQ_GROUP_PASS);
    push("a", "a");
    push("b", "a");
    assert_string_equal(claim(), "a");
    first = token;
    pass(60000);
    assert_string_equal(claim(), "b");
    assert_int_equal(extend("a", first), DUEQ_STALE);
    ack("b");
    assert_int_equal(extend("a", first), DUEQ_OK);
    check();
}

static void a_late_extend_keeps_the_limit_of_the_topic(void **state)
{
    int64_t first;

    (void)state;
    set_limit(DUEQ_SET_CONCURRENCY, 1);
    push("a", "");
    assert_string_equal(claim(), "a");
    first = token;
    pass(60000);
    push_urgent("b", "", 1);
    assert_string_equal(claim(), "b");
    assert_int_equal(extend("a", first), DUEQ_STALE);
    ack("b");
    assert_int_equal(extend("a", first), DUEQ_OK);
    assert_string_equal(claim(), "");
    check();
}

/* ---- changes of jobs that wait for their group */

static void jobs_that_wait_are_changed_as_others_are(void **state)
{
    struct dueq_push changes;
    bool claimed;
    int64_t due;

    (void)state;
    set_mode(DUEQ_GROUP_SERIAL);
    for (int i = 0; i < 6; i++) {
        char id[16];

        snprintf(id, sizeof(id), "a%d", i);
        push(id, "a");
    }
    assert_string_equal(claim(), "a0");
    assert_string_equal(claim(), "");
    assert_int_equal(dueq_cancel(test.store, text("t"), text("a1"), test.time, &claimed),
                     DUEQ_OK);
    assert_int_equal(
        dueq_reschedule(test.store, text("t"), text("a2"), false, 5000, test.time, &due),
        DUEQ_OK);
    assert_int_equal(dueq_move(test.store, text("t"), text("a3"), text("other"), test.time),
                     DUEQ_OK);
    dueq_push_init(&changes);
    changes.topic = text("t");
    changes.id = text("a5");
    changes.body = text("new");
    changes.priority = 1;
    assert_int_equal(dueq_update(test.store, &changes, true, test.time), DUEQ_OK);
    check();
    ack("a0");
    assert_string_equal(claim(), "a5");
    ack("a5");
    assert_string_equal(claim(), "a4");
    ack("a4");
    assert_string_equal(claim(), "");
    pass(5000);
    assert_string_equal(claim(), "a2");
    check();
}

static void lives_end_while_jobs_wait_for_their_group(void **state)
{
    struct dueq_push push_short;
    struct dueq_slice id;

    (void)state;
    set_mode(DUEQ_GROUP_SERIAL);
    push("a0", "a");
    assert_string_equal(claim(), "a0");
    dueq_push_init(&push_short);
    push_short.topic = text("t");
    push_short.group = text("a");
    push_short.ttl = 100;
    assert_int_equal(dueq_push(test.store, &push_short, test.time, &id), DUEQ_OK);
    pass(100);
    ack("a0");
    assert_string_equal(claim(), "");
    check();
}

/* A job that was due once stays so in the list of its group. */
static void a_wall_clock_set_back_stops_no_group(void **state)
{
    struct dueq_push at;
    struct dueq_slice id;

    (void)state;
    set_mode(DUEQ_GROUP_SERIAL);
    push("a0", "a");
    assert_string_equal(claim(), "a0");
    dueq_push_init(&at);
    at.topic = text("t");
    at.group = text("a");
    at.absolute = true;
    at.at = test.time.wall + 100;
    assert_int_equal(dueq_push(test.store, &at, test.time, &id), DUEQ_OK);
    pass(200);
    assert_string_equal(claim(), "");
    test.time.wall -= 3600000;
    store_fixture_tick(&test, 1000);
    check();
    ack("a0");
    assert_int_equal(strlen(claim()), 23);
    check();
}

/* ---- many */

static void push_many(int groups, int jobs)
{
    char group[16];
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.topic = text("t");
    push.group.data = group;
    for (int i = 0; i < jobs; i++) {
        push.group.size = (size_t)snprintf(group, sizeof(group), "%d", i % groups);
        assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
        if (i % 1000 == 0)
            store_fixture_commit(&test);
    }
}

/* Jobs at the front that cannot run are passed by many a call, and once each. */
static void claims_pass_a_blocked_group_in_slices(void **state)
{
    struct dueq_job job;
    enum dueq_status status;
    int busy = 0;

    (void)state;
    push_many(1, 5000);
    push("free", "free");
    set_mode(DUEQ_GROUP_SERIAL);
    assert_int_equal(dueq_claim(test.store, text("t"), 60000, test.time, &job), DUEQ_OK);
    while ((status = dueq_claim(test.store, text("t"), 60000, test.time, &job)) == DUEQ_BUSY)
        busy++;
    assert_int_equal(status, DUEQ_OK);
    assert_true(dueq_slice_equal(job.id, text("free")));
    assert_in_range(busy, 8, 12);
    assert_string_equal(claim(), "");
    check();
}

/* The groups of a topic follow its settings a part in each tick. */
static void ten_thousand_groups_follow_a_change_in_slices(void **state)
{
    struct dueq_job job;
    int ticks = 0;

    (void)state;
    set_mode(DUEQ_GROUP_SERIAL);
    push_many(10000, 20000);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(dueq_claim(test.store, text("t"), 600000, test.time, &job), DUEQ_OK);
    while (dueq_claim(test.store, text("t"), 600000, test.time, &job) == DUEQ_BUSY)
        ;
    store_fixture_commit(&test);
    set_mode(DUEQ_DEFAULT);
    while (dueq_tick(test.store, test.time, 1000))
        ticks++;
    assert_in_range(ticks, 60, 120);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(dueq_claim(test.store, text("t"), 600000, test.time, &job), DUEQ_OK);
    check();
    assert_int_equal(record_count(test.store, "O"), 0);
}

static void a_purge_takes_jobs_that_wait_for_their_group(void **state)
{
    struct dueq_purge purge = {.topic = text("t"), .state = DUEQ_DEFAULT};
    struct dueq_purge_progress progress = {.removed = 0};
    struct dueq_job job;

    (void)state;
    set_mode(DUEQ_GROUP_SERIAL);
    push_many(3, 3000);
    for (int i = 0; i < 3; i++)
        assert_int_equal(dueq_claim(test.store, text("t"), 60000, test.time, &job), DUEQ_OK);
    while (dueq_claim(test.store, text("t"), 60000, test.time, &job) == DUEQ_BUSY)
        ;
    while (!progress.is_over)
        assert_int_equal(dueq_purge(test.store, &purge, test.time, 500, &progress), DUEQ_OK);
    assert_int_equal(progress.removed, 2997);
    check();
    assert_int_equal(record_count(test.store, "O"), 0);
    assert_int_equal(record_count(test.store, "W"), 3);
}

static void a_dropped_topic_leaves_nothing_of_its_groups(void **state)
{
    struct dueq_job job;

    (void)state;
    set_mode(DUEQ_GROUP_SERIAL);
    push_many(100, 1000);
    assert_int_equal(dueq_claim(test.store, text("t"), 60000, test.time, &job), DUEQ_OK);
    store_fixture_commit(&test);
    assert_int_equal(dueq_drop(test.store, text("t"), test.time), DUEQ_OK);
    store_fixture_tick(&test, 1000);
    assert_int_equal(record_count(test.store, "BFGOQRSTUW"), 0);
}

static void names_and_weights_have_ends(void **state)
{
    static char long_name[DUEQ_NAME_MAX + 1];
    struct dueq_push push;
    struct dueq_slice id;

    (void)state;
    memset(long_name, 'x', sizeof(long_name));
    dueq_push_init(&push);
    push.topic = text("t");
    push.group = dueq_slice(long_name, DUEQ_NAME_MAX);
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    push.group.size++;
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_INVALID);
    push.group.size = 64 * 1024;
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_INVALID);
    push.group.size = 1;
    push.weight = 0;
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_INVALID);
    push.weight = DUEQ_WEIGHT_MAX + 1;
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_INVALID);
    push.weight = DUEQ_WEIGHT_MAX;
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
}

/* ---- damage */

static void a_check_finds_a_group_that_is_wrong(void **state)
{
    struct kv_key key;
    struct dueq_slice value;
    uint8_t bytes[64];

    (void)state;
    set_mode(DUEQ_GROUP_SERIAL);
    push("a1", "a");
    push("a2", "a");
    assert_string_equal(claim(), "a1");
    assert_string_equal(claim(), "");
    queue_key_group(&key, 1, groups_number(test.store->queue, text("a")));
    assert_int_equal(kv_get(test.store->kv, kv_key_slice(&key), &value), DUEQ_OK);
    memcpy(bytes, value.data, value.size);
    bytes[2] += 2; /* one more is claimed */
    kv_put(test.store->kv, kv_key_slice(&key), dueq_slice(bytes, value.size), false);
    assert_non_null(queue_check(test.store->queue));
    bytes[2] -= 2;
    bytes[3] += 2; /* one more is parked */
    kv_put(test.store->kv, kv_key_slice(&key), dueq_slice(bytes, value.size), false);
    assert_non_null(queue_check(test.store->queue));
}

#define TEST(function) store_fixture_test(function, test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_serial_group_runs_one_job_at_a_time_in_order),
        TEST(a_job_that_failed_holds_its_group),
        TEST(a_job_that_failed_lets_others_pass_when_told_so),
        TEST(a_lost_lease_holds_too_and_a_death_does_not),
        TEST(a_cap_is_raised_and_lowered_while_jobs_run),
        TEST(what_waits_goes_on_when_groups_are_given_up),
        TEST(a_topic_has_no_more_claimed_jobs_than_it_may),
        TEST(a_group_has_no_more_claimed_jobs_than_it_may),
        TEST(groups_take_turns_within_their_limit),
        TEST(groups_take_turns),
        TEST(weights_share_the_claims),
        TEST(a_group_that_comes_back_starves_nobody),
        TEST(delayed_jobs_get_their_turns),
        TEST(a_job_that_waits_long_enough_goes_first),
        TEST(a_late_extend_needs_a_place),
        TEST(a_late_extend_keeps_the_limit_of_the_topic),
        TEST(parked_jobs_age_too),
        TEST(a_claim_among_many_priorities_that_age_is_short),
        TEST(jobs_that_wait_are_changed_as_others_are),
        TEST(lives_end_while_jobs_wait_for_their_group),
        TEST(a_wall_clock_set_back_stops_no_group),
        TEST(claims_pass_a_blocked_group_in_slices),
        TEST(ten_thousand_groups_follow_a_change_in_slices),
        TEST(a_purge_takes_jobs_that_wait_for_their_group),
        TEST(a_dropped_topic_leaves_nothing_of_its_groups),
        TEST(names_and_weights_have_ends),
        TEST(a_check_finds_a_group_that_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
