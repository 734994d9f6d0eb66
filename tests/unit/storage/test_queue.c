/* Single promises of the queue at their limits. tests/model/test_queue_random.c has random
 * use. */
#include "storage/store.h"
#include "storage/kv/kv.h"
#include "storage/queue/queue.h"
#include "tests/support/store/record_count.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka.h"

enum { MANY = 1000, THOUSANDS = 20000, LAPSED = 2500 };

static struct store_fixture test;

static void reopen(void)
{
    store_fixture_reopen(&test);
}

static void wait_ms(int64_t ms)
{
    store_fixture_pass(&test, ms);
}

static struct dueq_slice numbered(int number)
{
    static char name[16];

    return dueq_slice(name, (size_t)snprintf(name, sizeof(name), "topic-%d", number));
}

static struct dueq_slice push_mortal(struct dueq_slice topic, int64_t delay, int64_t ttl)
{
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.topic = topic;
    push.delay = delay;
    push.ttl = ttl;
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    return id;
}

static struct dueq_slice push(struct dueq_slice topic, int64_t delay)
{
    return push_mortal(topic, delay, DUEQ_DEFAULT);
}

static void commit(void)
{
    store_fixture_commit(&test);
}

static void tick_all(void)
{
    store_fixture_tick(&test, 100);
}

/* ---- writes */

static void falling_due_writes_nothing(void **state)
{
    uint64_t lsn;

    (void)state;
    for (int i = 0; i < MANY; i++)
        push(text("t"), i + 1);
    commit();
    lsn = kv_last_lsn(test.store->kv);
    for (int i = 0; i < MANY; i++) {
        wait_ms(1);
        tick_all();
        commit();
    }
    assert_int_equal(kv_last_lsn(test.store->kv), lsn);
}

static void opening_writes_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++)
        push(numbered(i), 1000);
    commit();
    reopen();
    tick_all();
    commit();
    wait_ms(2000);
    tick_all();
    commit();
    reopen();
    tick_all();
    commit();
    assert_int_equal(kv_last_lsn(test.store->kv), 1);
}

/* ---- counts */

static void what_fell_due_is_counted_in_parts(void **state)
{
    struct dueq_topic_stats stats, sum;

    (void)state;
    for (int i = 0; i < THOUSANDS; i++)
        push(text("t"), 1000);
    commit();
    wait_ms(1000);
    assert_int_equal(dueq_topic_stats(test.store, text("t"), test.time, &stats), DUEQ_OK);
    assert_true(stats.counting);
    assert_in_range(stats.counts[DUEQ_READY], 1, THOUSANDS - 1);
    assert_int_equal(stats.counts[DUEQ_READY] + stats.counts[DUEQ_DELAYED], THOUSANDS);
    assert_int_equal(dueq_total_stats(test.store, test.time, &sum), DUEQ_OK);
    assert_true(sum.counting);
    assert_true(sum.counts[DUEQ_READY] > stats.counts[DUEQ_READY]);
    tick_all();
    assert_int_equal(dueq_topic_stats(test.store, text("t"), test.time, &stats), DUEQ_OK);
    assert_int_equal(dueq_total_stats(test.store, test.time, &sum), DUEQ_OK);
    assert_false(stats.counting || sum.counting);
    assert_int_equal(stats.counts[DUEQ_READY], THOUSANDS);
    assert_int_equal(sum.counts[DUEQ_READY], THOUSANDS);
}

static void totals_are_of_every_topic(void **state)
{
    struct dueq_topic_stats sum;

    (void)state;
    for (int i = 0; i < DUEQ_TOPICS_AGED + 10; i++)
        push(numbered(i), i % 2 == 0 ? 0 : 1000);
    for (int i = 0; i < 2; i++) {
        tick_all();
        assert_int_equal(dueq_total_stats(test.store, test.time, &sum), DUEQ_OK);
        assert_int_equal(sum.counts[DUEQ_READY], (DUEQ_TOPICS_AGED + 10) / 2);
        assert_int_equal(sum.counts[DUEQ_DELAYED], (DUEQ_TOPICS_AGED + 10) / 2);
        assert_int_equal(sum.pushed, DUEQ_TOPICS_AGED + 10);
        assert_int_equal(sum.oldest_ready_age, DUEQ_DEFAULT);
        commit();
        reopen();
    }
}

/* ---- claims */

static void jobs_that_are_looked_at_keep_their_ids(void **state)
{
    struct dueq_job first, second;
    char ids[2][GIVEN_ID_SIZE];

    (void)state;
    memcpy(ids[0], push(text("t"), 0).data, GIVEN_ID_SIZE);
    memcpy(ids[1], push(text("t"), 0).data, GIVEN_ID_SIZE);
    assert_int_equal(
        dueq_get(test.store, text("t"), dueq_slice(ids[0], GIVEN_ID_SIZE), test.time, &first),
        DUEQ_OK);
    assert_int_equal(
        dueq_get(test.store, text("t"), dueq_slice(ids[1], GIVEN_ID_SIZE), test.time, &second),
        DUEQ_OK);
    assert_memory_equal(first.id.data, ids[0], GIVEN_ID_SIZE);
    assert_memory_equal(second.id.data, ids[1], GIVEN_ID_SIZE);
}

/* The claim answers DUEQ_BUSY while it does not know whether there is one. */
static void a_job_after_many_that_expired_is_found(void **state)
{
    enum dueq_status status;
    struct dueq_slice name;
    struct dueq_job job;
    int calls = 0;

    (void)state;
    for (int i = 0; i < LAPSED; i++)
        push_mortal(text("t"), 0, 10);
    push(text("t"), 1);
    wait_ms(1000);
    while (dueq_next_signal(test.store, &name) == DUEQ_OK)
        continue;
    while ((status = dueq_claim(test.store, text("t"), 1000, test.time, &job)) == DUEQ_BUSY) {
        assert_in_range(++calls, 1, LAPSED / 1000);
        dueq_tick(test.store, test.time, 1);
        assert_int_equal(dueq_next_signal(test.store, &name), DUEQ_OK);
    }
    assert_int_equal(status, DUEQ_OK);
    assert_int_equal(job.ttl, DUEQ_DEFAULT);
    assert_int_equal(calls, LAPSED / 1000);
}

/* The filter is filled in steps, and removed ids take steps, too; it still gets all ids. */
static void an_id_behind_many_that_were_removed_is_known(void **state)
{
    enum dueq_status wanted;
    struct dueq_push push;
    struct dueq_slice id;

    (void)state;
    dueq_push_init(&push);
    push.topic = text("t");
    for (int i = 0; i < THOUSANDS; i++) {
        push.id = numbered(10 * THOUSANDS + i);
        assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    }
    assert_int_equal(dueq_checkpoint(test.store, test.time), DUEQ_OK);
    for (int i = 1; i < THOUSANDS - 1; i++)
        assert_int_equal(
            dueq_del(test.store, text("t"), numbered(10 * THOUSANDS + i), test.time), DUEQ_OK);
    commit();
    store_fixture_crash(&test);
    tick_all();
    assert_non_null(test.store->queue->ids.filter.words);
    for (int i = THOUSANDS - 1; i < THOUSANDS + 1; i++) {
        wanted = i < THOUSANDS ? DUEQ_DUPLICATE : DUEQ_OK;
        push.id = numbered(10 * THOUSANDS + i);
        assert_int_equal(dueq_push(test.store, &push, test.time, &id), wanted);
    }
}

/* ---- topics that are made and dropped */

static int64_t claim(struct dueq_slice topic)
{
    struct dueq_job job;

    assert_int_equal(dueq_claim(test.store, topic, 1000, test.time, &job), DUEQ_OK);
    assert_int_equal(dueq_ack(test.store, topic, job.id, job.token, test.time), DUEQ_OK);
    return job.token;
}

static void topics_without_jobs_are_dropped_but_for_the_last(void **state)
{
    struct dueq_topic_stats stats;

    (void)state;
    push(text("busy"), 1000);
    for (int i = 0; i < 3 * TOPICS_EMPTY_KEPT; i++) {
        push(numbered(i), 0);
        claim(numbered(i));
        push(text("first"), 0);
        claim(text("first"));
        commit();
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dueq_topic_count(test.store), TOPICS_EMPTY_KEPT + 1);
        assert_int_equal(record_count(test.store, "T"), TOPICS_EMPTY_KEPT + 1);
        assert_int_equal(dueq_topic_stats(test.store, text("first"), test.time, &stats),
                         DUEQ_OK);
        assert_int_equal(stats.acked, 3 * TOPICS_EMPTY_KEPT);
        assert_int_equal(dueq_topic_stats(test.store, numbered(0), test.time, &stats),
                         DUEQ_NOTFOUND);
        assert_int_equal(dueq_total_stats(test.store, test.time, &stats), DUEQ_OK);
        assert_int_equal(stats.acked, 6 * TOPICS_EMPTY_KEPT);
        assert_int_equal(stats.pushed, 6 * TOPICS_EMPTY_KEPT + 1);
        reopen();
    }
}

/* Within one millisecond, so that only their seq makes ids differ. */
static void a_topic_made_again_gives_nothing_twice(void **state)
{
    int64_t token, last = 0;
    char id[GIVEN_ID_SIZE] = {0};

    (void)state;
    for (int i = 0; i < 6; i++) {
        struct dueq_slice given = push(text("t"), 0);

        assert_true(memcmp(given.data, id, GIVEN_ID_SIZE) > 0);
        memcpy(id, given.data, GIVEN_ID_SIZE);
        token = claim(text("t"));
        assert_true(token > last);
        last = token;
        if (i % 2 == 0)
            test.store->queue->empty_kept = 0;
        else
            assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
        commit();
        assert_int_equal(dueq_topic_count(test.store), 0);
        assert_int_equal(i % 2 == 0 ? record_count(test.store, "T") : 0, 0);
        if (i >= 3)
            reopen();
    }
}

/* The topic is no longer in any list: signals, changes, timers. */
static void a_dropped_topic_leaves_nothing_behind(void **state)
{
    struct dueq_slice name;

    (void)state;
    test.store->queue->empty_kept = 0;
    for (int i = 0; i < 10; i++)
        push(numbered(i), 0);
    for (int i = 0; i < 10; i += 2)
        claim(numbered(i));
    commit();
    for (int i = 1; i < 10; i += 2) {
        assert_int_equal(dueq_next_signal(test.store, &name), DUEQ_OK);
        assert_true(dueq_slice_equal(name, numbered(i)));
    }
    assert_int_equal(dueq_next_signal(test.store, &name), DUEQ_NOTFOUND);
    wait_ms(5000);
    tick_all();
    assert_null(queue_check(test.store->queue));
}

static void a_flush_costs_the_same_for_few_and_many(void **state)
{
    struct dueq_topic_stats stats;

    (void)state;
    for (int i = 0; i < THOUSANDS; i++)
        push(numbered(i), 1000);
    commit();
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    push(numbered(7), 0);
    assert_int_equal(dueq_topic_count(test.store), 1);
    assert_in_range(dueq_batch_bytes(test.store), 1, 500);
    commit();
    assert_int_equal(dueq_total_stats(test.store, test.time, &stats), DUEQ_OK);
    assert_int_equal(stats.counts[DUEQ_DELAYED], 0);
    assert_int_equal(stats.counts[DUEQ_READY], 1);
}

/* The flush counts at once, even if a crash comes before the records are erased. */
static void a_flush_outlives_a_crash(void **state)
{
    struct dueq_slice name;

    (void)state;
    for (int i = 0; i < MANY; i++)
        push(numbered(i), 1000);
    commit();
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    push(numbered(7), 0);
    commit();
    dueq_tick(test.store, test.time, MANY / 2);
    commit();
    reopen();
    assert_int_equal(dueq_topic_count(test.store), 1);
    assert_int_equal(dueq_topic_after(test.store, text(""), &name), DUEQ_OK);
    assert_true(dueq_slice_equal(name, numbered(7)));
    assert_int_equal(dueq_topic_after(test.store, name, &name), DUEQ_NOTFOUND);
    tick_all();
    assert_int_equal(record_count(test.store, "T"), 1);
    assert_int_equal(claim(numbered(7)), 1);
}

static void names_are_hashed_by_a_secret(void **state)
{
    uint64_t seeds[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        seeds[i] = test.store->queue->topics.seed;
        store_fixture_release(&test);
        store_fixture_init(&test);
        store_fixture_open(&test);
    }
    assert_int_not_equal(seeds[0], seeds[1]);
}

/* ---- ttl */

static enum dueq_state state_of(struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_job job;

    assert_int_equal(dueq_get(test.store, topic, id, test.time, &job), DUEQ_OK);
    return job.state;
}

static void push_at(struct dueq_slice id, int64_t wait, int64_t ttl)
{
    struct dueq_push push;

    dueq_push_init(&push);
    push.topic = text("t");
    push.id = id;
    push.absolute = true;
    push.at = test.time.wall + wait;
    push.ttl = ttl;
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
}

static void a_wall_clock_set_back_ends_no_life_before_it_is_due(void **state)
{
    struct dueq_job job;

    (void)state;
    push_at(text("first"), 1000, 500);
    push_at(text("second"), 1000, 500);
    commit();
    test.time.wall -= 10000;
    wait_ms(5000);
    tick_all();
    reopen();
    tick_all();
    assert_int_equal(state_of(text("t"), text("second")), DUEQ_DELAYED);
    wait_ms(6000);
    assert_int_equal(dueq_claim(test.store, text("t"), 100, test.time, &job), DUEQ_OK);
    assert_true(dueq_slice_equal(job.id, text("first")));
    wait_ms(499);
    tick_all();
    assert_int_equal(state_of(text("t"), text("second")), DUEQ_READY);
    wait_ms(1);
    tick_all();
    assert_int_equal(state_of(text("t"), text("second")), DUEQ_DEAD);
    assert_null(queue_check(test.store->queue));
}

/* No tick has handled the job before the claim. */
static void a_claim_follows_a_wall_clock_set_back(void **state)
{
    struct dueq_job job;

    (void)state;
    push_at(text("a"), 1000, 500);
    test.time.wall -= 10000;
    wait_ms(11499);
    assert_int_equal(dueq_claim(test.store, text("t"), 10, test.time, &job), DUEQ_OK);
    push_at(text("b"), 1000, 500);
    test.time.wall -= 10000;
    wait_ms(11500);
    assert_int_equal(dueq_claim(test.store, text("t"), 10, test.time, &job), DUEQ_NOTFOUND);
    assert_int_equal(state_of(text("t"), text("b")), DUEQ_DEAD);
    assert_null(queue_check(test.store->queue));
}

/* ---- damage */

static void a_tick_that_fails_does_not_spin(void **state)
{
    struct kv_key key;

    (void)state;
    push(text("t"), 10);
    push(text("t"), 20);
    queue_key_lane(&key, 1, 128, CLOCK_QUEUE);
    queue_key_add_position(&key, STORE_FIXTURE_START + 10, 1);
    kv_key_u8(&key, 9); /* after the first record; not a valid position */
    kv_put(test.store->kv, kv_key_slice(&key), text(""), true);
    wait_ms(20);
    tick_all();
    assert_in_range(dueq_next_tick(test.store, test.time), 1, 1000);
}

#define queue_test(function) store_fixture_test(function, test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        queue_test(falling_due_writes_nothing),
        queue_test(opening_writes_nothing),
        queue_test(what_fell_due_is_counted_in_parts),
        queue_test(totals_are_of_every_topic),
        queue_test(jobs_that_are_looked_at_keep_their_ids),
        queue_test(a_job_after_many_that_expired_is_found),
        queue_test(an_id_behind_many_that_were_removed_is_known),
        queue_test(topics_without_jobs_are_dropped_but_for_the_last),
        queue_test(a_topic_made_again_gives_nothing_twice),
        queue_test(a_dropped_topic_leaves_nothing_behind),
        queue_test(a_flush_costs_the_same_for_few_and_many),
        queue_test(a_flush_outlives_a_crash),
        queue_test(names_are_hashed_by_a_secret),
        queue_test(a_wall_clock_set_back_ends_no_life_before_it_is_due),
        queue_test(a_claim_follows_a_wall_clock_set_back),
        queue_test(a_tick_that_fails_does_not_spin),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
