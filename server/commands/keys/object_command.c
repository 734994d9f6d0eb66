/* OBJECT: encoding, reference count and idle time of a key, as Redis would report them. */
#include "server/commands/keys/object_command.h"
#include "server/commands/clients/client_filter.h"
#include "server/commands/database.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/context.h"
#include "server/server.h"

#include "protocol/number.h"
#include "server/commands/key_size.h"
#include "storage/keys/index/access.h"
#include "storage/keys/string.h"

#include <inttypes.h>
#include <stdio.h>

enum { SHARED_INTEGERS = 10000 };

/* False: the reply is written. */
static bool find(struct context *context, struct keys_info *ret_info)
{
    struct keys_view view = database_view(context);
    enum dueq_status status = keys_info(&view, context_slice(context, 2), ret_info);

    if (status == DUEQ_NOTFOUND)
        resp_null(context->reply);
    return context_check_status(context, status) && status == DUEQ_OK;
}

static enum outcome run_object_encoding(struct context *context)
{
    struct keys_info info;

    if (find(context, &info))
        resp_string(context->reply, keys_encoding_name(info.encoding));
    return OUTCOME_DONE;
}

/* Redis shares objects of small integers and reports INT_MAX references for them. */
static int64_t refcount(const struct keys_view *view, struct dueq_slice name,
                        const struct keys_info *info)
{
    struct dueq_slice value = {NULL, 0};
    int64_t number;

    if (info->encoding == KEYS_INT)
        string_get(view, name, &value);
    return number_parse_integer(value.data, value.size, &number) && number >= 0 &&
                   number < SHARED_INTEGERS
               ? INT32_MAX
               : 1;
}

static enum outcome run_object_refcount(struct context *context)
{
    struct keys_view view = database_view(context);
    struct keys_info info;

    if (!find(context, &info))
        return OUTCOME_DONE;
    return context_reply_integer(context, refcount(&view, context_slice(context, 2), &info));
}

static int64_t idle_seconds(const struct keys_view *view, struct dueq_slice name)
{
    int64_t used = 0;

    access_last(view, name, &used);
    return used < view->time.now ? (view->time.now - used) / 1000 : 0;
}

/* A lower bound for a key that is not among those whose last use is remembered. */
static enum outcome run_object_idletime(struct context *context)
{
    struct keys_view view = database_view(context);
    struct keys_info info;

    if (!find(context, &info))
        return OUTCOME_DONE;
    return context_reply_integer(context, idle_seconds(&view, context_slice(context, 2)));
}

static enum outcome run_object_freq(struct context *context)
{
    struct keys_info info;

    if (find(context, &info))
        resp_error(context->reply,
                   "ERR An LFU maxmemory policy is not selected, access frequency not tracked. "
                   "Please note that when switching between policies at runtime LRU and LFU "
                   "data will take some time to adjust.");
    return OUTCOME_DONE;
}

/* ---- DEBUG OBJECT */

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
             refcount(&view, name, info), keys_encoding_name(info->encoding), bytes,
             idle_seconds(&view, name), list);
    resp_simple(context->reply, line);
}

/* As Redis replies, but without an address and with an estimated length. */
enum outcome reply_debug_object(struct context *context)
{
    struct keys_view view = database_view(context);
    struct keys_info info;
    enum dueq_status status = keys_info(&view, context_slice(context, 2), &info);

    if (status == DUEQ_NOTFOUND)
        resp_error(context->reply, "ERR no such key");
    else if (context_check_status(context, status))
        write_object(context, &info);
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command object_subcommands[] = {
    {.name = "idletime",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH,
     .keys = {2, 2, 1},
     .key_specs = "RO@2/r0:1:0",
     .group = "generic",
     .since = "2.2.3",
     .summary = "Get the time since a Redis object was last accessed",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "keyspace",
     .tips = "nondeterministic_output",
     .run = run_object_idletime},
    {.name = "help",
     .arity = 2,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "generic",
     .since = "6.2.0",
     .summary = "Show helpful text about the different subcommands",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "keyspace",
     .run = run_container_help},
    {.name = "encoding",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH,
     .keys = {2, 2, 1},
     .key_specs = "RO@2/r0:1:0",
     .group = "generic",
     .since = "2.2.3",
     .summary = "Inspect the internal encoding of a Redis object",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "keyspace",
     .tips = "nondeterministic_output",
     .run = run_object_encoding},
    {.name = "freq",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH,
     .keys = {2, 2, 1},
     .key_specs = "RO@2/r0:1:0",
     .group = "generic",
     .since = "4.0.0",
     .summary = "Get the logarithmic access frequency counter of a Redis object",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "keyspace",
     .tips = "nondeterministic_output",
     .run = run_object_freq},
    {.name = "refcount",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH,
     .keys = {2, 2, 1},
     .key_specs = "RO@2/r0:1:0",
     .group = "generic",
     .since = "2.2.3",
     .summary = "Get the number of references to the value of the key",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "keyspace",
     .tips = "nondeterministic_output",
     .run = run_object_refcount},
    {.name = NULL}};

static const struct command entries[] = {
    {.name = "object",
     .arity = -2,
     .flags = 0,
     .group = "generic",
     .since = "2.2.3",
     .summary = "A container for object introspection commands",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .subcommands = object_subcommands},
    {.name = NULL}};

COMMANDS(object, entries)
