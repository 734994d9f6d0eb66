#include "server/info.h"

#include "server/command_stats.h"
#include "server/server.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { INFO_TOPICS = 1000 };

static void line(struct buffer *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void line(struct buffer *text, const char *format, ...)
{
    char bytes[512];
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vsnprintf(bytes, sizeof(bytes), format, arguments);
    va_end(arguments);
    buffer_append(text, bytes, size < (int)sizeof(bytes) ? (size_t)size : sizeof(bytes) - 1);
    buffer_append(text, "\r\n", 2);
}

/* ---- sections */

static void write_server(struct context *context, struct buffer *text)
{
    const struct server *server = context->server;
    int64_t uptime = (server->clock.last.monotonic - server->stats.start_monotonic) / 1000;
    struct utsname name;

    uname(&name);
    line(text, "redis_version:7.0.15");
    line(text, "dueq_version:%s", DUEQ_VERSION);
    line(text, "redis_git_sha1:00000000");
    line(text, "redis_git_dirty:0");
    line(text, "redis_mode:standalone");
    line(text, "os:%s %s %s", name.sysname, name.release, name.machine);
    line(text, "arch_bits:%zu", sizeof(void *) * 8);
    line(text, "multiplexing_api:libevent");
    line(text, "process_id:%d", (int)getpid());
    line(text, "run_id:%016" PRIx64 "%016" PRIx64 "%08x", (uint64_t)server->stats.start_wall,
         (uint64_t)server->stats.start_monotonic, (unsigned)getpid());
    line(text, "tcp_port:%" PRId64, server->config.port);
    line(text, "server_time_usec:%" PRId64, server->clock.last.wall * 1000);
    line(text, "uptime_in_seconds:%" PRId64, uptime);
    line(text, "uptime_in_days:%" PRId64, uptime / 86400);
    line(text, "hz:10");
    line(text, "configured_hz:10");
    line(text, "executable:dueq");
    line(text, "config_file:%s", server->config.file == NULL ? "" : server->config.file);
    line(text, "clock_jumps:%" PRIu64, server->clock.jumps);
}

static void write_clients(struct context *context, struct buffer *text)
{
    const struct server *server = context->server;

    line(text, "connected_clients:%" PRIu64, server->session_count);
    line(text, "cluster_connections:0");
    line(text, "maxclients:%" PRId64, server->config.maxclients);
    line(text, "client_recent_max_input_buffer:0");
    line(text, "client_recent_max_output_buffer:0");
    line(text, "blocked_clients:%" PRIu64, server->stats.blocked_clients);
    line(text, "tracking_clients:0");
    line(text, "clients_in_timeout_table:%" PRIu64, server->stats.blocked_clients);
}

static void human(char *text, size_t room, double bytes)
{
    static const char units[] = "BKMGT";
    size_t unit = 0;

    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    snprintf(text, room, unit == 0 ? "%.0f%c" : "%.2f%c", bytes, units[unit]);
}

static void write_memory(struct context *context, struct buffer *text)
{
    struct mallinfo2 info = mallinfo2();
    struct rusage usage;
    char shown[32];
    uint64_t used = info.uordblks + info.hblkhd;
    struct kv_stats stats = {0};

    if (context->store != NULL)
        kv_get_stats(dueq_kv(context->store), &stats);
    used += stats.memtable_bytes + stats.frozen_bytes;
    getrusage(RUSAGE_SELF, &usage);
    human(shown, sizeof(shown), (double)used);
    line(text, "used_memory:%" PRIu64, used);
    line(text, "used_memory_human:%s", shown);
    human(shown, sizeof(shown), (double)usage.ru_maxrss * 1024);
    line(text, "used_memory_rss:%ld", usage.ru_maxrss * 1024);
    line(text, "used_memory_rss_human:%s", shown);
    line(text, "used_memory_peak:%ld", usage.ru_maxrss * 1024);
    line(text, "used_memory_peak_human:%s", shown);
    line(text, "used_memory_memtable:%zu", stats.memtable_bytes + stats.frozen_bytes);
    line(text, "maxmemory:0");
    line(text, "maxmemory_human:0B");
    line(text, "maxmemory_policy:noeviction");
    line(text, "mem_fragmentation_ratio:1.00");
    line(text, "mem_allocator:libc");
}

static void write_persistence(struct context *context, struct buffer *text)
{
    struct kv_stats stats = {0};

    if (context->store != NULL)
        kv_get_stats(dueq_kv(context->store), &stats);
    line(text, "loading:%d", context->store == NULL);
    line(text, "async_loading:0");
    line(text, "rdb_changes_since_last_save:%zu", stats.memtable_entries);
    line(text, "rdb_bgsave_in_progress:%d", stats.checkpoint_running);
    line(text, "rdb_last_save_time:%" PRId64, context->server->stats.start_wall / 1000);
    line(text, "rdb_last_bgsave_status:ok");
    line(text, "rdb_last_bgsave_time_sec:%" PRIu64, stats.checkpoint_usec_last / 1000000);
    line(text, "rdb_current_bgsave_time_sec:-1");
    line(text, "aof_enabled:1");
    line(text, "aof_rewrite_in_progress:0");
    line(text, "aof_last_write_status:%s", context->store == NULL ? "err" : "ok");
}

static void write_stats(struct context *context, struct buffer *text)
{
    const struct server_stats *stats = &context->server->stats;

    line(text, "total_connections_received:%" PRIu64, stats->connections_received);
    line(text, "total_commands_processed:%" PRIu64, stats->commands_processed);
    line(text, "instantaneous_ops_per_sec:0");
    line(text, "total_net_input_bytes:%" PRIu64, stats->input_bytes);
    line(text, "total_net_output_bytes:%" PRIu64, stats->output_bytes);
    line(text, "rejected_connections:%" PRIu64, stats->connections_rejected);
    line(text, "expired_keys:0");
    line(text, "evicted_keys:0");
    line(text, "keyspace_hits:0");
    line(text, "keyspace_misses:0");
    line(text, "pubsub_channels:0");
    line(text, "pubsub_patterns:0");
    line(text, "latest_fork_usec:0");
    line(text, "total_error_replies:%" PRIu64, stats->errors);
    line(text, "turns:%" PRIu64, stats->turns);
}

static void write_replication(struct context *context, struct buffer *text)
{
    (void)context;
    line(text, "role:master");
    line(text, "connected_slaves:0");
    line(text, "master_failover_state:no-failover");
    line(text, "master_replid:%040d", 0);
    line(text, "master_replid2:%040d", 0);
    line(text, "master_repl_offset:0");
    line(text, "second_repl_offset:-1");
    line(text, "repl_backlog_active:0");
    line(text, "repl_backlog_size:1048576");
    line(text, "repl_backlog_first_byte_offset:0");
    line(text, "repl_backlog_histlen:0");
}

static void write_cpu(struct context *context, struct buffer *text)
{
    struct rusage usage;

    (void)context;
    getrusage(RUSAGE_SELF, &usage);
    line(text, "used_cpu_sys:%ld.%06ld", (long)usage.ru_stime.tv_sec,
         (long)usage.ru_stime.tv_usec);
    line(text, "used_cpu_user:%ld.%06ld", (long)usage.ru_utime.tv_sec,
         (long)usage.ru_utime.tv_usec);
}

static void write_journal(struct context *context, struct buffer *text)
{
    struct kv_stats stats;

    if (context->store == NULL) {
        line(text, "store_status:%s", server_failure(context->server));
        return;
    }
    kv_get_stats(dueq_kv(context->store), &stats);
    line(text, "store_status:ok");
    line(text, "store_full:%d", stats.full);
    line(text, "store_failures:%" PRIu64, context->server->stats.store_failures);
    line(text, "journal_lsn:%" PRIu64, stats.lsn);
    line(text, "journal_synced_lsn:%" PRIu64, stats.synced_lsn);
    line(text, "journal_bytes:%" PRIu64, stats.journal_bytes);
    line(text, "journal_segments:%" PRIu64, stats.journal_segments);
    line(text, "journal_written_bytes:%" PRIu64, stats.journal_written_bytes);
    line(text, "journal_syncs:%" PRIu64, stats.syncs);
    line(text, "journal_sync_usec_mean:%" PRIu64,
         stats.syncs == 0 ? 0 : stats.sync_usec_total / stats.syncs);
    line(text, "journal_sync_usec_max:%" PRIu64, stats.sync_usec_max);
    line(text, "journal_replayed_records:%" PRIu64, stats.replayed_records);
    line(text, "journal_cut_bytes:%" PRIu64, stats.cut_bytes);
    line(text, "memtable_bytes:%zu", stats.memtable_bytes);
    line(text, "memtable_entries:%zu", stats.memtable_entries);
    line(text, "memtable_frozen_bytes:%zu", stats.frozen_bytes);
    line(text, "checkpoints:%" PRIu64, stats.checkpoints);
    line(text, "checkpoint_running:%d", stats.checkpoint_running);
    line(text, "checkpoint_lsn:%" PRIu64, stats.checkpoint_lsn);
    line(text, "checkpoint_usec_last:%" PRIu64, stats.checkpoint_usec_last);
    line(text, "checkpoint_retries:%" PRIu64, stats.checkpoint_failures);
    line(text, "commit_stalls:%" PRIu64, stats.stalls);
    line(text, "commit_stall_usec:%" PRIu64, stats.stall_usec_total);
    line(text, "map_bytes:%" PRIu64, stats.map_bytes);
    line(text, "map_used_bytes:%" PRIu64, stats.map_used_bytes);
    line(text, "disk_free_bytes:%" PRIu64, stats.disk_free_bytes);
}

static void add_topic(struct dueq_topic_stats *sum, const struct dueq_topic_stats *stats)
{
    for (int state = 0; state < DUEQ_STATES; state++)
        sum->counts[state] += stats->counts[state];
    sum->pushed += stats->pushed;
    sum->claimed += stats->claimed;
    sum->acked += stats->acked;
    sum->nacked += stats->nacked;
    sum->expired += stats->expired;
    sum->dead += stats->dead;
    if (stats->oldest_ready_age > sum->oldest_ready_age)
        sum->oldest_ready_age = stats->oldest_ready_age;
}

/* Sums over the first topics: INFO is asked for every few seconds by monitors, and must not
 * hold up the loop however many topics there are. Returns how many were counted. */
static size_t sum_topics(struct context *context, struct dueq_topic_stats *sum)
{
    struct dueq_topic_stats stats;
    struct dueq_slice name = {NULL, 0};
    char copy[DUEQ_NAME_MAX]; /* the statistics move what the name points into */
    size_t topics = 0;

    while (context->store != NULL && topics < INFO_TOPICS &&
           dueq_topic_after(context->store, name, &name) == DUEQ_OK) {
        memcpy(copy, name.data, name.size);
        name.data = copy;
        topics++;
        if (dueq_topic_stats(context->store, name, context->now, &stats) == DUEQ_OK)
            add_topic(sum, &stats);
    }
    return topics;
}

static void write_queue(struct context *context, struct buffer *text)
{
    struct dueq_topic_stats sum = {0};
    size_t counted = sum_topics(context, &sum);

    line(text, "topics:%zu", context->store == NULL ? 0 : dueq_topic_count(context->store));
    line(text, "topics_counted:%zu", counted);
    for (int state = 0; state < DUEQ_STATES; state++)
        line(text, "jobs_%s:%" PRIu64, dueq_state_name((enum dueq_state)state),
             sum.counts[state]);
    line(text, "oldest_ready_age_ms:%" PRId64, sum.oldest_ready_age);
    line(text, "total_pushed:%" PRIu64, sum.pushed);
    line(text, "total_claimed:%" PRIu64, sum.claimed);
    line(text, "total_acked:%" PRIu64, sum.acked);
    line(text, "total_nacked:%" PRIu64, sum.nacked);
    line(text, "total_expired:%" PRIu64, sum.expired);
    line(text, "total_dead:%" PRIu64, sum.dead);
}

static void write_modules(struct context *context, struct buffer *text)
{
    (void)context;
    (void)text;
}

static void write_errorstats(struct context *context, struct buffer *text)
{
    size_t count;
    const struct error_stats *errors = error_stats_all(&count);

    (void)context;
    for (size_t i = 0; i < count; i++)
        line(text, "errorstat_%s:count=%" PRIu64, errors[i].code, errors[i].count);
}

/* Nothing is timed: two readings of the clock cost as much as the cheapest commands do. */
static void write_command(struct buffer *text, const struct command *command)
{
    const struct command_stats *stats = command_stats_of(command);

    if (stats->calls + stats->rejected > 0)
        line(text,
             "cmdstat_%s:calls=%" PRIu64 ",usec=0,usec_per_call=0.00,rejected_calls=%" PRIu64
             ",failed_calls=%" PRIu64,
             command_full_name(command), stats->calls, stats->rejected, stats->failed);
}

static void write_commandstats(struct context *context, struct buffer *text)
{
    (void)context;
    for (size_t i = 0; i < command_count(); i++) {
        const struct command *command = command_at(i), *sub = command->subcommands;

        write_command(text, command);
        for (; sub != NULL && sub->name != NULL; sub++)
            write_command(text, sub);
    }
}

static void write_cluster(struct context *context, struct buffer *text)
{
    (void)context;
    line(text, "cluster_enabled:0");
}

static void write_keyspace(struct context *context, struct buffer *text)
{
    size_t topics = context->store == NULL ? 0 : dueq_topic_count(context->store);

    if (topics > 0)
        line(text, "db0:keys=%zu,expires=0,avg_ttl=0", topics);
}

/* ---- choosing */

struct section {
    const char *title;
    void (*write)(struct context *context, struct buffer *text);
    bool usual; /* shown without being asked for */
};

static const struct section sections[] = {{"Server", write_server, true},
                                          {"Clients", write_clients, true},
                                          {"Memory", write_memory, true},
                                          {"Persistence", write_persistence, true},
                                          {"Stats", write_stats, true},
                                          {"Replication", write_replication, true},
                                          {"CPU", write_cpu, true},
                                          {"Modules", write_modules, true},
                                          {"Commandstats", write_commandstats, false},
                                          {"Errorstats", write_errorstats, true},
                                          {"Cluster", write_cluster, true},
                                          {"Keyspace", write_keyspace, true},
                                          {"Journal", write_journal, true},
                                          {"Queue", write_queue, true}};

static bool wanted(const struct context *context, const struct section *section)
{
    if (context_count(context) == 1)
        return section->usual;
    for (size_t i = 1; i < context_count(context); i++) {
        struct argument name = context_argument(context, i);

        if (argument_is(name, "all") || argument_is(name, "everything") ||
            argument_is(name, section->title) ||
            (argument_is(name, "default") && section->usual))
            return true;
    }
    return false;
}

void info_write(struct context *context, struct buffer *text)
{
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        if (!wanted(context, &sections[i]))
            continue;
        if (buffer_size(text) > 0)
            buffer_append(text, "\r\n", 2);
        line(text, "# %s", sections[i].title);
        sections[i].write(context, text);
    }
}
