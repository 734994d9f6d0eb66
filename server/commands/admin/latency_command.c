/* LATENCY: events that took long, and histograms of commands. */
#include "server/commands/database.h"
#include "server/commands/wide.h"
#include "server/dispatch/arguments.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/docs/command_help.h"
#include "server/server.h"
#include "server/statistics/command_stats.h"

#include <inttypes.h>
#include <stdio.h>

/* NULL: there is no such event. */
static struct latency_series *find_series(const struct context *context, size_t index)
{
    for (int event = 0; event < LATENCY_EVENTS; event++)
        if (arguments_is(context, index, latency_event_name((enum latency_event)event)))
            return &context->server->latency.series[event];
    return NULL;
}

/* ---- HISTORY, LATEST, RESET */

static enum outcome run_latency_history(struct context *context)
{
    const struct latency_series *series = find_series(context, 2);
    size_t count = series == NULL ? 0 : series->count;

    resp_array(context->reply, count);
    for (size_t i = 0; i < count; i++) {
        const struct latency_sample *sample = latency_sample_at(series, i);

        resp_array(context->reply, 2);
        resp_integer(context->reply, sample->time);
        resp_integer(context->reply, (int64_t)sample->ms);
    }
    return OUTCOME_DONE;
}

static enum outcome run_latency_latest(struct context *context)
{
    size_t mark = resp_deferred(context->reply), found = 0;

    for (int event = 0; event < LATENCY_EVENTS; event++) {
        const struct latency_series *series = &context->server->latency.series[event];
        const struct latency_sample *last;

        if (series->count == 0)
            continue;
        last = latency_sample_at(series, series->count - 1);
        resp_array(context->reply, 4);
        resp_string(context->reply, latency_event_name((enum latency_event)event));
        resp_integer(context->reply, last->time);
        resp_integer(context->reply, (int64_t)last->ms);
        resp_integer(context->reply, (int64_t)series->worst);
        found++;
    }
    resp_deferred_array(context->reply, mark, found);
    return OUTCOME_DONE;
}

static int64_t reset(struct latency_series *series)
{
    bool any = series != NULL && series->count > 0;

    if (any)
        latency_reset(series);
    return any;
}

static enum outcome reset_all(struct context *context)
{
    int64_t done = 0;

    for (int event = 0; event < LATENCY_EVENTS; event++)
        done += reset(&context->server->latency.series[event]);
    return context_reply_integer(context, done);
}

static bool reset_one(struct context *context, struct wide *wide)
{
    wide->count += reset(find_series(context, wide->at));
    return true;
}

static enum outcome run_latency_reset(struct context *context)
{
    static const struct wide_form form = {
        .first = 2, .stride = 1, .lets_others = true, .take = reset_one, .end = wide_end_count};

    return context_count(context) == 2 ? reset_all(context) : wide_run(context, &form);
}

/* ---- GRAPH, DOCTOR */

enum { GRAPH_ROWS = 4, GRAPH_COLUMNS = 80, GRAPH_AGE = 3, AGE_ROOM = 24 };

struct summary {
    uint64_t high, low, sum;
};

static struct summary sum_up(const struct latency_series *series)
{
    struct summary summary = {0, UINT64_MAX, 0};

    for (size_t i = 0; i < series->count; i++) {
        uint64_t ms = latency_sample_at(series, i)->ms;

        summary.high = ms > summary.high ? ms : summary.high;
        summary.low = ms < summary.low ? ms : summary.low;
        summary.sum += ms;
    }
    return summary;
}

/* The character of a sample's column in a row; row 0 is the lowest. */
static char bar(uint64_t ms, const struct summary *summary, uint64_t row)
{
    uint64_t span = summary->high - summary->low;
    uint64_t level = span == 0 ? 0 : (ms - summary->low) * (GRAPH_ROWS - 1) / span;

    if (row > level)
        return ' ';
    if (row < level)
        return '|';
    return ms == summary->high ? '#' : level == 0 ? '_' : 'o';
}

static void write_age(char *text, int64_t seconds)
{
    static const struct {
        int64_t size;
        char letter;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    size_t unit = 0;

    while (unit < 3 && seconds < units[unit].size)
        unit++;
    seconds /= units[unit].size;
    snprintf(text, AGE_ROOM, "%" PRId64 "%c", seconds > 99 ? 99 : seconds, units[unit].letter);
}

static void write_columns(struct buffer *text, const struct latency_series *series,
                          const struct summary *summary, int64_t now)
{
    size_t first = series->count > GRAPH_COLUMNS ? series->count - GRAPH_COLUMNS : 0;

    for (uint64_t row = GRAPH_ROWS; row-- > 0; buffer_append(text, "\n", 1))
        for (size_t i = first; i < series->count; i++) {
            char mark = bar(latency_sample_at(series, i)->ms, summary, row);

            buffer_append(text, &mark, 1);
        }
    for (int digit = 0; digit < GRAPH_AGE; digit++) {
        buffer_append(text, "\n", 1);
        for (size_t i = first; i < series->count; i++) {
            char age[AGE_ROOM] = "";

            write_age(age, now - latency_sample_at(series, i)->time);
            buffer_append(text, age[digit] == '\0' ? " " : &age[digit], 1);
        }
    }
    buffer_append(text, "\n", 1);
}

static enum outcome reply_text(struct context *context, struct buffer *text)
{
    resp_verbatim(context->reply, "txt", buffer_content(text), buffer_size(text));
    buffer_release(text);
    return OUTCOME_DONE;
}

static enum outcome run_latency_graph(struct context *context)
{
    const struct latency_series *series = find_series(context, 2);
    struct summary summary;
    struct buffer text;
    char line[256];
    int size;

    if (series == NULL || series->count == 0) {
        resp_errorf(context->reply, "ERR No samples available for event '%.128s'",
                    context_argument(context, 2).data);
        return OUTCOME_DONE;
    }
    summary = sum_up(series);
    buffer_init(&text, 1 << 16);
    size = snprintf(
        line, sizeof(line),
        "%s - high %" PRIu64 " ms, low %" PRIu64 " ms (all time high %" PRIu64 " ms)\n%.80s\n",
        latency_event_name((enum latency_event)(series - context->server->latency.series)),
        summary.high, summary.low, series->worst,
        "--------------------------------------------------------------------------"
        "------");
    buffer_append(&text, line, (size_t)size);
    write_columns(&text, series, &summary, context->now.wall / 1000);
    return reply_text(context, &text);
}

static const char *advice(enum latency_event event)
{
    switch (event) {
    case LATENCY_COMMAND:
        return "SLOWLOG GET names the slow ones.";
    case LATENCY_FAST_COMMAND:
        return "These should be fast whatever they are given: is the processor taken by "
               "others, "
               "or the disk slow to read?";
    case LATENCY_TICK:
        return "Much fell due or expired at once.";
    case LATENCY_COMMIT:
    case LATENCY_EVENTS:
        break;
    }
    return "The disk takes writes slowly: INFO journal has what syncs and checkpoints took.";
}

static size_t diagnose(struct context *context, struct buffer *text)
{
    size_t found = 0;

    for (int event = 0; event < LATENCY_EVENTS; event++) {
        const struct latency_series *series = &context->server->latency.series[event];
        char line[512];
        int size;

        if (series->count == 0)
            continue;
        size = snprintf(line, sizeof(line),
                        "%zu. %s: %zu latency spikes (average %" PRIu64
                        "ms). Worst all time event %" PRIu64 "ms. %s\n",
                        ++found, latency_event_name((enum latency_event)event), series->count,
                        sum_up(series).sum / series->count, series->worst,
                        advice((enum latency_event)event));
        buffer_append(text, line, (size_t)size);
    }
    return found;
}

static enum outcome run_latency_doctor(struct context *context)
{
    static const char off[] = "Latency is not watched. CONFIG SET latency-monitor-threshold "
                              "<milliseconds> turns that on.\n";
    static const char fine[] = "Nothing has taken as long as latency-monitor-threshold says.\n";
    struct buffer text;

    buffer_init(&text, 1 << 16);
    if (diagnose(context, &text) == 0) {
        if (context->server->config.latency_threshold == 0)
            buffer_append(&text, off, sizeof(off) - 1);
        else
            buffer_append(&text, fine, sizeof(fine) - 1);
    }
    return reply_text(context, &text);
}

/* ---- HISTOGRAM */

enum { HISTOGRAM_STEPS = 8 }; /* of a command, which may have subcommands */

/* True: the command has run. */
static bool write_histogram(struct context *context, const struct command *command)
{
    const struct command_stats *stats = command_stats_of(command);
    struct resp_writer *reply = context->reply;
    uint64_t sum = 0;
    size_t mark, found = 0;

    if (stats->timed == 0)
        return false;
    resp_string(reply, command_full_name(command));
    resp_map(reply, 2);
    resp_string(reply, "calls");
    resp_integer(reply, (int64_t)stats->timed);
    resp_string(reply, "histogram_usec");
    mark = resp_deferred(reply);
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (stats->histogram[i] == 0)
            continue;
        sum += stats->histogram[i];
        resp_integer(reply, (int64_t)command_stats_bound(i));
        resp_integer(reply, (int64_t)sum);
        found++;
    }
    resp_deferred_map(reply, mark, found);
    return true;
}

/* Writes those of its subcommands, too. Returns the number written. */
static size_t write_histograms(struct context *context, const struct command *command)
{
    const struct command *sub = command->subcommands;
    size_t found = write_histogram(context, command);

    for (; sub != NULL && sub->name != NULL; sub++)
        found += write_histogram(context, sub);
    return found;
}

static enum outcome write_all(struct context *context)
{
    size_t mark = resp_deferred(context->reply), found = 0;

    for (size_t i = 0; i < command_count(); i++)
        found += write_histograms(context, command_at(i));
    resp_deferred_map(context->reply, mark, found);
    return OUTCOME_DONE;
}

static bool write_named(struct context *context, struct wide *wide)
{
    const struct command *command = command_find(context_argument(context, wide->at));

    if (command != NULL)
        wide->count += (int64_t)write_histograms(context, command);
    return true;
}

static enum outcome run_latency_histogram(struct context *context)
{
    static const struct wide_form form = {.first = 2,
                                          .stride = 1,
                                          .weight = HISTOGRAM_STEPS,
                                          .lets_others = true,
                                          .begin = wide_begin_map,
                                          .take = write_named,
                                          .end = wide_end_map};

    return context_count(context) == 2 ? write_all(context) : wide_run(context, &form);
}

/* ---- commands */

static const struct command latency_subcommands[] = {
    {.name = "help",
     .arity = 2,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "2.8.13",
     .summary = "Show helpful text about the different subcommands.",
     .complexity = "O(1)",
     .syntax = "",
     .run = run_container_help},
    {.name = "doctor",
     .arity = 2,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "2.8.13",
     .summary = "Return a human readable latency analysis report.",
     .complexity = "O(1)",
     .syntax = "",
     .tips = "nondeterministic_output request_policy:all_nodes response_policy:special",
     .run = run_latency_doctor},
    {.name = "history",
     .arity = 3,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "2.8.13",
     .summary = "Return timestamp-latency samples for the event.",
     .complexity = "O(1)",
     .syntax = "event",
     .tips = "nondeterministic_output request_policy:all_nodes response_policy:special",
     .run = run_latency_history},
    {.name = "graph",
     .arity = 3,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "2.8.13",
     .summary = "Return a latency graph for the event.",
     .complexity = "O(1)",
     .syntax = "event",
     .tips = "nondeterministic_output request_policy:all_nodes response_policy:special",
     .run = run_latency_graph},
    {.name = "histogram",
     .arity = -2,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "7.0.0",
     .summary =
         "Return the cumulative distribution of latencies of a subset of commands or all.",
     .complexity =
         "O(N) where N is the number of commands with latency information being retrieved.",
     .syntax = "[command [command ...]]",
     .tips = "nondeterministic_output request_policy:all_nodes response_policy:special",
     .run = run_latency_histogram},
    {.name = "reset",
     .arity = -2,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "2.8.13",
     .summary = "Reset latency data for one or more events.",
     .complexity = "O(1)",
     .syntax = "[event [event ...]]",
     .tips = "request_policy:all_nodes response_policy:all_succeeded",
     .run = run_latency_reset},
    {.name = "latest",
     .arity = 2,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "2.8.13",
     .summary = "Return the latest latency samples for all events.",
     .complexity = "O(1)",
     .syntax = "",
     .tips = "nondeterministic_output request_policy:all_nodes response_policy:special",
     .run = run_latency_latest},
    {.name = NULL}};

static const struct command entries[] = {
    {.name = "latency",
     .arity = -2,
     .flags = 0,
     .group = "server",
     .since = "2.8.13",
     .summary = "A container for latency diagnostics commands",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .subcommands = latency_subcommands},
    {.name = NULL}};

COMMANDS(latency, entries)
