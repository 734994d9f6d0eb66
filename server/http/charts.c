#include "server/http/charts.h"

#include "server/http/fields.h"
#include "server/http/charts_file.h"
#include "storage/store.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int64_t step_ms;
    size_t length;
} ranges[CHARTS_RANGES] = {[CHARTS_MINUTES] = {"minutes", 10 * 1000, 90},
                           [CHARTS_HOURS] = {"hours", 60 * 1000, 180},
                           [CHARTS_DAY] = {"day", 600 * 1000, 144}};

static const char *const column_names[CHARTS_COLUMNS] = {
    "pushed",   "claimed",  "acked",   "failed",  "ready",       "delayed",
    "wait_p50", "wait_p99", "run_p50", "run_p99", "lateness_p99"};

const char *charts_range_name(enum charts_range range)
{
    return ranges[range].name;
}

int64_t charts_step_ms(enum charts_range range)
{
    return ranges[range].step_ms;
}

size_t charts_length(enum charts_range range)
{
    return ranges[range].length;
}

#define NEVER (INT64_MIN / 2)

/* Of a topic, or of the server. */
struct series {
    char name[DUEQ_NAME_MAX];
    size_t name_size; /* 0: unused, or the server's */
    bool is_used, has_before;
    uint64_t before[CHARTS_FAILED + 1];  /* totals at the last look */
    struct dueq_spans spans[DUEQ_SPANS]; /* the same; of the server only */
    int64_t asked, changed;              /* monotonic ms; NEVER */
    struct charts_point points[CHARTS_RANGES][CHARTS_POINTS_MAX];
};

struct charts {
    struct server *server;
    struct event *timer;
    bool has_looked;
    uint32_t day_slot;       /* of the last look */
    uint32_t ready, delayed; /* the same, of the server */
    struct series *all;
    struct series *topics[CHARTS_TOPICS_MAX]; /* NULL: unused */
};

/* ---- points */

static uint32_t slot_of(const struct charts *charts, enum charts_range range)
{
    return (uint32_t)(charts->server->clock.last.wall / ranges[range].step_ms);
}

static struct charts_point *place(struct series *series, enum charts_range range, uint32_t slot)
{
    return &series->points[range][slot % ranges[range].length];
}

static struct charts_point empty_point(uint32_t slot)
{
    struct charts_point point = {.slot = slot};

    for (int i = CHARTS_WAIT_P50; i < CHARTS_COLUMNS; i++)
        point.of[i] = CHARTS_UNKNOWN;
    return point;
}

static uint32_t add(uint32_t one, uint32_t other)
{
    uint64_t sum = (uint64_t)one + other;

    return sum < CHARTS_UNKNOWN ? (uint32_t)sum : CHARTS_UNKNOWN - 1;
}

/* Adds what a look has found to a point. */
static void merge(struct charts_point *point, const uint32_t *seen)
{
    for (int i = 0; i <= CHARTS_FAILED; i++)
        point->of[i] = add(point->of[i], seen[i]);
    point->of[CHARTS_READY] = seen[CHARTS_READY];
    point->of[CHARTS_DELAYED] = seen[CHARTS_DELAYED];
    for (int i = CHARTS_WAIT_P50; i < CHARTS_COLUMNS; i++)
        if (seen[i] != CHARTS_UNKNOWN &&
            (point->of[i] == CHARTS_UNKNOWN || seen[i] > point->of[i]))
            point->of[i] = seen[i];
}

static void note(struct charts *charts, struct series *series, const uint32_t *seen)
{
    for (int range = 0; range < CHARTS_RANGES; range++) {
        uint32_t slot = slot_of(charts, (enum charts_range)range);
        struct charts_point *point = place(series, (enum charts_range)range, slot);

        if (point->slot != slot)
            *point = empty_point(slot);
        merge(point, seen);
    }
}

/* ---- looks */

static uint32_t bounded(uint64_t number)
{
    return number < CHARTS_UNKNOWN ? (uint32_t)number : CHARTS_UNKNOWN - 1;
}

/* A topic that was dropped and made anew counts from 0. */
static uint64_t since(uint64_t before, uint64_t now)
{
    return now >= before ? now - before : now;
}

/* True: something has changed. */
static bool see_counts(struct series *series, const struct dueq_topic_stats *stats,
                       uint32_t *seen)
{
    uint64_t totals[CHARTS_FAILED + 1] = {stats->pushed, stats->claimed, stats->acked,
                                          stats->nacked + stats->leases_expired};
    bool has_changed = false;

    for (int i = 0; i <= CHARTS_FAILED; i++) {
        seen[i] = series->has_before ? bounded(since(series->before[i], totals[i])) : 0;
        series->before[i] = totals[i];
        has_changed |= seen[i] > 0;
    }
    has_changed |= !series->has_before;
    series->has_before = true;
    seen[CHARTS_READY] = bounded(stats->counts[DUEQ_READY]);
    seen[CHARTS_DELAYED] = bounded(stats->counts[DUEQ_DELAYED]);
    return has_changed;
}

static void see_times(const struct dueq_latencies *latencies, uint32_t *seen)
{
    const struct dueq_quantiles *wait = &latencies->times[DUEQ_SPAN_WAIT][DUEQ_WINDOW_MINUTE],
                                *run = &latencies->times[DUEQ_SPAN_RUN][DUEQ_WINDOW_MINUTE],
                                *late = &latencies->times[DUEQ_SPAN_LATE][DUEQ_WINDOW_MINUTE];

    if (wait->count > 0) {
        seen[CHARTS_WAIT_P50] = bounded((uint64_t)wait->p50);
        seen[CHARTS_WAIT_P99] = bounded((uint64_t)wait->p99);
    }
    if (run->count > 0) {
        seen[CHARTS_RUN_P50] = bounded((uint64_t)run->p50);
        seen[CHARTS_RUN_P99] = bounded((uint64_t)run->p99);
    }
    if (late->count > 0)
        seen[CHARTS_LATE_P99] = bounded((uint64_t)late->p99);
}

static void look_at_topic(struct charts *charts, struct series *series)
{
    struct server *server = charts->server;
    struct dueq_slice name = dueq_slice(series->name, series->name_size);
    struct charts_point point = empty_point(0);
    struct dueq_topic_stats stats = {.next_due = DUEQ_NEVER};
    struct dueq_latencies latencies;
    bool is_first = !series->has_before; /* nothing is known to have happened */

    if (dueq_topic_stats(server->store, name, server->now, &stats) != DUEQ_OK) {
        series->has_before = false;
        return;
    }
    if (see_counts(series, &stats, point.of) && !is_first)
        series->changed = server->clock.last.monotonic;
    if (dueq_topic_latencies(server->store, name, server->now, &latencies) == DUEQ_OK)
        see_times(&latencies, point.of);
    note(charts, series, point.of);
}

/* Of the times since the last look the first bucket up to which there is such a share of them;
 * ms, at most twice too long. */
static uint32_t quantile(const struct dueq_spans *before, const struct dueq_spans *now,
                         uint64_t percent)
{
    uint64_t count = now->count - before->count, seen = 0;

    if (now->count <= before->count)
        return CHARTS_UNKNOWN;
    for (int i = 0; i < DUEQ_SPAN_BUCKETS; i++) {
        seen += now->buckets[i] - before->buckets[i];
        if (seen * 100 >= count * percent)
            return (uint32_t)1 << i;
    }
    return (uint32_t)1 << (DUEQ_SPAN_BUCKETS - 1);
}

static void see_spans(struct charts *charts, uint32_t *seen)
{
    struct series *all = charts->all;

    for (int span = 0; span < DUEQ_SPANS; span++) {
        const struct dueq_spans *now =
            dueq_get_spans(charts->server->store, (enum dueq_span)span);
        uint32_t half = quantile(&all->spans[span], now, 50),
                 most = quantile(&all->spans[span], now, 99);

        if (charts->has_looked && span == DUEQ_SPAN_WAIT) {
            seen[CHARTS_WAIT_P50] = half;
            seen[CHARTS_WAIT_P99] = most;
        } else if (charts->has_looked && span == DUEQ_SPAN_RUN) {
            seen[CHARTS_RUN_P50] = half;
            seen[CHARTS_RUN_P99] = most;
        } else if (charts->has_looked) {
            seen[CHARTS_LATE_P99] = most;
        }
        all->spans[span] = *now;
    }
}

/* True: something has changed. */
static bool look_at_all(struct charts *charts)
{
    struct server *server = charts->server;
    struct charts_point point = empty_point(0);
    struct dueq_topic_stats stats;
    bool has_changed;

    if (dueq_total_stats(server->store, server->now, &stats) != DUEQ_OK)
        return false;
    has_changed = see_counts(charts->all, &stats, point.of) ||
                  point.of[CHARTS_READY] != charts->ready ||
                  point.of[CHARTS_DELAYED] != charts->delayed;
    charts->ready = point.of[CHARTS_READY];
    charts->delayed = point.of[CHARTS_DELAYED];
    see_spans(charts, point.of);
    note(charts, charts->all, point.of);
    return has_changed;
}

/* ---- which topics */

static struct series *find(const struct charts *charts, struct dueq_slice name)
{
    for (size_t i = 0; i < CHARTS_TOPICS_MAX; i++) {
        struct series *series = charts->topics[i];

        if (series != NULL && series->name_size == name.size &&
            memcmp(series->name, name.data, name.size) == 0)
            return series;
    }
    return NULL;
}

/* Of two places the one that was changed less recently, or asked for. */
static struct series **choose(struct series **best, struct series **at)
{
    bool is_better = best == NULL || (*at)->changed < (*best)->changed ||
                     ((*at)->changed == (*best)->changed && (*at)->asked < (*best)->asked);

    return is_better ? at : best;
}

/* What is taken from when no place is free. */
struct taken {
    int64_t now;
    struct series **quiet, **busy; /* the best of each kind; NULL: none */
    size_t busy_count;
};

static bool was_since(const struct taken *from, int64_t moment, int64_t ms)
{
    return from->now - moment < ms;
}

static void consider(struct taken *from, struct series **at)
{
    bool is_busy = was_since(from, (*at)->changed, CHARTS_KEPT_MS);

    from->busy_count += is_busy;
    if (was_since(from, (*at)->asked, CHARTS_WATCHED_MS))
        return;
    if (is_busy)
        from->busy = choose(from->busy, at);
    else if (from->quiet == NULL || (*at)->asked < (*from->quiet)->asked)
        from->quiet = at;
}

/* A place for a topic that somebody asks for, or else in which something happens (charts.h).
 * NULL: each is better used. */
static struct series **find_place(struct charts *charts, bool is_asked)
{
    struct taken from = {.now = charts->server->clock.last.monotonic};

    for (size_t i = 0; i < CHARTS_TOPICS_MAX; i++) {
        if (charts->topics[i] == NULL)
            return &charts->topics[i];
        consider(&from, &charts->topics[i]);
    }
    if (is_asked && from.quiet == NULL)
        return from.busy_count > CHARTS_TOPICS_MAX / 2 ? from.busy : NULL;
    if (is_asked || from.quiet == NULL || from.busy_count < CHARTS_TOPICS_MAX / 2)
        return from.quiet;
    return was_since(&from, (*from.quiet)->asked, CHARTS_KEPT_MS) ? NULL : from.quiet;
}

/* NULL: no memory, or no place. */
static struct series *add_topic(struct charts *charts, struct dueq_slice name, bool is_asked)
{
    struct series **at = find_place(charts, is_asked);
    struct series *series;

    if (at == NULL || name.size == 0 || name.size > DUEQ_NAME_MAX)
        return NULL;
    series = calloc(1, sizeof(*series));
    if (series == NULL)
        return NULL;
    memcpy(series->name, name.data, name.size);
    series->name_size = name.size;
    series->asked = NEVER;
    series->changed = is_asked ? NEVER : charts->server->clock.last.monotonic;
    free(*at);
    *at = series;
    return series;
}

static void add_recent(struct charts *charts)
{
    struct dueq_slice names[CHARTS_TOPICS_MAX];
    size_t count = dueq_recent_topics(charts->server->store, names, CHARTS_TOPICS_MAX);

    for (size_t i = 0; i < count; i++)
        if (find(charts, names[i]) == NULL)
            add_topic(charts, names[i], false);
}

/* ---- the clock */

/* Every ten minutes a point of each is kept. */
static void keep(struct charts *charts)
{
    const struct config *config = &charts->server->config;
    uint32_t slot = slot_of(charts, CHARTS_DAY), before = charts->day_slot;

    charts->day_slot = slot;
    if (before == 0 || slot == before || !config->dashboard_history)
        return;
    if (!charts_file_add(charts, config->dir, before))
        log_write_limited(LOG_WARNING, "dashboard.history: %s", strerror(errno));
}

static void look(struct charts *charts)
{
    bool has_changed;

    keep(charts);
    has_changed = look_at_all(charts);
    add_recent(charts);
    for (size_t i = 0; i < CHARTS_TOPICS_MAX; i++)
        if (charts->topics[i] != NULL)
            look_at_topic(charts, charts->topics[i]);
    store_settle(charts->server->store);
    charts->has_looked = true;
    if (has_changed)
        charts_wake(charts);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct charts *charts = arg;

    (void)fd;
    (void)what;
    server_begin_turn(charts->server);
    server_update_clock(charts->server);
    if (charts->server->store != NULL)
        look(charts);
}

void charts_wake(struct charts *charts)
{
    static const struct timeval wait = {CHARTS_LOOK_MS / 1000, 0};

    if (!event_pending(charts->timer, EV_TIMEOUT, NULL))
        event_add(charts->timer, &wait);
}

/* ---- life */

struct charts *charts_new(struct server *server)
{
    struct charts *charts = calloc(1, sizeof(*charts));

    if (charts == NULL)
        return NULL;
    charts->server = server;
    charts->all = calloc(1, sizeof(*charts->all));
    charts->timer = evtimer_new(server->base, on_timer, charts);
    if (charts->all == NULL || charts->timer == NULL) {
        charts_free(charts);
        return NULL;
    }
    if (server->config.dashboard_history)
        charts_file_read(charts, server->config.dir);
    charts_wake(charts);
    return charts;
}

void charts_free(struct charts *charts)
{
    if (charts == NULL)
        return;
    if (charts->has_looked && charts->server->config.dashboard_history &&
        !charts_file_write(charts, charts->server->config.dir))
        log_write(LOG_WARNING, "dashboard.history: %s", strerror(errno));
    if (charts->timer != NULL)
        event_free(charts->timer);
    for (size_t i = 0; i < CHARTS_TOPICS_MAX; i++)
        free(charts->topics[i]);
    free(charts->all);
    free(charts);
}

/* ---- kept */

static void each_of(const struct series *series,
                    void (*fn)(void *arg, struct dueq_slice topic, enum charts_range range,
                               const struct charts_point *point),
                    void *arg)
{
    for (int range = 0; range < CHARTS_RANGES; range++)
        for (size_t i = 0; i < ranges[range].length; i++)
            if (series->points[range][i].slot != 0)
                fn(arg, dueq_slice(series->name, series->name_size), (enum charts_range)range,
                   &series->points[range][i]);
}

void charts_each(const struct charts *charts,
                 void (*fn)(void *arg, struct dueq_slice topic, enum charts_range range,
                            const struct charts_point *point),
                 void *arg)
{
    each_of(charts->all, fn, arg);
    for (size_t i = 0; i < CHARTS_TOPICS_MAX; i++)
        if (charts->topics[i] != NULL)
            each_of(charts->topics[i], fn, arg);
}

/* Of two points in one place the later one counts. */
void charts_restore(struct charts *charts, struct dueq_slice topic, enum charts_range range,
                    const struct charts_point *point)
{
    struct series *series = topic.size == 0 ? charts->all : find(charts, topic);
    struct charts_point *to;

    if (series == NULL)
        series = add_topic(charts, topic, false);
    if (series == NULL)
        return;
    to = place(series, range, point->slot);
    if (point->slot >= to->slot)
        *to = *point;
}

/* ---- shown */

static void write_point(struct buffer *out, const struct charts_point *point, int64_t time,
                        bool is_known)
{
    fields_open(out, NULL, '[');
    fields_number(out, NULL, time);
    for (int i = 0; i < CHARTS_COLUMNS; i++)
        fields_known(out, NULL, point->of[i], is_known && point->of[i] != CHARTS_UNKNOWN);
    fields_close(out, ']');
}

/* A clock that has just begun (1970) has slots before its first one: they are unknown. */
static void write_points(const struct charts *charts, struct series *series,
                         enum charts_range range, struct buffer *out)
{
    static const struct charts_point none;
    int64_t last = slot_of(charts, range), length = (int64_t)ranges[range].length;

    for (int64_t slot = last - length + 1; slot <= last; slot++) {
        bool may_be_known = series != NULL && slot > 0;
        const struct charts_point *point =
            may_be_known ? place(series, range, (uint32_t)slot) : &none;

        write_point(out, point, slot * ranges[range].step_ms,
                    may_be_known && point->slot == slot);
    }
}

static bool is_there(const struct charts *charts, struct dueq_slice topic)
{
    struct server *server = charts->server;
    struct dueq_topic_stats stats;
    bool is_there = server->store != NULL &&
                    dueq_topic_stats(server->store, topic, server->now, &stats) == DUEQ_OK;

    if (server->store != NULL)
        store_settle(server->store);
    return is_there;
}

void charts_write(struct charts *charts, struct dueq_slice topic, enum charts_range range,
                  struct buffer *out)
{
    struct series *series = topic.size == 0 ? charts->all : find(charts, topic);

    if (series == NULL && is_there(charts, topic))
        series = add_topic(charts, topic, true);
    if (series != NULL)
        series->asked = charts->server->clock.last.monotonic;
    fields_open(out, NULL, '{');
    fields_number(out, "step_ms", ranges[range].step_ms);
    fields_open(out, "columns", '[');
    fields_string(out, NULL, "time");
    for (int i = 0; i < CHARTS_COLUMNS; i++)
        fields_string(out, NULL, column_names[i]);
    fields_close(out, ']');
    fields_open(out, "points", '[');
    write_points(charts, series, range, out);
    fields_close(out, ']');
    fields_close(out, '}');
}
