/* Expiry of keys: EXPIRE, TTL and their relatives. */
#include "server/commands/database.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/command_list.h"

/* NX, XX, GT, LT */
struct conditions {
    bool if_none, if_any, if_greater, if_less;
};

static const struct argument_option options[] = {
    {"nx", OPTION_FLAG(struct conditions, if_none)},
    {"xx", OPTION_FLAG(struct conditions, if_any)},
    {"gt", OPTION_FLAG(struct conditions, if_greater)},
    {"lt", OPTION_FLAG(struct conditions, if_less)},
    {.name = NULL}};

static bool parse_conditions(struct context *context, struct conditions *given)
{
    size_t at = 3;

    if (!argument_options_read_leading(context, &at, options, given))
        return false;
    if (at < context_count(context))
        resp_errorf(context->reply, "ERR Unsupported option %s",
                    context_argument(context, at).data);
    else if (given->if_none && (given->if_any || given->if_greater || given->if_less))
        resp_error(context->reply,
                   "ERR NX and XX, GT or LT options at the same time are not compatible");
    else if (given->if_greater && given->if_less)
        resp_error(context->reply, "ERR GT and LT options at the same time are not compatible");
    else
        return true;
    return false;
}

/* A key that does not expire counts as one with an infinite time to live. */
static bool is_allowed(const struct conditions *conditions, int64_t current, int64_t wanted,
                       struct dueq_time time)
{
    bool expires = current != DUEQ_NEVER;

    if (expires)
        current = expiry_wall_time(current, time);
    wanted = expiry_wall_time(wanted, time);
    if (conditions->if_none && expires)
        return false;
    if (conditions->if_any && !expires)
        return false;
    if (conditions->if_greater && (!expires || wanted <= current))
        return false;
    return !conditions->if_less || !expires || wanted < current;
}

static enum outcome expire(struct context *context, bool seconds, bool relative)
{
    struct keys_view view = database_view(context);
    struct dueq_slice name = context_slice(context, 1);
    struct keys_info info;
    struct conditions conditions = {0};
    enum dueq_status status;
    int64_t moment;

    if (!parse_conditions(context, &conditions) ||
        !arguments_expiry(context, 2, seconds, !relative, INT64_MIN, &moment))
        return OUTCOME_DONE;
    status = keys_info(&view, name, &info);
    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    if (status == DUEQ_NOTFOUND || !is_allowed(&conditions, info.expires, moment, view.time))
        return context_reply_integer(context, 0);
    if (!context_check_status(context, keys_expire(&view, name, moment)))
        return OUTCOME_DONE;
    database_notify(context, EVENT_GENERIC, expiry_is_due(moment, view.time) ? "del" : "expire",
                    name);
    return context_reply_integer(context, 1);
}

static enum outcome run_expire(struct context *context)
{
    return expire(context, true, true);
}

static enum outcome run_pexpire(struct context *context)
{
    return expire(context, false, true);
}

static enum outcome run_expireat(struct context *context)
{
    return expire(context, true, false);
}

static enum outcome run_pexpireat(struct context *context)
{
    return expire(context, false, false);
}

static enum outcome run_persist(struct context *context)
{
    struct keys_view view = database_view(context);
    struct dueq_slice name = context_slice(context, 1);
    struct keys_info info;
    enum dueq_status status = keys_info(&view, name, &info);

    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    if (status == DUEQ_NOTFOUND || info.expires == DUEQ_NEVER)
        return context_reply_integer(context, 0);
    if (!context_check_status(context, keys_expire(&view, name, DUEQ_NEVER)))
        return OUTCOME_DONE;
    database_notify(context, EVENT_GENERIC, "persist", name);
    return context_reply_integer(context, 1);
}

/* ---- asking: -2 without the key, -1 without an expiry; seconds are rounded */

static enum outcome tell(struct context *context, bool seconds, bool relative)
{
    struct keys_view view = database_view(context);
    struct keys_info info;
    int64_t moment;

    if (keys_info(&view, context_slice(context, 1), &info) != DUEQ_OK)
        return context_reply_integer(context, -2);
    if (info.expires == DUEQ_NEVER)
        return context_reply_integer(context, -1);
    moment = relative ? expiry_left(info.expires, view.time)
                      : expiry_wall_time(info.expires, view.time);
    return context_reply_integer(context,
                                 seconds ? moment / 1000 + (moment % 1000 >= 500) : moment);
}

static enum outcome run_ttl(struct context *context)
{
    return tell(context, true, true);
}

static enum outcome run_pttl(struct context *context)
{
    return tell(context, false, true);
}

static enum outcome run_expiretime(struct context *context)
{
    return tell(context, true, false);
}

static enum outcome run_pexpiretime(struct context *context)
{
    return tell(context, false, false);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "expire",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,update@1/r0:1:0",
     .group = "generic",
     .since = "1.0.0",
     .summary = "Set a key's time to live in seconds",
     .complexity = "O(1)",
     .syntax = "key seconds [NX|XX|GT|LT]",
     .categories = "keyspace",
     .run = run_expire},
    {.name = "pexpire",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,update@1/r0:1:0",
     .group = "generic",
     .since = "2.6.0",
     .summary = "Set a key's time to live in milliseconds",
     .complexity = "O(1)",
     .syntax = "key milliseconds [NX|XX|GT|LT]",
     .categories = "keyspace",
     .run = run_pexpire},
    {.name = "expireat",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,update@1/r0:1:0",
     .group = "generic",
     .since = "1.2.0",
     .summary = "Set the expiration for a key as a UNIX timestamp",
     .complexity = "O(1)",
     .syntax = "key unix-time-seconds [NX|XX|GT|LT]",
     .categories = "keyspace",
     .run = run_expireat},
    {.name = "pexpireat",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,update@1/r0:1:0",
     .group = "generic",
     .since = "2.6.0",
     .summary = "Set the expiration for a key as a UNIX timestamp specified in milliseconds",
     .complexity = "O(1)",
     .syntax = "key unix-time-milliseconds [NX|XX|GT|LT]",
     .categories = "keyspace",
     .run = run_pexpireat},
    {.name = "ttl",
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "generic",
     .since = "1.0.0",
     .summary = "Get the time to live for a key in seconds",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "keyspace",
     .tips = "nondeterministic_output",
     .run = run_ttl},
    {.name = "pttl",
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "generic",
     .since = "2.6.0",
     .summary = "Get the time to live for a key in milliseconds",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "keyspace",
     .tips = "nondeterministic_output",
     .run = run_pttl},
    {.name = "expiretime",
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "generic",
     .since = "7.0.0",
     .summary = "Get the expiration Unix timestamp for a key",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "keyspace",
     .run = run_expiretime},
    {.name = "pexpiretime",
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "generic",
     .since = "7.0.0",
     .summary = "Get the expiration Unix timestamp for a key in milliseconds",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "keyspace",
     .run = run_pexpiretime},
    {.name = "persist",
     .arity = 2,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,update@1/r0:1:0",
     .group = "generic",
     .since = "2.2.0",
     .summary = "Remove the expiration from a key",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "keyspace",
     .run = run_persist},
    {.name = NULL}};

COMMANDS(expire, entries)
