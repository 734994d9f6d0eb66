#include "server/http/topic_row.h"

#include "server/http/fields.h"

bool topic_row_take(struct server *server, struct dueq_slice name, struct topic_row *ret_row)
{
    static const unsigned limits[] = {DUEQ_SET_CONCURRENCY, DUEQ_SET_GROUP_CONCURRENCY};
    struct topic_row row = {.in_rate = -1, .out_rate = -1};

    if (server->store == NULL ||
        dueq_topic_stats(server->store, name, server->now, &row.stats) != DUEQ_OK)
        return false;
    row.is_limited = row.stats.rated;
    for (size_t i = 0; i < 2 && !row.is_limited; i++)
        row.is_limited = dueq_setting_source(server->store, name, limits[i]).size > 0;
    *ret_row = row;
    return true;
}

uint64_t topic_row_ended(const struct dueq_topic_stats *stats)
{
    return stats->acked + stats->dead;
}

void topic_row_measure(struct topic_row *row, uint64_t pushed, uint64_t ended, int64_t ms)
{
    uint64_t now = topic_row_ended(&row->stats);

    if (ms <= 0 || row->stats.pushed < pushed || now < ended)
        return;
    row->in_rate = (double)(row->stats.pushed - pushed) * 1000 / (double)ms;
    row->out_rate = (double)(now - ended) * 1000 / (double)ms;
}

static void write_rate(const char *name, double rate, struct buffer *out)
{
    if (rate < 0)
        fields_none(out, name);
    else
        fields_fraction(out, name, rate);
}

static void write_totals(const struct dueq_topic_stats *stats, struct buffer *out)
{
    fields_open(out, "total", '{');
    fields_count(out, "pushed", stats->pushed);
    fields_count(out, "claimed", stats->claimed);
    fields_count(out, "acked", stats->acked);
    fields_count(out, "nacked", stats->nacked);
    fields_count(out, "expired", stats->leases_expired);
    fields_count(out, "dead", stats->dead);
    fields_close(out, '}');
}

static const char *pause_of(const struct dueq_topic_stats *stats)
{
    if (!stats->paused_in && !stats->paused_out)
        return NULL;
    return !stats->paused_out ? "in" : stats->paused_in ? "all" : "out";
}

void topic_row_write(const struct topic_row *row, struct dueq_slice name, struct buffer *out)
{
    const struct dueq_topic_stats *stats = &row->stats;

    fields_bytes(out, "name", name.data, name.size);
    for (int state = 0; state < DUEQ_STATES; state++)
        fields_count(out, dueq_state_name((enum dueq_state)state), stats->counts[state]);
    fields_count(out, "bytes", stats->bytes);
    fields_number(out, "oldest_ready_ms", stats->oldest_ready_age);
    fields_known(out, "next_due", stats->next_due, stats->next_due != DUEQ_NEVER);
    fields_string(out, "paused", pause_of(stats));
    fields_known(out, "paused_until", stats->paused_until,
                 stats->paused_until != 0 && stats->paused_until != DUEQ_NEVER);
    fields_flag(out, "limited", row->is_limited);
    fields_flag(out, "counting", stats->counting);
    write_totals(stats, out);
    write_rate("in_rate", row->in_rate, out);
    write_rate("out_rate", row->out_rate, out);
}
