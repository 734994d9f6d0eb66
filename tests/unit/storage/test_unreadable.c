/* A page that cannot be read, once and anywhere: a read returns the right value or an error,
 * never a short result because it took the error for the end. */
#include "storage/store.h"
#include "storage/keys/keys.h"
#include "storage/io.h"
#include "storage/queue/core/groups.h"
#include "storage/queue/core/queue_state.h"
#include "storage/kv/kv.h"
#include "storage/keys/hash.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/string.h"
#include "storage/keys/zset/zset.h"
#include "tests/support/store/record_count.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { MANY = 400, NAMES = 100, LAST = 1 << 30 };

static struct store_fixture test;
static struct dueq_io io;
static int until_fault; /* reads of pages */

static ssize_t fail_once(void *arg, int fd, void *data, size_t size, off_t offset)
{
    (void)arg;
    if (--until_fault != 0)
        return pread(fd, data, size, offset);
    errno = EIO;
    return -1;
}

static struct dueq_slice numbered(int number)
{
    static char name[64];

    return dueq_slice(name,
                      (size_t)snprintf(name, sizeof(name), "%d-and-some-more-text", number));
}

static void open_store(void)
{
    until_fault = LAST;
    store_fixture_open(&test);
}

static void fill(void)
{
    bool added;

    for (int i = 0; i < MANY; i++) {
        struct dueq_slice name = numbered(i);

        hash_set(&test.view, text("hash"), name, text("value"), &added);
        set_add(&test.view, text("set"), name, &added);
        zset_put(&test.view, text("zset"), name, i % 7, &added);
        list_push(&test.view, text("list"), LIST_TAIL, name);
    }
    for (int i = 0; i < NAMES; i++)
        string_set(&test.view, numbered(i), text("value"), DUEQ_NEVER, STRING_GIVEN);
    for (int i = 0; i < NAMES; i++) {
        static const char
            body[200]; /* so that jobs fill pages that the opening does not read */
        struct dueq_push push;
        struct dueq_slice id;

        dueq_push_init(&push);
        push.topic = numbered(i);
        push.id = text("job");
        push.body = dueq_slice(body, sizeof(body));
        assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    }
}

static int set_up(void **state)
{
    (void)state;
    io = io_system;
    io.pread = fail_once;
    store_fixture_init(&test);
    test.options.memtable_bytes = 1 << 20;
    test.options.map_bytes = 64 << 20;
    test.options.io = &io;
    open_store();
    fill();
    store_fixture_checkpoint(&test);
    store_fixture_close(&test);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_fixture_release(&test);
    return 0;
}

/* ---- what is asked. Each tells how much it found. */

static bool count_element(void *arg, struct dueq_slice element, struct dueq_slice value)
{
    (void)element;
    (void)value;
    ++*(uint64_t *)arg;
    return true;
}

static bool count_entry(void *arg, const struct zset_entry *entry)
{
    (void)entry;
    ++*(uint64_t *)arg;
    return true;
}

static bool count_key(void *arg, struct dueq_slice name, const struct keys_info *info)
{
    (void)name;
    (void)info;
    ++*(uint64_t *)arg;
    return true;
}

static enum dueq_status ask_hash(uint64_t *found)
{
    return hash_each(&test.view, text("hash"), count_element, found);
}

static enum dueq_status ask_set(uint64_t *found)
{
    return set_each(&test.view, text("set"), count_element, found);
}

static enum dueq_status ask_list(uint64_t *found)
{
    return list_each(&test.view, text("list"), MANY - 1, LIST_HEAD, count_element, found);
}

static enum dueq_status ask_zset(uint64_t *found)
{
    return zset_each_from(&test.view, text("zset"), 0, true, count_entry, found);
}

static enum dueq_status ask_scores(uint64_t *found)
{
    struct zset_range range = {{ZSET_SCORE, .score = 2}, {ZSET_SCORE, .score = 4}, false};

    return zset_each(&test.view, text("zset"), &range, count_entry, found);
}

static enum dueq_status ask_keys(uint64_t *found)
{
    uint64_t next;

    return keys_scan(&test.view, 0, UINT64_MAX, count_key, found, &next);
}

/* Counts what is claimed: asked again, a job that was claimed the first time is not ready. */
static enum dueq_status ask_jobs(uint64_t *found)
{
    for (int i = 0; i < NAMES; i++) {
        struct dueq_topic_stats stats;
        struct dueq_job job;
        enum dueq_status status =
            dueq_claim(test.store, numbered(i), DUEQ_DEFAULT, test.time, &job);

        if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
            return status;
        status = dueq_topic_stats(test.store, numbered(i), test.time, &stats);
        if (status != DUEQ_OK)
            return status;
        *found += stats.counts[DUEQ_CLAIMED];
    }
    return DUEQ_OK;
}

static enum dueq_status ask_copy(uint64_t *found)
{
    enum dueq_status status = keys_copy(&test.view, text("zset"), 0, text("copy"));
    struct keys_info info;

    if (status == DUEQ_OK)
        return zset_each_from(&test.view, text("copy"), 0, false, count_entry, found);
    assert_int_equal(keys_info(&test.view, text("copy"), &info), DUEQ_NOTFOUND);
    return status;
}

static bool is_failure(enum dueq_status status)
{
    return status == DUEQ_CORRUPT || status == DUEQ_IO;
}

/* With each read failing in turn, until there are no more; asked again, it is all there. */
static void ask_with_faults(enum dueq_status (*ask)(uint64_t *found), uint64_t expected)
{
    int failed = 0;

    for (int fault = 1;; fault++) {
        uint64_t found = 0;
        enum dueq_status status;

        open_store();
        until_fault = fault;
        status = ask(&found);
        if (is_failure(status)) {
            failed++;
            found = 0;
            status = ask(&found);
        }
        assert_int_equal(status, DUEQ_OK);
        if (found != expected)
            fail_msg("read %d fails: %lu of %lu", fault, (unsigned long)found,
                     (unsigned long)expected);
        store_fixture_abandon(&test);
        if (until_fault > 0)
            break;
    }
    assert_true(failed > 0);
}

static void an_error_is_not_the_end(void **state)
{
    (void)state;
    ask_with_faults(ask_hash, MANY);
    ask_with_faults(ask_set, MANY);
    ask_with_faults(ask_list, MANY);
    ask_with_faults(ask_zset, MANY);
    ask_with_faults(ask_scores, (MANY + 4) / 7 + (MANY + 3) / 7 + (MANY + 2) / 7);
    ask_with_faults(ask_keys, NAMES + 4);
    ask_with_faults(ask_jobs, NAMES);
    ask_with_faults(ask_copy, MANY);
}

/* ---- what is reclaimed: after an error nothing of it is forgotten, and ticks do not spin */

static void tick_away(void)
{
    for (int tick = 0; dueq_next_tick(test.store, test.time) == 0; tick++) {
        if (tick > 1000)
            fail_msg("the ticks do not come to an end");
        dueq_tick(test.store, test.time, 1000);
    }
}

/* Everything goes, one read fails; after another opening nothing is left of it. */
static uint64_t records_after_flush(int fault, bool *ret_met)
{
    uint64_t records = 0;

    set_up(NULL);
    open_store();
    until_fault = fault;
    while (is_failure(keys_del(&test.view, text("hash"))))
        continue;
    while (is_failure(keys_del(&test.view, text("zset"))))
        continue;
    keys_flush(store_keys(test.store), 0);
    tick_away();
    *ret_met = until_fault <= 0;
    dueq_close(test.store); /* which may have met it, too */
    open_store();
    tick_away();
    store_fixture_checkpoint(&test);
    assert_int_equal(dueq_check(test.store, &records), DUEQ_OK);
    records = record_count(test.store, "BFGMOPQRSTUWcdeghklvyz");
    store_fixture_abandon(&test);
    tear_down(NULL);
    return records;
}

static void what_is_reclaimed_is_not_forgotten(void **state)
{
    bool met = true;
    uint64_t sound = records_after_flush(LAST, &met);

    (void)state;
    met = true;
    for (int fault = 1; met; fault++) {
        uint64_t records = records_after_flush(fault, &met);

        if (records != sound)
            fail_msg("read %d fails: %lu records are left, not %lu", fault,
                     (unsigned long)records, (unsigned long)sound);
    }
}

/* ---- groups: what a job changes of its group is whole, or the store fails */

enum { GROUPS = 400, JOBS = 2 * GROUPS, CLAIMED = GROUPS / 4 };

static void push_to_groups(int first)
{
    static const char body[300];
    struct dueq_push pushes[JOBS];
    struct dueq_pushed pushed[JOBS];
    char groups[JOBS][16], ids[JOBS][16];

    for (int i = 0; i < JOBS; i++) {
        dueq_push_init(&pushes[i]);
        pushes[i].topic = text("groups");
        pushes[i].group = dueq_slice(groups[i], (size_t)sprintf(groups[i], "g%d", i % GROUPS));
        pushes[i].id = dueq_slice(ids[i], (size_t)sprintf(ids[i], "j%d", first + i));
        pushes[i].body = dueq_slice(body, sizeof(body));
    }
    (void)dueq_push_many(test.store, pushes, JOBS, test.time, pushed);
}

static void fill_groups(void)
{
    struct dueq_settings settings;
    struct dueq_job job;

    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_GROUP_MODE] = DUEQ_GROUP_SERIAL;
    open_store();
    assert_int_equal(dueq_put_settings(test.store, text("groups"), &settings), DUEQ_OK);
    push_to_groups(0);
    for (int i = 0; i < CLAIMED; i++)
        assert_int_equal(dueq_claim(test.store, text("groups"), 600000, test.time, &job),
                         DUEQ_OK);
    store_fixture_checkpoint(&test);
    store_fixture_close(&test);
}

/* Each may fail, and says so. */
static void change_groups(void)
{
    struct dueq_purge purge = {.topic = text("groups"), .state = DUEQ_DEFAULT};
    struct dueq_purge_progress progress = {.removed = 0};
    struct dueq_nack nack = {.delay = 0};
    enum dueq_state state;
    struct dueq_job job;
    char id[16];
    int rounds = 0;

    push_to_groups(JOBS);
    for (int i = 0; i < CLAIMED; i++) {
        struct dueq_slice name = dueq_slice(id, (size_t)sprintf(id, "j%d", i));

        if (i % 3 == 0)
            (void)dueq_nack(test.store, text("groups"), name, i + 1, &nack, test.time, &state);
        else
            (void)dueq_ack(test.store, text("groups"), name, i + 1, test.time);
        (void)dueq_claim(test.store, text("groups"), 1000, test.time, &job);
    }
    while (!progress.is_over && rounds++ < 10)
        (void)dueq_purge(test.store, &purge, test.time, 50, &progress);
    store_fixture_pass(&test, 2000);
    for (int i = 0; i < 10; i++)
        (void)dueq_tick(test.store, test.time, 1000);
}

static void a_group_is_changed_as_a_whole_or_the_store_fails(void **state)
{
    bool met = true;
    int failed = 0, refused = 0;

    (void)state;
    for (int fault = 1; met; fault++) {
        uint64_t lsn;

        set_up(NULL);
        fill_groups();
        open_store();
        until_fault = fault;
        change_groups();
        met = until_fault <= 0;
        until_fault = LAST;
        if (dueq_commit(test.store, test.time, &lsn) != DUEQ_OK) {
            failed++;
            store_fixture_abandon(&test);
            open_store();
        } else {
            refused += met;
        }
        store_fixture_verify(&test);
        store_fixture_abandon(&test);
        tear_down(NULL);
    }
    print_message("%d failed, %d refused\n", failed, refused);
}

/* Nobody has loaded the group before, as each caller should. */
static void a_group_that_cannot_be_read_in_a_change_fails_the_store(void **state)
{
    const struct job_state claimed = {.state = PHASE_CLAIMED, .group = 1, .weight = 1};
    struct queue *queue;
    struct topic *topic;
    uint64_t lsn;

    (void)state;
    fill_groups();
    open_store();
    queue = test.store->queue;
    assert_int_equal(topics_find(queue, text("groups"), &topic), DUEQ_OK);
    until_fault = 1;
    groups_add(queue, topic, &claimed, 1, test.time);
    assert_true(until_fault <= 0);
    assert_int_equal(dueq_commit(test.store, test.time, &lsn), DUEQ_IO);
    store_fixture_abandon(&test);
    open_store();
    store_fixture_verify(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_error_is_not_the_end, set_up, tear_down),
        cmocka_unit_test(what_is_reclaimed_is_not_forgotten),
        cmocka_unit_test(a_group_is_changed_as_a_whole_or_the_store_fails),
        cmocka_unit_test_setup_teardown(a_group_that_cannot_be_read_in_a_change_fails_the_store,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
