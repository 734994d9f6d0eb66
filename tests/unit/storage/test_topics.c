/* Topics that nobody uses sleep: in RAM there is a name and a timer. Nothing is lost or late by
 * that, an opening reads each of their records once, and no tick is needed before a job is due.
 * tests/model/test_queue_random.c has random use. */
#include "storage/kv/kv.h"
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <malloc.h>
#include <unistd.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { MANY = 3000, DELAY = 1000000 };

static struct store_fixture test;

static struct dueq_slice numbered(int number)
{
    static char name[16];

    return dueq_slice(name, (size_t)snprintf(name, sizeof(name), "topic-%d", number));
}

static struct queue *queue(void)
{
    return test.store->queue;
}

static void check(void)
{
    const char *wrong = queue_check(queue());

    assert_string_equal(wrong == NULL ? "" : wrong, "");
}

static struct dueq_slice push(struct dueq_slice topic, int64_t delay)
{
    struct dueq_push job;
    struct dueq_slice id;

    dueq_push_init(&job);
    job.topic = topic;
    job.delay = delay;
    job.body = text("body");
    assert_int_equal(dueq_push(test.store, &job, test.time, &id), DUEQ_OK);
    return id;
}

static void drain_signals(void)
{
    struct dueq_slice name;

    while (dueq_next_signal(test.store, &name) == DUEQ_OK)
        ;
}

/* All topics sleep afterwards. */
static void rest(void)
{
    drain_signals();
    queue()->awake_kept = 0;
    while (queue()->awake_count > 0) /* a commit puts some thousands to sleep */
        store_fixture_commit(&test);
    store_fixture_commit(&test);
}

static void push_to_many(int count)
{
    for (int i = 0; i < count; i++)
        push(numbered(i), DELAY + i);
    rest();
}

static uint64_t count_of(struct dueq_slice topic, enum dueq_state state)
{
    struct dueq_topic_stats stats;

    assert_int_equal(dueq_topic_stats(test.store, topic, test.time, &stats), DUEQ_OK);
    return stats.counts[state];
}

static int64_t next_tick(void)
{
    return dueq_next_tick(test.store, test.time);
}

static int signals(void)
{
    struct dueq_slice name;
    int count = 0;

    while (dueq_next_signal(test.store, &name) == DUEQ_OK)
        count++;
    return count;
}

static void put_setting(struct dueq_slice scope, enum dueq_setting setting, int64_t value)
{
    struct dueq_settings settings;

    dueq_settings_init(&settings);
    settings.numbers[setting] = value;
    assert_int_equal(dueq_put_settings(test.store, scope, &settings), DUEQ_OK);
}

/* ---- opening */

static void check_opened(void)
{
    struct dueq_topic_stats stats;

    assert_int_equal(queue()->awake_count, 0);
    assert_int_equal(dueq_topic_count(test.store), MANY);
    assert_int_equal(dueq_total_stats(test.store, test.time, &stats), DUEQ_OK);
    assert_int_equal(stats.counts[DUEQ_DELAYED], MANY);
    assert_int_equal(stats.pushed, MANY);
    assert_int_equal(stats.bytes, MANY * strlen("body"));
}

/* The first ticks clean up what an earlier process may have left; topics need none. */
static void after_an_opening_no_topic_needs_a_tick(void **state)
{
    (void)state;
    push_to_many(MANY);
    for (int i = 0; i < 2; i++) {
        store_fixture_reopen(&test);
        check_opened();
        store_fixture_tick(&test, 100);
        assert_int_equal(queue()->awake_count, 0);
        assert_true(next_tick() > 0 && next_tick() != DUEQ_NEVER);
        store_fixture_pass(&test, 1);
    }
    store_fixture_pass(&test, DELAY);
    store_fixture_tick(&test, 100);
    assert_int_equal(signals(), 3);
    check();
}

static void a_crash_loses_no_sleeping_topic(void **state)
{
    (void)state;
    push_to_many(MANY);
    store_fixture_crash(&test);
    check_opened();
    check();
}

/* ---- memory */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Large blocks are mapped, small ones come from the arena: how large is large differs by
 * processor. */
static size_t bytes_allocated(void)
{
    struct mallinfo2 memory = mallinfo2();
    return memory.uordblks + memory.hblkhd;
}

/* The checkpoint thread makes memory ready when the store is open: waits until that has ended.
 */
static size_t bytes_at_rest(void)
{
    size_t bytes = bytes_allocated();

    for (int same = 0; same < 10; same++) {
        size_t now;

        usleep(5000);
        now = bytes_allocated();
        if (now != bytes)
            same = 0;
        bytes = now;
    }
    return bytes;
}

static size_t open_bytes(int topics)
{
    size_t before, bytes;

    push_to_many(topics);
    store_fixture_close(&test);
    before = bytes_allocated();
    store_fixture_open(&test);
    bytes = bytes_at_rest() - before;
    assert_int_equal(dueq_topic_count(test.store), topics);
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    return bytes;
}

/* Names of some ten bytes. */
static void a_sleeping_topic_takes_a_hundred_bytes(void **state)
{
    size_t few, many;

    (void)state;
    few = open_bytes(1000);
    many = open_bytes(1000 + 8000);
    assert_in_range((many - few) / 8000, 1, 104);
}
#endif

static void few_topics_are_awake(void **state)
{
    (void)state;
    queue()->awake_kept = 10;
    for (int i = 0; i < MANY; i++) {
        push(numbered(i), DELAY);
        if (i % 100 == 0)
            store_fixture_commit(&test);
    }
    store_fixture_commit(&test);
    assert_int_equal(queue()->awake_count, 10);
    assert_null(topic_table_find(&queue()->topics, numbered(0))->topic);
    check();
}

/* Who is told of a job has yet to look at the topic. */
static void a_topic_with_a_signal_stays_awake(void **state)
{
    (void)state;
    queue()->awake_kept = 0;
    for (int i = 0; i < 10; i++)
        push(numbered(i), i % 2 == 0 ? 0 : DELAY);
    store_fixture_commit(&test);
    assert_int_equal(queue()->awake_count, 5);
    assert_int_equal(signals(), 5);
    store_fixture_commit(&test);
    assert_int_equal(queue()->awake_count, 0);
}

/* So does one with a job that somebody watches. */
static void a_topic_with_a_watch_stays_awake(void **state)
{
    struct dueq_watch *watch;
    struct dueq_slice id;
    enum dueq_end end;
    void *arg;

    (void)state;
    id = push(text("t"), DELAY);
    assert_int_equal(dueq_watch_end(test.store, text("t"), id, &test, &watch), DUEQ_OK);
    queue()->awake_kept = 0;
    store_fixture_commit(&test);
    assert_int_equal(queue()->awake_count, 1);
    assert_int_equal(dueq_drop(test.store, text("t"), test.time), DUEQ_OK);
    assert_true(dueq_next_end(test.store, &arg, &end));
    assert_ptr_equal(arg, &test);
}

/* ---- what ticks do with topics that sleep */

/* What ticks have counted is written, so that it is not counted a second time. */
static void jobs_fall_due_while_their_topics_sleep(void **state)
{
    (void)state;
    push_to_many(100);
    store_fixture_pass(&test, DELAY + 49);
    store_fixture_tick(&test, 7);
    assert_int_equal(signals(), 50);
    rest();
    for (int i = 0; i < 100; i++)
        assert_int_equal(count_of(numbered(i), DUEQ_READY), i < 50);
    check();
    rest();
    store_fixture_crash(&test);
    check();
}

static void leases_end_while_their_topics_sleep(void **state)
{
    struct dueq_job job;

    (void)state;
    push(text("t"), 0);
    assert_int_equal(dueq_claim(test.store, text("t"), 500, test.time, &job), DUEQ_OK);
    rest();
    store_fixture_reopen(&test);
    rest();
    assert_int_equal(count_of(text("t"), DUEQ_CLAIMED), 1);
    rest();
    assert_in_range(next_tick(), 0, 500);
    store_fixture_pass(&test, 501);
    store_fixture_tick(&test, 10);
    assert_int_equal(count_of(text("t"), DUEQ_CLAIMED), 0);
    check();
}

static void a_pause_ends_while_its_topic_sleeps(void **state)
{
    struct dueq_job job;

    (void)state;
    push(text("t"), 0);
    assert_int_equal(dueq_pause(test.store, text("t"), false, true, 500, test.time), DUEQ_OK);
    rest();
    store_fixture_reopen(&test);
    store_fixture_tick(&test, 10);
    rest();
    assert_int_equal(dueq_claim(test.store, text("t"), 500, test.time, &job), DUEQ_NOTFOUND);
    rest();
    store_fixture_pass(&test, 500);
    store_fixture_tick(&test, 10);
    assert_int_equal(signals(), 1);
    assert_int_equal(dueq_claim(test.store, text("t"), 500, test.time, &job), DUEQ_OK);
}

static void push_at(struct dueq_slice topic, int64_t wait)
{
    struct dueq_push job;
    struct dueq_slice id;

    dueq_push_init(&job);
    job.topic = topic;
    job.absolute = true;
    job.at = test.time.wall + wait;
    assert_int_equal(dueq_push(test.store, &job, test.time, &id), DUEQ_OK);
}

static void a_step_of_the_wall_clock_finds_topics_that_sleep(void **state)
{
    (void)state;
    push_at(text("wall"), DELAY);
    push(text("delay"), DELAY);
    rest();
    test.time.wall += DELAY;
    store_fixture_tick(&test, 10);
    assert_int_equal(signals(), 1);
    rest();
    test.time.wall -= DELAY;
    store_fixture_tick(&test, 10);
    assert_int_equal(count_of(text("wall"), DUEQ_READY), 0);
    assert_int_equal(count_of(text("wall"), DUEQ_DELAYED), 1);
    check();
}

/* It was ready when the store was closed. */
static void a_wall_clock_set_back_while_the_store_is_closed_delays_again(void **state)
{
    (void)state;
    push_at(text("wall"), 100);
    store_fixture_pass(&test, 100);
    store_fixture_tick(&test, 10);
    rest();
    store_fixture_close(&test);
    test.time.wall -= DELAY;
    store_fixture_open(&test);
    store_fixture_tick(&test, 10);
    assert_int_equal(count_of(text("wall"), DUEQ_DELAYED), 1);
    drain_signals();
    assert_in_range(next_tick(), 1, DELAY + 100);
    store_fixture_pass(&test, DELAY);
    store_fixture_tick(&test, 10);
    assert_int_equal(count_of(text("wall"), DUEQ_READY), 1);
    check();
}

static void die(struct dueq_slice topic)
{
    struct dueq_nack nack = {.delay = DUEQ_DEFAULT, .outcome = DUEQ_FATAL};
    struct dueq_job job;
    enum dueq_state state;
    char id[DUEQ_NAME_MAX];

    push(topic, 0);
    assert_int_equal(dueq_claim(test.store, topic, 500, test.time, &job), DUEQ_OK);
    memcpy(id, job.id.data, job.id.size);
    assert_int_equal(dueq_nack(test.store, topic, dueq_slice(id, job.id.size), job.token, &nack,
                               test.time, &state),
                     DUEQ_OK);
    assert_int_equal(state, DUEQ_DEAD);
}

/* A change of settings costs the same for few and for many topics: ticks look at them. */
static void new_settings_find_topics_that_sleep(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        die(numbered(i));
    rest();
    store_fixture_pass(&test, 1000);
    put_setting(text("topic-1*"), DUEQ_SET_DEAD_KEEP, 500);
    assert_int_equal(queue()->awake_count, 0);
    assert_int_equal(next_tick(), 0);
    store_fixture_tick(&test, 3);
    for (int i = 0; i < 20; i++)
        assert_int_equal(count_of(numbered(i), DUEQ_DEAD), i != 1 && i < 10);
    check();
}

static void settings_hold_for_topics_that_slept_at_the_opening(void **state)
{
    (void)state;
    put_setting(text("topic-*"), DUEQ_SET_DEAD_KEEP, 5000);
    die(numbered(1));
    rest();
    store_fixture_reopen(&test);
    store_fixture_tick(&test, 10);
    rest();
    assert_in_range(next_tick(), 1, 5000);
    store_fixture_pass(&test, 5000);
    store_fixture_tick(&test, 10);
    assert_int_equal(count_of(numbered(1), DUEQ_DEAD), 0);
    check();
}

static enum dueq_status push_body(struct dueq_slice topic, const char *body)
{
    struct dueq_push job;
    struct dueq_slice id;

    dueq_push_init(&job);
    job.topic = topic;
    job.body = text(body);
    return dueq_push(test.store, &job, test.time, &id);
}

/* The opening reads them one after the other, and keeps one that has no jobs. */
static void each_topic_has_its_own_settings_after_an_opening(void **state)
{
    struct dueq_job job;

    (void)state;
    put_setting(text("a"), DUEQ_SET_MAX_BODY, 100);
    put_setting(text("empty"), DUEQ_SET_MAX_BODY, 3);
    push(text("a"), DELAY);
    assert_int_equal(push_body(text("empty"), "few"), DUEQ_OK);
    assert_int_equal(dueq_claim(test.store, text("empty"), 500, test.time, &job), DUEQ_OK);
    assert_int_equal(dueq_ack(test.store, text("empty"), job.id, job.token, test.time),
                     DUEQ_OK);
    store_fixture_reopen(&test);
    assert_int_equal(push_body(text("empty"), "more"), DUEQ_TOOBIG);
    assert_int_equal(push_body(text("empty"), "few"), DUEQ_OK);
    assert_int_equal(push_body(text("a"), "many more"), DUEQ_OK);
    check();
}

/* ---- what can go wrong */

static void a_record_that_is_damaged_while_its_topic_sleeps_is_named_so(void **state)
{
    struct kv_key key;
    struct dueq_job job;

    (void)state;
    push(text("t"), 100);
    rest();
    kv_key_start(&key, TABLE_TOPIC);
    kv_key_name(&key, text("t"), 0);
    kv_put(test.store->kv, kv_key_slice(&key), text("\x03 not a topic"), false);
    assert_int_equal(dueq_claim(test.store, text("t"), 500, test.time, &job), DUEQ_CORRUPT);
    store_fixture_pass(&test, 100);
    store_fixture_tick(&test, 10); /* comes to an end */
    kv_del(test.store->kv, kv_key_slice(&key));
    assert_int_equal(dueq_claim(test.store, text("t"), 500, test.time, &job), DUEQ_CORRUPT);
}

static void a_flush_forgets_those_that_sleep(void **state)
{
    (void)state;
    push_to_many(MANY);
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    push(numbered(1), DELAY);
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    assert_int_equal(dueq_topic_count(test.store), 0);
    push(numbered(2), DELAY);
    store_fixture_tick(&test, 10);
    rest();
    assert_null(queue()->flushed);
    assert_int_equal(dueq_topic_count(test.store), 1);
    check();
}

static void a_topic_that_sleeps_can_be_dropped(void **state)
{
    (void)state;
    push_to_many(10);
    for (int i = 0; i < 10; i += 2)
        assert_int_equal(dueq_drop(test.store, numbered(i), test.time), DUEQ_OK);
    rest();
    store_fixture_tick(&test, 10);
    assert_int_equal(dueq_topic_count(test.store), 5);
    check();
}

/* Writes a record of settings as damage, or somebody else, may leave it, and opens. */
static enum dueq_status open_with(struct dueq_slice scope, const uint8_t *bytes, size_t size)
{
    struct kv_key key;
    enum dueq_status status;
    uint64_t lsn;

    kv_key_start(&key, TABLE_SETTINGS);
    kv_key_name(&key, scope, 0);
    kv_put(test.store->kv, kv_key_slice(&key), dueq_slice(bytes, size), false);
    assert_int_equal(kv_commit(test.store->kv, test.time.now, &lsn), DUEQ_OK);
    store_fixture_close(&test);
    status = dueq_open(test.dir, &test.options, test.time, &test.store, NULL);
    if (status == DUEQ_OK)
        return status;
    store_fixture_release(&test);
    store_fixture_set_up((void *[]){&test});
    return status;
}

/* The numbers are zigzags: 1 is -1, 2 is 1. */
static void settings_out_of_range_are_damage(void **state)
{
    static const uint8_t negative = 3, versioned = 1;

    (void)state;
    for (int tag = 0; tag < DUEQ_SETTINGS; tag++) {
        const uint8_t record[] = {versioned, (uint8_t)tag, negative};

        assert_int_equal(open_with(text("t"), record, sizeof(record)), DUEQ_CORRUPT);
    }
    {
        const uint8_t huge[] = {versioned, DUEQ_SET_EVENTS, 0xff, 0xff, 0xff, 0xff, 0x7f},
                      jitter[] = {versioned, DUEQ_SET_JITTER, 202, 1},
                      steps[] = {versioned, 0x80, 1, negative},
                      sound[] = {versioned, DUEQ_SET_EVENTS, 8};

        assert_int_equal(open_with(text("t"), huge, sizeof(huge)), DUEQ_CORRUPT);
        assert_int_equal(open_with(text("t"), jitter, sizeof(jitter)), DUEQ_CORRUPT);
        assert_int_equal(open_with(text("t"), steps, sizeof(steps)), DUEQ_CORRUPT);
        assert_int_equal(open_with(text(""), sound, sizeof(sound)), DUEQ_CORRUPT);
        assert_int_equal(open_with(text("t"), sound, sizeof(sound)), DUEQ_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_fixture_test(after_an_opening_no_topic_needs_a_tick, test),
        store_fixture_test(a_crash_loses_no_sleeping_topic, test),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        store_fixture_test(a_sleeping_topic_takes_a_hundred_bytes, test),
#endif
        store_fixture_test(few_topics_are_awake, test),
        store_fixture_test(a_topic_with_a_signal_stays_awake, test),
        store_fixture_test(a_topic_with_a_watch_stays_awake, test),
        store_fixture_test(jobs_fall_due_while_their_topics_sleep, test),
        store_fixture_test(leases_end_while_their_topics_sleep, test),
        store_fixture_test(a_pause_ends_while_its_topic_sleeps, test),
        store_fixture_test(a_step_of_the_wall_clock_finds_topics_that_sleep, test),
        store_fixture_test(a_wall_clock_set_back_while_the_store_is_closed_delays_again, test),
        store_fixture_test(new_settings_find_topics_that_sleep, test),
        store_fixture_test(settings_hold_for_topics_that_slept_at_the_opening, test),
        store_fixture_test(each_topic_has_its_own_settings_after_an_opening, test),
        store_fixture_test(a_record_that_is_damaged_while_its_topic_sleeps_is_named_so, test),
        store_fixture_test(a_flush_forgets_those_that_sleep, test),
        store_fixture_test(a_topic_that_sleeps_can_be_dropped, test),
        store_fixture_test(settings_out_of_range_are_damage, test),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
