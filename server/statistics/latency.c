#include "server/statistics/latency.h"

#include <assert.h>
#include <string.h>

const char *latency_event_name(enum latency_event event)
{
    static const char *const names[LATENCY_EVENTS] = {"command", "fast-command", "expire-cycle",
                                                      "aof-write"};

    return names[event];
}

static void add_sample(struct latency_series *series, int64_t time, uint64_t ms)
{
    size_t last = (series->next + LATENCY_SAMPLES - 1) % LATENCY_SAMPLES;

    if (series->count > 0 && series->samples[last].time == time) {
        if (ms > series->samples[last].ms)
            series->samples[last].ms = ms;
        return;
    }
    series->samples[series->next] = (struct latency_sample){time, ms};
    series->next = (series->next + 1) % LATENCY_SAMPLES;
    series->count += series->count < LATENCY_SAMPLES;
}

void latency_note(struct latency *latency, enum latency_event event, uint64_t usec,
                  int64_t threshold, int64_t time)
{
    struct latency_series *series = &latency->series[event];
    uint64_t ms = usec / 1000;

    assert(event < LATENCY_EVENTS);
    if (threshold == 0 || ms < (uint64_t)threshold)
        return;
    if (ms > series->worst)
        series->worst = ms;
    add_sample(series, time, ms);
}

void latency_reset(struct latency_series *series)
{
    memset(series, 0, sizeof(*series));
}

const struct latency_sample *latency_sample_at(const struct latency_series *series,
                                               size_t index)
{
    size_t oldest = (series->next + LATENCY_SAMPLES - series->count) % LATENCY_SAMPLES;

    assert(index < series->count);
    return &series->samples[(oldest + index) % LATENCY_SAMPLES];
}
