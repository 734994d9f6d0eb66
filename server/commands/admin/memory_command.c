/* MEMORY: USAGE, STATS, DOCTOR, MALLOC-STATS, PURGE. */
#include "server/commands/database.h"
#include "server/commands/key_size.h"
#include "server/commands/long_read.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/docs/command_help.h"
#include "server/process/process_memory.h"
#include "server/server.h"
#include "storage/store.h"

#include <stdio.h>
#include <string.h>

struct usage {
    uint64_t samples;      /* 0: all elements */
    struct keys_info info; /* of the key */
};

static const struct argument_option usage_options[] = {
    {"samples", OPTION_COUNT(struct usage, samples),
     .rule = INTEGER_BOUND(0, INT64_MAX, ARGUMENTS_SYNTAX_ERROR)},
    {.name = NULL}};

/* What a sample counts: elements in at.passed, their bytes in at.found. */
static bool take_sample(struct long_read *read, const struct long_read_element *element)
{
    const struct usage *usage = read->arg;

    read->at.found += element->name.size + element->value.size +
                      (read->source == LONG_READ_ZSET ? sizeof(double) : 0);
    return ++read->at.passed != usage->samples;
}

static void end_samples(struct long_read *read)
{
    const struct usage *usage = read->arg;

    resp_integer(read->reply,
                 key_size_estimate(read->key, &usage->info, read->at.passed, read->at.found));
}

static enum long_read_source source_of(enum keys_type type)
{
    if (type == KEYS_LIST)
        return LONG_READ_LIST;
    if (type == KEYS_SET)
        return LONG_READ_SET;
    return type == KEYS_HASH ? LONG_READ_HASH : LONG_READ_ZSET;
}

static enum outcome run_memory_usage(struct context *context)
{
    struct keys_view view = database_view(context);
    struct usage usage = {.samples = KEY_SIZE_SAMPLES};
    const struct keys_info *info = &usage.info;
    struct long_read read = {.key = context_slice(context, 2),
                             .towards = LIST_TAIL,
                             .arg = &usage,
                             .take = take_sample,
                             .end = end_samples};

    if (!argument_options_read(context, 3, usage_options, &usage))
        return OUTCOME_DONE;
    if (keys_info(&view, read.key, &usage.info) != DUEQ_OK) {
        resp_null(context->reply);
        return OUTCOME_DONE;
    }
    if (info->type == KEYS_STRING) {
        resp_integer(context->reply, key_size_estimate(read.key, info, 0, 0));
        return OUTCOME_DONE;
    }
    read.source = source_of(info->type);
    read.steps =
        usage.samples == 0 || usage.samples > info->count ? info->count : usage.samples;
    return long_read_run(context, &read);
}

/* ---- STATS: Redis' fields. The data set in memory is what memtables hold of it. */

struct figures {
    struct process_memory process;
    uint64_t startup, clients, batch, dataset, keys;
    const struct keys *store; /* NULL: it is closed */
};

static struct figures take_figures(const struct context *context)
{
    struct figures figures = {.process = process_memory_read(),
                              .startup = context->server->stats.start_memory,
                              .clients = context->server->client_memory.total};
    struct dueq_stats stats;

    if (context->store == NULL)
        return figures;
    dueq_get_stats(context->store, &stats);
    figures.dataset = stats.mapped_bytes;
    figures.batch = dueq_batch_bytes(context->store);
    figures.store = store_keys(context->store);
    for (unsigned i = 0; i < KEYS_DATABASES_MAX; i++)
        figures.keys += keys_count(figures.store, i);
    return figures;
}

static uint64_t more_than(uint64_t bytes, uint64_t others)
{
    return bytes > others ? bytes - others : 0;
}

static double ratio(uint64_t bytes, uint64_t others)
{
    return others == 0 ? 0 : (double)bytes / (double)others;
}

static void write_number(struct resp_writer *reply, const char *name, uint64_t number)
{
    resp_string(reply, name);
    resp_integer(reply, (int64_t)number);
}

static void write_ratio(struct resp_writer *reply, const char *name, double number)
{
    resp_string(reply, name);
    resp_double(reply, number);
}

/* Databases have no hash tables in memory. Returns the number of fields. */
static size_t write_databases(struct resp_writer *reply, const struct keys *keys)
{
    size_t count = 0;

    for (unsigned i = 0; keys != NULL && i < KEYS_DATABASES_MAX; i++) {
        char name[16];

        if (keys_count(keys, i) == 0)
            continue;
        snprintf(name, sizeof(name), "db.%u", i);
        resp_string(reply, name);
        resp_map(reply, 3);
        write_number(reply, "overhead.hashtable.main", 0);
        write_number(reply, "overhead.hashtable.expires", 0);
        write_number(reply, "overhead.hashtable.slot-to-keys", 0);
        count++;
    }
    return count;
}

static void write_parts(struct resp_writer *reply, const struct figures *figures)
{
    write_number(reply, "peak.allocated", figures->process.peak);
    write_number(reply, "total.allocated", figures->process.own);
    write_number(reply, "startup.allocated", figures->startup);
    write_number(reply, "replication.backlog", 0);
    write_number(reply, "clients.slaves", 0);
    write_number(reply, "clients.normal", figures->clients);
    write_number(reply, "cluster.links", 0);
    write_number(reply, "aof.buffer", figures->batch);
    write_number(reply, "lua.caches", 0);
    write_number(reply, "functions.caches", 0);
}

static void write_sums(struct resp_writer *reply, const struct figures *figures)
{
    uint64_t net = more_than(figures->process.own, figures->startup);

    write_number(reply, "overhead.total", more_than(figures->process.own, figures->dataset));
    write_number(reply, "keys.count", figures->keys);
    write_number(reply, "keys.bytes-per-key", figures->keys == 0 ? 0 : net / figures->keys);
    write_number(reply, "dataset.bytes", figures->dataset);
    write_ratio(reply, "dataset.percentage", 100 * ratio(figures->dataset, net));
    write_ratio(reply, "peak.percentage",
                100 * ratio(figures->process.own, figures->process.peak));
}

/* The kernel's view: what malloc holds free is part of `own`. */
static void write_allocator(struct resp_writer *reply, const struct process_memory *memory)
{
    uint64_t files = memory->resident - memory->own;

    write_number(reply, "allocator.allocated", memory->own);
    write_number(reply, "allocator.active", memory->own);
    write_number(reply, "allocator.resident", memory->own);
    write_ratio(reply, "allocator-fragmentation.ratio", 1);
    write_number(reply, "allocator-fragmentation.bytes", 0);
    write_ratio(reply, "allocator-rss.ratio", 1);
    write_number(reply, "allocator-rss.bytes", 0);
    write_ratio(reply, "rss-overhead.ratio", ratio(memory->resident, memory->own));
    write_number(reply, "rss-overhead.bytes", files);
    write_ratio(reply, "fragmentation", ratio(memory->resident, memory->own));
    write_number(reply, "fragmentation.bytes", files);
}

enum { STATS_FIELDS = 27 }; /* without those of databases */

static enum outcome run_memory_stats(struct context *context)
{
    struct figures figures = take_figures(context);
    size_t mark = resp_deferred(context->reply), databases;

    write_parts(context->reply, &figures);
    databases = write_databases(context->reply, figures.store);
    write_sums(context->reply, &figures);
    write_allocator(context->reply, &figures.process);
    resp_deferred_map(context->reply, mark, STATS_FIELDS + databases);
    return OUTCOME_DONE;
}

/* As Redis answers with an allocator like this one: glibc walks over all that is free to count,
 * which takes long, and holds its lock meanwhile. */
static enum outcome run_memory_malloc_stats(struct context *context)
{
    resp_string(context->reply, "Stats not supported for the current allocator");
    return OUTCOME_DONE;
}

/* ---- DOCTOR */

static void say(struct buffer *text, const char *what)
{
    buffer_append(text, what, strlen(what));
}

static void diagnose(const struct context *context, struct buffer *text)
{
    struct figures figures = take_figures(context);
    size_t limit = client_memory_limit(context->server);

    if (limit > 0 && figures.clients > limit / 2)
        say(text, " * Clients: their requests and replies take more than half of "
                  "maxmemory-clients. CLIENT LIST shows whose (tot-mem).\n");
    if (figures.process.own > 0 && figures.clients > figures.process.own / 2)
        say(text, " * Clients: more than half of the memory is theirs.\n");
    if (context->store != NULL && dueq_pressure(context->store) >= DUEQ_PRESSURE_FULL)
        say(text,
            " * Memtables: they are full until a checkpoint ends, and pushes wait. Is the "
            "disk slow? A larger memtable-size takes longer bursts.\n");
    if (figures.process.peak / 2 > figures.process.own)
        say(text, " * Peak: at some time the process had more than twice the memory of now.\n");
}

static enum outcome run_memory_doctor(struct context *context)
{
    static const char fine[] =
        "Nothing stands out. dueq keeps its data on disk; memory is two "
        "memtables, clients, and topics. MEMORY STATS has the figures.\n";
    struct buffer text;

    buffer_init(&text, 1 << 16);
    diagnose(context, &text);
    if (buffer_size(&text) == 0)
        say(&text, fine);
    resp_verbatim(context->reply, "txt", buffer_content(&text), buffer_size(&text));
    buffer_release(&text);
    return OUTCOME_DONE;
}

/* ---- PURGE */

/* Freed memory goes back to the system by itself; what can be purged is on the disk. INFO
 * journal shows how far it is. */
static enum outcome run_memory_purge(struct context *context)
{
    enum dueq_status status = dueq_compact(context->store);

    if (status == DUEQ_OK)
        return context_ok(context);
    if (status != DUEQ_FULL)
        return context_status(context, status);
    resp_error(context->reply, "ERR the disk has no room for a compact copy of data.mdb");
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command memory_subcommands[] = {
    {.name = "doctor",
     .arity = 2,
     .flags = 0,
     .group = "server",
     .since = "4.0.0",
     .summary = "Outputs memory problems report",
     .complexity = "O(1)",
     .syntax = "",
     .tips = "nondeterministic_output request_policy:all_shards response_policy:special",
     .run = run_memory_doctor},
    {.name = "malloc-stats",
     .arity = 2,
     .flags = 0,
     .group = "server",
     .since = "4.0.0",
     .summary = "Show allocator internal stats",
     .complexity = "Depends on how much memory is allocated, could be slow",
     .syntax = "",
     .tips = "nondeterministic_output request_policy:all_shards response_policy:special",
     .run = run_memory_malloc_stats},
    {.name = "stats",
     .arity = 2,
     .flags = 0,
     .group = "server",
     .since = "4.0.0",
     .summary = "Show memory usage details",
     .complexity = "O(1)",
     .syntax = "",
     .tips = "nondeterministic_output request_policy:all_shards response_policy:special",
     .run = run_memory_stats},
    {.name = "purge",
     .arity = 2,
     .flags = 0,
     .group = "server",
     .since = "4.0.0",
     .summary = "Ask the allocator to release memory",
     .complexity = "Depends on how much memory is allocated, could be slow",
     .syntax = "",
     .tips = "request_policy:all_shards response_policy:all_succeeded",
     .run = run_memory_purge},
    {.name = "help",
     .arity = 2,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "4.0.0",
     .summary = "Show helpful text about the different subcommands",
     .complexity = "O(1)",
     .syntax = "",
     .run = run_container_help},
    {.name = "usage",
     .arity = -3,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH,
     .keys = {2, 2, 1},
     .key_specs = "RO@2/r0:1:0",
     .group = "server",
     .since = "4.0.0",
     .summary = "Estimate the memory usage of a key",
     .complexity = "O(N) where N is the number of samples.",
     .syntax = "key [SAMPLES count]",
     .run = run_memory_usage},
    {.name = NULL}};

static const struct command entries[] = {
    {.name = "memory",
     .arity = -2,
     .flags = 0,
     .group = "server",
     .since = "4.0.0",
     .summary = "A container for memory diagnostics commands",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .subcommands = memory_subcommands},
    {.name = NULL}};

COMMANDS(memory, entries)
