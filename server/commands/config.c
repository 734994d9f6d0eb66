/* CONFIG. */
#include "server/commands/server.h"

#include "protocol/glob.h"
#include "server/clients.h"
#include "server/command_stats.h"
#include "server/commands/options.h"
#include "server/server.h"

#include <stdlib.h>
#include <string.h>

/* ---- CONFIG GET */

/* The name under which an option was asked for: as the client wrote it, or the option's own
 * when a pattern matched. NULL: it was not asked for. */
static struct argument asked_name(const struct context *context, const char *name)
{
    struct argument own = {name, strlen(name)}, none = {NULL, 0};

    for (size_t i = 2; i < context_count(context); i++) {
        struct argument pattern = context_argument(context, i);

        if (argument_is(pattern, name))
            return pattern;
        if (glob_match(pattern.data, pattern.size, name, own.size, true))
            return own;
    }
    return none;
}

static enum outcome run_get(struct context *context)
{
    size_t mark = resp_deferred(context->reply), found = 0;
    char text[CONFIG_TEXT_MAX];

    for (size_t i = 0; i < config_count(); i++) {
        struct argument name = asked_name(context, config_name(i));

        if (name.data == NULL)
            continue;
        config_get(&context->server->config, i, text);
        resp_bulk(context->reply, name.data, name.size);
        resp_string(context->reply, text);
        found++;
    }
    resp_deferred_map(context->reply, mark, found);
    return OUTCOME_DONE;
}

/* ---- CONFIG SET */

enum { WORDS_MAX = 16 };

static size_t split(struct argument value, struct argument *words)
{
    const char *at = value.data, *end = value.data + value.size;
    size_t count = 0;

    while (count < WORDS_MAX) {
        const char *start;

        while (at < end && *at == ' ')
            at++;
        for (start = at; at < end && *at != ' ';)
            at++;
        if (at == start)
            break;
        words[count++] = (struct argument){start, (size_t)(at - start)};
    }
    return count;
}

/* Some values are several words in a file, as in "durability interval 1000"; here they are one
 * argument. */
static bool set_one(struct config *config, const char *name, struct argument value,
                    struct config_error *error)
{
    struct argument words[WORDS_MAX] = {value};
    size_t count = 1;

    if (strcmp(name, "durability") == 0 || strcmp(name, "client-output-buffer-limit") == 0)
        count = split(value, words);
    return config_set(config, name, words, count, error);
}

static void refuse(struct context *context, size_t index, const char *why)
{
    resp_errorf(context->reply,
                "ERR CONFIG SET failed (possibly related to argument '%.128s') - %s",
                context_argument(context, index).data, why);
}

static bool seen_before(struct context *context, size_t index, int option)
{
    for (size_t i = 2; i < index; i += 2)
        if (config_find(context_argument(context, i)) == option)
            return true;
    return false;
}

/* A parameter that cannot change may be set to what it is. */
static bool may_set(struct context *context, size_t index, int option)
{
    char now[CONFIG_TEXT_MAX];
    struct argument value;

    if (config_mutable((size_t)option))
        return true;
    config_get(&context->server->config, (size_t)option, now);
    value = context_argument(context, index + 1);
    return value.size == strlen(now) && memcmp(value.data, now, value.size) == 0;
}

/* All the names, each once; so there are no more pairs than options. */
static bool check_names(struct context *context)
{
    for (size_t i = 2; i < context_count(context); i += 2) {
        int option = config_find(context_argument(context, i));

        if (option < 0) {
            resp_errorf(context->reply,
                        "ERR Unknown option or number of arguments for CONFIG SET - '%.128s'",
                        context_argument(context, i).data);
            return false;
        }
        if (!may_set(context, i, option)) {
            refuse(context, i, "can't set immutable config");
            return false;
        }
        if (seen_before(context, i, option)) {
            refuse(context, i, "duplicate parameter");
            return false;
        }
    }
    return true;
}

/* What a parameter was before, to go back to. */
struct setting {
    size_t option;
    char before[CONFIG_TEXT_MAX];
};

static bool set_pair(struct context *context, size_t index, struct setting *setting,
                     struct config_error *error)
{
    struct config *config = &context->server->config;

    setting->option = (size_t)config_find(context_argument(context, index));
    config_get(config, setting->option, setting->before);
    return set_one(config, config_name(setting->option), context_argument(context, index + 1),
                   error);
}

static void take_back(struct config *config, const struct setting *settings, size_t count)
{
    struct config_error ignored; /* it was a good value before */

    while (count-- > 0)
        set_one(config, config_name(settings[count].option),
                (struct argument){settings[count].before, strlen(settings[count].before)},
                &ignored);
}

/* All or none: what was set before a bad value is set back. */
static enum outcome run_set(struct context *context)
{
    size_t pairs = (context_count(context) - 2) / 2, done = 0;
    struct config_error error = {.text = "out of memory"};
    struct setting *settings;

    if (context_count(context) % 2 != 0)
        return context_syntax_error(context);
    if (!check_names(context))
        return OUTCOME_DONE;
    settings = malloc(pairs * sizeof(*settings));
    if (settings == NULL)
        return context_status(context, DUEQ_NOMEM);
    while (done < pairs && set_pair(context, 2 + 2 * done, &settings[done], &error))
        done++;
    if (done < pairs) {
        refuse(context, 2 + 2 * done, error.text);
        take_back(&context->server->config, settings, done);
    } else {
        server_apply_config(context->server);
        context_ok(context);
    }
    free(settings);
    return OUTCOME_DONE;
}

/* ---- CONFIG RESETSTAT, CONFIG REWRITE */

static enum outcome run_resetstat(struct context *context)
{
    struct server_stats *stats = &context->server->stats;

    stats->connections_received = stats->connections_rejected = 0;
    stats->commands_processed = stats->errors = 0;
    stats->input_bytes = stats->output_bytes = 0;
    command_stats_reset();
    return context_ok(context);
}

static enum outcome run_rewrite(struct context *context)
{
    resp_error(context->reply, context->server->config.file == NULL
                                   ? "ERR The server is running without a config file"
                                   : "ERR Rewriting config file: dueq leaves the file to you; "
                                     "CONFIG GET * shows what it would say");
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

const struct command config_commands[] = {
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
     .run = write_help},
    SUB("resetstat", 2, "2.0.0", "O(1)", "", "Reset the stats returned by INFO", run_resetstat),
    SUB("rewrite", 2, "2.8.0", "O(1)", "",
        "Refused: dueq does not write to the file it was configured by", run_rewrite),
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
