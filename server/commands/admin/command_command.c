/* COMMAND: the entries of all commands, as clients read them. */
#include "server/commands/wide.h"
#include "server/dispatch/command_list.h"

#include "storage/glob.h"
#include "server/dispatch/arguments.h"
#include "server/dispatch/docs/command_docs.h"
#include "server/dispatch/command_keys.h"
#include "server/dispatch/key_specs.h"
#include "server/dispatch/long_work.h"
#include "server/dispatch/docs/command_help.h"

#include <stdlib.h>
#include <string.h>

enum { REPLY_STEPS = 8 }; /* of an entry of COMMAND INFO or DOCS */

static enum outcome run_command(struct context *context)
{
    resp_array(context->reply, command_count());
    for (size_t i = 0; i < command_count(); i++)
        command_docs_write_info(context->reply, command_at(i));
    return OUTCOME_DONE;
}

static enum outcome run_command_count(struct context *context)
{
    resp_integer(context->reply, (int64_t)command_count());
    return OUTCOME_DONE;
}

/* ---- COMMAND INFO, COMMAND DOCS */

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

static bool write_info(struct context *context, struct wide *wide)
{
    const struct command *command = find_full(context_argument(context, wide->at));

    if (command == NULL)
        resp_null(context->reply);
    else
        command_docs_write_info(context->reply, command);
    return true;
}

static enum outcome run_info(struct context *context)
{
    static const struct wide_form form = {.first = 2,
                                          .stride = 1,
                                          .weight = REPLY_STEPS,
                                          .lets_others = true,
                                          .begin = wide_begin_array,
                                          .take = write_info,
                                          .end = wide_end};

    return context_count(context) == 2 ? run_command(context) : wide_run(context, &form);
}

static enum outcome write_all_docs(struct context *context)
{
    resp_map(context->reply, command_count());
    for (size_t i = 0; i < command_count(); i++)
        command_docs_write(context->reply, command_at(i));
    return OUTCOME_DONE;
}

static bool write_docs(struct context *context, struct wide *wide)
{
    const struct command *command = find_full(context_argument(context, wide->at));

    if (command != NULL) {
        command_docs_write(context->reply, command);
        wide->count++;
    }
    return true;
}

static enum outcome run_command_docs(struct context *context)
{
    static const struct wide_form form = {.first = 2,
                                          .stride = 1,
                                          .weight = REPLY_STEPS,
                                          .lets_others = true,
                                          .begin = wide_begin_map,
                                          .take = write_docs,
                                          .end = wide_end_map};

    return context_count(context) == 2 ? write_all_docs(context) : wide_run(context, &form);
}

/* ---- COMMAND LIST */

struct list_filter {
    enum { FILTER_NONE, FILTER_CATEGORY, FILTER_PATTERN, FILTER_MODULE } kind;
    struct argument value;
};

static bool read_filter(struct context *context, struct list_filter *filter)
{
    filter->kind = FILTER_NONE;
    if (context_count(context) == 2)
        return true;
    if (context_count(context) == 5 && arguments_is(context, 2, "filterby")) {
        filter->value = context_argument(context, 4);
        if (arguments_is(context, 3, "aclcat"))
            filter->kind = FILTER_CATEGORY;
        else if (arguments_is(context, 3, "pattern"))
            filter->kind = FILTER_PATTERN;
        else if (arguments_is(context, 3, "module"))
            filter->kind = FILTER_MODULE;
    }
    if (filter->kind != FILTER_NONE)
        return true;
    context_syntax_error(context);
    return false;
}

static bool passes(const struct list_filter *filter, const struct command *command)
{
    const char *name = command_full_name(command);

    switch (filter->kind) {
    case FILTER_CATEGORY:
        return command_docs_in_category(command, filter->value);
    case FILTER_PATTERN:
        return glob_match(filter->value.data, filter->value.size, name, strlen(name), true);
    case FILTER_MODULE:
        return false; /* there are none */
    case FILTER_NONE:
        break;
    }
    return true;
}

static size_t list_command(struct context *context, const struct list_filter *filter,
                           const struct command *command)
{
    if (!passes(filter, command))
        return 0;
    resp_string(context->reply, command_full_name(command));
    return 1;
}

static enum outcome run_list(struct context *context)
{
    size_t mark = resp_deferred(context->reply), found = 0;
    struct list_filter filter;

    if (!read_filter(context, &filter))
        return OUTCOME_DONE;
    for (size_t i = 0; i < command_count(); i++) {
        const struct command *command = command_at(i), *sub = command->subcommands;

        found += list_command(context, &filter, command);
        for (; sub != NULL && sub->name != NULL; sub++)
            found += list_command(context, &filter, sub);
    }
    resp_deferred_array(context->reply, mark, found);
    return OUTCOME_DONE;
}

/* ---- COMMAND GETKEYS */

enum { INNER = 2 }; /* where the command begins that is asked about */

static const struct command *find_requested(const struct request *request)
{
    const struct command *command = command_find(request->arguments[0]);

    if (command == NULL || command->subcommands == NULL || request->count == 1)
        return command;
    return command_find_sub(command, request->arguments[1]);
}

/* What COMMAND GETKEYS and GETKEYSANDFLAGS reply: a part of the keys in each slice. */
struct found_keys {
    struct context *context;
    const struct command *command;
    struct request request;
    bool with_flags;
    struct key_part part; /* that is written */
};

static void write_found(void *arg, size_t index, const char *flags, size_t flags_size)
{
    struct found_keys *found = arg;
    struct resp_writer *reply = found->context->reply;
    struct argument key = found->request.arguments[index];

    if (found->with_flags)
        resp_array(reply, 2);
    if (found->part.to == SIZE_MAX)
        context_reply_argument(found->context, INNER + index);
    else /* another slice looks at the arguments again */
        resp_bulk(reply, key.data, key.size);
    if (found->with_flags)
        key_specs_write_flags(reply, flags, flags_size);
}

/* Writes a part of the keys, and counts all. False: the arguments do not fit. */
static bool write_part(struct found_keys *found, size_t from, size_t to)
{
    found->part = (struct key_part){.from = from, .to = to};
    return command_keys_find_some(found->command, &found->request, write_found, found,
                                  &found->part);
}

static enum outcome begin_keys(struct found_keys *found)
{
    struct context *context = found->context;
    size_t written = LONG_ENOUGH;

    if (!write_part(found, 0, 0) && !(found->command->flags & COMMAND_NO_MANDATORY_KEYS)) {
        resp_error(context->reply, "ERR Invalid arguments specified for command");
        return OUTCOME_DONE;
    }
    resp_array(context->reply, found->part.count);
    if (found->part.count > written && long_work_try(context, &written, sizeof(written), free))
        return write_part(found, 0, written), OUTCOME_WAIT;
    write_part(found, 0, SIZE_MAX);
    return OUTCOME_DONE;
}

static enum outcome go_on_with_keys(struct found_keys *found, size_t *written)
{
    size_t from = *written;

    *written += LONG_STEPS;
    write_part(found, from, *written);
    return *written < found->part.count ? OUTCOME_WAIT : OUTCOME_DONE;
}

static enum outcome write_keys(struct found_keys *found)
{
    size_t *written = long_work_state(found->context);

    return written == NULL ? begin_keys(found) : go_on_with_keys(found, written);
}

static enum outcome find_keys(struct context *context, bool with_flags)
{
    const struct request *request = context->request;
    struct request inner = {request->count - INNER, request->arguments + INNER, request->bytes};
    const struct command *command = find_requested(&inner);

    if (command == NULL)
        resp_error(context->reply, "ERR Invalid command specified");
    else if (command->key_specs == NULL || strncmp(command->key_specs, "not_key", 7) == 0)
        resp_error(context->reply, "ERR The command has no key arguments");
    else if (!command_arity_fits(command, inner.count))
        resp_error(context->reply, "ERR Invalid number of arguments specified for command");
    else
        return write_keys(&(struct found_keys){.context = context,
                                               .command = command,
                                               .request = inner,
                                               .with_flags = with_flags});
    return OUTCOME_DONE;
}

static enum outcome run_command_getkeys(struct context *context)
{
    return find_keys(context, false);
}

static enum outcome run_command_getkeysandflags(struct context *context)
{
    return find_keys(context, true);
}

/* ---- the table */

#define SUB(sub_name, sub_arity, sub_since, sub_complexity, sub_syntax, sub_tips, sub_summary, \
            handler)                                                                           \
    {                                                                                          \
        .name = sub_name, .arity = sub_arity, .flags = COMMAND_LOADING | COMMAND_STALE,        \
        .group = "server", .since = sub_since, .summary = sub_summary,                         \
        .complexity = sub_complexity, .syntax = sub_syntax, .categories = "connection",        \
        .tips = sub_tips, .run = handler                                                       \
    }
#define ANY_ORDER "nondeterministic_output_order"

/* ---- commands */

static const struct command command_subcommands[] = {
    SUB("count", 2, "2.8.13", "O(1)", "", NULL, "Get total number of Redis commands",
        run_command_count),
    SUB("docs", -2, "7.0.0", "O(N) where N is the number of commands to look up",
        "[command-name [command-name ...]]", ANY_ORDER,
        "Get array of specific Redis command documentation", run_command_docs),
    SUB("getkeys", -4, "2.8.13", "O(N) where N is the number of arguments to the command",
        "command arg [arg ...]", NULL, "Extract keys given a full Redis command",
        run_command_getkeys),
    SUB("getkeysandflags", -4, "7.0.0",
        "O(N) where N is the number of arguments to the command", "command arg [arg ...]", NULL,
        "Extract keys and access flags given a full Redis command",
        run_command_getkeysandflags),
    SUB("help", 2, "5.0.0", "O(1)", "", NULL,
        "Show helpful text about the different subcommands", run_container_help),
    SUB("info", -2, "2.8.13", "O(N) where N is the number of commands to look up",
        "[command-name [command-name ...]]", ANY_ORDER,
        "Get array of specific Redis command details, or all when no argument is given.",
        run_info),
    SUB("list", -2, "7.0.0", "O(N) where N is the total number of Redis commands",
        "[FILTERBY <MODULE module-name|ACLCAT category|PATTERN pattern>]", ANY_ORDER,
        "Get an array of Redis command names", run_list),
    {.name = NULL}};

static const struct command entries[] = {
    {.name = "command",
     .arity = -1,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "2.8.13",
     .summary = "Get array of Redis command details",
     .complexity = "O(N) where N is the total number of Redis commands",
     .syntax = "",
     .categories = "connection",
     .tips = "nondeterministic_output_order",
     .run = run_command,
     .subcommands = command_subcommands},
    {.name = NULL}};

COMMANDS(command, entries)
