#include "server/info/info_latency.h"

#include "server/info/info_sections.h"
#include "server/server.h"
#include "server/statistics/command_stats.h"
#include "storage/store.h"

#include <inttypes.h>

static const uint64_t shares[] = {500, 990, 999}; /* thousandths */

enum { SHARES = 3 };

/* The first bucket up to which there is such a share of all. */
static int quantile(const uint64_t *buckets, int count, uint64_t all, uint64_t share)
{
    uint64_t rank = all - all * (1000 - share) / 1000, seen = buckets[0];
    int bucket = 0;

    while (seen < rank && bucket < count - 1)
        seen += buckets[++bucket];
    return bucket;
}

static void write_command(struct buffer *text, const struct command *command)
{
    const struct command_stats *stats = command_stats_of(command);
    uint64_t bounds[SHARES];

    if (stats->timed == 0)
        return;
    for (int i = 0; i < SHARES; i++)
        bounds[i] = command_stats_bound(
            quantile(stats->histogram, HISTOGRAM_BUCKETS, stats->timed, shares[i]));
    info_line(text,
              "latency_percentiles_usec_%s:p50=%" PRIu64 ".000,p99=%" PRIu64
              ".000,p99.9=%" PRIu64 ".000",
              command_full_name(command), bounds[0], bounds[1], bounds[2]);
}

static void write_spans(struct buffer *text, const char *name, const struct dueq_spans *spans)
{
    uint64_t bounds[SHARES];

    for (int i = 0; i < SHARES; i++)
        bounds[i] = spans->count == 0
                        ? 0
                        : UINT64_C(1) << quantile(spans->buckets, DUEQ_SPAN_BUCKETS,
                                                  spans->count, shares[i]);
    info_line(text, "%s:p50=%" PRIu64 ",p99=%" PRIu64 ",p99.9=%" PRIu64 ",count=%" PRIu64, name,
              bounds[0], bounds[1], bounds[2], spans->count);
}

static void write_store(struct buffer *text, const struct dueq *store)
{
    struct dueq_stats stats;

    dueq_get_stats(store, &stats);
    write_spans(text, "sync_percentiles_usec", &stats.sync_spans);
    write_spans(text, "checkpoint_percentiles_usec", &stats.checkpoint_spans);
    write_spans(text, "job_wait_percentiles_msec", dueq_get_spans(store, DUEQ_SPAN_WAIT));
    write_spans(text, "job_run_percentiles_msec", dueq_get_spans(store, DUEQ_SPAN_RUN));
    write_spans(text, "job_lateness_percentiles_msec", dueq_get_spans(store, DUEQ_SPAN_LATE));
}

void info_latency(struct context *context, struct buffer *text)
{
    for (size_t i = 0; i < command_count(); i++) {
        const struct command *command = command_at(i), *sub = command->subcommands;

        write_command(text, command);
        for (; sub != NULL && sub->name != NULL; sub++)
            write_command(text, sub);
    }
    write_spans(text, "turn_percentiles_usec", &context->server->turn.took);
    if (context->store != NULL)
        write_store(text, context->store);
}
