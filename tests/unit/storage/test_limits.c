/* Options and arguments of a store at the limits of their numbers. */
#include "storage/store.h"
#include "storage/dueq.h"
#include "storage/kv/kv.h"
#include "storage/kv/memtable/chunk_pool.h"
#include "storage/queue/queue.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/text.h"

#include <limits.h>
#include <stdio.h>

#include "tests/support/cmocka.h"

#define MIB ((size_t)1 << 20)

static struct store_fixture test;

static struct dueq_time at(int64_t now, int64_t wall)
{
    return (struct dueq_time){.now = now, .wall = wall};
}

static int set_up(void **state)
{
    *state = &test;
    store_fixture_init(&test);
    test.time = at(1000, 1000);
    test.options.map_bytes = 64 * MIB;
    return 0;
}

static void open_store(void)
{
    store_fixture_open(&test);
}

static void commit(struct dueq_time time)
{
    uint64_t lsn;

    assert_int_equal(dueq_commit(test.store, time, &lsn), DUEQ_OK);
    dueq_maintain(test.store, false);
}

/* ---- options */

static enum dueq_status try_to_open(const struct dueq_options *options,
                                    struct dueq_error *error)
{
    struct dueq *store;
    enum dueq_status status = dueq_open(test.dir, options, test.time, &store, error);

    if (status == DUEQ_OK)
        assert_int_equal(dueq_close(store), DUEQ_OK);
    return status;
}

static void expect_refusal(const struct dueq_options *options, const char *name)
{
    struct dueq_error error = {""};

    assert_int_equal(try_to_open(options, &error), DUEQ_INVALID);
    if (strstr(error.text, name) == NULL)
        fail_msg("\"%s\" does not name %s", error.text, name);
}

static void expect_acceptance(const struct dueq_options *options)
{
    struct dueq_error error = {""};

    if (try_to_open(options, &error) != DUEQ_OK)
        fail_msg("%s", error.text);
}

/* Sets the field to a value, tries, and sets it back. */
#define REFUSED(field, value)                                                                  \
    do {                                                                                       \
        struct dueq_options options = test.options;                                            \
        options.field = (value);                                                               \
        expect_refusal(&options, #field);                                                      \
    } while (0)
#define ACCEPTED(field, value)                                                                 \
    do {                                                                                       \
        struct dueq_options options = test.options;                                            \
        options.field = (value);                                                               \
        expect_acceptance(&options);                                                           \
    } while (0)

static void every_option_has_ends(void **state)
{
    (void)state;
    REFUSED(durability, (enum dueq_durability)(DUEQ_SYNC_NONE + 1));
    REFUSED(durability, (enum dueq_durability)(-1));
    REFUSED(memtable_bytes, 0);
    REFUSED(memtable_bytes, 32 * 1024 - 1);
    REFUSED(memtable_bytes, SIZE_MAX);
    ACCEPTED(memtable_bytes, 32 * 1024);
    REFUSED(record_bytes, 0);
    REFUSED(record_bytes, DUEQ_RECORD_MAX + 1);
    ACCEPTED(record_bytes, 64 * 1024);
    REFUSED(segment_bytes, 0);
    REFUSED(segment_bytes, 64 * 1024 - 1);
    REFUSED(segment_bytes, 1024 * MIB + 1);
    REFUSED(segment_bytes, SIZE_MAX);
    ACCEPTED(segment_bytes, 64 * 1024);
    REFUSED(journal_bytes, 0);
    REFUSED(journal_bytes, 128 * 1024 - 1);
    ACCEPTED(journal_bytes, 128 * 1024);
    ACCEPTED(journal_bytes, UINT64_MAX);
    REFUSED(map_bytes, 0);
    REFUSED(map_bytes, MIB - 1);
    REFUSED(map_bytes, UINT64_MAX);
    REFUSED(high_water_percent, 0);
    REFUSED(high_water_percent, 101);
    REFUSED(high_water_percent, UINT_MAX);
    ACCEPTED(high_water_percent, 1);
    ACCEPTED(high_water_percent, 100);
    ACCEPTED(disk_reserve_bytes, UINT64_MAX);
    ACCEPTED(seed, UINT64_MAX);
}

static void a_map_need_not_be_whole_pages(void **state)
{
    (void)state;
    ACCEPTED(map_bytes, 2 * MIB + 1);
}

static void an_interval_matters_when_there_is_one(void **state)
{
    (void)state;
    ACCEPTED(interval_ms, 0);
    test.options.durability = DUEQ_SYNC_INTERVAL;
    REFUSED(interval_ms, 0);
    REFUSED(interval_ms, 3600001);
    REFUSED(interval_ms, UINT_MAX);
    ACCEPTED(interval_ms, 1);
    ACCEPTED(interval_ms, 3600000);
}

/* Or the journal of one would be taken for another's. */
static void stores_without_entropy_of_the_caller_s_differ(void **state)
{
    uint64_t seeds[4];

    (void)state;
    test.options.seed = 0;
    for (int i = 0; i < 4; i++) {
        char *dir = temp_dir_new();
        struct dueq *store;

        assert_int_equal(dueq_open(dir, &test.options, test.time, &store, NULL), DUEQ_OK);
        seeds[i] = kv_seed(store->kv);
        assert_int_equal(dueq_close(store), DUEQ_OK);
        temp_dir_remove(dir);
        assert_int_not_equal(seeds[i], 0);
        for (int j = 0; j < i; j++)
            assert_int_not_equal(seeds[i], seeds[j]);
    }
}

static void a_caller_s_entropy_is_taken_as_it_is(void **state)
{
    (void)state;
    test.options.seed = 42;
    open_store();
    assert_int_equal(kv_seed(test.store->kv), 42);
}

/* ---- durations and moments */

static const int64_t ends[] = {0,
                               1,
                               INT32_MAX,
                               (int64_t)INT32_MAX + 1,
                               SAFE_TIME_MAX,
                               SAFE_TIME_MAX + 1,
                               INT64_MAX / 2,
                               INT64_MAX - 1,
                               INT64_MAX};
enum { ENDS = sizeof(ends) / sizeof(ends[0]) };

static struct dueq_push push_of(const char *id)
{
    struct dueq_push push;

    dueq_push_init(&push);
    push.topic = text("topic");
    push.id = text(id);
    push.body = text("x");
    return push;
}

static void expect_push(const struct dueq_push *push, struct dueq_time time)
{
    struct dueq_slice given;

    assert_int_equal(dueq_push(test.store, push, time, &given), DUEQ_OK);
}

/* Never due in the past: a failure is not tried again at once because the wait is long. */
static void a_long_backoff_is_long(void **state)
{
    struct dueq_nack nack = {.delay = DUEQ_DEFAULT};

    (void)state;
    open_store();
    for (size_t i = 2; i < ENDS; i++) {
        struct dueq_push push = push_of("job");
        struct dueq_job job;
        enum dueq_state became;

        push.backoff = push.backoff_max = ends[i];
        expect_push(&push, at(2000, 2000));
        assert_int_equal(dueq_claim(test.store, push.topic, 10, at(2000, 2000), &job), DUEQ_OK);
        assert_int_equal(dueq_nack(test.store, push.topic, push.id, job.token, &nack,
                                   at(2000, 2000), &became),
                         DUEQ_OK);
        assert_int_equal(became, DUEQ_DELAYED);
        assert_int_equal(dueq_get(test.store, push.topic, push.id, at(2000, 2000), &job),
                         DUEQ_OK);
        assert_true(job.due > 2000 + ends[2] / 2);
        assert_null(queue_check(test.store->queue));
        assert_int_equal(dueq_del(test.store, push.topic, push.id, at(2000, 2000)), DUEQ_OK);
    }
}

/* One job with these numbers, through all that can happen to it. */
static void live_through(int64_t number, struct dueq_time time)
{
    struct dueq_push push = push_of("job"), due = push_of("due");
    struct dueq_nack nack = {.delay = number};
    struct dueq_topic_stats stats;
    struct dueq_job job;
    enum dueq_state became;
    int64_t end;

    push.delay = push.lease = push.retries = push.backoff = push.backoff_max = push.ttl =
        number;
    expect_push(&push, time);
    due.lease = due.ttl = number;
    due.absolute = true;
    due.at = -number;
    expect_push(&due, time);
    if (dueq_claim(test.store, push.topic, number, time, &job) == DUEQ_OK) {
        char id[8];
        struct dueq_slice name = dueq_slice(id, job.id.size);

        memcpy(id, job.id.data, job.id.size);
        dueq_extend(test.store, push.topic, name, job.token, number, time, &end);
        dueq_nack(test.store, push.topic, name, job.token, &nack, time, &became);
    }
    dueq_get(test.store, push.topic, push.id, time, &job);
    assert_int_equal(dueq_topic_stats(test.store, push.topic, time, &stats), DUEQ_OK);
    while (dueq_tick(test.store, time, 1000))
        ;
    assert_true(dueq_next_tick(test.store, time) >= 0);
    assert_null(queue_check(test.store->queue));
    commit(time);
    assert_int_equal(dueq_del(test.store, push.topic, push.id, time), DUEQ_OK);
    assert_int_equal(dueq_del(test.store, push.topic, due.id, time), DUEQ_OK);
}

/* The sanitizers look for what overflows. */
static void numbers_at_their_ends_do_no_harm(void **state)
{
    (void)state;
    open_store();
    for (size_t i = 0; i < ENDS; i++)
        for (size_t j = 0; j < ENDS; j++) {
            live_through(ends[i], at(ends[2], ends[j]));
            live_through(ends[i], at(ends[2], -ends[j]));
        }
    for (size_t i = 0; i < ENDS; i++)
        for (size_t j = 0; j < ENDS; j++)
            live_through(ends[i], at(ends[j], ends[2]));
}

/* ---- order */

static void expect_claim(const char *id, struct dueq_time time)
{
    struct dueq_job job;

    assert_int_equal(dueq_claim(test.store, text("topic"), DUEQ_DEFAULT, time, &job), DUEQ_OK);
    if (!dueq_slice_equal(job.id, text(id)))
        fail_msg("%.*s was claimed, not %s", (int)job.id.size, (const char *)job.id.data, id);
}

/* Whatever the wall clock says when they are claimed. */
static void jobs_of_both_clocks_come_in_the_order_in_which_they_fall_due(void **state)
{
    static const int64_t steps[] = {0, 3600000, -3600000};

    (void)state;
    open_store();
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct dueq_time begin = at(10000000 * (int64_t)(i + 1), 0), end;
        struct dueq_push push;

        begin.wall = begin.now + steps[i];
        end = at(begin.now + 600000, begin.wall + 600000);
        for (int j = 0; j < 3; j++) {
            char id[32];

            snprintf(id, sizeof(id), "delay %d", j);
            push = push_of(id);
            push.delay = 10000 + j * 60000;
            expect_push(&push, begin);
        }
        push = push_of("at");
        push.absolute = true;
        push.at = begin.wall + 65000;
        expect_push(&push, begin);
        expect_claim("delay 0", end);
        expect_claim("at", end);
        expect_claim("delay 1", end);
        expect_claim("delay 2", end);
        assert_int_equal(dueq_flush(test.store, end), DUEQ_OK);
    }
}

/* ---- memory */

static size_t anonymous_bytes(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    unsigned long kib = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "RssAnon: %lu", &kib) == 1)
            break;
    fclose(file);
    return (size_t)kib * 1024;
}

static void push_and_ack(size_t size, int count)
{
    static char body[64 * 1024];
    struct dueq_time time = at(2000, 2000);
    struct dueq_push push = push_of("");
    struct dueq_slice given;
    struct dueq_job job;

    push.body = dueq_slice(body, size);
    for (int i = 0; i < count; i++) {
        assert_int_equal(dueq_push(test.store, &push, time, &given), DUEQ_OK);
        if (i % 16 == 0)
            commit(time);
    }
    for (int i = 0; i < count; i++) {
        char id[32];

        assert_int_equal(dueq_claim(test.store, push.topic, 10, time, &job), DUEQ_OK);
        memcpy(id, job.id.data, job.id.size);
        assert_int_equal(
            dueq_ack(test.store, push.topic, dueq_slice(id, job.id.size), job.token, time),
            DUEQ_OK);
        if (i % 16 == 0)
            commit(time);
    }
    commit(time);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

/* Memory of one size is of no use for another: what is held counts, not what is in use. That
 * are two tables, each with its reserve of a half and in whole chunks; and the same again for
 * what the checkpoint thread has not freed yet, its transaction, and the pool of chunks. */
static void waves_of_growing_bodies_stay_within_a_few_memtables(void **state)
{
    size_t limit = 4 * MIB, two_tables = 3 * limit + 2 * CHUNK_SIZE;
    size_t before, reported = 0, most = 0;
    struct dueq_stats stats;

    (void)state;
    test.options.memtable_bytes = limit;
    test.options.map_bytes = 256 * MIB;
    open_store();
    push_and_ack(1000, 100);
    before = anonymous_bytes();
    for (size_t size = 4000; size < 64000; size += 2000) {
        push_and_ack(size, (int)(limit * 3 / 4 / size));
        dueq_get_stats(test.store, &stats);
        if (stats.memtable_bytes + stats.frozen_bytes > reported)
            reported = stats.memtable_bytes + stats.frozen_bytes;
        if (anonymous_bytes() > most)
            most = anonymous_bytes();
    }
    assert_true(stats.checkpoints > 0);
    assert_true(reported <= two_tables);
    if (!SANITIZED) /* which keeps what is freed for a while */
        assert_true(most <= before + 2 * two_tables);
}

int main(void)
{
#define limit_test(name) cmocka_unit_test_setup_teardown(name, set_up, store_fixture_tear_down)
    static const struct CMUnitTest tests[] = {
        limit_test(every_option_has_ends),
        limit_test(a_map_need_not_be_whole_pages),
        limit_test(an_interval_matters_when_there_is_one),
        limit_test(stores_without_entropy_of_the_caller_s_differ),
        limit_test(a_caller_s_entropy_is_taken_as_it_is),
        limit_test(a_long_backoff_is_long),
        limit_test(numbers_at_their_ends_do_no_harm),
        limit_test(jobs_of_both_clocks_come_in_the_order_in_which_they_fall_due),
        limit_test(waves_of_growing_bodies_stay_within_a_few_memtables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
