/* Commands about the connection itself. */
#include "server/commands/clients/session_names.h"
#include "server/commands/database.h"
#include "server/dispatch/command_list.h"
#include "server/session/monitors.h"
#include "server/session/pubsub.h"
#include "server/session/transaction.h"

#include "server/dispatch/arguments.h"
#include "server/server.h"

static enum outcome run_ping(struct context *context)
{
    struct argument text;

    if (context_count(context) > 2)
        return context_arity_error(context);
    if (session_listens(context->session)) {
        text = context_count(context) == 1 ? (struct argument){"", 0}
                                           : context_argument(context, 1);
        resp_array(context->reply, 2);
        resp_string(context->reply, "pong");
        resp_bulk(context->reply, text.data, text.size);
        return OUTCOME_DONE;
    }
    if (context_count(context) == 1) {
        resp_simple(context->reply, "PONG");
        return OUTCOME_DONE;
    }
    return context_reply_argument(context, 1);
}

static enum outcome run_echo(struct context *context)
{
    return context_reply_argument(context, 1);
}

static enum outcome run_quit(struct context *context)
{
    context_ok(context);
    return OUTCOME_CLOSE;
}

static enum outcome run_reset(struct context *context)
{
    struct session *session = context->session;

    transaction_end(context);
    pubsub_drop(context->server, session);
    monitors_remove(context->server, session);
    session->database = 0;
    session->protocol = 2;
    session->reply_off = false;
    session->reply_skip = 0;
    session->no_evict = false;
    session->no_touch = false;
    session_log_out(context->server, session);
    session_names_replace(&session->name, (struct argument){"", 0});
    context->reply->version = 2;
    resp_simple(context->reply, "RESET");
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "echo",
     .arity = 2,
     .flags = COMMAND_FAST | COMMAND_LOADING | COMMAND_STALE,
     .group = "connection",
     .since = "1.0.0",
     .summary = "Echo the given string",
     .complexity = "O(1)",
     .syntax = "message",
     .categories = "connection",
     .run = run_echo},
    {.name = "ping",
     .arity = -1,
     .flags = COMMAND_SUBSCRIBED | COMMAND_FAST | COMMAND_STORELESS,
     .group = "connection",
     .since = "1.0.0",
     .summary = "Ping the server",
     .complexity = "O(1)",
     .syntax = "[message]",
     .categories = "connection",
     .tips = "request_policy:all_shards response_policy:all_succeeded",
     .run = run_ping},
    {.name = "quit",
     .arity = -1,
     .flags = COMMAND_UNQUEUED | COMMAND_SUBSCRIBED | COMMAND_ANYTIME | COMMAND_NO_AUTH |
              COMMAND_ALLOW_BUSY,
     .group = "connection",
     .since = "1.0.0",
     .summary = "Close the connection",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "connection",
     .run = run_quit},
    {.name = "reset",
     .arity = 1,
     .flags = COMMAND_UNQUEUED | COMMAND_SUBSCRIBED | COMMAND_ANYTIME | COMMAND_NO_AUTH |
              COMMAND_ALLOW_BUSY,
     .group = "connection",
     .since = "6.2.0",
     .summary = "Reset the connection",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "connection",
     .run = run_reset},
    {.name = NULL}};

COMMANDS(connection, entries)
