/* The events that a topic keeps. */
#include "storage/dueq.h"
#include "storage/queue/core/queue_state.h"
#include "storage/queue/queue.h"
#include "storage/queue/record/event_record.h"
#include "storage/salvage.h"
#include "storage/store.h"
#include "tests/support/store/record_count.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { MOST = 10000 };

static struct store_fixture test;

static void keep_events(const char *scope, int64_t size)
{
    struct dueq_settings settings;

    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_EVENTS] = size;
    assert_int_equal(dueq_put_settings(test.store, dueq_slice(scope, strlen(scope)), &settings),
                     DUEQ_OK);
}

static void push_to(const char *topic, const char *id, int64_t delay)
{
    struct dueq_push push;
    struct dueq_slice given;

    dueq_push_init(&push);
    push.topic = dueq_slice(topic, strlen(topic));
    push.id = dueq_slice(id, strlen(id));
    push.delay = delay;
    assert_int_equal(dueq_push(test.store, &push, test.time, &given), DUEQ_OK);
}

static void push(const char *id, int64_t delay)
{
    push_to("t", id, delay);
}

static int64_t claim(void)
{
    struct dueq_job job;

    assert_int_equal(dueq_claim(test.store, text("t"), 1000, test.time, &job), DUEQ_OK);
    return job.token;
}

static char found[8192];

static bool add(void *arg, const struct dueq_kept_event *event)
{
    size_t size = strlen(found);

    (void)arg;
    if (event->dropped > 0)
        snprintf(found + size, sizeof(found) - size, "%s%" PRIu64 " dropped %" PRIu64,
                 size > 0 ? ", " : "", event->number, event->dropped);
    else
        snprintf(found + size, sizeof(found) - size, "%s%" PRIu64 " %s %.*s %" PRId64,
                 size > 0 ? ", " : "", event->number, dueq_event_name(event->type),
                 (int)event->id.size, (const char *)event->id.data, event->attempt);
    return true;
}

static void expect_of(const char *topic, uint64_t after, size_t count, const char *wanted)
{
    found[0] = '\0';
    assert_int_equal(
        dueq_events(test.store, dueq_slice(topic, strlen(topic)), after, count, add, NULL),
        DUEQ_OK);
    assert_string_equal(found, wanted);
}

static void expect(uint64_t after, const char *wanted)
{
    expect_of("t", after, MOST, wanted);
}

static void check(void)
{
    const char *wrong = queue_check(test.store->queue);

    assert_string_equal(wrong == NULL ? "" : wrong, "");
}

static uint64_t records(void)
{
    return record_count(test.store, "E");
}

static uint64_t last_number(const char *topic)
{
    uint64_t last;

    assert_int_equal(dueq_last_event(test.store, dueq_slice(topic, strlen(topic)), &last),
                     DUEQ_OK);
    return last;
}

/* ---- what is kept */

static void a_life_is_kept(void **state)
{
    (void)state;
    keep_events("t", 100);
    push("a", 0);
    assert_int_equal(dueq_ack(test.store, text("t"), text("a"), claim(), test.time), DUEQ_OK);
    expect(0, "1 pushed a 0, 2 claimed a 1, 3 acked a 1");
    expect(2, "3 acked a 1");
    expect(3, "");
    expect(UINT64_MAX, "");
    expect_of("t", 0, 1, "1 pushed a 0");
    check();
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    expect(0, "1 pushed a 0, 2 claimed a 1, 3 acked a 1");
    store_fixture_reopen(&test);
    expect(0, "1 pushed a 0, 2 claimed a 1, 3 acked a 1");
    check();
}

static void what_is_not_committed_is_gone_with_its_event(void **state)
{
    (void)state;
    keep_events("t", 100);
    push("a", 0);
    store_fixture_commit(&test);
    push("b", 0);
    expect(0, "1 pushed a 0, 2 pushed b 0");
    store_fixture_crash(&test);
    expect(0, "1 pushed a 0");
    push("c", 0);
    expect(1, "2 pushed c 0");
}

static bool is_complete(void *arg, const struct dueq_kept_event *event)
{
    assert_int_equal(event->at, test.time.wall);
    assert_true(dueq_slice_equal(event->id, *(struct dueq_slice *)arg));
    return false;
}

static void an_event_has_time_and_a_given_id(void **state)
{
    struct dueq_push push;
    struct dueq_slice id;

    (void)state;
    keep_events("t", 100);
    dueq_push_init(&push);
    push.topic = text("t");
    store_fixture_pass(&test, 1234);
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    assert_int_equal(dueq_events(test.store, text("t"), 0, 5, is_complete, &id), DUEQ_OK);
}

static void a_topic_without_a_ring_says_so(void **state)
{
    uint64_t last;

    (void)state;
    push("a", 0);
    assert_int_equal(records(), 0);
    assert_int_equal(dueq_events(test.store, text("t"), 0, 5, add, NULL), DUEQ_WRONGSTATE);
    assert_int_equal(dueq_last_event(test.store, text("t"), &last), DUEQ_WRONGSTATE);
    assert_int_equal(dueq_events(test.store, text("none"), 0, 5, add, NULL), DUEQ_WRONGSTATE);
    assert_int_equal(dueq_events(test.store, text(""), 0, 5, add, NULL), DUEQ_INVALID);
    keep_events("n*", 5);
    expect_of("none", 0, 5, "");
    expect_of("none", 7, 5, "");
    assert_int_equal(dueq_last_event(test.store, text("none"), &last), DUEQ_OK);
    assert_int_equal(last, 0);
}

static void a_ring_begins_when_it_is_asked_for(void **state)
{
    (void)state;
    push("a", 0);
    (void)claim();
    keep_events("t", 10);
    expect(0, "");
    push("b", 0);
    expect(0, "2 pushed b 0"); /* numbers begin above the tokens */
    keep_events("t", 0);
    push("c", 0);
    keep_events("t", 10);
    push("d", 0);
    store_fixture_tick(&test, 100);
    expect(0, "2 pushed b 0, 3 pushed d 0");
}

static void its_size_is_limited(void **state)
{
    struct dueq_settings settings;

    (void)state;
    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_EVENTS] = DUEQ_RING_MAX + 1;
    assert_int_equal(dueq_put_settings(test.store, text("t"), &settings), DUEQ_INVALID);
    keep_events("t", DUEQ_RING_MAX);
}

/* ---- the end of the ring */

static void the_oldest_go_and_a_gap_tells(void **state)
{
    (void)state;
    keep_events("t", 3);
    for (int i = 0; i < 10; i++)
        push((char[]){(char)('a' + i), 0}, 0);
    expect(0, "7 dropped 7, 8 pushed h 0, 9 pushed i 0, 10 pushed j 0");
    expect(4, "7 dropped 3, 8 pushed h 0, 9 pushed i 0, 10 pushed j 0");
    expect(7, "8 pushed h 0, 9 pushed i 0, 10 pushed j 0");
    expect_of("t", 4, 2, "7 dropped 3, 8 pushed h 0");
    assert_int_equal(records(), 3);
    check();
}

static void a_smaller_ring_shrinks_in_ticks(void **state)
{
    unsigned budget = 10;

    (void)state;
    keep_events("t", 1000);
    for (int i = 0; i < 500; i++) {
        char id[16];

        snprintf(id, sizeof(id), "%d", i);
        push(id, 0);
    }
    keep_events("t", 2);
    expect(0, "498 dropped 498, 499 pushed 498 0, 500 pushed 499 0");
    store_fixture_commit(&test);
    queue_tick(test.store->queue, test.time, &budget);
    assert_true(records() > 400 && records() < 500);
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    store_fixture_tick(&test, 100);
    assert_int_equal(records(), 2);
    expect(497, "498 dropped 1, 499 pushed 498 0, 500 pushed 499 0");
    check();
}

static void one_that_is_off_is_erased_and_its_numbers_go_on(void **state)
{
    (void)state;
    keep_events("t", 100);
    push("a", 0);
    push("b", 0);
    keep_events("t", 0);
    store_fixture_tick(&test, 100);
    assert_int_equal(records(), 0);
    store_fixture_commit(&test);
    store_fixture_reopen(&test);
    push("c", 0);
    keep_events("t", 100);
    expect(0, "2 dropped 2");
    push("d", 0);
    expect(0, "2 dropped 2, 3 pushed d 0");
    check();
}

static void a_ring_of_one_has_the_last(void **state)
{
    (void)state;
    keep_events("t", 1);
    push("a", 0);
    push("b", 0);
    expect(1, "2 pushed b 0");
    assert_int_equal(records(), 1);
}

/* ---- topics that go */

static void numbers_go_on_after_a_drop_and_a_flush(void **state)
{
    (void)state;
    keep_events("*", 100);
    for (int i = 0; i < 5; i++)
        push((char[]){(char)('a' + i), 0}, 0);
    assert_int_equal(dueq_drop(test.store, text("t"), test.time), DUEQ_OK);
    expect(0, "");
    push("x", 0);
    expect(0, "6 pushed x 0");
    expect(3, "5 dropped 2, 6 pushed x 0");
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    push("y", 0);
    expect(0, "7 pushed y 0");
    expect(6, "7 pushed y 0");
    store_fixture_tick(&test, 100);
    assert_int_equal(records(), 1);
    store_fixture_commit(&test);
    store_fixture_verify(&test);
}

/* A topic whose last job is done goes, when others are used; not with events to read. */
static void events_keep_their_topic(void **state)
{
    (void)state;
    test.store->queue->empty_kept = 0;
    keep_events("t", 100);
    push("a", 0);
    push_to("other", "a", 0);
    assert_int_equal(dueq_del(test.store, text("other"), text("a"), test.time), DUEQ_OK);
    assert_int_equal(dueq_ack(test.store, text("t"), text("a"), claim(), test.time), DUEQ_OK);
    store_fixture_commit(&test);
    assert_int_equal(dueq_topic_count(test.store), 1);
    expect(0, "1 pushed a 0, 2 claimed a 1, 3 acked a 1");
    keep_events("t", 0);
    store_fixture_tick(&test, 100);
    store_fixture_commit(&test);
    assert_int_equal(dueq_topic_count(test.store), 0);
    keep_events("t", 100);
    push("b", 0);
    expect(0, "4 pushed b 0");
}

static void a_topic_that_sleeps_has_its_ring(void **state)
{
    (void)state;
    keep_events("*", 100);
    test.store->queue->awake_kept = 0;
    push("a", 0);
    push_to("other", "b", 0);
    store_fixture_commit(&test);
    expect(0, "1 pushed a 0");
    expect_of("other", 0, 5, "1 pushed b 0");
    keep_events("*", 0);
    store_fixture_commit(&test);
    store_fixture_tick(&test, 100);
    assert_int_equal(records(), 0);
}

/* ---- by time */

static void falling_due_is_told_once(void **state)
{
    (void)state;
    keep_events("t", 100);
    push("a", 500);
    push("b", 500);
    push("c", 900);
    store_fixture_commit(&test);
    store_fixture_pass(&test, 500);
    store_fixture_tick(&test, 100);
    expect(3, "4 due a 0, 5 due b 0");
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    store_fixture_pass(&test, 1);
    store_fixture_tick(&test, 100);
    expect(3, "4 due a 0, 5 due b 0");
    store_fixture_pass(&test, 1000);
    store_fixture_tick(&test, 100);
    expect(5, "6 due c 0");
    store_fixture_crash(&test); /* the tick was not committed, and comes again */
    store_fixture_tick(&test, 100);
    expect(3, "4 due a 0, 5 due b 0, 6 due c 0");
}

/* Also when nothing else has changed the topic since. */
static void what_fell_due_before_the_ring_is_not_told_after_a_crash(void **state)
{
    (void)state;
    push("a", 500);
    push("b", 900);
    store_fixture_commit(&test);
    store_fixture_pass(&test, 500);
    store_fixture_tick(&test, 100);
    keep_events("t", 100);
    store_fixture_tick(&test, 100);
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    store_fixture_tick(&test, 100);
    expect(0, "");
    store_fixture_pass(&test, 400);
    store_fixture_tick(&test, 100);
    expect(0, "1 due b 0");
    keep_events("t", 0);
    store_fixture_tick(&test, 100);
    push("c", 100);
    store_fixture_commit(&test);
    store_fixture_pass(&test, 100);
    store_fixture_tick(&test, 100);
    keep_events("t", 100); /* again */
    store_fixture_tick(&test, 100);
    store_fixture_commit(&test);
    store_fixture_crash(&test);
    store_fixture_tick(&test, 100);
    expect(0, "1 dropped 1");
    check();
}

static void a_lease_that_ends_and_a_death_are_kept(void **state)
{
    struct dueq_nack fatal = {.outcome = DUEQ_FATAL, .delay = DUEQ_DEFAULT};
    enum dueq_state now;

    (void)state;
    keep_events("t", 100);
    push("a", 0);
    (void)claim();
    store_fixture_pass(&test, 2000);
    store_fixture_tick(&test, 100);
    expect(2, "3 expired a 1");
    assert_int_equal(
        dueq_nack(test.store, text("t"), text("a"), claim(), &fatal, test.time, &now), DUEQ_OK);
    expect(3, "4 claimed a 2, 5 nacked a 2, 6 dead a 2");
}

/* ---- who waits */

static void watchers_are_told_of_topics(void **state)
{
    struct dueq_slice topic;

    (void)state;
    keep_events("t", 100);
    push("a", 0);
    assert_int_equal(store_next_events(test.store, &topic), DUEQ_NOTFOUND);
    store_watch_events(test.store, true);
    push("b", 0);
    push("c", 0);
    push_to("other", "c", 0);
    assert_int_equal(store_next_events(test.store, &topic), DUEQ_OK);
    assert_true(dueq_slice_equal(topic, text("t")));
    assert_int_equal(store_next_events(test.store, &topic), DUEQ_NOTFOUND);
    push("d", 0);
    assert_int_equal(dueq_drop(test.store, text("t"), test.time), DUEQ_OK);
    assert_int_equal(store_next_events(test.store, &topic), DUEQ_NOTFOUND);
    keep_events("t", 100);
    push("e", 0);
    store_watch_events(test.store, false);
    assert_int_equal(store_next_events(test.store, &topic), DUEQ_NOTFOUND);
}

/* ---- the record */

static void a_record_is_read_as_it_was_written(void **state)
{
    struct event_record record = {.type = DUEQ_EVENT_CANCELLED,
                                  .at = INT64_MAX,
                                  .attempt = 7,
                                  .id = {"abc", 3}},
                        read;
    uint8_t bytes[EVENT_RECORD_MAX];
    size_t size = event_record_write(bytes, &record);

    (void)state;
    assert_true(event_record_read(dueq_slice(bytes, size), &read));
    assert_int_equal(read.type, record.type);
    assert_true(read.at == record.at && read.attempt == 7);
    assert_true(dueq_slice_equal(read.id, record.id));
    for (size_t cut = 0; cut < size; cut++)
        assert_false(event_record_read(dueq_slice(bytes, cut), &read));
    bytes[1] = DUEQ_EVENT_TYPES;
    assert_false(event_record_read(dueq_slice(bytes, size), &read));
    record = (struct event_record){.at = -5, .stamp = 99, .seq = UINT64_MAX / 4};
    size = event_record_write(bytes, &record);
    assert_true(event_record_read(dueq_slice(bytes, size), &read));
    assert_true(read.stamp == 99 && read.seq == record.seq && read.id.size == 0);
    assert_false(event_record_read(dueq_slice(bytes, size + 1), &read));
}

/* ---- jobs that fall due with large bodies, which an opening has not read yet */

static void push_large(const char *id, size_t size)
{
    static uint8_t bytes[5 << 20];
    struct dueq_push push;
    struct dueq_slice given;

    assert_true(size <= sizeof(bytes));
    dueq_push_init(&push);
    push.topic = text("t");
    push.id = dueq_slice(id, strlen(id));
    push.body = dueq_slice(bytes, size);
    push.delay = 1000;
    assert_int_equal(dueq_push(test.store, &push, test.time, &given), DUEQ_OK);
    store_fixture_commit(&test);
}

static void reopen_and_pass(void)
{
    store_fixture_checkpoint(&test);
    store_fixture_reopen(&test);
    store_fixture_pass(&test, 1000);
}

static void large_bodies_fall_due_in_slices(void **state)
{
    char id[16];
    int ticks = 0;

    (void)state;
    keep_events("t", 1000);
    for (int i = 0; i < 50; i++) {
        snprintf(id, sizeof(id), "j%d", i);
        push_large(id, 64 * 1024);
    }
    reopen_and_pass();
    while (dueq_tick(test.store, test.time, 100))
        ticks++;
    assert_true(ticks > 5);
    assert_int_equal(last_number("t"), 100);
    check();
}

/* It is checked in parts, and the event comes after the last one; whoever counts the job. */
static void a_huge_body_falls_due_in_parts(void **state)
{
    struct dueq_topic_stats stats;
    int ticks = 0;

    (void)state;
    keep_events("t", 10);
    push_large("a", 5 << 20);
    push_large("b", 5 << 20);
    reopen_and_pass();
    do {
        dueq_begin_slices(test.store);
        assert_int_equal(dueq_topic_stats(test.store, text("t"), test.time, &stats), DUEQ_OK);
        dueq_maintain(test.store, false);
    } while (dueq_end_slices(test.store) || stats.counts[DUEQ_READY] == 0);
    expect(2, "3 due a 0");
    while (dueq_tick(test.store, test.time, 1000))
        ticks++;
    assert_true(ticks > 1);
    expect(2, "3 due a 0, 4 due b 0");
}

static void a_job_that_does_not_read_leaves_a_gap_where_it_fell_due(void **state)
{
    struct kv_key key;

    (void)state;
    keep_events("t", 10);
    push("a", 1000);
    push("b", 1000);
    store_fixture_commit(&test);
    kv_put(test.store->kv, queue_key_job(&key, TABLE_BODY, 1, 1), text("?"), false);
    store_fixture_pass(&test, 1000);
    store_fixture_tick(&test, 1000);
    expect(2, "3 dropped 1, 4 due b 0");
}

/* ---- repair */

static void ignore_finding(void *arg, enum salvage_finding finding, const char *what)
{
    (void)arg;
    (void)finding;
    (void)what;
}

/* The numbers that outlive topics, which are huge then; if `topic`, the record of the topic. */
static void lose_numbers(bool topic)
{
    uint8_t huge[15 * 8];
    struct kv_key key;
    struct kv *kv;
    uint64_t lsn;

    store_fixture_close(&test);
    assert_int_equal(kv_open(test.dir, &test.options, &kv, NULL), DUEQ_OK);
    kv_key_start(&key, TABLE_META);
    memset(huge, 0xff, sizeof(huge));
    kv_put(kv, kv_key_slice(&key), dueq_slice(huge, sizeof(huge)), false);
    kv_key_start(&key, TABLE_TOPIC);
    kv_key_name(&key, text("t"), 0);
    if (topic)
        kv_put(kv, kv_key_slice(&key), text("?"), false);
    assert_int_equal(kv_commit(kv, test.time.now, &lsn), DUEQ_OK);
    assert_int_equal(kv_close(kv), DUEQ_OK);
}

static void repair(void)
{
    struct salvage salvage = {.on_finding = ignore_finding};
    char scratch[PATH_MAX], made[PATH_MAX];

    snprintf(scratch, sizeof(scratch), "%s/scratch", test.dir);
    snprintf(made, sizeof(made), "%s/made", test.dir);
    assert_int_equal(salvage_store(test.dir, scratch, made, &salvage, NULL), DUEQ_OK);
    assert_int_equal(dueq_open(made, &test.options, test.time, &test.store, NULL), DUEQ_OK);
}

static void live(const char *id)
{
    push(id, 0);
    assert_int_equal(dueq_ack(test.store, text("t"), text(id), claim(), test.time), DUEQ_OK);
}

/* The topic has a job, by which repair finds it, or only its events are left. */
static void a_repair_without_the_topic_gives_no_number_again(void **state)
{
    for (int jobs = 0; jobs < 2; jobs++) {
        uint64_t last;

        keep_events("*", 100);
        for (int i = 0; i < 5; i++)
            live("a");
        if (jobs > 0)
            push("b", 0);
        last = last_number("t");
        lose_numbers(true);
        repair();
        push_to("t", "c", 0);
        push_to("lost-topic-1", "c", 0);
        assert_true(last_number("t") > last);
        assert_true(last_number("lost-topic-1") > last);
        store_fixture_tear_down(state);
        store_fixture_set_up(state);
    }
}

static void a_repair_without_the_counters_keeps_all_jobs(void **state)
{
    uint64_t last;

    (void)state;
    keep_events("*", 100);
    live("a");
    push("b", 0);
    last = last_number("t");
    lose_numbers(false);
    repair();
    assert_true(claim() > 0);
    assert_true(last_number("t") > last);
    check();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_fixture_test(a_life_is_kept, test),
        store_fixture_test(what_is_not_committed_is_gone_with_its_event, test),
        store_fixture_test(an_event_has_time_and_a_given_id, test),
        store_fixture_test(a_topic_without_a_ring_says_so, test),
        store_fixture_test(a_ring_begins_when_it_is_asked_for, test),
        store_fixture_test(its_size_is_limited, test),
        store_fixture_test(the_oldest_go_and_a_gap_tells, test),
        store_fixture_test(a_smaller_ring_shrinks_in_ticks, test),
        store_fixture_test(one_that_is_off_is_erased_and_its_numbers_go_on, test),
        store_fixture_test(a_ring_of_one_has_the_last, test),
        store_fixture_test(numbers_go_on_after_a_drop_and_a_flush, test),
        store_fixture_test(events_keep_their_topic, test),
        store_fixture_test(a_topic_that_sleeps_has_its_ring, test),
        store_fixture_test(falling_due_is_told_once, test),
        store_fixture_test(what_fell_due_before_the_ring_is_not_told_after_a_crash, test),
        store_fixture_test(a_lease_that_ends_and_a_death_are_kept, test),
        store_fixture_test(watchers_are_told_of_topics, test),
        store_fixture_test(a_repair_without_the_counters_keeps_all_jobs, test),
        store_fixture_test(large_bodies_fall_due_in_slices, test),
        store_fixture_test(a_huge_body_falls_due_in_parts, test),
        store_fixture_test(a_job_that_does_not_read_leaves_a_gap_where_it_fell_due, test),
        store_fixture_test(a_repair_without_the_topic_gives_no_number_again, test),
        cmocka_unit_test(a_record_is_read_as_it_was_written)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
