/* Strings as a whole: GET and SET and their relatives. Numbers: string_numbers.c; parts:
 * string_ranges.c. */
#include "server/commands/database.h"
#include "server/commands/string_value.h"
#include "server/commands/wide.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/command_list.h"
#include "storage/keys/string.h"

/* ---- GET and SET */

/* Replies with the value or nil. True: there was one. */
static bool reply_value(struct context *context)
{
    struct dueq_slice value;
    bool found;

    if (!string_value_read(context, context_slice(context, 1), &value, &found))
        return false;
    if (found)
        resp_slice(context->reply, value);
    else
        resp_null(context->reply);
    return found;
}

static enum outcome run_get(struct context *context)
{
    reply_value(context);
    return OUTCOME_DONE;
}

struct set_options {
    bool nx, xx, get, keep, persist;
    const struct argument_option *expiry; /* EX, PX, EXAT or PXAT; NULL: none */
    size_t expiry_at;                     /* its number's argument */
};

/* As in Redis, the number is read after all options. */
static bool note_expiry(struct context *context, size_t *at,
                        const struct argument_option *option, void *form)
{
    struct set_options *options = form;

    (void)context;
    options->expiry = option;
    options->expiry_at = (*at)++;
    return true;
}

enum { SECONDS = 1, ABSOLUTE = 2 }; /* forms of an expiry */
enum { CONDITION = 1, EXPIRY = 2 }; /* groups */

#define EXPIRY_OPTION(form)                                                                    \
    OPTION_CUSTOM, .values = 1, .read = note_expiry, .number = (form), .group = EXPIRY

static const struct argument_option set_table[] = {
    {"nx", OPTION_FLAG(struct set_options, nx), .group = CONDITION},
    {"xx", OPTION_FLAG(struct set_options, xx), .group = CONDITION},
    {"get", OPTION_FLAG(struct set_options, get)},
    {"keepttl", OPTION_FLAG(struct set_options, keep), .group = EXPIRY},
    {"ex", EXPIRY_OPTION(SECONDS)},
    {"px", EXPIRY_OPTION(0)},
    {"exat", EXPIRY_OPTION(SECONDS | ABSOLUTE)},
    {"pxat", EXPIRY_OPTION(ABSOLUTE)},
    {.name = NULL}};

static const struct argument_option getex_table[] = {
    {"persist", OPTION_FLAG(struct set_options, persist), .group = EXPIRY},
    {"ex", EXPIRY_OPTION(SECONDS)},
    {"px", EXPIRY_OPTION(0)},
    {"exat", EXPIRY_OPTION(SECONDS | ABSOLUTE)},
    {"pxat", EXPIRY_OPTION(ABSOLUTE)},
    {.name = NULL}};

/* DUEQ_NEVER without an expiry. False: the error is written. */
static bool read_expiry(struct context *context, const struct set_options *options,
                        int64_t *ret_expires)
{
    *ret_expires = DUEQ_NEVER;
    return options->expiry == NULL ||
           arguments_expiry(context, options->expiry_at,
                            (options->expiry->number & SECONDS) != 0,
                            (options->expiry->number & ABSOLUTE) != 0, 1, ret_expires);
}

static enum outcome run_set(struct context *context)
{
    struct set_options options = {0};
    struct keys_view view = database_view(context);
    struct dueq_slice name = context_slice(context, 1), old;
    struct keys_info info;
    int64_t expires;
    bool found = false;
    enum dueq_status status = DUEQ_OK;

    if (!argument_options_read(context, 3, set_table, &options) ||
        !read_expiry(context, &options, &expires))
        return OUTCOME_DONE;
    if (options.get) {
        if (!string_value_read(context, name, &old, &found))
            return OUTCOME_DONE;
        if (found)
            resp_slice(context->reply, old);
        else
            resp_null(context->reply);
    }
    if (options.nx || options.xx)
        status = keys_info(&view, name, &info);
    if ((options.nx && status == DUEQ_OK) || (options.xx && status == DUEQ_NOTFOUND)) {
        if (!options.get)
            resp_null(context->reply);
        return OUTCOME_DONE;
    }
    if (!string_value_write(context, name, context_slice(context, 2),
                            options.keep ? KEYS_KEEP_EXPIRY : expires, STRING_GIVEN, "set"))
        return OUTCOME_DONE;
    if (options.expiry != NULL)
        database_notify(context, EVENT_GENERIC, "expire", name);
    return options.get ? OUTCOME_DONE : context_ok(context);
}

static enum outcome set_with_ttl(struct context *context, bool seconds)
{
    int64_t expires;

    if (!arguments_expiry(context, 2, seconds, false, 1, &expires))
        return OUTCOME_DONE;
    if (!string_value_write(context, context_slice(context, 1), context_slice(context, 3),
                            expires, STRING_GIVEN, "set"))
        return OUTCOME_DONE;
    database_notify(context, EVENT_GENERIC, "expire", context_slice(context, 1));
    return context_ok(context);
}

static enum outcome run_setex(struct context *context)
{
    return set_with_ttl(context, true);
}

static enum outcome run_psetex(struct context *context)
{
    return set_with_ttl(context, false);
}

static enum outcome run_setnx(struct context *context)
{
    struct keys_view view = database_view(context);
    struct keys_info info;

    if (keys_info(&view, context_slice(context, 1), &info) == DUEQ_OK)
        return context_reply_integer(context, 0);
    if (!string_value_write(context, context_slice(context, 1), context_slice(context, 2),
                            DUEQ_NEVER, STRING_GIVEN, "set"))
        return OUTCOME_DONE;
    return context_reply_integer(context, 1);
}

static enum outcome run_getset(struct context *context)
{
    struct dueq_slice value;
    bool found;

    if (!string_value_read(context, context_slice(context, 1), &value, &found))
        return OUTCOME_DONE;
    if (found)
        resp_slice(context->reply, value);
    else
        resp_null(context->reply);
    string_value_write(context, context_slice(context, 1), context_slice(context, 2),
                       DUEQ_NEVER, STRING_GIVEN, "set");
    return OUTCOME_DONE;
}

static enum outcome run_getdel(struct context *context)
{
    struct keys_view view = database_view(context);

    if (!reply_value(context))
        return OUTCOME_DONE;
    keys_del(&view, context_slice(context, 1));
    database_notify(context, EVENT_GENERIC, "del", context_slice(context, 1));
    return OUTCOME_DONE;
}

static void change_expiry(struct context *context, struct dueq_slice name, int64_t expires,
                          const char *event)
{
    struct keys_view view = database_view(context);

    keys_expire(&view, name, expires);
    database_notify(context, EVENT_GENERIC, expiry_is_due(expires, view.time) ? "del" : event,
                    name);
}

/* As in Redis, the number of an option is read only when the key exists. */
static enum outcome run_getex(struct context *context)
{
    struct keys_view view = database_view(context);
    struct dueq_slice name = context_slice(context, 1), value;
    struct set_options options = {0};
    struct keys_info info;
    int64_t expires;
    bool found;

    if (!argument_options_read(context, 2, getex_table, &options) ||
        !string_value_read(context, name, &value, &found))
        return OUTCOME_DONE;
    if (!found) {
        resp_null(context->reply);
        return OUTCOME_DONE;
    }
    if (!read_expiry(context, &options, &expires))
        return OUTCOME_DONE;
    resp_slice(context->reply, value);
    keys_info(&view, name, &info);
    if (options.expiry != NULL)
        change_expiry(context, name, expires, "expire");
    else if (options.persist && info.expires != DUEQ_NEVER)
        change_expiry(context, name, DUEQ_NEVER, "persist");
    return OUTCOME_DONE;
}

/* ---- several keys */

static bool begin_values(struct context *context, struct wide *wide)
{
    (void)wide;
    resp_array(context->reply, context_count(context) - 1);
    return true;
}

static bool write_value(struct context *context, struct wide *wide)
{
    struct keys_view view = database_view(context);
    struct dueq_slice value;

    if (string_get(&view, context_slice(context, wide->at), &value) == DUEQ_OK)
        resp_slice(context->reply, value);
    else
        resp_null(context->reply);
    return true;
}

static enum outcome run_mget(struct context *context)
{
    static const struct wide_form form = {.first = 1,
                                          .stride = 1,
                                          .takes_keys = true,
                                          .begin = begin_values,
                                          .take = write_value,
                                          .end = wide_end};

    return wide_run(context, &form);
}

static bool set_pair(struct context *context, struct wide *wide)
{
    return string_value_write(context, context_slice(context, wide->at),
                              context_slice(context, wide->at + 1), DUEQ_NEVER, STRING_GIVEN,
                              "set");
}

static enum outcome run_mset(struct context *context)
{
    static const struct wide_form form = {
        .first = 1, .stride = 2, .takes_keys = true, .take = set_pair, .end = wide_end_ok};

    if (context_count(context) % 2 == 0)
        return context_arity_error(context);
    return wide_run(context, &form);
}

/* In one step, which takes a third of the time that the pairs take. */
static bool none_exists(struct context *context, struct wide *wide)
{
    struct keys_view view = database_view(context);
    struct keys_info info;

    wide->count = 1;
    for (size_t i = 1; i < context_count(context); i += 2)
        if (keys_info(&view, context_slice(context, i), &info) == DUEQ_OK) {
            context_reply_integer(context, 0);
            return false;
        }
    return true;
}

static enum outcome run_msetnx(struct context *context)
{
    static const struct wide_form form = {
        .first = 1, .stride = 2, .begin = none_exists, .take = set_pair, .end = wide_end_count};

    if (context_count(context) % 2 == 0)
        return context_arity_error(context);
    return wide_run(context, &form);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "set",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_READS_FIRST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update,variable_flags@1/r0:1:0!RW and ACCESS due to the optional "
                  "`GET` argument!",
     .group = "string",
     .since = "1.0.0",
     .summary = "Set the string value of a key",
     .complexity = "O(1)",
     .syntax = "key value [NX|XX] [GET] [EX seconds|PX milliseconds|EXAT "
               "unix-time-seconds|PXAT unix-time-milliseconds|KEEPTTL]",
     .categories = "string",
     .run = run_set},
    {.name = "get",
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "string",
     .since = "1.0.0",
     .summary = "Get the value of a key",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "string",
     .run = run_get},
    {.name = "getdel",
     .arity = 2,
     .flags = COMMAND_WRITE | COMMAND_LOOKS_UP | COMMAND_FAST | COMMAND_READS_FIRST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,delete@1/r0:1:0",
     .group = "string",
     .since = "6.2.0",
     .summary = "Get the value of a key and delete the key",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "string",
     .run = run_getdel},
    {.name = "getex",
     .arity = -2,
     .flags = COMMAND_WRITE | COMMAND_LOOKS_UP | COMMAND_FAST | COMMAND_READS_FIRST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0!RW and UPDATE because it changes the TTL!",
     .group = "string",
     .since = "6.2.0",
     .summary = "Get the value of a key and optionally set its expiration",
     .complexity = "O(1)",
     .syntax = "key [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT "
               "unix-time-milliseconds|PERSIST]",
     .categories = "string",
     .run = run_getex},
    {.name = "getset",
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_LOOKS_UP | COMMAND_DENYOOM | COMMAND_FAST |
              COMMAND_READS_FIRST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "string",
     .since = "1.0.0",
     .summary = "Set the string value of a key and return its old value",
     .complexity = "O(1)",
     .syntax = "key value",
     .categories = "string",
     .run = run_getset},
    {.name = "setnx",
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "OW,insert@1/r0:1:0",
     .group = "string",
     .since = "1.0.0",
     .summary = "Set the value of a key, only if the key does not exist",
     .complexity = "O(1)",
     .syntax = "key value",
     .categories = "string",
     .run = run_setnx},
    {.name = "setex",
     .arity = 4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {1, 1, 1},
     .key_specs = "OW,update@1/r0:1:0",
     .group = "string",
     .since = "2.0.0",
     .summary = "Set the value and expiration of a key",
     .complexity = "O(1)",
     .syntax = "key seconds value",
     .categories = "string",
     .run = run_setex},
    {.name = "psetex",
     .arity = 4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {1, 1, 1},
     .key_specs = "OW,update@1/r0:1:0",
     .group = "string",
     .since = "2.6.0",
     .summary = "Set the value and expiration in milliseconds of a key",
     .complexity = "O(1)",
     .syntax = "key milliseconds value",
     .categories = "string",
     .run = run_psetex},
    {.name = "mset",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {1, -1, 2},
     .key_specs = "OW,update@1/r-1:2:0",
     .group = "string",
     .since = "1.0.1",
     .summary = "Set multiple keys to multiple values",
     .complexity = "O(N) where N is the number of keys to set.",
     .syntax = "key value [key value ...]",
     .categories = "string",
     .tips = "request_policy:multi_shard response_policy:all_succeeded",
     .run = run_mset},
    {.name = "msetnx",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {1, -1, 2},
     .key_specs = "OW,insert@1/r-1:2:0",
     .group = "string",
     .since = "1.0.1",
     .summary = "Set multiple keys to multiple values, only if none of the keys exist",
     .complexity = "O(N) where N is the number of keys to set.",
     .syntax = "key value [key value ...]",
     .categories = "string",
     .tips = "request_policy:multi_shard response_policy:agg_min",
     .run = run_msetnx},
    {.name = "mget",
     .arity = -2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, -1, 1},
     .key_specs = "RO,access@1/r-1:1:0",
     .group = "string",
     .since = "1.0.0",
     .summary = "Get the values of all the given keys",
     .complexity = "O(N) where N is the number of keys to retrieve.",
     .syntax = "key [key ...]",
     .categories = "string",
     .tips = "request_policy:multi_shard",
     .run = run_mget},
    {.name = NULL}};

COMMANDS(strings, entries)
