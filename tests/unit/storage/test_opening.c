/* What an opening reports, and that it can be stopped at each report: nothing is lost. */
#include "storage/dueq.h"
#include "storage/queue/core/queue_state.h"
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include "tests/support/cmocka.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOPICS = 5, JOBS = 300, BODY = 1000 };

static struct store_fixture test;

/* ---- what is to be replayed */

static struct dueq_slice number(int value)
{
    static char name[16];

    snprintf(name, sizeof(name), "%d", value);
    return text(name);
}

static void push(int job)
{
    static char body[BODY];
    char topic[16];
    struct dueq_push push;
    struct dueq_slice id;

    snprintf(topic, sizeof(topic), "topic%d", job % TOPICS);
    dueq_push_init(&push);
    push.topic = text(topic);
    push.id = number(job);
    push.body = dueq_slice(body, sizeof(body));
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    store_fixture_commit(&test);
}

/* A journal of many records. The next opening has small memtables, and merges many times. */
static int set_up(void **state)
{
    *state = &test;
    store_fixture_init(&test);
    test.options.segment_bytes = 64 << 10;
    store_fixture_open(&test);
    for (int job = 0; job < JOBS; job++)
        push(job);
    store_fixture_abandon(&test);
    test.options.memtable_bytes = 32 << 10;
    return 0;
}

/* ---- reports */

struct watcher {
    struct dueq_progress last;
    unsigned reports, until; /* until: the report that stops the opening; 0: none */
};

static bool watch(void *arg, const struct dueq_progress *progress)
{
    struct watcher *watcher = arg;

    assert_true(progress->journal_bytes >= progress->replayed_bytes);
    assert_true(progress->replayed_bytes >= watcher->last.replayed_bytes);
    assert_true(progress->replayed_records >= watcher->last.replayed_records);
    assert_true(progress->topics >= watcher->last.topics);
    watcher->last = *progress;
    return ++watcher->reports != watcher->until;
}

static enum dueq_status open_watched(struct watcher *watcher, struct dueq_error *error)
{
    enum dueq_status status;

    test.options.on_progress = watch;
    test.options.progress_arg = watcher;
    status = dueq_open(test.dir, &test.options, test.time, &test.store, error);
    test.options.on_progress = NULL;
    return status;
}

static void an_opening_tells_how_far_it_is(void **state)
{
    struct watcher watcher = {.until = 0};

    (void)state;
    assert_int_equal(open_watched(&watcher, NULL), DUEQ_OK);
    assert_true(watcher.reports > JOBS + TOPICS);
    assert_true(watcher.last.journal_bytes > JOBS * BODY);
    assert_int_equal(watcher.last.replayed_bytes, watcher.last.journal_bytes);
    assert_int_equal(watcher.last.replayed_records,
                     store_fixture_stats(&test).replayed_records);
    assert_true(watcher.last.replayed_records >= JOBS);
    assert_int_equal(watcher.last.topics, TOPICS);
}

static void a_new_store_has_nothing_to_replay(void **state)
{
    struct watcher watcher = {.until = 0};

    (void)state;
    store_fixture_release(&test);
    store_fixture_init(&test);
    assert_int_equal(open_watched(&watcher, NULL), DUEQ_OK);
    assert_int_equal(watcher.last.journal_bytes, 0);
    assert_int_equal(watcher.last.topics, 0);
}

/* ---- stopping */

static void check_all(void)
{
    assert_null(queue_check(test.store->queue));
    for (int job = 0; job < JOBS; job++) {
        struct dueq_job found;
        char topic[16];

        snprintf(topic, sizeof(topic), "topic%d", job % TOPICS);
        assert_int_equal(dueq_get(test.store, text(topic), number(job), test.time, &found),
                         DUEQ_OK);
    }
    assert_int_equal(dueq_topic_count(test.store), TOPICS);
}

/* Between records, in the middle of a merge, between topics: each later than the one before. */
static void an_opening_that_is_stopped_loses_nothing(void **state)
{
    unsigned stopped = 0;

    (void)state;
    for (unsigned until = 1;; until += 3) {
        struct watcher watcher = {.until = until};
        struct dueq_error error = {""};
        enum dueq_status status = open_watched(&watcher, &error);

        if (status == DUEQ_OK)
            break;
        assert_int_equal(status, DUEQ_STOPPED);
        assert_non_null(strstr(error.text, "the opening was stopped"));
        assert_null(test.store);
        assert_int_equal(watcher.reports, until);
        stopped++;
    }
    assert_true(stopped > 10);
    check_all();
    store_fixture_reopen(&test);
    check_all();
}

/* Without the records that a stopped opening has merged, it is as far as before. */
static void what_was_merged_is_not_merged_again(void **state)
{
    struct watcher first = {.until = JOBS}, second = {.until = 0};

    (void)state;
    assert_int_equal(open_watched(&first, NULL), DUEQ_STOPPED);
    assert_int_equal(open_watched(&second, NULL), DUEQ_OK);
    assert_true(second.last.replayed_records < JOBS);
    check_all();
}

/* ---- what has happened meanwhile */

enum { DUE = 20000, LEASED = 2000, STEPS = 20, AT_ONCE = 5000 };

static void push_one(const char *topic, int64_t delay)
{
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.topic = text(topic);
    push.delay = delay;
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
}

/* Without a look at what has fallen due since the last tick. */
static uint64_t counted(enum dueq_state state)
{
    return job_count(&test.store->queue->jobs, state);
}

/* A new store with jobs that fall due and leases that end while it is closed. */
static void go_down_for_long(void)
{
    struct dueq_job job;

    store_fixture_release(&test);
    store_fixture_init(&test);
    store_fixture_open(&test);
    for (int i = 0; i < DUE; i++)
        push_one("due", 1000 + i % 100);
    for (int i = 0; i < LEASED; i++)
        push_one("leased", 0);
    for (int i = 0; i < LEASED; i++)
        assert_int_equal(dueq_claim(test.store, text("leased"), 1000, test.time, &job),
                         DUEQ_OK);
    store_fixture_commit(&test);
    store_fixture_abandon(&test);
    store_fixture_pass(&test, 100000);
}

/* The opening does none of it, a look some thousand steps, a tick as many as it may. */
static void what_fell_due_meanwhile_is_taken_in_slices(void **state)
{
    struct dueq_topic_stats seen;
    bool more = true;

    (void)state;
    go_down_for_long();
    store_fixture_open(&test);
    assert_int_equal(counted(DUEQ_CLAIMED), LEASED);
    assert_int_equal(counted(DUEQ_DELAYED), DUE);
    assert_int_equal(dueq_topic_stats(test.store, text("due"), test.time, &seen), DUEQ_OK);
    assert_in_range(seen.counts[DUEQ_READY], 1, AT_ONCE);
    assert_true(seen.counting);
    while (more) {
        uint64_t claimed = counted(DUEQ_CLAIMED), ready = counted(DUEQ_READY);

        more = dueq_tick(test.store, test.time, STEPS);
        assert_in_range(claimed - counted(DUEQ_CLAIMED), 0, STEPS);
        assert_in_range(counted(DUEQ_READY) - ready, 0, STEPS);
    }
    assert_int_equal(counted(DUEQ_READY), DUE + LEASED);
    assert_null(queue_check(test.store->queue));
}

/* ---- a data file that is not there */

static const char *path_of(const char *name)
{
    static char paths[2][PATH_MAX];
    static int turn;
    char *path = paths[turn++ % 2];

    snprintf(path, PATH_MAX, "%s/%s", test.dir, name);
    return path;
}

static void expect_missing(void)
{
    struct dueq_error error = {""};

    assert_int_equal(dueq_open(test.dir, &test.options, test.time, &test.store, &error),
                     DUEQ_CORRUPT);
    test.store = NULL;
    if (strstr(error.text, "data.mdb is missing. Is its disk mounted?") == NULL)
        fail_msg("%s", error.text);
    assert_int_not_equal(access(path_of("data.mdb"), F_OK), 0);
}

static void close_with_all_in_data(void)
{
    store_fixture_open(&test);
    store_fixture_close(&test);
}

/* An empty store in its place would be sound, and everything would be gone. */
static void a_link_to_a_disk_that_is_not_mounted_is_refused(void **state)
{
    struct stat named;

    (void)state;
    close_with_all_in_data();
    assert_int_equal(rename(path_of("data.mdb"), path_of("elsewhere")), 0);
    assert_int_equal(symlink("mounted", path_of("data.mdb")), 0);
    expect_missing();
    assert_int_equal(lstat(path_of("data.mdb"), &named), 0);
    assert_true(S_ISLNK(named.st_mode));
    assert_int_equal(rename(path_of("elsewhere"), path_of("mounted")), 0);
    store_fixture_open(&test);
    check_all();
}

static void a_link_that_leads_nowhere_makes_no_new_store(void **state)
{
    (void)state;
    store_fixture_release(&test);
    store_fixture_init(&test);
    assert_int_equal(symlink("mounted", path_of("data.mdb")), 0);
    expect_missing();
    expect_missing();
}

static void a_journal_without_its_data_is_refused(void **state)
{
    (void)state;
    close_with_all_in_data();
    assert_int_equal(rename(path_of("data.mdb"), path_of("kept")), 0);
    expect_missing();
    assert_int_equal(unlink(path_of("lock.mdb")), 0);
    expect_missing();
    assert_int_equal(rename(path_of("kept"), path_of("data.mdb")), 0);
    store_fixture_open(&test);
    check_all();
}

static void a_lost_store_without_a_journal_is_refused(void **state)
{
    (void)state;
    close_with_all_in_data();
    assert_int_equal(unlink(path_of("data.mdb")), 0);
    assert_int_equal(rename(path_of("journal"), path_of("away")), 0);
    expect_missing();
    assert_int_equal(mkdir(path_of("journal"), 0700), 0);
    expect_missing();
}

/* The folder may be made before, on another disk. */
static void an_empty_journal_is_that_of_a_new_store(void **state)
{
    (void)state;
    store_fixture_release(&test);
    store_fixture_init(&test);
    assert_int_equal(mkdir(path_of("away"), 0700), 0);
    assert_int_equal(symlink("away", path_of("journal")), 0);
    store_fixture_open(&test);
    push(1);
    store_fixture_reopen(&test);
    assert_int_equal(dueq_topic_count(test.store), 1);
}

/* The first start was killed before it had made the journal. */
static void a_store_that_was_half_made_is_opened(void **state)
{
    (void)state;
    store_fixture_release(&test);
    store_fixture_init(&test);
    close_with_all_in_data();
    assert_int_equal(unlink(path_of("lock.mdb")), 0);
    assert_int_equal(rename(path_of("journal"), path_of("away")), 0);
    close_with_all_in_data();
    assert_int_equal(unlink(path_of("lock.mdb")), 0);
    assert_int_equal(unlink(path_of("data.mdb")), 0);
    assert_int_equal(rename(path_of("journal"), path_of("further")), 0);
    close_with_all_in_data();
}

#define opening_test(function)                                                                 \
    cmocka_unit_test_setup_teardown(function, set_up, store_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        opening_test(an_opening_tells_how_far_it_is),
        opening_test(a_new_store_has_nothing_to_replay),
        opening_test(an_opening_that_is_stopped_loses_nothing),
        opening_test(what_was_merged_is_not_merged_again),
        opening_test(what_fell_due_meanwhile_is_taken_in_slices),
        opening_test(a_link_to_a_disk_that_is_not_mounted_is_refused),
        opening_test(a_link_that_leads_nowhere_makes_no_new_store),
        opening_test(a_journal_without_its_data_is_refused),
        opening_test(a_lost_store_without_a_journal_is_refused),
        opening_test(an_empty_journal_is_that_of_a_new_store),
        opening_test(a_store_that_was_half_made_is_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
