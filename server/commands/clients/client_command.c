/* CLIENT: names, listing, killing, pausing and settings of connections. */
#include "server/commands/clients/session_names.h"
#include "server/dispatch/command_list.h"

#include "protocol/number.h"
#include "server/commands/clients/client_walk.h"
#include "server/commands/database.h"
#include "server/dispatch/arguments.h"
#include "server/dispatch/docs/command_help.h"
#include "server/net/client_line.h"
#include "server/server.h"
#include "server/session/waiters.h"

#include <string.h>

static enum outcome run_client_id(struct context *context)
{
    resp_integer(context->reply, (int64_t)context->session->id);
    return OUTCOME_DONE;
}

static enum outcome run_client_getname(struct context *context)
{
    if (context->session->name == NULL)
        resp_null(context->reply);
    else
        resp_string(context->reply, context->session->name);
    return OUTCOME_DONE;
}

static enum outcome run_client_setname(struct context *context)
{
    return session_names_set(context, context_argument(context, 2)) ? context_ok(context)
                                                                    : OUTCOME_DONE;
}

static enum outcome run_client_setinfo(struct context *context)
{
    struct session *session = context->session;
    struct argument value = context_argument(context, 3);
    bool name = arguments_is(context, 2, "lib-name");

    if (!name && !arguments_is(context, 2, "lib-ver")) {
        resp_errorf(context->reply, "ERR Unrecognized option '%.128s'",
                    context_argument(context, 2).data);
        return OUTCOME_DONE;
    }
    if (!session_names_valid(value)) {
        resp_errorf(context->reply,
                    "ERR %s cannot contain spaces, newlines or special characters.",
                    name ? "lib-name" : "lib-ver");
        return OUTCOME_DONE;
    }
    if (!session_names_replace(name ? &session->library_name : &session->library_version,
                               value))
        return context_status(context, DUEQ_NOMEM);
    return context_ok(context);
}

static enum outcome run_client_info(struct context *context)
{
    struct buffer text;

    buffer_init(&text, 1 << 20);
    client_line_write(context->server, context->session, &text);
    buffer_append(&text, "\n", 1);
    resp_verbatim(context->reply, "txt", buffer_content(&text), buffer_size(&text));
    buffer_release(&text);
    return OUTCOME_DONE;
}

static enum outcome run_client_reply(struct context *context)
{
    struct session *session = context->session;

    if (arguments_is(context, 2, "on")) {
        session->reply_off = false;
        session->reply_skip = 0;
        return context_ok(context);
    }
    if (arguments_is(context, 2, "off"))
        session->reply_off = true;
    else if (arguments_is(context, 2, "skip") && !session->reply_off)
        session->reply_skip = 2; /* this command, which has no reply, and the next one */
    else if (!arguments_is(context, 2, "skip"))
        return context_syntax_error(context);
    return OUTCOME_DONE;
}

static enum outcome run_client_on_off(struct context *context)
{
    bool on = arguments_is(context, 2, "on");

    if (!on && !arguments_is(context, 2, "off"))
        return context_syntax_error(context);
    if (strcmp(context->command->name, "no-evict") == 0)
        context->session->no_evict = on;
    else
        context->session->no_touch = on;
    return context_ok(context);
}

static enum outcome run_client_unblock(struct context *context)
{
    bool with_error = context_count(context) == 4 && arguments_is(context, 3, "error");
    struct session *session;
    int64_t id;

    if (context_count(context) > 4)
        return context_subcommand_error(context);
    if (context_count(context) == 4 && !with_error && !arguments_is(context, 3, "timeout")) {
        resp_error(context->reply, "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
        return OUTCOME_DONE;
    }
    if (!arguments_integer(context, 2, NULL, &id))
        return OUTCOME_DONE;
    session = server_find_session(context->server, (uint64_t)id);
    if (session == NULL || !waiters_is_blocked(session)) {
        resp_integer(context->reply, 0);
        return OUTCOME_DONE;
    }
    waiters_unblock(context->server, session, with_error);
    resp_integer(context->reply, 1);
    return OUTCOME_DONE;
}

/* ---- PAUSE */

static enum outcome run_client_pause(struct context *context)
{
    int64_t wait;
    bool writes = false;

    if (context_count(context) > 4)
        return context_subcommand_error(context);
    if (context_count(context) == 4) {
        writes = arguments_is(context, 3, "write");
        if (!writes && !arguments_is(context, 3, "all")) {
            resp_error(context->reply, "ERR CLIENT PAUSE mode must be WRITE or ALL");
            return OUTCOME_DONE;
        }
    }
    if (!arguments_integer(
            context, 2,
            INTEGER_OR(INT64_MIN, INT64_MAX, "ERR timeout is not an integer or out of range"),
            &wait))
        return OUTCOME_DONE;
    if (wait < 0) {
        resp_error(context->reply, "ERR timeout is negative");
        return OUTCOME_DONE;
    }
    server_pause(context->server, context_deadline(context, wait), writes);
    return context_ok(context);
}

static enum outcome run_client_unpause(struct context *context)
{
    server_pause(context->server, 0, false);
    return context_ok(context);
}

/* ---- tracking, which is always off */

static enum outcome run_client_tracking(struct context *context)
{
    if (arguments_is(context, 2, "off") && context_count(context) == 3)
        return context_ok(context);
    if (!arguments_is(context, 2, "on"))
        return context_syntax_error(context);
    resp_error(context->reply, "ERR dueq does not track keys for caches in clients");
    return OUTCOME_DONE;
}

static enum outcome run_client_caching(struct context *context)
{
    resp_error(context->reply,
               "ERR CLIENT CACHING can be called only when the client is in tracking mode with "
               "OPTIN or OPTOUT mode enabled");
    return OUTCOME_DONE;
}

static enum outcome run_client_getredir(struct context *context)
{
    resp_integer(context->reply, -1);
    return OUTCOME_DONE;
}

static enum outcome run_client_trackinginfo(struct context *context)
{
    resp_map(context->reply, 3);
    resp_string(context->reply, "flags");
    resp_set(context->reply, 1);
    resp_string(context->reply, "off");
    resp_string(context->reply, "redirect");
    resp_integer(context->reply, -1);
    resp_string(context->reply, "prefixes");
    resp_array(context->reply, 0);
    return OUTCOME_DONE;
}

#define CLIENT_COMMAND(command_name, command_arity, extra_flags, command_since, command_cost,  \
                       command_tips, command_syntax, command_summary, handler)                 \
    {                                                                                          \
        .name = command_name, .arity = command_arity,                                          \
        .flags = COMMAND_LOADING | COMMAND_STALE | (extra_flags), .group = "connection",       \
        .since = command_since, .summary = command_summary, .complexity = command_cost,        \
        .syntax = command_syntax, .categories = "connection", .tips = command_tips,            \
        .run = handler                                                                         \
    }
#define OWN        COMMAND_NOSCRIPT
#define OTHERS     (COMMAND_NOSCRIPT | COMMAND_ADMIN)
#define BY_CLIENTS "O(N) where N is the number of client connections"

/* ---- commands */

static const struct command client_subcommands[] = {
    CLIENT_COMMAND("caching", 3, OWN, "6.0.0", "O(1)", NULL, "<YES|NO>",
                   "Instruct the server about tracking or not keys in the next request",
                   run_client_caching),
    CLIENT_COMMAND("getname", 2, OWN, "2.6.9", "O(1)", NULL, "",
                   "Get the current connection name", run_client_getname),
    CLIENT_COMMAND("getredir", 2, OWN, "6.0.0", "O(1)", NULL, "",
                   "Get tracking notifications redirection client ID if any",
                   run_client_getredir),
    CLIENT_COMMAND("help", 2, 0, "5.0.0", "O(1)", NULL, "",
                   "Show helpful text about the different subcommands", run_container_help),
    CLIENT_COMMAND("id", 2, OWN, "5.0.0", "O(1)", NULL, "",
                   "Returns the client ID for the current connection", run_client_id),
    CLIENT_COMMAND("info", 2, OWN, "6.2.0", "O(1)", "nondeterministic_output", "",
                   "Returns information about the current client connection.", run_client_info),
    CLIENT_COMMAND("kill", -3, OTHERS, "2.4.0", BY_CLIENTS, NULL,
                   "<ip:port|[ID client-id] [TYPE <NORMAL|MASTER|SLAVE|REPLICA|PUBSUB>] [USER "
                   "username] [ADDR ip:port] [LADDR ip:port] [SKIPME yes/no]>",
                   "Kill the connection of a client", client_kill),
    CLIENT_COMMAND("list", -2, OTHERS, "2.4.0", BY_CLIENTS, "nondeterministic_output",
                   "[TYPE <NORMAL|MASTER|REPLICA|PUBSUB>] [ID client-id [client-id ...]]",
                   "Get the list of client connections", client_list),
    CLIENT_COMMAND("no-evict", 3, OTHERS, "7.0.0", "O(1)", NULL, "<ON|OFF>",
                   "Set client eviction mode for the current connection", run_client_on_off),
    CLIENT_COMMAND("no-touch", 3, OWN, "7.2.0", "O(1)", NULL, "<ON|OFF>",
                   "Set whether what the connection looks at counts as used",
                   run_client_on_off),
    CLIENT_COMMAND("pause", -3, OTHERS, "3.0.0", "O(1)", NULL, "timeout [WRITE|ALL]",
                   "Stop processing commands from clients for some time", run_client_pause),
    CLIENT_COMMAND("reply", 3, OWN, "3.2.0", "O(1)", NULL, "<ON|OFF|SKIP>",
                   "Instruct the server whether to reply to commands", run_client_reply),
    CLIENT_COMMAND("setinfo", 4, OWN, "7.2.0", "O(1)", NULL,
                   "<LIB-NAME libname|LIB-VER libver>",
                   "Set the client's library name and version", run_client_setinfo),
    CLIENT_COMMAND("setname", 3, OWN, "2.6.9", "O(1)", NULL, "connection-name",
                   "Set the current connection name", run_client_setname),
    CLIENT_COMMAND("tracking", -3, OWN, "6.0.0", "O(1)", NULL, "<ON|OFF>",
                   "Enable or disable server assisted client side caching support",
                   run_client_tracking),
    CLIENT_COMMAND(
        "trackinginfo", 2, OWN, "6.2.0", "O(1)", NULL, "",
        "Return information about server assisted client side caching for the current "
        "connection",
        run_client_trackinginfo),
    CLIENT_COMMAND("unblock", -3, OTHERS, "5.0.0", "O(1)", NULL, "client-id [TIMEOUT|ERROR]",
                   "Unblock a client blocked in a blocking command from a different connection",
                   run_client_unblock),
    CLIENT_COMMAND("unpause", 2, OTHERS, "6.2.0", BY_CLIENTS, NULL, "",
                   "Resume processing of clients that were paused", run_client_unpause),
    {.name = NULL}};

static const struct command entries[] = {
    {.name = "client",
     .arity = -2,
     .group = "connection",
     .since = "2.4.0",
     .summary = "A container for client connection commands",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .subcommands = client_subcommands},
    {.name = NULL}};

COMMANDS(client, entries)
