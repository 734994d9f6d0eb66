#include "server/http/metrics.h"

#include "server/http/health.h"
#include "server/process/process_memory.h"
#include "server/statistics/command_stats.h"
#include "storage/keys/keys.h"
#include "storage/keys/state/access.h"
#include "storage/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MS = 1000, USEC = 1000000 };

#define GAUGE(name, help, value)   metric_one(text, METRIC_GAUGE, name, help, value)
#define COUNTER(name, help, value) metric_one(text, METRIC_COUNTER, name, help, value)
#define GAUGE_SECONDS(name, help, value, scale)                                                \
    metric_one_fraction(text, METRIC_GAUGE, name, help, value, scale)
#define COUNTER_SECONDS(name, help, value, scale)                                              \
    metric_one_fraction(text, METRIC_COUNTER, name, help, value, scale)

#define HISTOGRAM(name, help, spans, scale)                                                    \
    (metric_family(text, METRIC_HISTOGRAM, name, help), metric_spans(text, spans, scale))

void metrics_take(struct metrics *metrics, struct server *server)
{
    *metrics = (struct metrics){.server = server, .has_store = server->store != NULL};
    if (server->store == NULL)
        return;
    dueq_get_stats(server->store, &metrics->stats);
    metrics->has_total =
        dueq_total_stats(server->store, server->now, &metrics->total) == DUEQ_OK;
    metrics->topics = dueq_topic_count(server->store);
    store_settle(server->store); /* what was read asks nothing of the next reply */
}

/* The store may have been closed since the begin of the scrape, and opened again. */
static struct dueq *store_of(const struct metrics *metrics)
{
    return metrics->has_store ? metrics->server->store : NULL;
}

/* One sample of a family with one label. */
static void sample(struct metric_text *text, const char *label, const char *value,
                   uint64_t number)
{
    metric_start(text);
    metric_label(text, label, value);
    metric_value(text, number);
}

/* ---- the process */

static uint64_t usec_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * USEC + (uint64_t)time.tv_usec;
}

/* Bytes that the process has caused to be written to disks. False: the kernel does not tell. */
static bool read_written(uint64_t *ret_bytes)
{
    FILE *file = fopen("/proc/self/io", "r");
    char line[64];
    bool found = false;

    while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL)
        found = sscanf(line, "write_bytes: %" SCNu64, ret_bytes) == 1;
    if (file != NULL)
        fclose(file);
    return found;
}

static void write_process(const struct metrics *metrics, struct metric_text *text)
{
    const struct server *server = metrics->server;
    struct rusage usage;
    uint64_t written;

    metric_family(text, METRIC_GAUGE, "dueq_build_info", "The version that runs.");
    sample(text, "version", DUEQ_VERSION, 1);
    GAUGE_SECONDS("process_start_time_seconds", "When the server started, unix time.",
                  (uint64_t)server->stats.start_wall, MS);
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        COUNTER_SECONDS("process_cpu_seconds", "Processor time of all threads.",
                        usec_of(usage.ru_utime) + usec_of(usage.ru_stime), USEC);
    if (read_written(&written))
        COUNTER("dueq_disk_written_bytes", "What the process has written to disks.", written);
}

static void write_memory(const struct metrics *metrics, struct metric_text *text)
{
    struct process_memory memory = process_memory_read();
    uint64_t memtables = metrics->stats.mapped_bytes,
             clients = metrics->server->client_memory.total,
             filters = metrics->stats.run_filter_bytes, known = memtables + clients + filters;

    GAUGE("process_resident_memory_bytes", "Resident memory, pages of files included.",
          memory.resident);
    metric_family(text, METRIC_GAUGE, "dueq_memory_bytes",
                  "Memory by part; cached pages of files are not the server's own.");
    sample(text, "part", "memtables", memtables);
    sample(text, "part", "clients", clients);
    sample(text, "part", "filters", filters);
    sample(text, "part", "other", memory.own > known ? memory.own - known : 0);
    sample(text, "part", "files", memory.resident - memory.own);
}

static void write_state(const struct metrics *metrics, struct metric_text *text)
{
    enum health health = health_now(metrics->server);

    GAUGE("dueq_ready", "1: takes writes, as /readyz says.", health == HEALTH_READY);
    GAUGE("dueq_loading", "1: the first opening of the store runs.", health == HEALTH_LOADING);
    GAUGE("dueq_failed", "1: the store is closed, and is opened anew.",
          health == HEALTH_FAILED);
    GAUGE("dueq_full", "1: pushes are refused for want of room.", health == HEALTH_FULL);
    COUNTER("dueq_store_failures", "How often the store was closed after a failure.",
            metrics->server->stats.store_failures);
    COUNTER("dueq_clock_jumps", "Steps of the wall clock by more than two seconds.",
            metrics->server->clock.jumps);
}

/* ---- clients and commands */

static void write_clients(const struct metrics *metrics, struct metric_text *text)
{
    const struct server *server = metrics->server;
    const struct server_stats *stats = &server->stats;

    GAUGE("dueq_connections", "Clients that are connected.", server->session_count);
    GAUGE("dueq_connections_limit", "The option maxclients.",
          (uint64_t)server->config.maxclients);
    GAUGE("dueq_blocked_clients", "Clients that wait in a blocking command or a pause.",
          stats->blocked_clients + server->held[HOLD_EVENT].count);
    GAUGE("dueq_throttled_clients", "Clients whose requests wait for a checkpoint.",
          server->held[HOLD_GROWTH].count + server->held[HOLD_WORK].count);
    COUNTER("dueq_connections_received", "Clients that were accepted.",
            stats->connections_received);
    COUNTER("dueq_connections_rejected", "Clients that were refused.",
            stats->connections_rejected);
    COUNTER("dueq_evicted_clients", "Clients that were closed for their memory.",
            server->client_memory.evicted);
    COUNTER("dueq_received_bytes", "Bytes of requests.", stats->input_bytes);
    COUNTER("dueq_sent_bytes", "Bytes of replies.", stats->output_bytes);
    COUNTER("dueq_throttled_requests", "Requests that were put off for a checkpoint.",
            server->throttle.delayed);
    COUNTER("dueq_expired_keys", "Keys that have expired.", stats->expired_keys);
}

static void write_commands(const struct metrics *metrics, struct metric_text *text)
{
    COUNTER("dueq_commands", "Commands that were run.",
            metrics->server->stats.commands_processed);
    COUNTER("dueq_error_replies", "Error replies.", metrics->server->stats.errors);
}

static void write_by_command(struct metric_text *text,
                             void (*write)(struct metric_text *text,
                                           const struct command *command,
                                           const struct command_stats *stats))
{
    for (size_t i = 0; i < command_count(); i++) {
        const struct command *command = command_at(i), *sub = command->subcommands;

        if (command_stats_of(command)->calls > 0)
            write(text, command, command_stats_of(command));
        for (; sub != NULL && sub->name != NULL; sub++)
            if (command_stats_of(sub)->calls > 0)
                write(text, sub, command_stats_of(sub));
    }
}

static void write_calls(struct metric_text *text, const struct command *command,
                        const struct command_stats *stats)
{
    sample(text, "command", command_full_name(command), stats->calls);
}

static void write_time(struct metric_text *text, const struct command *command,
                       const struct command_stats *stats)
{
    metric_start(text);
    metric_label(text, "command", command_full_name(command));
    metric_fraction(text, stats->usec, USEC);
}

static void write_command_calls(const struct metrics *metrics, struct metric_text *text)
{
    (void)metrics;
    metric_family(text, METRIC_COUNTER, "dueq_command_calls", "Runs of each command.");
    write_by_command(text, write_calls);
}

static void write_command_times(const struct metrics *metrics, struct metric_text *text)
{
    (void)metrics;
    metric_family(text, METRIC_COUNTER, "dueq_command_seconds", "Time that each command took.");
    write_by_command(text, write_time);
}

static void write_errors(const struct metrics *metrics, struct metric_text *text)
{
    size_t count;
    const struct error_stats *errors = error_stats_all(&count);

    (void)metrics;
    metric_family(text, METRIC_COUNTER, "dueq_errors", "Error replies by their first word.");
    for (size_t i = 0; i < count; i++) {
        metric_start(text);
        metric_label_bytes(text, "prefix", dueq_slice(errors[i].code, strlen(errors[i].code)));
        metric_value(text, errors[i].count);
    }
}

static void write_turns(const struct metrics *metrics, struct metric_text *text)
{
    const struct turn_watch *turn = &metrics->server->turn;

    HISTOGRAM("dueq_turn_seconds", "How long turns of the loop took.", &turn->took, USEC);
    COUNTER("dueq_long_turns", "Turns that took 5 ms or more.", turn->long_turns);
    COUNTER("dueq_busy_turns", "Turns with 5 ms or more on the processor.", turn->busy_turns);
    GAUGE_SECONDS("dueq_longest_turn_seconds",
                  "The longest turn since the start or CONFIG RESETSTAT.", turn->longest.usec,
                  USEC);
    GAUGE_SECONDS("dueq_busiest_turn_seconds", "The same, of processor time.",
                  turn->busiest.cpu_usec, USEC);
}

/* ---- the store */

static void write_syncs(const struct metrics *metrics, struct metric_text *text)
{
    const struct dueq_stats *stats = &metrics->stats;

    if (!metrics->has_store)
        return;
    HISTOGRAM("dueq_journal_sync_seconds", "How long syncs of the journal took.",
              &stats->sync_spans, USEC);
    GAUGE_SECONDS("dueq_journal_longest_sync_seconds", "The longest one since the opening.",
                  stats->sync_usec_max, USEC);
    COUNTER("dueq_journal_written_bytes", "Bytes written to the journal.",
            stats->journal_written_bytes);
    GAUGE("dueq_journal_bytes", "Bytes that a start after a crash would replay.",
          stats->journal_bytes);
    GAUGE("dueq_journal_files", "Segments of the journal, spares included.",
          stats->journal_segments);
    COUNTER("dueq_commit_stalls", "Commits that waited for a checkpoint.", stats->stalls);
    COUNTER_SECONDS("dueq_commit_stall_seconds", "Time that they waited.",
                    stats->stall_usec_total, USEC);
}

static void write_checkpoints(const struct metrics *metrics, struct metric_text *text)
{
    const struct dueq_stats *stats = &metrics->stats;

    if (store_of(metrics) == NULL)
        return;
    HISTOGRAM("dueq_checkpoint_seconds", "How long checkpoints took.", &stats->checkpoint_spans,
              MS);
    COUNTER("dueq_checkpoint_failures", "Attempts at one that failed.",
            stats->checkpoint_failures);
    GAUGE("dueq_checkpoint_running", "1: one runs.", stats->checkpoint_running);
    GAUGE_SECONDS("dueq_checkpoint_last_seconds", "How long the last one took.",
                  stats->checkpoint_usec_last, USEC);
    GAUGE("dueq_checkpoint_last_timestamp_seconds",
          "When the last one ended, or the server started; unix time.",
          (uint64_t)server_last_save(metrics->server));
    GAUGE_SECONDS(
        "dueq_pressure_ratio",
        "How near writes are to waiting for a checkpoint: 1 holds back pushes, 2 all.",
        dueq_pressure(store_of(metrics)), DUEQ_PRESSURE_FULL);
    COUNTER("dueq_compactions", "Compactions of data.mdb.", stats->compactions);
    COUNTER("dueq_compaction_failures", "Those that failed.", stats->compaction_failures);
}

static void write_archive(const struct metrics *metrics, struct metric_text *text)
{
    const struct dueq_archive_stats *stats = &metrics->stats.archive;

    if (!metrics->has_store || !stats->on)
        return;
    GAUGE("dueq_archive_failing", "1: the last try to archive a segment failed.",
          stats->status != DUEQ_OK);
    GAUGE("dueq_archive_last_lsn", "Records up to this one are in it, but for gaps.",
          stats->last_lsn);
    GAUGE("dueq_archive_waiting_bytes", "Segments of the journal that wait for it.",
          stats->waiting_bytes);
    COUNTER("dueq_archive_segments", "Segments that were copied.", stats->segments);
    COUNTER("dueq_archive_bytes", "Their bytes.", stats->bytes);
    COUNTER("dueq_archive_failures", "Tries that failed.", stats->failures);
    COUNTER("dueq_archive_gaps", "Places that a restore cannot pass.", stats->gaps);
    COUNTER("dueq_archive_damaged", "Damaged files that were set aside and written anew.",
            stats->damaged);
}

static void write_room(const struct metrics *metrics, struct metric_text *text)
{
    const struct dueq_stats *stats = &metrics->stats;

    if (!metrics->has_store)
        return;
    metric_family(text, METRIC_GAUGE, "dueq_memtable_bytes", "Changes in memory, by table.");
    sample(text, "table", "active", stats->memtable_bytes);
    sample(text, "table", "frozen", stats->frozen_bytes);
    GAUGE("dueq_memtable_entries", "Records in the active table.", stats->memtable_entries);
    GAUGE("dueq_map_limit_bytes", "The option map-size.", stats->map_bytes);
    GAUGE("dueq_map_used_bytes", "Pages of data.mdb that are in use.", stats->map_used_bytes);
    GAUGE("dueq_data_file_bytes", "Size of data.mdb.", stats->data_file_bytes);
    GAUGE("dueq_disk_free_bytes", "Free space of the disk.", stats->disk_free_bytes);
    GAUGE("dueq_disk_reserve_bytes", "The option disk-reserve.",
          (uint64_t)metrics->server->config.disk_reserve);
}

static void write_keyspace(const struct metrics *metrics, struct metric_text *text)
{
    const struct dueq *store = store_of(metrics);
    struct access_lookups lookups;
    uint64_t keys = 0;

    if (store == NULL)
        return;
    lookups = access_get_lookups(store_keys(store));
    for (unsigned i = 0; i < KEYS_DATABASES_MAX; i++)
        keys += keys_count(store_keys(store), i);
    GAUGE("dueq_keys", "Keys in all databases.", keys);
    COUNTER("dueq_keyspace_hits", "Lookups of keys that exist.", lookups.hits);
    COUNTER("dueq_keyspace_misses", "Lookups of keys that do not.", lookups.misses);
}

/* ---- jobs */

static void write_jobs(const struct metrics *metrics, struct metric_text *text)
{
    const struct dueq_topic_stats *total = &metrics->total;

    if (!metrics->has_total)
        return;
    GAUGE("dueq_topics", "Topics that exist.", metrics->topics);
    metric_family(text, METRIC_GAUGE, "dueq_jobs", "Jobs by state.");
    for (int state = 0; state < DUEQ_STATES; state++)
        sample(text, "state", dueq_state_name((enum dueq_state)state), total->counts[state]);
    GAUGE("dueq_job_body_bytes", "Bytes of the bodies of all jobs.", total->bytes);
    if (total->oldest_ready_age >= 0)
        GAUGE_SECONDS("dueq_oldest_ready_age_seconds",
                      "How long ago the oldest ready job fell due; 0: none is ready.",
                      (uint64_t)total->oldest_ready_age, MS);
}

static void write_job_totals(const struct metrics *metrics, struct metric_text *text)
{
    const struct dueq_topic_stats *total = &metrics->total;

    if (!metrics->has_total)
        return;
    COUNTER("dueq_jobs_pushed", "Jobs that were pushed.", total->pushed);
    COUNTER("dueq_jobs_claimed", "Claims.", total->claimed);
    COUNTER("dueq_jobs_acked", "Jobs that are done.", total->acked);
    COUNTER("dueq_jobs_nacked", "Attempts that were given up.", total->nacked);
    COUNTER("dueq_jobs_dead", "Jobs that died.", total->dead);
    COUNTER("dueq_jobs_expired", "Jobs whose ttl ran out.", total->jobs_expired);
    COUNTER("dueq_jobs_deleted", "Jobs that were deleted.", total->deleted);
    COUNTER("dueq_jobs_cancelled", "Jobs that were cancelled.", total->cancelled);
    COUNTER("dueq_jobs_dropped", "Jobs that made room for others.", total->dropped);
    COUNTER("dueq_leases_expired", "Leases that ran out.", total->leases_expired);
}

static void write_crons(const struct metrics *metrics, struct metric_text *text)
{
    const struct dueq *store = store_of(metrics);
    struct dueq_cron_stats crons;

    if (store == NULL)
        return;
    dueq_get_cron_stats(store, &crons);
    GAUGE("dueq_crons", "Recurring jobs.", crons.entries);
    GAUGE("dueq_crons_paused", "Of these, paused ones.", crons.paused);
    COUNTER("dueq_cron_fired", "Jobs that recurring jobs have pushed.", crons.fired);
    COUNTER("dueq_cron_missed", "How often missed times were passed over.", crons.missed);
    COUNTER("dueq_cron_overlapped", "Firings without a job: the one before was still there.",
            crons.overlapped);
    COUNTER("dueq_cron_failures", "Firings that were refused, to be tried again.",
            crons.failures);
}

static void write_spans(const struct metrics *metrics, struct metric_text *text)
{
    static const struct {
        const char *name, *help;
    } families[DUEQ_SPANS] = {
        [DUEQ_SPAN_WAIT] = {"dueq_job_wait_seconds", "From the due time to the claim."},
        [DUEQ_SPAN_RUN] = {"dueq_job_run_seconds", "From the claim to the ack."},
        [DUEQ_SPAN_LATE] = {"dueq_job_lateness_seconds",
                            "From the due time until the server saw a delayed job due."}};

    const struct dueq *store = store_of(metrics);

    for (int span = 0; store != NULL && span < DUEQ_SPANS; span++) {
        HISTOGRAM(families[span].name, families[span].help,
                  dueq_get_spans(store, (enum dueq_span)span), MS);
    }
}

/* ---- all */

static void (*const groups[])(const struct metrics *metrics, struct metric_text *text) = {
    write_process,     write_memory, write_state,         write_clients,       write_commands,
    write_errors,      write_turns,  write_command_calls, write_command_times, write_syncs,
    write_checkpoints, write_room,   write_keyspace,      write_archive,       write_jobs,
    write_job_totals,  write_crons,  write_spans};

size_t metrics_groups(void)
{
    return sizeof(groups) / sizeof(groups[0]);
}

void metrics_write(const struct metrics *metrics, size_t group, struct metric_text *text)
{
    groups[group](metrics, text);
}
