/* From a request to its handler: lookup, login, arity, room, and the state of the store. */
#include "server/command_stats.h"
#include "server/server.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_ARGUMENTS = 128 }; /* bytes of an unknown command's arguments in its error */

static void count_error(struct context *context)
{
    context->server->stats.errors++;
}

/* Redis' own text: the name, and arguments until 128 bytes are shown. */
static enum outcome unknown_command(struct context *context)
{
    const struct request *request = context->request;
    char shown[SHOWN_ARGUMENTS * 2 + 16] = "";
    size_t used = 0;

    for (size_t i = 1; i < request->count && used < SHOWN_ARGUMENTS; i++)
        used += (size_t)snprintf(shown + used, sizeof(shown) - used, "'%.*s' ",
                                 (int)(SHOWN_ARGUMENTS - used), request->arguments[i].data);
    resp_errorf(context->reply, "ERR unknown command '%.128s', with args beginning with: %s",
                request->arguments[0].data, shown);
    count_error(context);
    return OUTCOME_DONE;
}

static bool arity_fits(const struct command *command, size_t count)
{
    return command->arity >= 0 ? count == (size_t)command->arity
                               : count >= (size_t)-command->arity;
}

/* The subcommand when there is one of that name, else the container. */
static const struct command *find_sub(const struct command *command,
                                      const struct request *request)
{
    const struct command *sub = NULL;

    if (command->subcommands != NULL && request->count > 1)
        sub = command_find_sub(command, request->arguments[1]);
    return sub != NULL ? sub : command;
}

/* Answers the request when it may not run; true: it may. */
static bool admit(struct context *context)
{
    const struct command *command = context->command;

    if (!arity_fits(command, context_count(context))) {
        context_arity_error(context);
        return false;
    }
    if (!context->session->authenticated && !(command->flags & COMMAND_NO_AUTH)) {
        resp_error(context->reply, "NOAUTH Authentication required.");
        return false;
    }
    if (context->store == NULL && !(command->flags & COMMAND_LOADING)) {
        resp_errorf(context->reply,
                    "MISCONF dueq cannot use its store (%s). It is reopened every second; "
                    "nothing that was acknowledged is lost",
                    server_failure(context->server));
        return false;
    }
    if ((command->flags & COMMAND_DENYOOM) && kv_room(dueq_kv(context->store)) != DUEQ_OK) {
        context_status(context, DUEQ_FULL);
        return false;
    }
    return true;
}

enum outcome command_dispatch(struct context *context)
{
    const struct request *request = context->request;
    const struct command *command = command_find(request->arguments[0]);
    enum outcome outcome = OUTCOME_DONE;

    context->server->stats.commands_processed++;
    context->session->commands++;
    if (command == NULL)
        return unknown_command(context);
    context->command = find_sub(command, request);
    context->session->last_command = context->command;
    if (!admit(context)) {
        count_error(context);
        command_stats_rejected(context->command);
        return OUTCOME_DONE;
    }
    if (context->command->run == NULL)
        return context_count(context) == 1 ? context_arity_error(context)
                                           : context_unknown_subcommand(context);
    outcome = context->command->run(context);
    command_stats_called(context->command);
    return outcome;
}
