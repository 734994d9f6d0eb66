#include "server/dispatch/command.h"

#include "protocol/number.h"
#include "server/dispatch/key_specs.h"
#include "server/process/log.h"
#include "server/server.h"
#include "storage/kv/kv.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool arguments_integer(struct context *context, size_t index, int64_t *ret_number)
{
    struct argument argument = context_argument(context, index);

    if (number_parse_integer(argument.data, argument.size, ret_number))
        return true;
    resp_error(context->reply, "ERR value is not an integer or out of range");
    return false;
}

bool arguments_duration(struct context *context, size_t index, int64_t *ret_ms)
{
    struct argument argument = context_argument(context, index);

    if (number_parse_duration(argument.data, argument.size, ret_ms))
        return true;
    resp_errorf(context->reply,
                "ERR invalid duration '%.64s': milliseconds, or a number with ms, s, m, h or d",
                argument.data);
    return false;
}

int64_t context_deadline(const struct context *context, int64_t ms)
{
    int64_t moment;

    return __builtin_add_overflow(context->now.ceiling, ms, &moment) ? DUEQ_NEVER : moment;
}

bool arguments_name(struct context *context, size_t index, const char *what)
{
    struct argument argument = context_argument(context, index);

    if (argument.size > 0 && argument.size <= DUEQ_NAME_MAX)
        return true;
    resp_errorf(context->reply, "ERR %s must be 1 to %d bytes long", what, DUEQ_NAME_MAX);
    return false;
}

enum outcome context_syntax_error(struct context *context)
{
    resp_error(context->reply, "ERR syntax error");
    return OUTCOME_DONE;
}

enum outcome context_arity_error(struct context *context)
{
    resp_errorf(context->reply, "ERR wrong number of arguments for '%s' command",
                command_full_name(context->command));
    return OUTCOME_DONE;
}

static void upper(char *text, size_t room, const char *name)
{
    size_t i = 0;

    for (; i + 1 < room && name[i] != '\0'; i++)
        text[i] = (char)toupper((unsigned char)name[i]);
    text[i] = '\0';
}

enum outcome context_unknown_subcommand(struct context *context)
{
    char container[32];

    upper(container, sizeof(container), context->command->name);
    resp_errorf(context->reply, "ERR unknown subcommand '%.128s'. Try %s HELP.",
                context_argument(context, 1).data, container);
    return OUTCOME_DONE;
}

enum outcome context_subcommand_error(struct context *context)
{
    const struct command *command = command_container(context->command);
    char container[32];

    upper(container, sizeof(container),
          command == NULL ? context->command->name : command->name);
    resp_errorf(
        context->reply,
        "ERR unknown subcommand or wrong number of arguments for '%.128s'. Try %s HELP.",
        context_argument(context, 1).data, container);
    return OUTCOME_DONE;
}

enum outcome context_ok(struct context *context)
{
    resp_simple(context->reply, "OK");
    return OUTCOME_DONE;
}

static const char *error_text(enum dueq_status status)
{
    switch (status) {
    case DUEQ_DUPLICATE:
        return "DUPLICATE the id is already present in the topic";
    case DUEQ_STALE:
        return "STALE the job was given to somebody else since, or given back";
    case DUEQ_NOTFOUND:
        return "NOJOB no such job in the topic";
    case DUEQ_FULL:
        return "FULL there is no room: claims, acks and deletes go on, pushes when room "
               "returns";
    case DUEQ_TOOBIG:
        return "TOOBIG larger than the limit: 512 MiB a value, 3 GiB a transaction";
    case DUEQ_WRONGTYPE:
        return "WRONGTYPE Operation against a key holding the wrong kind of value";
    case DUEQ_INVALID:
        return "ERR value is out of range";
    case DUEQ_NOMEM:
        return "ERR out of memory";
    case DUEQ_BUSY:
        return "ERR other work comes first: try again";
    case DUEQ_OK:
    case DUEQ_CORRUPT:
    case DUEQ_LOCKED:
    case DUEQ_FORMAT:
    case DUEQ_IO:
        break;
    }
    return "MISCONF the store failed: see the log";
}

/* ---- damage */

struct asked {
    const struct request *request;
    size_t used;
    char text[640];
};

static void show_name(void *arg, size_t index, const char *flags, size_t flags_size)
{
    struct asked *asked = arg;
    size_t room = sizeof(asked->text) - asked->used;
    int size = snprintf(asked->text + asked->used, room, " '%.255s'",
                        asked->request->arguments[index].data);

    (void)flags;
    (void)flags_size;
    if ((size_t)size < room)
        asked->used += (size_t)size;
    else
        asked->text[asked->used] = '\0';
}

/* The command, its topics or keys as far as there is room, and the first job's id: who looks
 * for the backup must know what of. No value: it may be a secret, and what is asked for stands
 * in the log. */
static void show_asked(const struct context *context, struct asked *asked)
{
    const struct command *command = context->command;

    asked->request = context->request;
    asked->used =
        (size_t)snprintf(asked->text, sizeof(asked->text), "%.99s", command_full_name(command));
    if (command->key_specs != NULL)
        key_specs_find(command->key_specs, context->request, show_name, asked);
    if (command->syntax != NULL && strncmp(command->syntax, "topic id", 8) == 0)
        show_name(asked, 2, NULL, 0);
}

/* A store that failed as a whole has said why; of a page that is damaged it is known which. */
static const char *known_of_damage(const struct dueq *store)
{
    if (dueq_failure(store)[0] != '\0')
        return dueq_failure(store);
    return dueq_damage(store)[0] != '\0' ? dueq_damage(store)
                                         : "a record is missing, or not what it should be";
}

static void tell_damage(struct context *context)
{
    const char *what = known_of_damage(context->store);
    struct asked asked;

    show_asked(context, &asked);
    log_write_limited(LOG_WARNING, "%s met damaged data: %s. Restore a backup", asked.text,
                      what);
    resp_errorf(context->reply, "ERR the data on disk is damaged: %s (%s)", what, asked.text);
}

/* A page that the disk does not give is as good as damaged, and the store goes on. */
static bool is_damage(const struct context *context, enum dueq_status status)
{
    const struct dueq *store = context->store;

    return store != NULL &&
           (status == DUEQ_CORRUPT || (status == DUEQ_IO && dueq_status(store) == DUEQ_OK &&
                                       dueq_damage(store)[0] != '\0'));
}

void context_tell_failure(struct context *context)
{
    if (is_damage(context, context->failed))
        tell_damage(context);
    else
        resp_error(context->reply, error_text(context->failed));
}

enum outcome context_status(struct context *context, enum dueq_status status)
{
    context->failed = status;
    resp_error(context->reply, error_text(status));
    return OUTCOME_DONE;
}
