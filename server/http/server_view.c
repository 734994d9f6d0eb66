#include "server/http/server_view.h"

#include "server/http/health.h"
#include "server/http/fields.h"
#include "server/http/live.h"
#include "server/process/process_memory.h"

enum { RATE_LEAST_MS = 900, RATE_MOST_MS = 60 * 1000 };

/* What the parts are written from. */
struct view {
    struct server *server;
    struct dueq_stats stats;
    struct dueq_topic_stats total;
    struct buffer *out;
};

static void write_health(const struct view *view)
{
    static const char *const names[] = {[HEALTH_READY] = "ready",
                                        [HEALTH_LOADING] = "loading",
                                        [HEALTH_FAILED] = "failed",
                                        [HEALTH_FULL] = "full",
                                        [HEALTH_STOPPING] = "stopping"};
    const struct server *server = view->server;

    fields_string(view->out, "version", DUEQ_VERSION);
    fields_number(view->out, "uptime_ms",
                  server->clock.last.monotonic - server->stats.start_monotonic);
    fields_number(view->out, "now", server->clock.last.wall);
    fields_string(view->out, "health", names[health_now(server)]);
}

static void write_memory(const struct view *view)
{
    struct process_memory memory = process_memory_read();
    uint64_t memtables = view->stats.mapped_bytes, filters = view->stats.run_filter_bytes,
             clients = view->server->client_memory.total, known = memtables + filters + clients;

    fields_open(view->out, "memory", '{');
    fields_count(view->out, "own_bytes", memory.own);
    fields_count(view->out, "resident_bytes", memory.resident);
    fields_count(view->out, "peak_bytes", memory.peak);
    fields_count(view->out, "memtables_bytes", memtables);
    fields_count(view->out, "clients_bytes", clients);
    fields_count(view->out, "filters_bytes", filters);
    fields_count(view->out, "other_bytes", memory.own > known ? memory.own - known : 0);
    fields_count(view->out, "files_bytes",
                 memory.resident > memory.own ? memory.resident - memory.own : 0);
    fields_close(view->out, '}');
}

static void write_store(const struct view *view)
{
    const struct dueq_stats *stats = &view->stats;
    struct server *server = view->server;
    struct buffer *out = view->out;

    fields_open(out, "journal", '{');
    fields_count(out, "bytes", stats->journal_bytes);
    fields_count(out, "segments", stats->journal_segments);
    fields_count(out, "written_bytes", stats->journal_written_bytes);
    fields_count(out, "syncs", stats->syncs);
    fields_count(out, "sync_usec_mean",
                 stats->syncs == 0 ? 0 : stats->sync_usec_total / stats->syncs);
    fields_count(out, "sync_usec_max", stats->sync_usec_max);
    fields_close(out, '}');
    fields_open(out, "checkpoint", '{');
    fields_flag(out, "running", stats->checkpoint_running);
    fields_count(out, "count", stats->checkpoints);
    fields_count(out, "failures", stats->checkpoint_failures);
    fields_count(out, "last_usec", stats->checkpoint_usec_last);
    fields_number(out, "last_save", server_last_save(server) * 1000);
    fields_number(out, "pressure", server->store == NULL ? 0 : dueq_pressure(server->store));
    fields_close(out, '}');
    fields_open(out, "disk", '{');
    fields_count(out, "free_bytes", stats->disk_free_bytes);
    fields_number(out, "reserve_bytes", server->config.disk_reserve);
    fields_count(out, "data_file_bytes", stats->data_file_bytes);
    fields_count(out, "map_used_bytes", stats->map_used_bytes);
    fields_count(out, "map_bytes", stats->map_bytes);
    fields_close(out, '}');
}

static void write_loop(const struct view *view)
{
    const struct server *server = view->server;
    const struct turn *longest = &server->turn.longest;
    struct buffer *out = view->out;

    fields_open(out, "connections", '{');
    fields_count(out, "now", server->session_count);
    fields_number(out, "max", server->config.maxclients);
    fields_count(out, "blocked",
                 server->stats.blocked_clients + server->held[HOLD_EVENT].count);
    fields_count(out, "received", server->stats.connections_received);
    fields_count(out, "rejected", server->stats.connections_rejected);
    fields_count(out, "streams", live_count(server));
    fields_close(out, '}');
    fields_open(out, "turns", '{');
    fields_count(out, "longest_usec", longest->usec);
    fields_string(out, "longest_part", turn_part_name(turn_longest_part(longest)));
    fields_string(out, "longest_command",
                  longest->command == NULL ? NULL : command_full_name(longest->command));
    fields_count(out, "long", server->turn.long_turns);
    fields_close(out, '}');
}

static void write_jobs(const struct view *view)
{
    const struct dueq_topic_stats *total = &view->total;
    const struct server *server = view->server;
    struct buffer *out = view->out;

    fields_open(out, "jobs", '{');
    fields_count(out, "topics", server->store == NULL ? 0 : dueq_topic_count(server->store));
    for (int state = 0; state < DUEQ_STATES; state++)
        fields_count(out, dueq_state_name((enum dueq_state)state), total->counts[state]);
    fields_known(out, "oldest_ready_ms", total->oldest_ready_age, total->oldest_ready_age >= 0);
    fields_known(out, "next_due", total->next_due, total->next_due != DUEQ_NEVER);
    fields_close(out, '}');
    fields_open(out, "totals", '{');
    fields_count(out, "pushed", total->pushed);
    fields_count(out, "claimed", total->claimed);
    fields_count(out, "acked", total->acked);
    fields_count(out, "nacked", total->nacked);
    fields_count(out, "expired", total->leases_expired);
    fields_count(out, "dead", total->dead);
    fields_count(out, "commands", server->stats.commands_processed);
    fields_count(out, "errors", server->stats.errors);
    fields_close(out, '}');
}

/* ---- rates */

/* CONFIG RESETSTAT and a new store set counts back. */
static double rate(uint64_t before, uint64_t now, int64_t ms)
{
    return now >= before ? (double)(now - before) * 1000 / (double)ms : 0;
}

static void measure(const struct view *view, struct server_rates *rates)
{
    const struct dueq_topic_stats *total = &view->total;
    uint64_t commands = view->server->stats.commands_processed;
    int64_t now = view->server->clock.last.monotonic, ms = now - rates->at;

    if (rates->at != 0 && ms < RATE_LEAST_MS)
        return;
    if (rates->at != 0) {
        rates->pushed_rate = rate(rates->pushed, total->pushed, ms);
        rates->claimed_rate = rate(rates->claimed, total->claimed, ms);
        rates->acked_rate = rate(rates->acked, total->acked, ms);
        rates->commands_rate = rate(rates->commands, commands, ms);
    }
    rates->is_known = rates->at != 0 && ms <= RATE_MOST_MS;
    rates->at = now;
    rates->pushed = total->pushed;
    rates->claimed = total->claimed;
    rates->acked = total->acked;
    rates->commands = commands;
}

static void write_rates(const struct server_rates *rates, struct buffer *out)
{
    if (!rates->is_known) {
        fields_none(out, "rates");
        return;
    }
    fields_open(out, "rates", '{');
    fields_fraction(out, "pushed", rates->pushed_rate);
    fields_fraction(out, "claimed", rates->claimed_rate);
    fields_fraction(out, "acked", rates->acked_rate);
    fields_fraction(out, "commands", rates->commands_rate);
    fields_close(out, '}');
}

void server_view_write(struct server *server, struct server_rates *rates, struct buffer *out)
{
    struct view view = {.server = server, .out = out};

    view.total =
        (struct dueq_topic_stats){.oldest_ready_age = DUEQ_DEFAULT, .next_due = DUEQ_NEVER};
    if (server->store != NULL) {
        dueq_get_stats(server->store, &view.stats);
        dueq_total_stats(server->store, server->now, &view.total);
        measure(&view, rates);
    }
    fields_open(out, NULL, '{');
    write_health(&view);
    write_memory(&view);
    write_store(&view);
    write_loop(&view);
    write_jobs(&view);
    write_rates(rates, out);
    fields_close(out, '}');
}
