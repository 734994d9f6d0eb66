/* Background work costs the same per item for few and for many items, with or without a
 * checkpoint in between: leases, lives and delays that end in one millisecond, keys that
 * expire, jobs that are cancelled or flushed. The tests count steps of ticks and tombstones
 * that searches passed. ENTRIES= scales: 1000000 by hand. */
#include "storage/kv/cursor.h"
#include "storage/store.h"
#include "storage/keys/keys.h"
#include "storage/kv/kv.h"
#include "storage/queue/queue.h"
#include "storage/keys/hash.h"
#include "storage/keys/string.h"
#include "storage/queue/core/queue_state.h"
#include "tests/support/dice.h"
#include "tests/support/store/store_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka.h"

enum { FEW = 2000, BUDGET = 100, ROUNDS = 20, EACH_MOST = 10 };

static struct store_fixture test;
static int entries;

/* ---- the store */

static void commit(void)
{
    store_fixture_commit(&test);
}

static void commit_sometimes(int i)
{
    if (i % 1000 == 0)
        commit();
}

static void checkpoint(void)
{
    store_fixture_checkpoint(&test);
}

static void wait_ms(int64_t ms)
{
    store_fixture_pass(&test, ms);
}

/* Ticks until nothing is left to do. Returns the steps, tombstones included. */
static uint64_t tick_all(void)
{
    uint64_t before = store_fixture_stats(&test).tombstones_passed, steps = BUDGET;

    while (dueq_tick(test.store, test.time, BUDGET)) {
        uint64_t passed = store_fixture_stats(&test).tombstones_passed;

        assert_in_range(passed - before, 0, steps * (KV_TOMBSTONES_A_STEP + 2));
        steps += BUDGET;
        commit_sometimes((int)(steps / BUDGET));
    }
    commit();
    return steps + store_fixture_stats(&test).tombstones_passed - before;
}

static struct dueq_slice numbered(int number)
{
    static char text[32];

    return dueq_slice(text, (size_t)snprintf(text, sizeof(text), "%08d-of-many", number));
}

static struct dueq_slice topic(void)
{
    return dueq_slice("t", 1);
}

static void push(struct dueq_slice name, struct dueq_slice id, int64_t delay, int64_t ttl)
{
    struct dueq_push push;
    struct dueq_slice given;

    dueq_push_init(&push);
    push.topic = name;
    push.id = id;
    push.delay = delay;
    push.ttl = ttl;
    assert_int_equal(dueq_push(test.store, &push, test.time, &given), DUEQ_OK);
}

static void push_many(int count, int64_t delay, int64_t ttl)
{
    for (int i = 0; i < count; i++) {
        push(topic(), numbered(i), delay, ttl);
        commit_sometimes(i);
    }
    commit();
}

static uint64_t count_of(enum dueq_state state)
{
    struct dueq_topic_stats found;

    assert_int_equal(dueq_topic_stats(test.store, topic(), test.time, &found), DUEQ_OK);
    return found.counts[state];
}

/* ---- what is measured: how many steps so many entries take */

static uint64_t leases(int count, bool checkpointed)
{
    struct dueq_job job;
    uint64_t steps;

    push_many(count, 0, DUEQ_DEFAULT);
    for (int i = 0; i < count; i++) {
        assert_int_equal(dueq_claim(test.store, topic(), 1000, test.time, &job), DUEQ_OK);
        commit_sometimes(i);
    }
    if (checkpointed)
        checkpoint();
    tick_all();
    wait_ms(1000);
    steps = tick_all();
    assert_int_equal(count_of(DUEQ_READY), count);
    return steps;
}

static uint64_t lives(int count, bool checkpointed)
{
    uint64_t steps;

    push_many(count, 0, 1000);
    if (checkpointed)
        checkpoint();
    tick_all();
    wait_ms(1000);
    steps = tick_all();
    assert_int_equal(count_of(DUEQ_DEAD), count);
    return steps;
}

static uint64_t delays(int count, bool checkpointed)
{
    push_many(count, 1000, DUEQ_DEFAULT);
    if (checkpointed)
        checkpoint();
    tick_all();
    wait_ms(1000);
    return tick_all();
}

/* One job falls due after the other among timers that were cancelled. */
static uint64_t cancelled(int count, bool checkpointed)
{
    struct dueq_job job;
    uint64_t steps = 0, before;

    push(topic(), dueq_slice("far", 3), 7200000, DUEQ_DEFAULT);
    push_many(count, 3600000, DUEQ_DEFAULT);
    if (checkpointed)
        checkpoint();
    tick_all();
    for (int i = 0; i < count; i++) {
        assert_int_equal(dueq_del(test.store, topic(), numbered(i), test.time), DUEQ_OK);
        commit_sometimes(i);
    }
    before = store_fixture_stats(&test).tombstones_passed;
    for (int i = 0; i < ROUNDS; i++) {
        push(topic(), dueq_slice("near", 4), 10, DUEQ_DEFAULT);
        wait_ms(10);
        steps += tick_all() - BUDGET;
        assert_int_equal(dueq_claim(test.store, topic(), 1000, test.time, &job), DUEQ_OK);
        assert_int_equal(dueq_ack(test.store, topic(), job.id, job.token, test.time), DUEQ_OK);
    }
    return steps + store_fixture_stats(&test).tombstones_passed - before + 1;
}

/* Workers that keep their jobs for a short time, among long leases that were acked. */
static uint64_t acked(int count, bool checkpointed)
{
    int64_t *tokens = calloc((size_t)count, sizeof(*tokens));
    struct dueq_job job;
    uint64_t steps = 0;

    assert_non_null(tokens);
    push_many(count, 0, DUEQ_DEFAULT);
    for (int i = 0; i < count; i++) {
        assert_int_equal(dueq_claim(test.store, topic(), 3600000, test.time, &job), DUEQ_OK);
        tokens[atoi((const char *)job.id.data)] = job.token;
        commit_sometimes(i);
    }
    if (checkpointed)
        checkpoint();
    tick_all();
    for (int i = 0; i < count; i++)
        assert_int_equal(dueq_ack(test.store, topic(), numbered(i), tokens[i], test.time),
                         DUEQ_OK);
    free(tokens);
    for (int i = 0; i < ROUNDS; i++) {
        push(topic(), dueq_slice("near", 4), 0, DUEQ_DEFAULT);
        assert_int_equal(dueq_claim(test.store, topic(), 10, test.time, &job), DUEQ_OK);
        assert_int_equal(dueq_ack(test.store, topic(), job.id, job.token, test.time), DUEQ_OK);
        wait_ms(10);
        steps += tick_all() - BUDGET;
    }
    return steps + 1;
}

static uint64_t flushed(int count, bool checkpointed)
{
    for (int i = 0; i < count; i++) {
        push(numbered(i), dueq_slice(NULL, 0), 3600000, 7200000);
        commit_sometimes(i);
    }
    if (checkpointed)
        checkpoint();
    tick_all();
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    return tick_all();
}

static uint64_t keys(int count, bool checkpointed)
{
    struct keys_view view = {store_keys(test.store), 0, test.time};
    uint64_t steps;

    for (int i = 0; i < count; i++) {
        assert_int_equal(string_set(&view, numbered(i), dueq_slice("v", 1),
                                    expiry_after(test.time, 999), STRING_GIVEN),
                         DUEQ_OK);
        commit_sometimes(i);
    }
    if (checkpointed)
        checkpoint();
    tick_all();
    wait_ms(1000);
    steps = tick_all();
    assert_int_equal(keys_count(store_keys(test.store), 0), 0);
    return steps;
}

/* ---- what one call does at most */

enum { REMOVED = 100000, FIELDS = 60, HASHES = 50 };

static uint64_t passed(void)
{
    return store_fixture_stats(&test).tombstones_passed;
}

static void begin(void)
{
    store_fixture_init(&test);
    store_fixture_open(&test);
}

/* Forward or backward, the first is there until the end: nothing tells where to begin. */
static void a_claim_behind_many_that_were_removed_gives_way(void **state)
{
    struct dueq_job job;
    enum dueq_status status = DUEQ_BUSY;
    uint64_t before;

    (void)state;
    begin();
    push_many(REMOVED, 0, DUEQ_DEFAULT);
    checkpoint();
    for (int i = REMOVED - 2; i >= 0; i--)
        assert_int_equal(dueq_del(test.store, topic(), numbered(i), test.time), DUEQ_OK);
    for (int calls = 0; status == DUEQ_BUSY; calls++) {
        before = passed();
        assert_in_range(calls, 0, 10);
        status = dueq_claim(test.store, topic(), 1000, test.time, &job);
        assert_in_range(passed() - before, 0, REMOVED / 2);
    }
    assert_int_equal(status, DUEQ_OK);
    assert_true(dueq_slice_equal(job.id, numbered(REMOVED - 1)));
    store_fixture_release(&test);
}

/* Hashes too large to be packed and too small to be left to the reclaiming. */
static void a_tick_pays_for_what_goes_with_a_key(void **state)
{
    static char value[200];
    struct keys_view view;
    bool added;

    (void)state;
    begin();
    view = (struct keys_view){store_keys(test.store), 0, test.time};
    for (int i = 0; i < HASHES; i++) {
        char name[16];
        size_t size = (size_t)snprintf(name, sizeof(name), "hash-%d", i);

        for (int field = 0; field < FIELDS; field++)
            assert_int_equal(hash_set(&view, dueq_slice(name, size), numbered(field),
                                      dueq_slice(value, sizeof(value)), &added),
                             DUEQ_OK);
        assert_int_equal(keys_expire(&view, dueq_slice(name, size), expiry_after(test.time, 9)),
                         DUEQ_OK);
    }
    commit();
    wait_ms(10);
    for (bool more = true; more; commit()) {
        more = dueq_tick(test.store, test.time, BUDGET);
        assert_in_range(dueq_batch_bytes(test.store), 0, 3 * BUDGET * 64);
    }
    assert_int_equal(keys_count(store_keys(test.store), 0), 0);
    store_fixture_release(&test);
}

/* ---- few and many */

static uint64_t measure(uint64_t (*work)(int count, bool checkpointed), int count,
                        bool checkpointed)
{
    uint64_t steps;

    begin();
    steps = work(count, checkpointed);
    store_fixture_release(&test);
    return steps;
}

/* At most twice the steps for each of many, and what a tick begins with. A topic that is
 * flushed has five records, more than any other entry: it takes eight steps. Very many are
 * checkpointed on the way, whatever they are meant to be. */
static void compare(uint64_t (*work)(int count, bool checkpointed))
{
    uint64_t few[2] = {measure(work, FEW, false), measure(work, FEW, true)};
    uint64_t most = (few[1] > few[0] ? few[1] : few[0]) + 2 * (uint64_t)BUDGET;

    for (int i = 0; i < 2; i++) {
        uint64_t many = measure(work, entries, i == 1);

        print_message("%s: %d %" PRIu64 ", %d %" PRIu64 "\n",
                      i == 1 ? "checkpointed" : "in memory", FEW, few[i], entries, many);
        assert_in_range(many, 0, EACH_MOST * (uint64_t)entries);
        assert_in_range(many, 0, 2 * most * (uint64_t)(entries / FEW));
    }
}

static void leases_that_end_together(void **state)
{
    (void)state;
    compare(leases);
}

static void lives_that_end_together(void **state)
{
    (void)state;
    compare(lives);
}

static void jobs_that_fall_due_together(void **state)
{
    (void)state;
    compare(delays);
}

static void jobs_that_fall_due_among_cancelled_ones(void **state)
{
    (void)state;
    compare(cancelled);
}

static void leases_that_end_among_acked_ones(void **state)
{
    (void)state;
    compare(acked);
}

static void topics_that_are_flushed(void **state)
{
    (void)state;
    compare(flushed);
}

static void keys_that_expire_together(void **state)
{
    (void)state;
    compare(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leases_that_end_together),
        cmocka_unit_test(lives_that_end_together),
        cmocka_unit_test(jobs_that_fall_due_together),
        cmocka_unit_test(jobs_that_fall_due_among_cancelled_ones),
        cmocka_unit_test(leases_that_end_among_acked_ones),
        cmocka_unit_test(topics_that_are_flushed),
        cmocka_unit_test(keys_that_expire_together),
        cmocka_unit_test(a_claim_behind_many_that_were_removed_gives_way),
        cmocka_unit_test(a_tick_pays_for_what_goes_with_a_key),
    };

    entries = (int)dice_setting("ENTRIES", 20000);
    return cmocka_run_group_tests_name("tick cost", tests, NULL, NULL);
}
