/* Commands about the server: COMMAND, CONFIG, INFO and the like. */
#include "server/command.h"

#include "protocol/glob.h"
#include "server/clients.h"
#include "server/command_docs.h"
#include "server/command_stats.h"
#include "server/info.h"
#include "server/server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static bool is(const struct context *context, size_t index, const char *word)
{
    return argument_is(context_argument(context, index), word);
}

static enum outcome run_help(struct context *context)
{
    return write_help(context);
}

static enum outcome run_time(struct context *context)
{
    struct timeval now;

    gettimeofday(&now, NULL);
    resp_array(context->reply, 2);
    resp_bulk_integer(context->reply, now.tv_sec);
    resp_bulk_integer(context->reply, now.tv_usec);
    return OUTCOME_DONE;
}

static enum outcome run_info(struct context *context)
{
    struct buffer text;

    buffer_init(&text, (size_t)16 << 20);
    info_write(context, &text);
    resp_verbatim(context->reply, "txt", buffer_content(&text), buffer_size(&text));
    buffer_release(&text);
    return OUTCOME_DONE;
}

/* Topics belong to no database; they are counted in the first. */
static enum outcome run_dbsize(struct context *context)
{
    bool first = context->session->database == 0;

    resp_integer(context->reply, first ? (int64_t)dueq_topic_count(context->store) : 0);
    return OUTCOME_DONE;
}

static enum outcome run_flushall(struct context *context)
{
    enum dueq_status status;

    if (context_count(context) > 2 ||
        (context_count(context) == 2 && !is(context, 1, "async") && !is(context, 1, "sync")))
        return context_syntax_error(context);
    status = dueq_flush(context->store, context->now);
    return status == DUEQ_OK ? context_ok(context) : context_status(context, status);
}

static enum outcome run_shutdown(struct context *context)
{
    bool checkpoint = true;

    for (size_t i = 1; i < context_count(context); i++) {
        if (is(context, i, "nosave"))
            checkpoint = false;
        else if (is(context, i, "abort")) {
            resp_error(context->reply, "ERR No shutdown in progress.");
            return OUTCOME_DONE;
        } else if (!is(context, i, "save") && !is(context, i, "now") &&
                   !is(context, i, "force"))
            return context_syntax_error(context);
    }
    log_write(LOG_NOTICE, "User requested shutdown...");
    server_shutdown(context->server, checkpoint);
    return OUTCOME_DONE;
}

/* ---- CONFIG */

static bool any_matches(const struct context *context, const char *name)
{
    for (size_t i = 2; i < context_count(context); i++) {
        struct argument pattern = context_argument(context, i);

        if (glob_match(pattern.data, pattern.size, name, strlen(name), true))
            return true;
    }
    return false;
}

static enum outcome config_get_values(struct context *context)
{
    size_t mark = resp_deferred(context->reply), found = 0;
    char text[CONFIG_TEXT_MAX];

    for (size_t i = 0; i < config_count(); i++) {
        if (!any_matches(context, config_name(i)))
            continue;
        config_get(&context->server->config, i, text);
        resp_string(context->reply, config_name(i));
        resp_string(context->reply, text);
        found++;
    }
    resp_deferred_map(context->reply, mark, found);
    return OUTCOME_DONE;
}

/* The value's words, as in a file: "durability" takes "interval 1000" in one argument. */
static bool set_one(struct config *config, const char *name, struct argument value,
                    struct config_error *error)
{
    struct argument words[16];
    size_t count = 0;
    char *copy = strndup(value.data, value.size), *rest = NULL;
    bool good;

    if (copy == NULL)
        return false;
    if (strcmp(name, "durability") != 0 && strcmp(name, "client-output-buffer-limit") != 0)
        words[count++] = (struct argument){copy, strlen(copy)};
    else
        for (char *word = strtok_r(copy, " ", &rest); word != NULL && count < 16;
             word = strtok_r(NULL, " ", &rest))
            words[count++] = (struct argument){word, strlen(word)};
    good = config_set(config, name, words, count, error);
    free(copy);
    return good;
}

static bool check_names(struct context *context)
{
    for (size_t i = 2; i < context_count(context); i += 2) {
        int index = config_find(context_argument(context, i));
        char text[CONFIG_TEXT_MAX];

        if (index < 0) {
            resp_errorf(context->reply,
                        "ERR Unknown option or number of arguments for CONFIG SET - '%.128s'",
                        context_argument(context, i).data);
            return false;
        }
        config_get(&context->server->config, (size_t)index, text);
        if (config_mutable((size_t)index) || is(context, i + 1, text))
            continue;
        resp_errorf(context->reply,
                    "ERR CONFIG SET failed (possibly related to argument '%s') - can't set "
                    "immutable config",
                    config_name((size_t)index));
        return false;
    }
    return true;
}

/* All or none: what was set before a bad value is set back. */
static enum outcome config_set_values(struct context *context)
{
    struct config *config = &context->server->config;
    char(*before)[CONFIG_TEXT_MAX] = NULL;
    size_t pairs = (context_count(context) - 2) / 2, done;
    struct config_error error, ignored;

    if (context_count(context) % 2 != 0)
        return context_arity_error(context);
    if (!check_names(context))
        return OUTCOME_DONE;
    before = malloc(pairs * sizeof(*before));
    if (before == NULL)
        return context_status(context, DUEQ_NOMEM);
    for (done = 0; done < pairs; done++) {
        size_t index = (size_t)config_find(context_argument(context, 2 + 2 * done));

        config_get(config, index, before[done]);
        if (!set_one(config, config_name(index), context_argument(context, 3 + 2 * done),
                     &error))
            break;
    }
    if (done < pairs) {
        resp_errorf(context->reply,
                    "ERR CONFIG SET failed (possibly related to argument '%.64s') - %s",
                    context_argument(context, 2 + 2 * done).data, error.text);
        while (done-- > 0)
            set_one(config,
                    config_name((size_t)config_find(context_argument(context, 2 + 2 * done))),
                    (struct argument){before[done], strlen(before[done])}, &ignored);
        free(before);
        return OUTCOME_DONE;
    }
    free(before);
    server_apply_config(context->server);
    return context_ok(context);
}

static enum outcome config_resetstat(struct context *context)
{
    struct server_stats *stats = &context->server->stats;

    stats->connections_received = stats->connections_rejected = 0;
    stats->commands_processed = stats->errors = 0;
    stats->input_bytes = stats->output_bytes = 0;
    command_stats_reset();
    return context_ok(context);
}

static enum outcome config_rewrite(struct context *context)
{
    resp_error(context->reply, context->server->config.file == NULL
                                   ? "ERR The server is running without a config file"
                                   : "ERR Rewriting config file: dueq leaves the file to you; "
                                     "CONFIG GET * shows what it would say");
    return OUTCOME_DONE;
}

/* ---- COMMAND */

static enum outcome run_command(struct context *context)
{
    resp_array(context->reply, command_count());
    for (size_t i = 0; i < command_count(); i++)
        command_write_info(context->reply, command_at(i));
    return OUTCOME_DONE;
}

static enum outcome command_count_all(struct context *context)
{
    resp_integer(context->reply, (int64_t)command_count());
    return OUTCOME_DONE;
}

/* "client|kill" names a subcommand. */
static const struct command *find_full(struct argument name)
{
    const char *bar = memchr(name.data, '|', name.size);
    const struct command *container;

    if (bar == NULL)
        return command_find(name);
    container = command_find((struct argument){name.data, (size_t)(bar - name.data)});
    if (container == NULL)
        return NULL;
    return command_find_sub(
        container, (struct argument){bar + 1, name.size - (size_t)(bar - name.data) - 1});
}

static enum outcome command_info(struct context *context)
{
    if (context_count(context) == 2)
        return run_command(context);
    resp_array(context->reply, context_count(context) - 2);
    for (size_t i = 2; i < context_count(context); i++) {
        const struct command *command = find_full(context_argument(context, i));

        if (command == NULL)
            resp_null_array(context->reply);
        else
            command_write_info(context->reply, command);
    }
    return OUTCOME_DONE;
}

static enum outcome command_docs(struct context *context)
{
    size_t mark = resp_deferred(context->reply), found = 0;

    for (size_t i = 0; context_count(context) == 2 && i < command_count(); i++, found++)
        command_write_docs(context->reply, command_at(i));
    for (size_t i = 2; i < context_count(context); i++) {
        const struct command *command = find_full(context_argument(context, i));

        if (command == NULL)
            continue;
        command_write_docs(context->reply, command);
        found++;
    }
    resp_deferred_map(context->reply, mark, found);
    return OUTCOME_DONE;
}

static bool listed(const struct context *context, const struct command *command)
{
    struct argument value;

    if (context_count(context) == 2)
        return true;
    value = context_argument(context, 4);
    if (is(context, 3, "aclcat"))
        return command_in_category(command, value);
    if (is(context, 3, "pattern"))
        return glob_match(value.data, value.size, command->name, strlen(command->name), true);
    return false; /* MODULE: there are none */
}

static enum outcome command_list(struct context *context)
{
    size_t mark = resp_deferred(context->reply), found = 0;

    if (context_count(context) != 2 &&
        (context_count(context) != 5 || !is(context, 2, "filterby") ||
         !(is(context, 3, "aclcat") || is(context, 3, "pattern") || is(context, 3, "module"))))
        return context_syntax_error(context);
    for (size_t i = 0; i < command_count(); i++) {
        if (!listed(context, command_at(i)))
            continue;
        resp_string(context->reply, command_at(i)->name);
        found++;
    }
    resp_deferred_array(context->reply, mark, found);
    return OUTCOME_DONE;
}

static enum outcome command_getkeys(struct context *context)
{
    const struct request *request = context->request;
    struct request inner = {request->count - 2, request->arguments + 2, request->bytes};
    const struct command *command = command_find(inner.arguments[0]);
    size_t first, last, step;

    if (command == NULL) {
        resp_error(context->reply, "ERR Invalid command specified");
        return OUTCOME_DONE;
    }
    if (command->keys.first == 0 && command->keys.count_at == 0) {
        resp_error(context->reply, "ERR The command has no key arguments");
        return OUTCOME_DONE;
    }
    if ((command->arity >= 0 && inner.count != (size_t)command->arity) ||
        (command->arity < 0 && inner.count < (size_t)-command->arity) ||
        !command_key_range(command, &inner, &first, &last, &step)) {
        resp_error(context->reply, "ERR Invalid number of arguments specified for command");
        return OUTCOME_DONE;
    }
    resp_array(context->reply, last < first ? 0 : (last - first) / step + 1);
    for (size_t i = first; i <= last; i += step)
        resp_bulk(context->reply, inner.arguments[i].data, inner.arguments[i].size);
    return OUTCOME_DONE;
}

/* ---- the tables */

#define SUB(sub_name, sub_arity, sub_flags, sub_syntax, sub_summary, handler)                  \
    {                                                                                          \
        .name = sub_name, .arity = sub_arity, .flags = sub_flags, .group = "server",           \
        .since = "2.8.13", .summary = sub_summary, .complexity = "O(N)", .syntax = sub_syntax, \
        .run = handler                                                                         \
    }

static const struct command command_commands[] = {
    SUB("count", 2, COMMAND_LOADING | COMMAND_STALE, "", "Get total number of Redis commands",
        command_count_all),
    SUB("docs", -2, COMMAND_LOADING | COMMAND_STALE, "[command-name [command-name ...]]",
        "Get array of specific Redis command documentation", command_docs),
    SUB("getkeys", -3, COMMAND_LOADING | COMMAND_STALE, "command [arg [arg ...]]",
        "Extract keys given a full Redis command", command_getkeys),
    SUB("help", 2, COMMAND_LOADING | COMMAND_STALE, "",
        "Show helpful text about the different subcommands", run_help),
    SUB("info", -2, COMMAND_LOADING | COMMAND_STALE, "[command-name [command-name ...]]",
        "Get array of specific Redis command details, or all when no argument is given.",
        command_info),
    SUB("list", -2, COMMAND_LOADING | COMMAND_STALE,
        "[FILTERBY <MODULE module-name|ACLCAT category|PATTERN pattern>]",
        "Get an array of Redis command names", command_list),
    {.name = NULL}};

#define ADMIN (COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE)

static const struct command config_commands[] = {
    SUB("get", -3, ADMIN, "parameter [parameter ...]",
        "Get the values of configuration parameters", config_get_values),
    SUB("help", 2, COMMAND_LOADING | COMMAND_STALE, "",
        "Show helpful text about the different subcommands", run_help),
    SUB("resetstat", 2, ADMIN, "", "Reset the stats returned by INFO", config_resetstat),
    SUB("rewrite", 2, ADMIN, "", "Refused: the file is the operator's", config_rewrite),
    SUB("set", -4, ADMIN, "parameter value [parameter value ...]",
        "Set configuration parameters to the given values", config_set_values),
    {.name = NULL}};

const struct command server_commands[] = {
    {.name = "command",
     .arity = -1,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "2.8.13",
     .summary = "Get array of Redis command details",
     .complexity = "O(N) where N is the total number of Redis commands",
     .syntax = "",
     .categories = "slow connection",
     .run = run_command,
     .subcommands = command_commands},
    {.name = "config",
     .arity = -2,
     .flags = COMMAND_LOADING,
     .group = "server",
     .since = "2.0.0",
     .summary = "A container for server configuration commands",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .categories = "slow",
     .subcommands = config_commands},
    {.name = "dbsize",
     .arity = 1,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .group = "server",
     .since = "1.0.0",
     .summary = "Return the number of keys in the selected database",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "keyspace",
     .run = run_dbsize},
    {.name = "flushall",
     .arity = -1,
     .flags = COMMAND_WRITE,
     .group = "server",
     .since = "1.0.0",
     .summary = "Remove all topics from all databases",
     .complexity = "O(T) with T the number of topics; jobs are reclaimed in slices",
     .syntax = "[ASYNC|SYNC]",
     .categories = "keyspace dangerous",
     .run = run_flushall},
    {.name = "info",
     .arity = -1,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "1.0.0",
     .summary = "Get information and statistics about the server",
     .complexity = "O(1)",
     .syntax = "[section [section ...]]",
     .categories = "slow dangerous",
     .run = run_info},
    {.name = "shutdown",
     .arity = -1,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE |
              COMMAND_NO_MULTI | COMMAND_ALLOW_BUSY,
     .group = "server",
     .since = "1.0.0",
     .summary = "Settle, deliver, checkpoint (unless NOSAVE) and exit",
     .complexity = "O(N) with N the changes since the last checkpoint",
     .syntax = "[NOSAVE|SAVE] [NOW] [FORCE] [ABORT]",
     .run = run_shutdown},
    {.name = "time",
     .arity = 1,
     .flags = COMMAND_LOADING | COMMAND_STALE | COMMAND_FAST,
     .group = "server",
     .since = "2.6.0",
     .summary = "Return the current server time",
     .complexity = "O(1)",
     .syntax = "",
     .run = run_time},
    {.name = NULL}};
