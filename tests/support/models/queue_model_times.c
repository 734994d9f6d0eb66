#include "tests/support/models/queue_model_times.h"

#include "tests/support/models/queue_model.h"

#include <stdlib.h>

#include "tests/support/cmocka.h"

/* A minute is the period that runs and the 6 before it; five are the minute that runs and the 5
 * before it. Both begin with the first time of the topic. */
enum { PERIOD_MS = 10 * 1000, SHORT = 6, LONG = 5, PERIODS_IN_LONG = 6 };

void model_note_time(struct queue_model *model, int topic, enum dueq_span span, int64_t ms,
                     struct dueq_time time)
{
    struct model_times *times = model->times;

    if (times == NULL)
        return;
    assert_true(times->count < MODEL_TIMES_MOST);
    times->list[times->count++] = (struct model_time){
        .topic = topic, .span = span, .ms = ms > 0 ? ms : 0, .at = time.now};
}

void model_forget_times(struct queue_model *model, int topic)
{
    struct model_times *times = model->times;
    size_t kept = 0;

    for (size_t i = 0; times != NULL && i < times->count; i++)
        if (times->list[i].topic != topic)
            times->list[kept++] = times->list[i];
    if (times != NULL)
        times->count = kept;
}

static bool is_in(int64_t at, enum dueq_window window, int64_t since, int64_t now)
{
    int64_t then = (at - since) / PERIOD_MS, present = (now - since) / PERIOD_MS;

    switch (window) {
    case DUEQ_WINDOW_MINUTE:
        return then >= present - SHORT;
    case DUEQ_WINDOW_5_MINUTES:
        return then / PERIODS_IN_LONG >= present / PERIODS_IN_LONG - LONG;
    default:
        return true;
    }
}

static int compare(const void *one, const void *two)
{
    int64_t left = *(const int64_t *)one, right = *(const int64_t *)two;

    return (left > right) - (left < right);
}

/* The least time that so many thousandths of the times do not exceed. */
static int64_t quantile(const int64_t *sorted, size_t count, size_t thousandths)
{
    return count == 0 ? 0 : sorted[(count * thousandths + 999) / 1000 - 1];
}

static struct dueq_quantiles read_some(const struct model_times *times, int topic,
                                       enum dueq_span span, enum dueq_window window,
                                       int64_t since, int64_t now)
{
    static int64_t sorted[MODEL_TIMES_MOST];
    size_t count = 0;

    for (size_t i = 0; i < times->count; i++) {
        const struct model_time *one = &times->list[i];

        if (one->topic == topic && one->span == span && is_in(one->at, window, since, now))
            sorted[count++] = one->ms;
    }
    qsort(sorted, count, sizeof(*sorted), compare);
    return (struct dueq_quantiles){.count = count,
                                   .p50 = quantile(sorted, count, 500),
                                   .p99 = quantile(sorted, count, 990),
                                   .p999 = quantile(sorted, count, 999),
                                   .max = quantile(sorted, count, 1000)};
}

void model_read_times(const struct queue_model *model, int topic, struct dueq_time time,
                      struct dueq_latencies *ret_latencies)
{
    const struct model_times *times = model->times;

    *ret_latencies = (struct dueq_latencies){.since = DUEQ_NEVER};
    for (size_t i = times->count; i-- > 0;)
        if (times->list[i].topic == topic)
            ret_latencies->since = times->list[i].at;
    for (int span = 0; span < DUEQ_SPANS; span++)
        for (int window = 0; window < DUEQ_WINDOWS; window++)
            ret_latencies->times[span][window] =
                read_some(times, topic, (enum dueq_span)span, (enum dueq_window)window,
                          ret_latencies->since, time.now);
}
