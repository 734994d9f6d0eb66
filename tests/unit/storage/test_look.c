/* Looking at many jobs: scans and peeks at their limits. tests/model/test_job_scan.c has random
 * use. */
#include "storage/store.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka.h"

enum { MANY = 1000, REMOVED = 200000, LARGE = 768 * 1024 };

static struct store_fixture test;

static void push_body(const char *id, int64_t delay, struct dueq_slice body)
{
    struct dueq_push push;
    struct dueq_slice given;

    dueq_push_init(&push);
    push.topic = text("t");
    push.id = text(id);
    push.delay = delay;
    push.body = body;
    assert_int_equal(dueq_push(test.store, &push, test.time, &given), DUEQ_OK);
}

static void push(const char *id, int64_t delay)
{
    push_body(id, delay, text("body"));
}

static struct dueq_job claim(void)
{
    struct dueq_job job;

    assert_int_equal(dueq_claim(test.store, text("t"), 1000, test.time, &job), DUEQ_OK);
    return job;
}

/* ---- what is found: ids, each followed by a space */

static char found[256];

static bool take(void *arg, const struct dueq_job *job)
{
    (void)arg;
    assert_true(strlen(found) + job->id.size + 2 < sizeof(found));
    strncat(found, job->id.data, job->id.size);
    strcat(found, " ");
    return true;
}

static bool count(void *arg, const struct dueq_job *job)
{
    (void)job;
    ++*(size_t *)arg;
    return true;
}

static struct dueq_scan scan_of(int state)
{
    struct dueq_scan scan;

    dueq_scan_init(&scan);
    scan.topic = text("t");
    scan.state = state;
    return scan;
}

/* One call that looks at everything; it must not say that there is more. */
static const char *scanned(struct dueq_scan scan)
{
    char cursor[DUEQ_CURSOR_SIZE];

    found[0] = '\0';
    scan.count = MANY;
    assert_int_equal(dueq_scan(test.store, &scan, text("0"), test.time, take, NULL, cursor),
                     DUEQ_OK);
    assert_string_equal(cursor, "0");
    return found;
}

static const char *peeked(int state, size_t most)
{
    struct dueq_peek peek = {.topic = text("t"), .state = state, .count = most};

    found[0] = '\0';
    assert_int_equal(dueq_peek(test.store, &peek, test.time, take, NULL), DUEQ_OK);
    return found;
}

/* How many calls a whole scan takes; *ret_found: how many jobs it finds. */
static size_t scan_calls(struct dueq_scan scan, size_t *ret_found)
{
    char cursor[DUEQ_CURSOR_SIZE] = "0";
    size_t calls = 0;

    *ret_found = 0;
    do {
        assert_int_equal(
            dueq_scan(test.store, &scan, text(cursor), test.time, count, ret_found, cursor),
            DUEQ_OK);
        calls++;
    } while (strcmp(cursor, "0") != 0);
    return calls;
}

/* One job in each state: r, d (in 5 s), c and x. */
static void one_in_each_state(void)
{
    struct dueq_nack nack = {.outcome = DUEQ_FATAL};
    struct dueq_job job;
    enum dueq_state state;

    push("x", 0);
    job = claim();
    assert_int_equal(
        dueq_nack(test.store, text("t"), job.id, job.token, &nack, test.time, &state), DUEQ_OK);
    push("c", 0);
    claim();
    push("r", 0);
    push("d", 5000);
}

/* ---- scans */

static void a_scan_finds_each_state(void **state)
{
    (void)state;
    one_in_each_state();
    assert_string_equal(scanned(scan_of(DUEQ_DEFAULT)), "x c r d ");
    assert_string_equal(scanned(scan_of(DUEQ_DELAYED)), "d ");
    assert_string_equal(scanned(scan_of(DUEQ_READY)), "r ");
    assert_string_equal(scanned(scan_of(DUEQ_CLAIMED)), "c ");
    assert_string_equal(scanned(scan_of(DUEQ_DEAD)), "x ");
}

static void a_range_of_due_times_has_both_its_ends(void **state)
{
    struct dueq_scan scan = scan_of(DUEQ_DEFAULT);
    int64_t now = test.time.wall;

    (void)state;
    one_in_each_state();
    scan.by_due = true;
    scan.from = INT64_MIN;
    scan.to = INT64_MAX;
    assert_string_equal(scanned(scan), "c x r d ");
    scan.from = scan.to = now + 5000;
    assert_string_equal(scanned(scan), "d ");
    scan.from = now;
    scan.to = now + 4999;
    assert_string_equal(scanned(scan), "c x r ");
    scan.to = now - 1;
    assert_string_equal(scanned(scan), "");
    scan.state = DUEQ_CLAIMED;
    scan.from = scan.to = now + 1000;
    assert_string_equal(scanned(scan), "c ");
}

/* Their place in the schedule is when they are removed, but their due time is when they were
 * done. */
/* The range is of the wall clock; jobs of both clocks lie in it. */
static void a_range_of_due_times_follows_a_wall_clock_that_was_set(void **state)
{
    struct dueq_scan scan = scan_of(DUEQ_DEFAULT);
    struct dueq_push absolute;
    struct dueq_slice given;

    (void)state;
    test.time.wall += 50000;
    one_in_each_state();
    dueq_push_init(&absolute);
    absolute.topic = text("t");
    absolute.id = text("w");
    absolute.absolute = true;
    absolute.at = test.time.wall + 5000;
    assert_int_equal(dueq_push(test.store, &absolute, test.time, &given), DUEQ_OK);
    scan.by_due = true;
    scan.from = scan.to = test.time.wall + 5000;
    assert_string_equal(scanned(scan), "d w ");
    scan.from = scan.to = test.time.wall + 1000;
    assert_string_equal(scanned(scan), "c ");
}

/* Such a job is as late as it can be; its due time is shown, and is asked for. */
static void the_latest_due_time_is_in_the_range_that_begins_there(void **state)
{
    struct dueq_scan scan = scan_of(DUEQ_DEFAULT);
    struct dueq_job job;

    (void)state;
    test.time.wall += 50000;
    push("never", INT64_MAX);
    assert_int_equal(dueq_get(test.store, text("t"), text("never"), test.time, &job), DUEQ_OK);
    scan.by_due = true;
    scan.from = scan.to = job.due;
    assert_string_equal(scanned(scan), "never ");
    scan.from = job.due + 1;
    scan.to = INT64_MAX;
    assert_string_equal(scanned(scan), "");
}

static void done_jobs_are_found_by_when_they_were_done(void **state)
{
    struct dueq_settings settings;
    struct dueq_scan scan = scan_of(DUEQ_DONE);
    int64_t now = test.time.wall;

    (void)state;
    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_KEEP] = 60000;
    assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_OK);
    for (char id[2] = "a"; id[0] <= 'c'; id[0]++) {
        struct dueq_job job;

        push(id, 0);
        job = claim();
        assert_int_equal(dueq_ack(test.store, text("t"), job.id, job.token, test.time),
                         DUEQ_OK);
        store_fixture_pass(&test, 10);
    }
    push("r", 0);
    assert_string_equal(scanned(scan), "a b c ");
    assert_string_equal(peeked(DUEQ_DONE, 2), "a b ");
    scan.by_due = true;
    scan.from = now + 10;
    scan.to = now + 20;
    assert_string_equal(scanned(scan), "b c ");
    scan.state = DUEQ_DEFAULT;
    scan.to = now + 30;
    assert_string_equal(scanned(scan), "b c r ");
}

static void a_cursor_outlives_a_restart(void **state)
{
    struct dueq_scan scan = scan_of(DUEQ_DEFAULT);
    char cursor[DUEQ_CURSOR_SIZE] = "0";
    size_t jobs = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        char id[16];

        snprintf(id, sizeof(id), "%d", i);
        push(id, i);
    }
    scan.count = MANY / 2;
    assert_int_equal(
        dueq_scan(test.store, &scan, text(cursor), test.time, count, &jobs, cursor), DUEQ_OK);
    assert_int_equal(jobs, MANY / 2);
    store_fixture_reopen(&test);
    scan.count = MANY;
    assert_int_equal(
        dueq_scan(test.store, &scan, text(cursor), test.time, count, &jobs, cursor), DUEQ_OK);
    assert_int_equal(jobs, MANY);
    assert_string_equal(cursor, "0");
}

static void a_cursor_of_another_scan_is_refused(void **state)
{
    static const char too_long[] = "4200000000000000000000000000000000"
                                   "0000000000000000000000000000000";
    static const char *const bad[] = {"",   "1",    "00", "42f", "4g",    "51",
                                      "53", "42FF", "x",  "-1",  too_long};
    struct dueq_scan scan = scan_of(DUEQ_DEFAULT);
    char cursor[DUEQ_CURSOR_SIZE] = "kept";
    size_t jobs = 0;

    (void)state;
    push("a", 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(
            dueq_scan(test.store, &scan, text(bad[i]), test.time, count, &jobs, cursor),
            DUEQ_INVALID);
        assert_string_equal(cursor, "kept");
    }
    assert_int_equal(dueq_scan(test.store, &scan, text("42"), test.time, count, &jobs, cursor),
                     DUEQ_OK);
    assert_int_equal(
        dueq_scan(test.store, &scan, text("42ffffffffffff"), test.time, count, &jobs, cursor),
        DUEQ_OK);
    scan.topic = text("none");
    assert_int_equal(dueq_scan(test.store, &scan, text("0"), test.time, count, &jobs, cursor),
                     DUEQ_NOTFOUND);
    assert_int_equal(jobs, 1);
}

/* 100,000 removed records are no reason to take long: the call says that there is more. */
static void a_scan_stops_among_removed_jobs(void **state)
{
    size_t calls, jobs;
    char id[16];

    (void)state;
    for (int i = 0; i < REMOVED; i++) {
        snprintf(id, sizeof(id), "%d", i);
        push(id, 0);
    }
    push("last", 0);
    store_fixture_checkpoint(&test);
    for (int i = 0; i < REMOVED; i++) {
        snprintf(id, sizeof(id), "%d", i);
        assert_int_equal(dueq_del(test.store, text("t"), text(id), test.time), DUEQ_OK);
    }
    calls = scan_calls(scan_of(DUEQ_DEFAULT), &jobs);
    assert_int_equal(jobs, 1);
    assert_in_range(calls, 5, 100);
    assert_int_equal(scan_calls(scan_of(DUEQ_DEFAULT), &jobs), 1);
    assert_int_equal(jobs, 1);
}

static void large_bodies_end_a_call_early(void **state)
{
    struct dueq_peek peek = {.topic = text("t"), .state = DUEQ_DEFAULT, .count = 10};
    char *body = calloc(1, LARGE);
    size_t jobs;

    (void)state;
    assert_non_null(body);
    for (int i = 0; i < 5; i++) {
        char id[2] = {(char)('a' + i), '\0'};

        push_body(id, 0, dueq_slice(body, LARGE));
        store_fixture_commit(&test);
    }
    free(body);
    assert_int_equal(scan_calls(scan_of(DUEQ_DEFAULT), &jobs), 2);
    assert_int_equal(jobs, 5);
    jobs = 0;
    assert_int_equal(dueq_peek(test.store, &peek, test.time, count, &jobs), DUEQ_OK);
    assert_int_equal(jobs, 3);
}

/* ---- peeks */

static void a_peek_merges_clocks_and_priorities(void **state)
{
    static const struct {
        const char *id;
        int priority;
        bool absolute;
        int64_t due;
    } jobs[] = {{"a", 5, true, 10},  {"b", 5, false, 5},  {"c", 0, false, 9},
                {"d", 9, true, 20},  {"e", 0, false, 20}, {"f", 9, false, 3},
                {"g", 5, false, 30}, {"h", 5, true, 25}};

    (void)state;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
        struct dueq_push push;
        struct dueq_slice id;

        dueq_push_init(&push);
        push.topic = text("t");
        push.id = text(jobs[i].id);
        push.priority = jobs[i].priority;
        push.absolute = jobs[i].absolute;
        push.delay = jobs[i].due;
        push.at = test.time.wall + jobs[i].due;
        assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    }
    assert_string_equal(peeked(DUEQ_DEFAULT, 10), "f b c a e d h g ");
    assert_string_equal(peeked(DUEQ_READY, 10), "");
    store_fixture_pass(&test, 10);
    assert_string_equal(peeked(DUEQ_DEFAULT, 10), "c b a f e d h g ");
    assert_string_equal(peeked(DUEQ_DEFAULT, 5), "c b a f e ");
    assert_string_equal(peeked(DUEQ_READY, 10), "c b a f ");
    assert_string_equal(peeked(DUEQ_READY, 2), "c b ");
    assert_string_equal(peeked(DUEQ_DELAYED, 3), "e d h ");
    assert_string_equal(peeked(DUEQ_DEFAULT, 0), "");
}

static void claimed_and_dead_jobs_are_peeked_at_by_time(void **state)
{
    struct dueq_nack nack = {.outcome = DUEQ_FATAL};
    enum dueq_state now;
    int64_t end;

    (void)state;
    for (char id[2] = "a"; id[0] <= 'f'; id[0]++) {
        struct dueq_job job;

        push(id, 0);
        job = claim();
        if (id[0] == 'a')
            dueq_extend(test.store, text("t"), job.id, job.token, 5000, test.time, &end);
        if (id[0] >= 'd')
            dueq_nack(test.store, text("t"), job.id, job.token, &nack, test.time, &now);
        store_fixture_pass(&test, 1);
    }
    assert_string_equal(peeked(DUEQ_CLAIMED, 10), "b c a ");
    assert_string_equal(peeked(DUEQ_DEAD, 2), "d e ");
}

/* What removed records hide is found by calls that go on, not by one that takes long. */
static void a_peek_gives_up_among_removed_jobs(void **state)
{
    struct dueq_peek peek = {.topic = text("t"), .state = DUEQ_DELAYED, .count = 1};
    enum dueq_status status;
    size_t jobs = 0;
    int calls = 0;
    char id[16];

    (void)state;
    for (int i = 0; i < REMOVED; i++) {
        snprintf(id, sizeof(id), "%d", i);
        push(id, 1000);
    }
    push("last", 2000);
    store_fixture_checkpoint(&test);
    for (int i = 0; i < REMOVED; i++) {
        snprintf(id, sizeof(id), "%d", i);
        assert_int_equal(dueq_del(test.store, text("t"), text(id), test.time), DUEQ_OK);
    }
    do {
        status = dueq_peek(test.store, &peek, test.time, count, &jobs);
        calls++;
    } while (status == DUEQ_BUSY);
    assert_int_equal(status, DUEQ_OK);
    assert_int_equal(jobs, 1);
    assert_in_range(calls, 3, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_fixture_test(a_scan_finds_each_state, test),
        store_fixture_test(a_range_of_due_times_has_both_its_ends, test),
        store_fixture_test(a_range_of_due_times_follows_a_wall_clock_that_was_set, test),
        store_fixture_test(the_latest_due_time_is_in_the_range_that_begins_there, test),
        store_fixture_test(done_jobs_are_found_by_when_they_were_done, test),
        store_fixture_test(a_cursor_outlives_a_restart, test),
        store_fixture_test(a_cursor_of_another_scan_is_refused, test),
        store_fixture_test(a_scan_stops_among_removed_jobs, test),
        store_fixture_test(large_bodies_end_a_call_early, test),
        store_fixture_test(a_peek_merges_clocks_and_priorities, test),
        store_fixture_test(claimed_and_dead_jobs_are_peeked_at_by_time, test),
        store_fixture_test(a_peek_gives_up_among_removed_jobs, test),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
