/* Pressure: it rises while a checkpoint is held, commits go on until the reserve is used up,
 * and the pauses between growing changes spread them over the checkpoint. */
#include "storage/dueq.h"
#include "storage/kv/memtable/chunk_pool.h"
#include "storage/kv/pressure.h"
#include "tests/support/faults/fake_disk.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { MEMTABLE = 1 << 20, BODY = 200 };

static struct store_fixture test;
static struct fake_disk *disk;

/* Commits do not wait for syncs; a checkpoint does, before it begins to write. */
static int set_up(void **state)
{
    *state = &test;
    store_fixture_init(&test);
    test.options.durability = DUEQ_SYNC_INTERVAL;
    test.options.interval_ms = 3600000;
    test.options.memtable_bytes = MEMTABLE;
    disk = fake_disk_new();
    test.options.io = fake_disk_io(disk);
    store_fixture_open(&test);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_disk_hold_syncs(disk, false);
    dueq_abandon(test.store);
    test.store = NULL;
    fake_disk_free(disk);
    store_fixture_release(&test);
    return 0;
}

static void push(const char *topic)
{
    static char body[BODY];
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.topic = text(topic);
    push.body = dueq_slice(body, sizeof(body));
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    store_fixture_commit(&test);
    dueq_maintain(test.store, false);
}

static unsigned pressure(void)
{
    return dueq_pressure(test.store);
}

/* Starts a checkpoint of what was pushed so far, which does not end. */
static void hold_checkpoint(void)
{
    fake_disk_hold_syncs(disk, true);
    push("held");
    dueq_start_checkpoint(test.store);
    assert_true(store_fixture_stats(&test).checkpoint_running);
}

static void let_go(void)
{
    fake_disk_hold_syncs(disk, false);
    while (store_fixture_stats(&test).checkpoint_running)
        usleep(1000);
}

static void without_a_checkpoint_there_is_none(void **state)
{
    (void)state;
    while (store_fixture_stats(&test).memtable_bytes < MEMTABLE * 3 / 4) {
        push("mail");
        assert_int_equal(pressure(), 0);
        assert_int_equal(dueq_growth_pause(test.store), 0);
        assert_false(dueq_is_behind(test.store));
    }
}

/* Pushes until the pressure is at least so high; returns the pauses in all, usec. */
static uint64_t push_until(unsigned wanted)
{
    uint64_t pauses = 0;
    unsigned last = pressure();

    while (last < wanted) {
        push("mail");
        pauses += dueq_growth_pause(test.store);
        assert_in_range(pressure(), last, last + 20); /* it rises smoothly */
        last = pressure();
    }
    return pauses;
}

static void it_rises_while_the_memtable_fills_and_falls_with_the_checkpoint(void **state)
{
    (void)state;
    hold_checkpoint();
    assert_int_equal(pressure(), 0);
    push_until(1);
    assert_in_range(store_fixture_stats(&test).memtable_bytes, MEMTABLE / 2, MEMTABLE);
    assert_true(dueq_is_behind(test.store));
    push_until(DUEQ_PRESSURE_FULL);
    assert_in_range(store_fixture_stats(&test).memtable_bytes, MEMTABLE, MEMTABLE * 5 / 2);
    assert_int_equal(store_fixture_stats(&test).stalls, 0);
    let_go();
    assert_int_equal(pressure(), 0);
    fake_disk_hold_syncs(disk, true);
    push("mail"); /* its commit freezes the full one */
    assert_true(store_fixture_stats(&test).frozen_bytes >= MEMTABLE);
    assert_int_equal(pressure(), 0);
}

/* Before the first checkpoint has ended it is expected to take 1.25 s. */
static void the_pauses_spread_growth_over_the_checkpoint(void **state)
{
    uint64_t first, second;

    (void)state;
    hold_checkpoint();
    push_until(1);
    first = push_until(500);
    second = push_until(DUEQ_PRESSURE_FULL);
    assert_true(first + second >= 1200000);
    assert_true(second > 2 * first); /* 3 times as long: in proportion to the pressure */
}

static void the_journal_fills_too(void **state)
{
    struct dueq_job job;

    (void)state;
    store_fixture_abandon(&test);
    test.options.journal_bytes = 512 * 1024;
    store_fixture_open(&test);
    hold_checkpoint();
    assert_int_equal(dueq_claim(test.store, text("held"), 1000, test.time, &job), DUEQ_OK);
    for (int i = 0; pressure() < DUEQ_PRESSURE_FULL && i < 100000; i++) { /* adds no key */
        int64_t end;

        assert_int_equal(
            dueq_extend(test.store, text("held"), job.id, job.token, 1000, test.time, &end),
            DUEQ_OK);
        store_fixture_commit(&test);
    }
    assert_int_equal(pressure(), DUEQ_PRESSURE_FULL);
    assert_true(store_fixture_stats(&test).memtable_bytes < MEMTABLE / 2);
}

static void *let_go_later(void *arg)
{
    (void)arg;
    usleep(50 * 1000);
    fake_disk_hold_syncs(disk, false);
    return NULL;
}

/* Who does not ask for the pressure has the memory bounded all the same. */
static void a_commit_waits_when_the_reserve_is_used_up(void **state)
{
    pthread_t thread;

    (void)state;
    hold_checkpoint();
    push_until(DUEQ_PRESSURE_MOST - 20);
    assert_int_equal(store_fixture_stats(&test).stalls, 0);
    assert_int_equal(pthread_create(&thread, NULL, let_go_later, NULL), 0);
    while (store_fixture_stats(&test).stalls == 0 &&
           store_fixture_stats(&test).checkpoint_running)
        push("mail");
    pthread_join(thread, NULL);
    assert_true(store_fixture_stats(&test).memtable_bytes <= MEMTABLE * 5 / 2);
    let_go();
}

static void no_commit_waits_for_one_who_heeds_it(void **state)
{
    (void)state;
    store_fixture_abandon(&test);
    test.options.heeds_pressure = true;
    store_fixture_open(&test);
    hold_checkpoint();
    push_until(DUEQ_PRESSURE_MOST);
    for (int i = 0; i < 100; i++)
        push("mail"); /* more than it should: it takes memory, and nothing waits */
    assert_int_equal(pressure(), DUEQ_PRESSURE_MOST);
    assert_int_equal(store_fixture_stats(&test).stalls, 0);
    let_go();
    push("mail");
    assert_int_equal(pressure(), 0);
}

/* Large values are in memory anyway, their sender's; they leave the reserve to claims. */
static void a_large_body_does_not_use_the_reserve(void **state)
{
    static char body[3 * MEMTABLE];
    struct dueq_push push;
    struct dueq_slice id;

    (void)state;
    hold_checkpoint();
    dueq_push_init(&push);
    push.topic = text("large");
    push.body = dueq_slice(body, sizeof(body));
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    store_fixture_commit(&test);
    assert_int_equal(pressure(), DUEQ_PRESSURE_FULL);
    let_go();
}

static uint64_t fired(void)
{
    struct dueq_cron_state state;
    struct dueq_cron cron;

    assert_int_equal(dueq_cron_get(test.store, text("c"), &cron, &state), DUEQ_OK);
    return state.fired;
}

/* The reserve is for claims and acks: no tick writes into it. */
static void a_recurring_job_waits_for_the_checkpoint(void **state)
{
    struct dueq_error error;
    struct dueq_cron cron;

    (void)state;
    dueq_cron_init(&cron);
    cron.name = text("c");
    cron.every = 1000;
    cron.push.topic = text("mail");
    assert_int_equal(dueq_cron_set(test.store, &cron, test.time, &error), DUEQ_OK);
    store_fixture_commit(&test);
    store_fixture_tick(&test, 1000);
    hold_checkpoint();
    push_until(DUEQ_PRESSURE_FULL);
    store_fixture_pass(&test, 1000);
    for (int i = 0; i < 10; i++) {
        dueq_tick(test.store, test.time, 1000);
        assert_int_equal(fired(), 0);
        assert_true(dueq_next_tick(test.store, test.time) > 0); /* nobody spins meanwhile */
        store_fixture_pass(&test, 100);
    }
    let_go();
    assert_int_equal(pressure(), 0);
    store_fixture_pass(&test, 100);
    store_fixture_tick(&test, 1000);
    assert_int_equal(fired(), 2); /* each time that was waited for */
}

static void erasing_waits_for_the_checkpoint(void **state)
{
    uint64_t entries;

    (void)state;
    for (int i = 0; i < 1000; i++)
        push("mail");
    store_fixture_checkpoint(&test);
    hold_checkpoint();
    push_until(1);
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    store_fixture_commit(&test);
    entries = store_fixture_stats(&test).memtable_entries;
    assert_false(dueq_tick(test.store, test.time, 1000));
    assert_int_equal(store_fixture_stats(&test).memtable_entries, entries);
    assert_true(dueq_next_tick(test.store, test.time) > 0); /* no tick is asked for in vain */
    let_go();
    assert_int_equal(dueq_next_tick(test.store, test.time), 0);
    assert_true(dueq_tick(test.store, test.time, 100));
}

/* With the default size: a tenth of it is checked here, and the reserve is in proportion. */
static void the_reserve_is_enough_for_thousands_of_claims_and_acks(void **state)
{
    enum { MANY = 40000 };
    int done = 0;

    (void)state;
    store_fixture_abandon(&test);
    test.options.memtable_bytes = 5 * MEMTABLE;
    test.options.heeds_pressure = true;
    store_fixture_open(&test);
    for (int i = 0; i < MANY; i++)
        push("work");
    store_fixture_checkpoint(&test);
    hold_checkpoint();
    push_until(DUEQ_PRESSURE_FULL);
    for (; pressure() < DUEQ_PRESSURE_MOST; done++) {
        struct dueq_job job;

        assert_true(done < MANY);
        assert_int_equal(dueq_claim(test.store, text("work"), 1000, test.time, &job), DUEQ_OK);
        assert_int_equal(dueq_ack(test.store, text("work"), job.id, job.token, test.time),
                         DUEQ_OK);
        store_fixture_commit(&test);
    }
    print_message("%d claims and acks in a reserve of %d KiB\n", done, 5 * MEMTABLE / 2048);
    assert_true(done > 10000);
    let_go();
}

/* The pool of chunks kept as much as the limit is. */
static void the_memory_above_the_limit_is_kept(void **state)
{
    enum { LIMIT = 4 * CHUNK_SIZE, MOST = 5 * CHUNK_SIZE };

    (void)state;
    dueq_abandon(test.store);
    test.options.memtable_bytes = LIMIT;
    store_fixture_open(&test);
    hold_checkpoint();
    while (store_fixture_stats(&test).memtable_bytes < MOST)
        push("t");
    let_go();
    store_fixture_checkpoint(&test);
    for (int i = 0; i < 10000 && store_fixture_stats(&test).mapped_bytes < MOST; i++) {
        dueq_maintain(test.store, false);
        usleep(1000);
    }
    assert_in_range(store_fixture_stats(&test).mapped_bytes, MOST, 2 * LIMIT + CHUNK_SIZE);
}

#define tested(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        tested(without_a_checkpoint_there_is_none),
        tested(it_rises_while_the_memtable_fills_and_falls_with_the_checkpoint),
        tested(the_pauses_spread_growth_over_the_checkpoint),
        tested(the_journal_fills_too),
        tested(a_commit_waits_when_the_reserve_is_used_up),
        tested(no_commit_waits_for_one_who_heeds_it),
        tested(a_large_body_does_not_use_the_reserve),
        tested(a_recurring_job_waits_for_the_checkpoint),
        tested(erasing_waits_for_the_checkpoint),
        tested(the_reserve_is_enough_for_thousands_of_claims_and_acks),
        tested(the_memory_above_the_limit_is_kept),
    };

    return cmocka_run_group_tests_name("pressure", tests, NULL, NULL);
}
