/* How long the jobs of a topic took: quantiles of the last minute, of five and of all, in
 * bounded memory. */
#include "storage/dueq.h"
#include "storage/queue/core/histogram.h"
#include "storage/queue/core/queue_state.h"
#include "storage/store.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { MINUTE = 60 * 1000, THOUSANDS = 10000 };

static struct store_fixture test;

/* ---- the histogram */

static void each_time_is_in_a_bucket_that_is_hardly_longer(void **state)
{
    (void)state;
    for (int64_t ms = 0; ms < INT64_MAX / 2; ms = ms * 3 / 2 + 1) {
        unsigned bucket = histogram_bucket(ms);
        int64_t bound = histogram_bound(bucket);

        if (ms >= (int64_t)1 << 42)
            break;
        assert_true(bound >= ms && bound - ms <= ms / 16);
        assert_int_equal(histogram_bucket(bound), bucket);
        assert_int_equal(histogram_bucket(bound + 1), bucket + 1);
    }
    assert_int_equal(histogram_bucket(-1), 0);
    assert_int_equal(histogram_bucket(INT64_MAX), histogram_bucket(((int64_t)1 << 42) - 1));
}

static void quantiles_are_those_of_all_times(void **state)
{
    struct histogram histogram = {.rows = NULL};
    struct dueq_quantiles found;

    (void)state;
    for (int64_t ms = 1000; ms > 0; ms--)
        assert_true(histogram_note(&histogram, ms, 0));
    found = histogram_read(&histogram, DUEQ_WINDOW_MINUTE);
    assert_int_equal(found.count, 1000);
    assert_true(found.p50 >= 500 && found.p50 <= 532);
    assert_true(found.p99 >= 990 && found.p99 <= 1000);
    assert_true(found.p999 >= 999 && found.p999 <= 1000);
    assert_int_equal(found.max, 1000);
    histogram_release(&histogram);
}

/* Against all times in a list, over many periods of which some are empty. */
static void windows_slide(void **state)
{
    struct histogram histogram = {.rows = NULL};
    uint64_t counts[200] = {0}, last = 0;

    (void)state;
    for (uint64_t period = 0; period < 200; period += 1 + period % 9) {
        uint64_t minute = 0, five = 0, all = 0;

        histogram_advance(&histogram, last, period);
        last = period;
        for (uint64_t i = 0; i <= period % 4; i++, counts[period]++)
            assert_true(histogram_note(&histogram, (int64_t)(i * period), period));
        for (uint64_t at = 0; at <= period; at++) {
            all += counts[at];
            minute += at + HISTOGRAM_SHORTS > period ? counts[at] : 0;
            five += at / HISTOGRAM_LONGS + HISTOGRAM_LONGS > period / HISTOGRAM_LONGS
                        ? counts[at]
                        : 0;
        }
        assert_int_equal(histogram_read(&histogram, DUEQ_WINDOW_MINUTE).count, minute);
        assert_int_equal(histogram_read(&histogram, DUEQ_WINDOW_5_MINUTES).count, five);
        assert_int_equal(histogram_read(&histogram, DUEQ_WINDOW_ALL).count, all);
    }
    histogram_release(&histogram);
}

/* ---- of topics */

static void push(const char *topic, int64_t delay)
{
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.topic = dueq_slice(topic, strlen(topic));
    push.delay = delay;
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
}

static void work(const char *topic, int64_t waits_since, int64_t runs)
{
    struct dueq_claim claim;
    struct dueq_job job;
    char id[DUEQ_NAME_MAX];

    dueq_claim_init(&claim);
    claim.topic = dueq_slice(topic, strlen(topic));
    claim.waits_since = waits_since;
    assert_int_equal(dueq_claim_with(test.store, &claim, test.time, &job), DUEQ_OK);
    memcpy(id, job.id.data, job.id.size);
    store_fixture_pass(&test, runs);
    assert_int_equal(
        dueq_ack(test.store, claim.topic, dueq_slice(id, job.id.size), job.token, test.time),
        DUEQ_OK);
}

static struct dueq_quantiles read_times(const char *topic, enum dueq_span span,
                                        enum dueq_window window)
{
    struct dueq_latencies latencies;

    assert_int_equal(dueq_topic_latencies(test.store, dueq_slice(topic, strlen(topic)),
                                          test.time, &latencies),
                     DUEQ_OK);
    return latencies.times[span][window];
}

static void expect(enum dueq_span span, enum dueq_window window, uint64_t count, int64_t max)
{
    struct dueq_quantiles found = read_times("t", span, window);

    assert_int_equal(found.count, count);
    assert_int_equal(found.max, max);
}

static void a_topic_counts_wait_run_and_lateness(void **state)
{
    int64_t waits_since = test.time.now;

    (void)state;
    push("t", 0);
    store_fixture_pass(&test, 700);
    work("t", DUEQ_NEVER, 30);
    expect(DUEQ_SPAN_WAIT, DUEQ_WINDOW_MINUTE, 1, 700);
    expect(DUEQ_SPAN_RUN, DUEQ_WINDOW_MINUTE, 1, 30);
    expect(DUEQ_SPAN_LATE, DUEQ_WINDOW_MINUTE, 0, 0);
    push("t", 100);
    store_fixture_pass(&test, 105);
    work("t", waits_since, 0);
    expect(DUEQ_SPAN_LATE, DUEQ_WINDOW_ALL, 1, 5);
}

/* It was due before anybody waited: that is its wait, and nobody woke late. */
static void lateness_begins_when_a_claim_waits(void **state)
{
    (void)state;
    push("t", 0);
    store_fixture_pass(&test, 5000);
    work("t", test.time.now - 3, 0);
    expect(DUEQ_SPAN_WAIT, DUEQ_WINDOW_ALL, 1, 5000);
    expect(DUEQ_SPAN_LATE, DUEQ_WINDOW_ALL, 1, 3);
}

static void old_times_leave_the_windows(void **state)
{
    (void)state;
    push("t", 0);
    store_fixture_pass(&test, 8);
    work("t", DUEQ_NEVER, 0);
    store_fixture_pass(&test, MINUTE - 10);
    expect(DUEQ_SPAN_WAIT, DUEQ_WINDOW_MINUTE, 1, 8);
    store_fixture_pass(&test, MINUTE);
    expect(DUEQ_SPAN_WAIT, DUEQ_WINDOW_MINUTE, 0, 0);
    expect(DUEQ_SPAN_WAIT, DUEQ_WINDOW_5_MINUTES, 1, 8);
    store_fixture_pass(&test, 5 * MINUTE);
    expect(DUEQ_SPAN_WAIT, DUEQ_WINDOW_5_MINUTES, 0, 0);
    expect(DUEQ_SPAN_WAIT, DUEQ_WINDOW_ALL, 1, 8);
}

static void a_dropped_topic_begins_anew(void **state)
{
    (void)state;
    push("t", 0);
    work("t", DUEQ_NEVER, 0);
    push("t", 0);
    assert_int_equal(dueq_drop(test.store, text("t"), test.time), DUEQ_OK);
    push("t", 0);
    expect(DUEQ_SPAN_WAIT, DUEQ_WINDOW_ALL, 0, 0);
    work("t", DUEQ_NEVER, 0);
    expect(DUEQ_SPAN_WAIT, DUEQ_WINDOW_ALL, 1, 0);
    assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
    push("t", 0);
    expect(DUEQ_SPAN_WAIT, DUEQ_WINDOW_ALL, 0, 0);
}

static void without_a_topic_there_is_nothing(void **state)
{
    struct dueq_latencies latencies;

    (void)state;
    assert_int_equal(dueq_topic_latencies(test.store, text("t"), test.time, &latencies),
                     DUEQ_NOTFOUND);
    push("t", 0);
    assert_int_equal(dueq_topic_latencies(test.store, text("t"), test.time, &latencies),
                     DUEQ_OK);
    assert_int_equal(latencies.since, DUEQ_NEVER);
}

/* ---- many topics */

static const char *name_of(int number)
{
    static char name[32];

    snprintf(name, sizeof(name), "topic-%d", number);
    return name;
}

static void topics_without_claims_cost_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < THOUSANDS; i++)
        push(name_of(i), 3600 * 1000);
    store_fixture_commit(&test);
    assert_int_equal(test.store->queue->latencies.bytes, 0);
}

/* Who waits for a signal keeps the topic awake. */
static void take_signals(void)
{
    struct dueq_slice topic;

    while (dueq_next_signal(test.store, &topic) == DUEQ_OK)
        continue;
}

static void a_topic_that_sleeps_keeps_its_times(void **state)
{
    (void)state;
    test.store->queue->awake_kept = 1;
    push("t", 0);
    push("t", 0);
    store_fixture_pass(&test, 9);
    work("t", DUEQ_NEVER, 0);
    for (int i = 0; i < 5; i++) {
        push(name_of(i), 0);
        take_signals();
        store_fixture_commit(&test);
    }
    assert_null(topic_table_find(&test.store->queue->topics, text("t"))->topic);
    expect(DUEQ_SPAN_WAIT, DUEQ_WINDOW_ALL, 1, 9);
}

/* With memory for a few topics only those used last have times, and all goes on. */
static void memory_is_bounded(void **state)
{
    struct latencies *latencies = &test.store->queue->latencies;

    (void)state;
    latencies->limit = 64 * 1024;
    for (int i = 0; i < 1000; i++) {
        push(name_of(i), 0);
        push(name_of(i), 0);
        store_fixture_pass(&test, 7 * i);
        work(name_of(i), DUEQ_NEVER, i);
        store_fixture_commit(&test);
        assert_true(latencies->bytes <= latencies->limit);
    }
    assert_int_equal(read_times(name_of(0), DUEQ_SPAN_WAIT, DUEQ_WINDOW_ALL).count, 0);
    assert_int_equal(read_times(name_of(999), DUEQ_SPAN_WAIT, DUEQ_WINDOW_ALL).count, 1);
    work(name_of(0), DUEQ_NEVER, 0);
    assert_int_equal(read_times(name_of(0), DUEQ_SPAN_RUN, DUEQ_WINDOW_ALL).count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_time_is_in_a_bucket_that_is_hardly_longer),
        cmocka_unit_test(quantiles_are_those_of_all_times),
        cmocka_unit_test(windows_slide),
        store_fixture_test(a_topic_counts_wait_run_and_lateness, test),
        store_fixture_test(lateness_begins_when_a_claim_waits, test),
        store_fixture_test(old_times_leave_the_windows, test),
        store_fixture_test(a_dropped_topic_begins_anew, test),
        store_fixture_test(without_a_topic_there_is_nothing, test),
        store_fixture_test(topics_without_claims_cost_nothing, test),
        store_fixture_test(a_topic_that_sleeps_keeps_its_times, test),
        store_fixture_test(memory_is_bounded, test)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
