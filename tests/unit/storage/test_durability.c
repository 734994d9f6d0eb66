/* Topics with a durability of their own: which commits are durable before the sync. */
#include "storage/keys/string.h"
#include "storage/store.h"
#include "tests/support/faults/fake_disk.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <sched.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

static struct store_fixture test;
static struct fake_disk *disk;

static void set_durability(const char *scope, int64_t durability)
{
    struct dueq_settings settings;

    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_DURABILITY] = durability;
    assert_int_equal(dueq_put_settings(test.store, text(scope), &settings), DUEQ_OK);
}

static uint64_t commit(void)
{
    uint64_t lsn = 0;

    assert_int_equal(dueq_commit(test.store, test.time, &lsn), DUEQ_OK);
    return lsn;
}

static void open_with(enum dueq_durability durability)
{
    test.options.durability = durability;
    store_fixture_open(&test);
    set_durability("strict*", DUEQ_SYNC_ALWAYS);
    set_durability("loose*", DUEQ_SYNC_INTERVAL);
    assert_int_equal(dueq_wait(test.store, commit()), DUEQ_OK);
}

/* No sync comes unless something asks for it: the interval is an hour. */
static int set_up(void **state)
{
    (void)state;
    store_fixture_init(&test);
    disk = fake_disk_new();
    test.options.interval_ms = 3600000;
    test.options.io = fake_disk_io(disk);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_disk_hold_syncs(disk, false);
    store_fixture_release(&test);
    fake_disk_free(disk);
    return 0;
}

static void push_with(const char *topic, const char *id, int64_t lease)
{
    struct dueq_push push;
    struct dueq_slice given;

    dueq_push_init(&push);
    push.topic = text(topic);
    push.id = text(id);
    push.lease = lease;
    assert_int_equal(dueq_push(test.store, &push, test.time, &given), DUEQ_OK);
}

static void push(const char *topic, const char *id)
{
    push_with(topic, id, DUEQ_DEFAULT);
}

static void set_key(const char *name)
{
    assert_int_equal(
        string_set(&test.view, text(name), text("value"), DUEQ_NEVER, STRING_GIVEN), DUEQ_OK);
}

static void claim(const char *topic)
{
    struct dueq_job job;

    assert_int_equal(dueq_claim(test.store, text(topic), DUEQ_DEFAULT, test.time, &job),
                     DUEQ_OK);
}

/* Commits. Is that durable before the sync? If it is not, the sync comes by itself. */
static bool needs_no_sync(void)
{
    uint64_t lsn;
    bool durable;

    fake_disk_hold_syncs(disk, true);
    lsn = commit();
    durable = dueq_durable_lsn(test.store) >= lsn;
    assert_true(dueq_written_lsn(test.store) >= lsn);
    fake_disk_hold_syncs(disk, false);
    assert_int_equal(dueq_wait(test.store, lsn), DUEQ_OK);
    return durable;
}

/* ---- what a commit waits for */

static void a_commit_follows_its_strictest_topic(void **state)
{
    (void)state;
    for (int mode = DUEQ_SYNC_ALWAYS; mode <= DUEQ_SYNC_NONE; mode++) {
        bool free = mode != DUEQ_SYNC_ALWAYS;

        open_with((enum dueq_durability)mode);
        assert_true(needs_no_sync()); /* nothing has changed */
        push("loose", "");
        assert_true(needs_no_sync());
        push("other", "");
        assert_int_equal(needs_no_sync(), free);
        push("strict", "");
        assert_false(needs_no_sync());
        push("loose", "");
        push("other", "");
        assert_int_equal(needs_no_sync(), free);
        push("strict", "");
        push("loose", "");
        assert_false(needs_no_sync());
        claim("loose");
        assert_true(needs_no_sync());
        claim("strict");
        assert_false(needs_no_sync());
        store_fixture_close(&test);
    }
}

/* They are saved with the batch, and a topic has its counters there. */
static void a_key_in_the_same_batch_follows_the_mode(void **state)
{
    (void)state;
    open_with(DUEQ_SYNC_ALWAYS);
    push("loose", "a");
    set_key("before");
    store_settle(test.store); /* as the server does after each command */
    push("loose", "b");
    assert_false(needs_no_sync());
    push("loose", "c");
    store_settle(test.store);
    set_key("after");
    assert_false(needs_no_sync());
    push("loose", "d");
    assert_true(needs_no_sync());
}

static void a_pause_follows_its_topic(void **state)
{
    (void)state;
    open_with(DUEQ_SYNC_NONE);
    assert_int_equal(
        dueq_pause(test.store, text("strict"), true, false, DUEQ_DEFAULT, test.time), DUEQ_OK);
    assert_false(needs_no_sync());
    store_fixture_close(&test);
    open_with(DUEQ_SYNC_ALWAYS);
    assert_int_equal(
        dueq_pause(test.store, text("loose"), true, false, DUEQ_DEFAULT, test.time), DUEQ_OK);
    assert_true(needs_no_sync());
}

static void removing_everything_waits_for_a_sync(void **state)
{
    (void)state;
    open_with(DUEQ_SYNC_NONE);
    push("strict", "a");
    assert_false(needs_no_sync());
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    assert_false(needs_no_sync());
    push("strict", "a");
    assert_false(needs_no_sync());
    assert_int_equal(dueq_drop(test.store, text("strict"), test.time), DUEQ_OK);
    assert_false(needs_no_sync());
}

/* What an earlier commit still waits for does not hold up a later one. */
static void the_written_lsn_does_not_wait_for_earlier_commits(void **state)
{
    uint64_t strict, loose;

    (void)state;
    open_with(DUEQ_SYNC_ALWAYS);
    assert_true(needs_no_sync());
    fake_disk_hold_syncs(disk, true);
    push("strict", "a");
    strict = commit();
    push("loose", "a");
    loose = commit();
    assert_true(dueq_durable_lsn(test.store) < strict);
    assert_true(dueq_written_lsn(test.store) == loose);
    fake_disk_hold_syncs(disk, false);
    assert_int_equal(dueq_wait(test.store, loose), DUEQ_OK);
}

/* The server commits early when this is so. */
static void a_commit_is_synced_at_once_when_no_other_one_waits(void **state)
{
    uint64_t usec, lsn;

    (void)state;
    open_with(DUEQ_SYNC_ALWAYS);
    assert_true(store_may_sync(test.store, &usec));
    fake_disk_hold_syncs(disk, true);
    push("strict", "a");
    assert_true(store_may_sync(test.store, &usec));
    lsn = commit();
    assert_false(store_may_sync(test.store, &usec));
    while (fake_disk_held_syncs(disk) == 0) /* the sync takes longer than what follows */
        sched_yield();
    usleep(20 * 1000);
    fake_disk_hold_syncs(disk, false);
    assert_int_equal(dueq_wait(test.store, lsn), DUEQ_OK);
    assert_true(store_may_sync(test.store, &usec));
    assert_true(usec >= 20 * 1000 / 8);
}

static void commits_without_syncs_wait_for_none(void **state)
{
    uint64_t usec;

    (void)state;
    open_with(DUEQ_SYNC_NONE);
    fake_disk_hold_syncs(disk, true);
    push("other", "a");
    commit();
    assert_true(store_may_sync(test.store, &usec));
    fake_disk_hold_syncs(disk, false);
}

/* ---- what a reply asks for */

static void a_read_asks_for_what_its_topic_asks(void **state)
{
    struct dueq_topic_stats stats;
    struct dueq_slice name;
    struct dueq_job job;

    (void)state;
    open_with(DUEQ_SYNC_INTERVAL);
    push("strict", "a");
    push("other", "a");
    assert_int_equal(store_settle(test.store), ASKS_ALWAYS | ASKS_MODE);
    dueq_get(test.store, text("strict"), text("a"), test.time, &job);
    assert_int_equal(store_settle(test.store), ASKS_ALWAYS);
    dueq_topic_stats(test.store, text("other"), test.time, &stats);
    assert_int_equal(store_settle(test.store), ASKS_MODE);
    /* a topic that does not exist may have been dropped just now */
    dueq_get(test.store, text("strict2"), text("a"), test.time, &job);
    assert_int_equal(store_settle(test.store), ASKS_ALWAYS);
    dueq_get(test.store, text("loose"), text("a"), test.time, &job);
    assert_int_equal(store_settle(test.store), ASKS_INTERVAL);
    assert_int_equal(dueq_topic_after(test.store, text(""), &name), DUEQ_OK);
    assert_true(store_settle(test.store) & ASKS_ALWAYS);
    string_get(&test.view, text("key"), &name);
    assert_int_equal(store_settle(test.store), 0);
}

/* ---- ticks */

static void a_tick_asks_for_what_its_topics_ask(void **state)
{
    static const char *const topics[] = {"loose", "other", "strict"};

    (void)state;
    open_with(DUEQ_SYNC_ALWAYS);
    for (int i = 0; i < 3; i++) {
        push_with(topics[i], "a", 1000);
        claim(topics[i]);
        assert_int_equal(dueq_wait(test.store, commit()), DUEQ_OK);
        store_fixture_pass(&test, 1000);
        store_fixture_tick(&test, 1000); /* ends the lease */
        assert_int_equal(needs_no_sync(), i == 0);
    }
}

static void a_tick_that_moves_a_dead_job_asks_for_both_topics(void **state)
{
    struct dueq_settings settings;

    (void)state;
    open_with(DUEQ_SYNC_ALWAYS);
    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_DURABILITY] = DUEQ_SYNC_INTERVAL;
    settings.numbers[DUEQ_SET_CRASHES] = 0;
    settings.dead_topic_size = 5;
    memcpy(settings.dead_topic, "other", 5);
    assert_int_equal(dueq_put_settings(test.store, text("loose"), &settings), DUEQ_OK);
    push_with("loose", "a", 1000);
    claim("loose");
    assert_int_equal(dueq_wait(test.store, commit()), DUEQ_OK);
    store_fixture_pass(&test, 1000);
    store_fixture_tick(&test, 1000);
    assert_false(needs_no_sync());
}

/* ---- the settings themselves */

static void a_change_of_the_setting_is_synced_with_all_before(void **state)
{
    uint64_t lsn;

    (void)state;
    open_with(DUEQ_SYNC_NONE);
    push("other", "a");
    lsn = commit();
    assert_true(dueq_durable_lsn(test.store) >= lsn);
    set_durability("other", DUEQ_SYNC_ALWAYS);
    assert_false(needs_no_sync());
    assert_true(store_fixture_stats(&test).synced_lsn > lsn);
    set_durability("other", DUEQ_DEFAULT);
    assert_false(needs_no_sync());
    push("other", "b");
    assert_true(needs_no_sync());
}

static void the_setting_survives_a_restart(void **state)
{
    (void)state;
    open_with(DUEQ_SYNC_NONE);
    store_fixture_reopen(&test);
    assert_int_equal(store_settle(test.store), 0); /* the loading asks for nothing */
    push("strict", "a");
    assert_false(needs_no_sync());
    push("other", "a");
    assert_true(needs_no_sync());
    set_durability("strict*", DUEQ_DEFAULT);
    set_durability("loose*", DUEQ_DEFAULT);
    store_fixture_reopen(&test);
    push("strict", "b");
    assert_true(needs_no_sync());
}

static void only_always_and_interval_can_be_set(void **state)
{
    struct dueq_settings settings;

    (void)state;
    open_with(DUEQ_SYNC_NONE);
    dueq_settings_init(&settings);
    for (int64_t wrong = DUEQ_SYNC_NONE; wrong < 300; wrong += 33) {
        settings.numbers[DUEQ_SET_DURABILITY] = wrong;
        assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_INVALID);
    }
    assert_int_equal(dueq_get_durability(test.store), DUEQ_SYNC_NONE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_commit_follows_its_strictest_topic),
        TEST(a_key_in_the_same_batch_follows_the_mode),
        TEST(a_pause_follows_its_topic),
        TEST(removing_everything_waits_for_a_sync),
        TEST(the_written_lsn_does_not_wait_for_earlier_commits),
        TEST(a_commit_is_synced_at_once_when_no_other_one_waits),
        TEST(commits_without_syncs_wait_for_none),
        TEST(a_read_asks_for_what_its_topic_asks),
        TEST(a_tick_asks_for_what_its_topics_ask),
        TEST(a_tick_that_moves_a_dead_job_asks_for_both_topics),
        TEST(a_change_of_the_setting_is_synced_with_all_before),
        TEST(the_setting_survives_a_restart),
        TEST(only_always_and_interval_can_be_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
