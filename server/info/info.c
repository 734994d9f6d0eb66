#include "server/info/info.h"
#include "server/acl/acl.h"
#include "storage/store.h"

#include "server/info/info_latency.h"
#include "server/info/info_sections.h"
#include "server/info/info_store.h"
#include "server/process/process_memory.h"
#include "server/server.h"
#include "server/session/pubsub.h"
#include "server/statistics/command_stats.h"
#include "storage/keys/state/access.h"
#include "storage/keys/keys.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

void info_line(struct buffer *text, const char *format, ...)
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
    info_line(text, "redis_version:7.0.15");
    info_line(text, "dueq_version:%s", DUEQ_VERSION);
    info_line(text, "redis_git_sha1:00000000");
    info_line(text, "redis_git_dirty:0");
    info_line(text, "redis_mode:standalone");
    info_line(text, "os:%s %s %s", name.sysname, name.release, name.machine);
    info_line(text, "arch_bits:%zu", sizeof(void *) * 8);
    info_line(text, "multiplexing_api:libevent");
    info_line(text, "process_id:%d", (int)getpid());
    info_line(text, "run_id:%016" PRIx64 "%016" PRIx64 "%08x",
              (uint64_t)server->stats.start_wall, (uint64_t)server->stats.start_monotonic,
              (unsigned)getpid());
    info_line(text, "tcp_port:%" PRId64,
              server->config.port > 0 ? server->config.port : server->config.tls_port);
    info_line(text, "server_time_usec:%" PRId64, server->clock.wall_usec);
    info_line(text, "uptime_in_seconds:%" PRId64, uptime);
    info_line(text, "uptime_in_days:%" PRId64, uptime / 86400);
    info_line(text, "hz:10");
    info_line(text, "configured_hz:10");
    info_line(text, "executable:dueq");
    info_line(text, "config_file:%s", server->config.file == NULL ? "" : server->config.file);
    info_line(text, "clock_jumps:%" PRIu64, server->clock.jumps);
    if (server->stopping)
        info_line(text, "shutdown_in_milliseconds:%" PRId64,
                  server->stop_until - server->clock.last.monotonic);
}

static void write_clients(struct context *context, struct buffer *text)
{
    const struct server *server = context->server;
    uint64_t blocked = server->stats.blocked_clients + server->held[HOLD_EVENT].count;

    info_line(text, "connected_clients:%" PRIu64, server->session_count);
    info_line(text, "cluster_connections:0");
    info_line(text, "maxclients:%" PRId64, server->config.maxclients);
    info_line(text, "client_recent_max_input_buffer:%zu",
              client_memory_recent_input(&server->client_memory));
    info_line(text, "client_recent_max_output_buffer:%zu",
              client_memory_recent_output(&server->client_memory));
    info_line(text, "blocked_clients:%" PRIu64, blocked);
    info_line(text, "tracking_clients:0");
    info_line(text, "clients_in_timeout_table:%" PRIu64, server->stats.blocked_clients);
}

static void human(char *text, size_t room, double bytes)
{
    static const char units[] = "BKMGT";
    size_t unit = 0;

    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    snprintf(text, room, unit == 0 ? "%.0f%c" : "%.2f%c", bytes, units[unit]);
}

static void write_bytes(struct buffer *text, const char *name, uint64_t bytes)
{
    char shown[32];

    human(shown, sizeof(shown), (double)bytes);
    info_line(text, "%s:%" PRIu64, name, bytes);
    info_line(text, "%s_human:%s", name, shown);
}

static void write_memory(struct context *context, struct buffer *text)
{
    struct dueq_stats stats = {0};
    struct process_memory memory = process_memory_read();

    if (context->store != NULL)
        dueq_get_stats(context->store, &stats);
    write_bytes(text, "used_memory", memory.own);
    write_bytes(text, "used_memory_rss", memory.resident);
    write_bytes(text, "used_memory_peak", memory.peak);
    info_line(text, "used_memory_memtable:%zu", stats.memtable_bytes + stats.frozen_bytes);
    write_bytes(text, "total_system_memory",
                (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    write_bytes(text, "maxmemory", 0);
    info_line(text, "maxmemory_policy:noeviction");
    info_line(text, "mem_fragmentation_ratio:%.2f",
              memory.own == 0 ? 0 : (double)memory.resident / (double)memory.own);
    info_line(text, "mem_clients_slaves:0");
    info_line(text, "mem_clients_normal:%zu", context->server->client_memory.total);
    info_line(text, "mem_allocator:libc");
}

/* Rates are means over the time between two INFO, at least one second. */
struct rates {
    int64_t since; /* monotonic ms */
    uint64_t commands, input_bytes, output_bytes;
    double commands_rate, input_rate, output_rate;
};

static const struct rates *sample_rates(const struct server *server)
{
    static struct rates rates;
    const struct server_stats *stats = &server->stats;
    int64_t now = server->clock.last.monotonic;
    double seconds = (double)(now - rates.since) / 1000;

    if (seconds < 1)
        return &rates;
    /* CONFIG RESETSTAT sets the counts to 0 */
    if (rates.since > 0 && stats->commands_processed >= rates.commands) {
        rates.commands_rate = (double)(stats->commands_processed - rates.commands) / seconds;
        rates.input_rate = (double)(stats->input_bytes - rates.input_bytes) / seconds;
        rates.output_rate = (double)(stats->output_bytes - rates.output_bytes) / seconds;
    }
    rates.since = now;
    rates.commands = stats->commands_processed;
    rates.input_bytes = stats->input_bytes;
    rates.output_bytes = stats->output_bytes;
    return &rates;
}

static void write_turn(const char *name, const struct turn *turn, struct buffer *text)
{
    enum turn_part part = turn_longest_part(turn);

    info_line(text, "%s_turn_usec:%" PRIu64, name, turn->usec);
    info_line(text, "%s_turn_cpu_usec:%" PRIu64, name, turn->cpu_usec);
    info_line(text, "%s_turn_part:%s", name, turn_part_name(part));
    info_line(text, "%s_turn_part_usec:%" PRIu64, name, turn->parts[part]);
    info_line(text, "%s_turn_commands:%" PRIu64, name, turn->commands);
    info_line(text, "%s_turn_command:%s", name,
              turn->command == NULL ? "" : command_full_name(turn->command));
    info_line(text, "%s_turn_command_usec:%" PRIu64, name, turn->command_usec);
}

static void write_turns(const struct turn_watch *turns, struct buffer *text)
{
    info_line(text, "long_turns:%" PRIu64, turns->long_turns);
    write_turn("longest", &turns->longest, text);
    info_line(text, "busy_turns:%" PRIu64, turns->busy_turns);
    write_turn("busiest", &turns->busiest, text);
}

static void write_stats(struct context *context, struct buffer *text)
{
    const struct server_stats *stats = &context->server->stats;
    const struct rates *rates = sample_rates(context->server);
    const uint64_t *denied = context->server->acl->denied;
    struct access_lookups lookups = {0};

    if (context->store != NULL)
        lookups = access_get_lookups(store_keys(context->store));
    info_line(text, "total_connections_received:%" PRIu64, stats->connections_received);
    info_line(text, "total_commands_processed:%" PRIu64, stats->commands_processed);
    info_line(text, "instantaneous_ops_per_sec:%.0f", rates->commands_rate);
    info_line(text, "total_net_input_bytes:%" PRIu64, stats->input_bytes);
    info_line(text, "total_net_output_bytes:%" PRIu64, stats->output_bytes);
    info_line(text, "instantaneous_input_kbps:%.2f", rates->input_rate / 1024);
    info_line(text, "instantaneous_output_kbps:%.2f", rates->output_rate / 1024);
    info_line(text, "rejected_connections:%" PRIu64, stats->connections_rejected);
    info_line(text, "acl_access_denied_auth:%" PRIu64, denied[ACL_DENIED_LOGIN]);
    info_line(text, "acl_delayed_auth:%" PRIu64, context->server->acl->delayed);
    info_line(text, "acl_access_denied_cmd:%" PRIu64, denied[ACL_DENIED_COMMAND]);
    info_line(text, "acl_access_denied_key:%" PRIu64, denied[ACL_DENIED_KEY]);
    info_line(text, "acl_access_denied_channel:%" PRIu64, denied[ACL_DENIED_CHANNEL]);
    info_line(text, "expired_keys:%" PRIu64, stats->expired_keys);
    info_line(text, "evicted_keys:0");
    info_line(text, "evicted_clients:%" PRIu64, context->server->client_memory.evicted);
    info_line(text, "keyspace_hits:%" PRIu64, lookups.hits);
    info_line(text, "keyspace_misses:%" PRIu64, lookups.misses);
    write_turns(&context->server->turn, text);
    info_line(text, "pubsub_channels:%zu", pubsub_names(context->server, PUBSUB_CHANNEL));
    info_line(text, "pubsub_patterns:%zu", pubsub_names(context->server, PUBSUB_PATTERN));
    info_line(text, "pubsubshard_channels:%zu", pubsub_names(context->server, PUBSUB_SHARD));
    info_line(text, "latest_fork_usec:0");
    info_line(text, "total_error_replies:%" PRIu64, stats->errors);
    info_line(text, "turns:%" PRIu64, stats->turns);
    info_line(text, "reply_parts:%" PRIu64, stats->reply_parts);
}

static void write_replication(struct context *context, struct buffer *text)
{
    (void)context;
    info_line(text, "role:master");
    info_line(text, "connected_slaves:0");
    info_line(text, "master_failover_state:no-failover");
    info_line(text, "master_replid:%040d", 0);
    info_line(text, "master_replid2:%040d", 0);
    info_line(text, "master_repl_offset:0");
    info_line(text, "second_repl_offset:-1");
    info_line(text, "repl_backlog_active:0");
    info_line(text, "repl_backlog_size:1048576");
    info_line(text, "repl_backlog_first_byte_offset:0");
    info_line(text, "repl_backlog_histlen:0");
}

static void write_cpu(struct context *context, struct buffer *text)
{
    struct rusage usage;

    (void)context;
    getrusage(RUSAGE_SELF, &usage);
    info_line(text, "used_cpu_sys:%ld.%06ld", (long)usage.ru_stime.tv_sec,
              (long)usage.ru_stime.tv_usec);
    info_line(text, "used_cpu_user:%ld.%06ld", (long)usage.ru_utime.tv_sec,
              (long)usage.ru_utime.tv_usec);
    info_line(text, "used_cpu_sys_children:0.000000");
    info_line(text, "used_cpu_user_children:0.000000");
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
        info_line(text, "errorstat_%s:count=%" PRIu64, errors[i].code, errors[i].count);
}

static void write_command(struct buffer *text, const struct command *command)
{
    const struct command_stats *stats = command_stats_of(command);

    if (stats->calls + stats->rejected > 0)
        info_line(text,
                  "cmdstat_%s:calls=%" PRIu64 ",usec=%" PRIu64
                  ",usec_per_call=%.2f,rejected_calls=%" PRIu64 ",failed_calls=%" PRIu64,
                  command_full_name(command), stats->calls, stats->usec,
                  stats->calls == 0 ? 0 : (double)stats->usec / (double)stats->calls,
                  stats->rejected, stats->failed);
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
    info_line(text, "cluster_enabled:0");
}

/* ---- choosing */

struct section {
    const char *title;
    void (*write)(struct context *context, struct buffer *text);
    bool usual; /* shown when no section is named */
};

static const struct section sections[] = {{"Server", write_server, true},
                                          {"Clients", write_clients, true},
                                          {"Memory", write_memory, true},
                                          {"Persistence", info_store_persistence, true},
                                          {"Stats", write_stats, true},
                                          {"Replication", write_replication, true},
                                          {"CPU", write_cpu, true},
                                          {"Modules", write_modules, true},
                                          {"Commandstats", write_commandstats, false},
                                          {"Errorstats", write_errorstats, true},
                                          {"Latencystats", info_latency, false},
                                          {"Cluster", write_cluster, true},
                                          {"Keyspace", info_store_keyspace, true},
                                          {"Journal", info_store_journal, true},
                                          {"Queue", info_store_queue, true}};

enum { SECTIONS = sizeof(sections) / sizeof(sections[0]) };

unsigned info_usual(void)
{
    unsigned usual = 0;

    for (unsigned i = 0; i < SECTIONS; i++)
        usual |= (unsigned)sections[i].usual << i;
    return usual;
}

unsigned info_named(struct argument name)
{
    if (argument_is(name, "all") || argument_is(name, "everything"))
        return (1U << SECTIONS) - 1;
    if (argument_is(name, "default"))
        return info_usual();
    for (unsigned i = 0; i < SECTIONS; i++)
        if (argument_is(name, sections[i].title))
            return 1U << i;
    return 0;
}

void info_write(struct context *context, unsigned chosen, struct buffer *text)
{
    for (unsigned i = 0; i < SECTIONS; i++) {
        if ((chosen >> i & 1) == 0)
            continue;
        if (buffer_size(text) > 0)
            buffer_append(text, "\r\n", 2);
        info_line(text, "# %s", sections[i].title);
        sections[i].write(context, text);
    }
}

/* Several fields in a line of the log, as many as find room. */
static void log_fields(const char *title, const char *fields, size_t size)
{
    enum { ROOM = LOG_LINE_MAX - 200 };
    char line[ROOM + 1];
    size_t used = 0;

    for (size_t at = 0; at < size;) {
        const char *end = memchr(fields + at, '\r', size - at);
        size_t length = end == NULL ? size - at : (size_t)(end - fields) - at;
        size_t kept = length < ROOM ? length : ROOM;

        if (used > 0 && used + 1 + kept > ROOM) {
            log_write(LOG_NOTICE, "State of %s: %.*s", title, (int)used, line);
            used = 0;
        }
        if (used > 0)
            line[used++] = ' ';
        memcpy(line + used, fields + at, kept);
        used += kept;
        at += length + 2; /* and the end of the line */
    }
    if (used > 0)
        log_write(LOG_NOTICE, "State of %s: %.*s", title, (int)used, line);
}

void info_log(struct server *server)
{
    const struct argument word = {"INFO", 4};
    const struct request request = {.count = 1, .arguments = &word, .bytes = 4};
    struct context context = {.server = server, .store = server->store, .request = &request};

    for (unsigned i = 0; i < SECTIONS; i++) {
        struct buffer text;

        if (!sections[i].usual)
            continue;
        buffer_init(&text, SIZE_MAX / 2);
        sections[i].write(&context, &text);
        if (!text.overflowed)
            log_fields(sections[i].title, buffer_content(&text), buffer_size(&text));
        buffer_release(&text);
    }
}
