/* Looking into the server: MONITOR, SLOWLOG, MEMORY; and checkpoints, under the names
 * that Redis has for saving. */
#include "server/clients.h"
#include "server/commands/handlers.h"
#include "server/commands/insight.h"
#include "server/keyspace.h"
#include "server/monitors.h"
#include "server/server.h"
#include "storage/kv/kv.h"

#include <utlist.h>

enum outcome run_monitor(struct context *context)
{
    if (!context->may_wait) {
        resp_error(context->reply, "ERR MONITOR isn't allowed for DENY BLOCKING client");
        return OUTCOME_DONE;
    }
    monitors_add(context->server, context->session);
    return context_ok(context);
}

/* ---- SLOWLOG */

static void write_entry(struct context *context, const struct slowlog_entry *entry)
{
    resp_array(context->reply, 6);
    resp_integer(context->reply, (int64_t)entry->id);
    resp_integer(context->reply, entry->time);
    resp_integer(context->reply, (int64_t)entry->usec);
    resp_array(context->reply, entry->count);
    for (size_t i = 0; i < entry->count; i++)
        resp_bulk(context->reply, entry->arguments[i].data, entry->arguments[i].size);
    resp_string(context->reply, entry->address == NULL ? "" : entry->address);
    resp_string(context->reply, entry->name == NULL ? "" : entry->name);
}

enum outcome run_slowlog_get(struct context *context)
{
    const struct slowlog *slowlog = &context->server->slowlog;
    const struct slowlog_entry *entry;
    int64_t count = 10;

    if (context_count(context) > 3)
        return context_subcommand_error(context);
    if (context_count(context) == 3 &&
        !context_range_integer(context, 2, -1, INT64_MAX,
                               "ERR count should be greater than or equal to -1", &count))
        return OUTCOME_DONE;
    if (count < 0 || (uint64_t)count > slowlog->count)
        count = (int64_t)slowlog->count;
    resp_array(context->reply, (size_t)count);
    for (entry = slowlog->entries; count > 0; entry = entry->next, count--)
        write_entry(context, entry);
    return OUTCOME_DONE;
}

enum outcome run_slowlog_len(struct context *context)
{
    return context_integer_reply(context, (int64_t)context->server->slowlog.count);
}

enum outcome run_slowlog_reset(struct context *context)
{
    slowlog_reset(&context->server->slowlog);
    return context_ok(context);
}

enum outcome run_slowlog_help(struct context *context)
{
    return write_help(context);
}

/* ---- MEMORY */

enum { KEY_COST = 64, ELEMENT_COST = 48, SAMPLES_DEFAULT = 5 }; /* bytes, roughly */

/* Looks at a few elements; 0 of them: at all. */
struct sampling {
    uint64_t left, seen, bytes;
};

static bool sample_element(void *arg, struct dueq_slice element, struct dueq_slice value)
{
    struct sampling *sampling = arg;

    sampling->seen++;
    sampling->bytes += element.size + value.size;
    return --sampling->left > 0;
}

static bool sample_scored(void *arg, const struct zset_entry *entry)
{
    return sample_element(arg, entry->member, dueq_slice(NULL, 8));
}

static void sample(const struct keys_view *view, struct dueq_slice name, enum keys_type type,
                   struct sampling *sampling)
{
    uint64_t next;

    if (type == KEYS_LIST)
        list_each(view, name, 0, LIST_TAIL, sample_element, sampling);
    else if (type == KEYS_SET)
        set_each(view, name, sample_element, sampling);
    else if (type == KEYS_HASH)
        hash_each(view, name, sample_element, sampling);
    else if (type == KEYS_ZSET)
        zset_scan(view, name, 0, UINT64_MAX, sample_scored, sampling, &next);
}

/* What the key takes on disk and in caches, by a sample of its elements. */
static int64_t estimate(const struct keys_view *view, struct dueq_slice name,
                        const struct keys_info *info, uint64_t samples)
{
    struct sampling sampling = {.left = samples == 0 ? UINT64_MAX : samples};

    if (info->type == KEYS_STRING)
        return (int64_t)(KEY_COST + name.size + info->count);
    sample(view, name, info->type, &sampling);
    if (sampling.seen == 0)
        return (int64_t)(KEY_COST + name.size);
    return (int64_t)(KEY_COST + name.size +
                     info->count * (ELEMENT_COST + sampling.bytes / sampling.seen));
}

uint64_t key_size_estimate(const struct keys_view *view, struct dueq_slice name,
                           const struct keys_info *info)
{
    struct sampling sampling = {.left = SAMPLES_DEFAULT};

    if (info->type == KEYS_STRING)
        return info->count;
    sample(view, name, info->type, &sampling);
    return sampling.seen == 0 ? 0 : info->count * sampling.bytes / sampling.seen;
}

enum outcome run_memory_usage(struct context *context)
{
    struct keys_view view = context_view(context);
    struct dueq_slice name = context_slice(context, 2);
    struct keys_info info;
    int64_t samples = SAMPLES_DEFAULT;

    for (size_t at = 3; at < context_count(context); at += 2) {
        if (!context_is(context, at, "samples") || at + 1 == context_count(context))
            return context_syntax_error(context);
        if (!context_integer(context, at + 1, &samples))
            return OUTCOME_DONE;
        if (samples < 0)
            return context_syntax_error(context);
    }
    if (keys_info(&view, name, &info) == DUEQ_OK)
        resp_integer(context->reply, estimate(&view, name, &info, (uint64_t)samples));
    else
        resp_null(context->reply);
    return OUTCOME_DONE;
}

enum outcome run_memory_doctor(struct context *context)
{
    static const char text[] =
        "dueq keeps its data on disk; memory is two memtables at most and "
        "a few caches. INFO memory has the figures.\n";

    resp_verbatim(context->reply, "txt", text, sizeof(text) - 1);
    return OUTCOME_DONE;
}

enum outcome run_memory_purge(struct context *context)
{
    return context_ok(context); /* freed memory goes back to the system by itself */
}

enum outcome run_memory_help(struct context *context)
{
    return write_help(context);
}

/* ---- checkpoints */

enum outcome run_lastsave(struct context *context)
{
    return context_integer_reply(context, server_last_save(context->server));
}

/* All that was accepted is on disk already; a checkpoint makes the next start a quick one. */
enum outcome run_save(struct context *context)
{
    enum dueq_status status = dueq_checkpoint(context->store, context->now);

    return status == DUEQ_OK ? context_ok(context) : context_status(context, status);
}

/* Nothing is committed within a command, so the checkpoint begins when the turn ends. */
enum outcome run_bgsave(struct context *context)
{
    struct kv_stats stats;

    if (context_count(context) > 2 ||
        (context_count(context) == 2 && !context_is(context, 1, "schedule")))
        return context_syntax_error(context);
    kv_get_stats(dueq_kv(context->store), &stats);
    context->server->checkpoint_wanted = true;
    resp_simple(context->reply, stats.checkpoint_running ? "Background saving scheduled"
                                                         : "Background saving started");
    return OUTCOME_DONE;
}
