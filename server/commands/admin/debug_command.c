/* DEBUG, for tests of clients. */
#include "server/commands/database.h"
#include "server/commands/key_object.h"
#include "server/commands/key_size.h"
#include "server/dispatch/arguments.h"
#include "server/dispatch/command_list.h"
#include "server/server.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

/* ---- OBJECT */

/* What Redis adds for a list. Each element of a list that is not packed counts as a node. */
static void describe_list(const struct context *context, const struct keys_info *info,
                          uint64_t bytes, char *text, size_t size)
{
    uint64_t nodes = info->packed ? 1 : info->count;

    snprintf(text, size,
             " ql_nodes:%" PRIu64 " ql_avg_node:%.2f ql_listpack_max:%" PRId64
             " ql_compressed:0 ql_uncompressed_size:%" PRIu64,
             nodes, (double)info->count / (double)nodes,
             context->server->config.list_max_listpack_size, bytes);
}

static void write_object(struct context *context, const struct keys_info *info)
{
    struct keys_view view = database_view(context);
    struct dueq_slice name = context_slice(context, 2);
    uint64_t bytes = key_size_estimate_value(&view, name, info);
    char line[512], list[192] = "";

    if (info->type == KEYS_LIST)
        describe_list(context, info, bytes, list, sizeof(list));
    snprintf(line, sizeof(line),
             "Value at:0x0 refcount:%" PRId64 " encoding:%s serializedlength:%" PRIu64
             " lru:0 lru_seconds_idle:%" PRId64 "%s",
             key_object_references(&view, name, info), keys_encoding_name(info->encoding),
             bytes, key_object_idle(&view, name), list);
    resp_simple(context->reply, line);
}

/* As Redis replies, but without an address and with an estimated length. */
static enum outcome describe_object(struct context *context)
{
    struct keys_view view;
    struct keys_info info;
    enum dueq_status status;

    if (context->store == NULL) {
        resp_error(context->reply, "ERR the store is not open");
        return OUTCOME_DONE;
    }
    view = database_view(context);
    status = keys_info(&view, context_slice(context, 2), &info);

    if (status == DUEQ_NOTFOUND)
        resp_error(context->reply, "ERR no such key");
    else if (context_check_status(context, status))
        write_object(context, &info);
    return OUTCOME_DONE;
}

/* ---- SLEEP */

/* Blocks the whole server on purpose; a signal does not shorten it. */
static void sleep_for(double seconds)
{
    struct timespec wait = {(time_t)seconds, (long)(fmod(seconds, 1) * 1e9)};

    while (nanosleep(&wait, &wait) != 0 && errno == EINTR)
        continue;
}

static enum outcome run_debug(struct context *context)
{
    double seconds;

    if (arguments_is(context, 1, "object") && context_count(context) == 3)
        return describe_object(context);
    if (!arguments_is(context, 1, "sleep") || context_count(context) != 3)
        return context_subcommand_error(context);
    if (!arguments_float(context, 2, &seconds))
        return OUTCOME_DONE;
    if (seconds > 0 && seconds < 3600)
        sleep_for(seconds);
    return context_ok(context);
}

/* ---- commands */

static const struct command entries[] = {{.name = "debug",
                                          .arity = -2,
                                          .flags = COMMAND_PROTECTED | COMMAND_ADMIN |
                                                   COMMAND_NOSCRIPT | COMMAND_LOADING |
                                                   COMMAND_STALE,
                                          .group = "server",
                                          .since = "1.0.0",
                                          .summary = "A container for debugging commands",
                                          .complexity = "Depends on subcommand.",
                                          .syntax = "subcommand [arg [arg ...]]",
                                          .run = run_debug},
                                         {.name = NULL}};

COMMANDS(debug, entries)
