#include "server/dispatch/context.h"

#include "server/containers/spent.h"
#include "server/dispatch/key_specs.h"
#include "server/process/log.h"
#include "server/server.h"
#include "storage/dueq.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

int64_t context_deadline(const struct context *context, int64_t ms)
{
    int64_t moment;

    return __builtin_add_overflow(context->now.ceiling, ms, &moment) ? DUEQ_NEVER : moment;
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

enum outcome context_reply_integer(struct context *context, int64_t number)
{
    resp_integer(context->reply, number);
    return OUTCOME_DONE;
}

/* Large memory is freed a part a turn, so not before the command has ended. In front of the
 * argument are free bytes, which have the size meanwhile. */
static void free_lent(void *memory)
{
    size_t size;

    memcpy(&size, memory, sizeof(size));
    spent_memory(memory, size);
}

/* NULL: also when it is copied as soon. */
struct dueq_loan *context_loan(const struct context *context, size_t index)
{
    struct argument argument = context_argument(context, index);

    for (size_t i = 0; i < context->loan_count; i++) {
        struct dueq_loan *loan = &context->loans[i];

        if (loan->memory != NULL && (const char *)loan->data == argument.data &&
            loan->before >= sizeof(size_t) && loan->size > SPENT_AT_ONCE)
            return loan;
    }
    return NULL;
}

static bool is_lent(const struct context *context, struct argument argument)
{
    for (size_t i = 0; i < context->loan_count; i++)
        if (context->loans[i].memory != NULL &&
            (const char *)context->loans[i].data == argument.data)
            return true;
    return false;
}

size_t context_copied(const struct context *context, size_t index)
{
    struct argument argument = context_argument(context, index);

    return is_lent(context, argument) ? 0 : argument.size;
}

size_t context_copied_of_all(const struct context *context)
{
    size_t bytes = context->request->bytes;

    for (size_t i = 0; i < context->loan_count; i++)
        bytes -= context->loans[i].memory != NULL ? context->loans[i].size : 0;
    return bytes;
}

/* False: nothing is written. */
static bool reply_later(struct context *context, const char *before, size_t index,
                        const char *after)
{
    struct argument argument = context_argument(context, index);
    struct dueq_loan *loan = context_loan(context, index);
    struct buffer_source source = {argument.data, argument.size, NULL, free_lent};
    size_t size;

    if (loan == NULL)
        return false;
    size = loan->before + loan->size;
    memcpy(loan->memory, &size, sizeof(size));
    source.owner = loan->memory;
    if (!resp_bulk_later_between(context->reply, before, &source, after))
        return false;
    loan->memory = NULL;
    return true;
}

enum outcome context_reply_argument(struct context *context, size_t index)
{
    struct argument argument = context_argument(context, index);

    if (!reply_later(context, "", index, ""))
        resp_bulk(context->reply, argument.data, argument.size);
    return OUTCOME_DONE;
}

enum outcome context_reply_between(struct context *context, const char *before, size_t index,
                                   const char *after)
{
    struct argument argument = context_argument(context, index);
    struct buffer text;

    if (reply_later(context, before, index, after))
        return OUTCOME_DONE;
    buffer_init(&text, SIZE_MAX);
    buffer_append(&text, before, strlen(before));
    buffer_append(&text, argument.data, argument.size);
    buffer_append(&text, after, strlen(after));
    if (text.overflowed)
        context_status(context, DUEQ_NOMEM);
    else
        resp_bulk(context->reply, buffer_content(&text), buffer_size(&text));
    buffer_release(&text);
    return OUTCOME_DONE;
}

const char *context_status_text(enum dueq_status status)
{
    switch (status) {
    case DUEQ_DUPLICATE:
        return "DUPLICATE the id is already present in the topic";
    case DUEQ_STALE:
        return "STALE the job was given to somebody else since, or given back";
    case DUEQ_NOTFOUND:
        return "NOJOB no such job in the topic";
    case DUEQ_WRONGSTATE:
        return "WRONGSTATE not possible in the state that the job has";
    case DUEQ_CANCELLED:
        return "CANCELLED the job was cancelled";
    case DUEQ_PAUSED:
        return "PAUSED the topic takes no jobs: see Q.RESUME";
    case DUEQ_LIMIT:
        return "LIMIT the topic is full: see max-length and max-bytes in Q.CONFIG GET";
    case DUEQ_FULL:
        return "FULL there is no room: claims, acks and deletes go on, pushes when room "
               "returns";
    case DUEQ_TOOBIG:
        return "TOOBIG larger than the limit: 512 MiB a value, the topic's max-body; in a "
               "transaction 1 GiB of arguments and 2688 MiB of changes"; /* room.c: 7/8 of
                                                                            DUEQ_RECORD_MAX */
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
    case DUEQ_STOPPED:
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

/* Writes the command, its topics or keys as far as there is room, and the id of a job, so that
 * the operator knows what to restore. It writes no value: it may be a secret, and the text goes
 * into the log. */
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

/* Why the store failed, or which page is damaged. */
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

/* A page that cannot be read counts as damaged, and the store goes on. */
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
        resp_error(context->reply, context_status_text(context->failed));
}

enum outcome context_status(struct context *context, enum dueq_status status)
{
    context->failed = status;
    resp_error(context->reply, context_status_text(status));
    return OUTCOME_DONE;
}

bool context_check_status(struct context *context, enum dueq_status status)
{
    if (status == DUEQ_OK || status == DUEQ_NOTFOUND)
        return true;
    context_status(context, status);
    return false;
}
