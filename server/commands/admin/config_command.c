/* CONFIG: GET, SET, REWRITE, RESETSTAT. */
#include "server/acl/acl.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/context.h"
#include "storage/store.h"

#include "storage/glob.h"
#include "server/dispatch/arguments.h"
#include "server/dispatch/docs/command_help.h"
#include "server/dispatch/long_work.h"
#include "server/net/user_sessions.h"
#include "server/server.h"
#include "server/statistics/command_stats.h"
#include "storage/keys/state/access.h"
#include "storage/keys/keys.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- CONFIG GET */

enum { OPTIONS_MOST = 512 };

/* A CONFIG GET that looks for its options in its arguments. */
struct asking {
    size_t at;                 /* argument that is next */
    uint32_t by[OPTIONS_MOST]; /* the first argument that asks for the option; 0: none yet */
};

static struct argument own_name(size_t option)
{
    return (struct argument){config_name(option), strlen(config_name(option))};
}

static bool asks_for(struct argument pattern, struct argument name)
{
    return argument_is(pattern, name.data) ||
           glob_match(pattern.data, pattern.size, name.data, name.size, true);
}

static void look_at_one(const struct context *context, struct asking *asking)
{
    struct argument pattern = context_argument(context, asking->at);

    for (size_t i = 0; i < config_count(); i++)
        if (asking->by[i] == 0 && asks_for(pattern, own_name(i)))
            asking->by[i] = (uint32_t)asking->at;
    asking->at++;
}

/* The name as the client wrote it, or the option's own when a pattern matched. */
static void write_option(struct context *context, size_t option, struct argument pattern)
{
    struct argument name = own_name(option);
    char text[CONFIG_TEXT_MAX];
    size_t size = config_get(&context->server->config, option, text);

    if (argument_is(pattern, name.data))
        name = pattern;
    resp_bulk(context->reply, name.data, name.size);
    resp_bulk(context->reply, text, size);
}

static enum outcome write_options(struct context *context, const struct asking *asking)
{
    size_t mark = resp_deferred(context->reply), found = 0;

    for (size_t i = 0; i < config_count(); i++)
        if (asking->by[i] > 0) {
            write_option(context, i, context_argument(context, asking->by[i]));
            found++;
        }
    resp_deferred_map(context->reply, mark, found);
    return OUTCOME_DONE;
}

/* Each argument is held against each option. The values are those of one moment, at the end. */
static enum outcome look(struct context *context, struct asking *asking, size_t most)
{
    size_t left = context_count(context) - asking->at;
    size_t end = asking->at + (left < most ? left : most);

    while (asking->at < end)
        look_at_one(context, asking);
    return end < context_count(context) ? OUTCOME_WAIT : write_options(context, asking);
}

static enum outcome run_get(struct context *context)
{
    struct asking *asking = long_work_state(context), begun = {.at = 2};

    assert(config_count() <= OPTIONS_MOST);
    if (asking != NULL)
        return look(context, asking, LONG_STEPS / 2);
    if (look(context, &begun, LONG_STEPS) == OUTCOME_DONE)
        return OUTCOME_DONE;
    if (long_work_try(context, &begun, sizeof(begun), free))
        return OUTCOME_WAIT;
    return look(context, &begun, SIZE_MAX);
}

/* ---- CONFIG SET */

static bool refuse(struct context *context, size_t index, const char *why)
{
    resp_errorf(context->reply,
                "ERR CONFIG SET failed (possibly related to argument '%.128s') - %s",
                context_argument(context, index).data, why);
    return false;
}

static bool is_named_before(struct context *context, size_t index, int option)
{
    for (size_t i = 2; i < index; i += 2)
        if (config_find(context_argument(context, i)) == option)
            return true;
    return false;
}

static bool check_name(struct context *context, size_t index)
{
    int option = config_find(context_argument(context, index));

    if (option < 0) {
        resp_errorf(context->reply,
                    "ERR Unknown option or number of arguments for CONFIG SET - '%.128s'",
                    context_argument(context, index).data);
        return false;
    }
    if (!config_may_change(&context->server->config, (size_t)option,
                           context_argument(context, index + 1)))
        return refuse(context, index, "can't set immutable config");
    if (is_named_before(context, index, option))
        return refuse(context, index, "duplicate parameter");
    return true;
}

/* Checks all names before any value. */
static bool check_names(struct context *context)
{
    for (size_t i = 2; i < context_count(context); i += 2)
        if (!check_name(context, i))
            return false;
    return true;
}

static bool set_values(struct context *context, struct config *config)
{
    struct config_error error;

    for (size_t i = 2; i < context_count(context); i += 2) {
        size_t option = (size_t)config_find(context_argument(context, i));

        if (!config_set_value(config, option, context_argument(context, i + 1), &error))
            return refuse(context, i, error.text);
    }
    return true;
}

/* The argument that names the option. */
static size_t argument_of(const struct context *context, const char *name)
{
    size_t index = 2;

    while (index + 2 < context_count(context) &&
           !argument_is(context_argument(context, index), name))
        index += 2;
    return index;
}

static bool begins(struct argument name, const char *beginning)
{
    size_t size = strlen(beginning);

    return name.size > size && strncasecmp(name.data, beginning, size) == 0;
}

/* The first argument that names an option of TLS; 0: there is none. */
static size_t first_of_tls(const struct context *context)
{
    for (size_t i = 2; i < context_count(context); i += 2) {
        struct argument name = context_argument(context, i);

        if (begins(name, "tls-") || begins(name, "http-tls-"))
            return i;
    }
    return 0;
}

/* Files may have changed under names that stay: naming one reads all of them, as in Redis. */
static bool check_values(struct context *context, const struct config *config)
{
    size_t tls = first_of_tls(context);
    struct config_error error;
    const char *name = server_check_config(context->server, config, tls > 0, &error);

    if (name != NULL && strcmp(name, "tls") == 0)
        return refuse(context, tls, error.text);
    return name == NULL || refuse(context, argument_of(context, name), error.text);
}

/* Sets all options in a copy, which replaces the configuration if all are valid. */
static enum outcome run_set(struct context *context)
{
    struct config *config = &context->server->config;
    struct config changed;

    if (context_count(context) % 2 != 0)
        return context_syntax_error(context);
    if (!check_names(context))
        return OUTCOME_DONE;
    if (!config_copy(config, &changed))
        return context_status(context, DUEQ_NOMEM);
    if (!set_values(context, &changed) || !check_values(context, &changed)) {
        config_release(&changed);
        return OUTCOME_DONE;
    }
    if (!server_take_config(context->server, &changed)) {
        config_release(&changed);
        return context_status(context, DUEQ_NOMEM);
    }
    return context_ok(context);
}

/* ---- CONFIG RESETSTAT, CONFIG REWRITE */

static enum outcome run_config_resetstat(struct context *context)
{
    struct server_stats *stats = &context->server->stats;

    stats->connections_received = stats->connections_rejected = 0;
    stats->commands_processed = stats->errors = 0;
    stats->input_bytes = stats->output_bytes = 0;
    context->server->throttle.delayed = 0;
    turn_watch_reset(&context->server->turn);
    if (context->store != NULL)
        access_reset_lookups(store_keys(context->store));
    command_stats_reset();
    return context_ok(context);
}

/* The lines of the users; none when the file of users has them, or there is nothing to say. */
static bool rewrite(struct context *context, struct config_error *error)
{
    const struct config *config = &context->server->config;
    struct buffer users;
    bool good = false;

    buffer_init(&users, SIZE_MAX);
    if (config->aclfile[0] == '\0' &&
        !acl_is_plain(context->server->acl,
                      dueq_slice(config->requirepass, config->requirepass_size)))
        acl_write(context->server->acl, true, &users);
    buffer_append(&users, "", 1);
    if (users.overflowed)
        snprintf(error->text, sizeof(error->text), "out of memory");
    else
        good = config_rewrite(config, buffer_content(&users), error);
    buffer_release(&users);
    return good;
}

static enum outcome run_config_rewrite(struct context *context)
{
    struct config_error error;

    if (context->server->config.file == NULL) {
        resp_error(context->reply, "ERR The server is running without a config file");
        return OUTCOME_DONE;
    }
    if (rewrite(context, &error)) {
        server_config_saved(context->server);
        log_write_limited(LOG_NOTICE, "CONFIG REWRITE executed with success.");
        return context_ok(context);
    }
    log_write_limited(LOG_WARNING, "CONFIG REWRITE failed: %s", error.text);
    resp_errorf(context->reply, "ERR Rewriting config file: %s", error.text);
    return OUTCOME_DONE;
}

/* ---- the table */

#define ADMIN (COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE)
#define SUB(sub_name, sub_arity, sub_since, sub_complexity, sub_syntax, sub_summary, handler)  \
    {                                                                                          \
        .name = sub_name, .arity = sub_arity, .flags = ADMIN, .group = "server",               \
        .since = sub_since, .summary = sub_summary, .complexity = sub_complexity,              \
        .syntax = sub_syntax, .run = handler                                                   \
    }
#define BY_NUMBER "O(N) when N is the number of configuration parameters provided"

/* ---- commands */

static const struct command config_subcommands[] = {
    SUB("get", -3, "2.0.0", BY_NUMBER, "parameter [parameter ...]",
        "Get the values of configuration parameters", run_get),
    {.name = "help",
     .arity = 2,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "5.0.0",
     .summary = "Show helpful text about the different subcommands",
     .complexity = "O(1)",
     .syntax = "",
     .run = run_container_help},
    SUB("resetstat", 2, "2.0.0", "O(1)", "", "Reset the stats returned by INFO",
        run_config_resetstat),
    SUB("rewrite", 2, "2.8.0", "O(1)", "",
        "Rewrite the configuration file with the in memory configuration", run_config_rewrite),
    {.name = "set",
     .arity = -4,
     .flags = ADMIN,
     .group = "server",
     .since = "2.0.0",
     .summary = "Set configuration parameters to the given values",
     .complexity = BY_NUMBER,
     .syntax = "parameter value [parameter value ...]",
     .tips = "request_policy:all_nodes response_policy:all_succeeded",
     .run = run_set},
    {.name = NULL}};

static const struct command entries[] = {
    {.name = "config",
     .arity = -2,
     .group = "server",
     .since = "2.0.0",
     .summary = "A container for server configuration commands",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .subcommands = config_subcommands},
    {.name = NULL}};

COMMANDS(config, entries)
