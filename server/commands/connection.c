/* Commands about the connection itself: login, names, CLIENT. */
#include "server/command.h"

#include "protocol/number.h"
#include "server/clients.h"
#include "server/server.h"
#include "server/waiters.h"

#include <stdlib.h>
#include <string.h>

static bool is(const struct context *context, size_t index, const char *word)
{
    return argument_is(context_argument(context, index), word);
}

static enum outcome run_ping(struct context *context)
{
    struct argument text;

    if (context_count(context) > 2)
        return context_arity_error(context);
    if (context_count(context) == 1) {
        resp_simple(context->reply, "PONG");
        return OUTCOME_DONE;
    }
    text = context_argument(context, 1);
    resp_bulk(context->reply, text.data, text.size);
    return OUTCOME_DONE;
}

static enum outcome run_echo(struct context *context)
{
    struct argument text = context_argument(context, 1);

    resp_bulk(context->reply, text.data, text.size);
    return OUTCOME_DONE;
}

static enum outcome run_quit(struct context *context)
{
    context_ok(context);
    return OUTCOME_CLOSE;
}

static enum outcome run_select(struct context *context)
{
    int64_t number;

    if (!context_integer(context, 1, &number))
        return OUTCOME_DONE;
    if (number < 0 || number >= context->server->config.databases) {
        resp_error(context->reply, "ERR DB index is out of range");
        return OUTCOME_DONE;
    }
    context->session->database = (unsigned)number;
    return context_ok(context);
}

/* ---- login */

/* As long for a wrong password as for the right one, whatever they share. */
static bool same_text(struct argument given, const char *wanted)
{
    size_t size = strlen(wanted);
    unsigned char difference = given.size != size;

    for (size_t i = 0; i < given.size; i++)
        difference |= (unsigned char)(given.data[i] ^ wanted[size == 0 ? 0 : i % size]);
    return difference == 0;
}

static bool login(struct context *context, struct argument user, struct argument password)
{
    const char *wanted = context->server->config.requirepass;

    if (!argument_is(user, "default") || user.size != 7 ||
        (wanted[0] != '\0' && !same_text(password, wanted))) {
        resp_error(context->reply,
                   "WRONGPASS invalid username-password pair or user is disabled.");
        return false;
    }
    context->session->authenticated = true;
    return true;
}

static enum outcome run_auth(struct context *context)
{
    bool named = context_count(context) == 3;

    if (context_count(context) > 3)
        return context_syntax_error(context);
    if (!named && context->server->config.requirepass[0] == '\0') {
        resp_error(context->reply,
                   "ERR AUTH <password> called without any password configured for the default "
                   "user. Are you sure your configuration is correct?");
        return OUTCOME_DONE;
    }
    if (!login(context, named ? context_argument(context, 1) : (struct argument){"default", 7},
               context_argument(context, named ? 2 : 1)))
        return OUTCOME_DONE;
    return context_ok(context);
}

static bool valid_client_name(struct argument name)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] < '!' || name.data[i] > '~')
            return false;
    return true;
}

static bool set_text(char **text, struct argument given)
{
    char *copy = given.size == 0 ? NULL : strndup(given.data, given.size);

    if (given.size > 0 && copy == NULL)
        return false;
    free(*text);
    *text = copy;
    return true;
}

static bool set_client_name(struct context *context, struct argument name)
{
    if (!valid_client_name(name)) {
        resp_error(context->reply,
                   "ERR Client names cannot contain spaces, newlines or special characters.");
        return false;
    }
    return set_text(&context->session->name, name);
}

static void write_hello(struct context *context)
{
    struct resp_writer *reply = context->reply;

    resp_map(reply, 7);
    resp_string(reply, "server");
    resp_string(reply, "redis");
    resp_string(reply, "version");
    resp_string(reply, "7.0.15");
    resp_string(reply, "proto");
    resp_integer(reply, context->session->protocol);
    resp_string(reply, "id");
    resp_integer(reply, (int64_t)context->session->id);
    resp_string(reply, "mode");
    resp_string(reply, "standalone");
    resp_string(reply, "role");
    resp_string(reply, "master");
    resp_string(reply, "modules");
    resp_array(reply, 0);
}

struct hello {
    int64_t version;
    struct argument user, password, name;
};

static bool hello_options(struct context *context, struct hello *hello)
{
    for (size_t at = 2; at < context_count(context); at++) {
        size_t left = context_count(context) - at - 1;

        if (is(context, at, "auth") && left >= 2) {
            hello->user = context_argument(context, at + 1);
            hello->password = context_argument(context, at + 2);
            at += 2;
        } else if (is(context, at, "setname") && left >= 1) {
            hello->name = context_argument(context, at + 1);
            at++;
        } else {
            resp_errorf(context->reply, "ERR Syntax error in HELLO option '%.128s'",
                        context_argument(context, at).data);
            return false;
        }
    }
    return true;
}

static bool hello_version(struct context *context, struct hello *hello)
{
    struct argument version;

    hello->version = context->session->protocol;
    if (context_count(context) < 2)
        return true;
    version = context_argument(context, 1);
    if (!number_parse_integer(version.data, version.size, &hello->version)) {
        resp_error(context->reply, "ERR Protocol version is not an integer or out of range");
        return false;
    }
    if (hello->version < 2 || hello->version > 3) {
        resp_error(context->reply, "NOPROTO unsupported protocol version");
        return false;
    }
    return true;
}

static enum outcome run_hello(struct context *context)
{
    struct hello hello = {0};

    if (!hello_version(context, &hello) || !hello_options(context, &hello))
        return OUTCOME_DONE;
    if (hello.user.data != NULL && !login(context, hello.user, hello.password))
        return OUTCOME_DONE;
    if (!context->session->authenticated) {
        resp_error(
            context->reply,
            "NOAUTH HELLO must be called with the client already authenticated, otherwise "
            "the HELLO AUTH <user> <pass> option can be used to authenticate the client "
            "and select the RESP protocol version at the same time");
        return OUTCOME_DONE;
    }
    if (hello.name.data != NULL && !set_client_name(context, hello.name))
        return OUTCOME_DONE;
    context->session->protocol = (int)hello.version;
    context->reply->version = (int)hello.version;
    write_hello(context);
    return OUTCOME_DONE;
}

static enum outcome run_reset(struct context *context)
{
    struct session *session = context->session;

    session->database = 0;
    session->protocol = 2;
    session->reply_off = false;
    session->reply_skip = 0;
    session->no_evict = false;
    session->authenticated = context->server->config.requirepass[0] == '\0';
    set_text(&session->name, (struct argument){"", 0});
    context->reply->version = 2;
    resp_simple(context->reply, "RESET");
    return OUTCOME_DONE;
}

/* ---- CLIENT */

static enum outcome client_id(struct context *context)
{
    resp_integer(context->reply, (int64_t)context->session->id);
    return OUTCOME_DONE;
}

static enum outcome client_getname(struct context *context)
{
    if (context->session->name == NULL)
        resp_null(context->reply);
    else
        resp_string(context->reply, context->session->name);
    return OUTCOME_DONE;
}

static enum outcome client_setname(struct context *context)
{
    return set_client_name(context, context_argument(context, 2)) ? context_ok(context)
                                                                  : OUTCOME_DONE;
}

static enum outcome client_setinfo(struct context *context)
{
    struct session *session = context->session;
    struct argument value = context_argument(context, 3);
    bool name = is(context, 2, "lib-name");

    if (!name && !is(context, 2, "lib-ver")) {
        resp_errorf(context->reply, "ERR Unrecognized option '%.128s'",
                    context_argument(context, 2).data);
        return OUTCOME_DONE;
    }
    if (!valid_client_name(value)) {
        resp_errorf(context->reply,
                    "ERR %s cannot contain spaces, newlines or special characters.",
                    name ? "lib-name" : "lib-ver");
        return OUTCOME_DONE;
    }
    set_text(name ? &session->library_name : &session->library_version, value);
    return context_ok(context);
}

static enum outcome client_info(struct context *context)
{
    struct buffer text;

    buffer_init(&text, 1 << 20);
    client_line(context->server, context->session, &text);
    buffer_append(&text, "\n", 1);
    resp_verbatim(context->reply, "txt", buffer_content(&text), buffer_size(&text));
    buffer_release(&text);
    return OUTCOME_DONE;
}

static enum outcome client_list(struct context *context)
{
    struct client_filter filter = {0};

    if (!client_filter_read(context, &filter))
        return OUTCOME_DONE;
    clients_write_list(context, &filter);
    client_filter_release(&filter);
    return OUTCOME_DONE;
}

static enum outcome client_kill(struct context *context)
{
    struct client_filter filter = {.skip_me = true};
    int64_t killed;
    bool old_form = context_count(context) == 3;

    if (old_form) {
        filter.address = context_argument(context, 2);
        filter.skip_me = false;
    } else if (!client_filter_read_kill(context, &filter)) {
        return OUTCOME_DONE;
    }
    killed = clients_kill(context, &filter);
    client_filter_release(&filter);
    if (!old_form) {
        resp_integer(context->reply, killed);
        return OUTCOME_DONE;
    }
    if (killed > 0)
        return context_ok(context);
    resp_error(context->reply, "ERR No such client");
    return OUTCOME_DONE;
}

static enum outcome client_reply(struct context *context)
{
    struct session *session = context->session;

    if (is(context, 2, "on")) {
        session->reply_off = false;
        session->reply_skip = 0;
        return context_ok(context);
    }
    if (is(context, 2, "off"))
        session->reply_off = true;
    else if (is(context, 2, "skip") && !session->reply_off)
        session->reply_skip = 2; /* this command, which says nothing anyway, and the next */
    else if (!is(context, 2, "skip"))
        return context_syntax_error(context);
    return OUTCOME_DONE;
}

static enum outcome client_on_off(struct context *context)
{
    bool on = is(context, 2, "on");

    if (!on && !is(context, 2, "off"))
        return context_syntax_error(context);
    if (strcmp(context->command->name, "no-evict") == 0)
        context->session->no_evict = on;
    return context_ok(context);
}

static enum outcome client_unblock(struct context *context)
{
    bool with_error = context_count(context) == 4 && is(context, 3, "error");
    struct session *session;
    int64_t id;

    if (context_count(context) > 4)
        return context_arity_error(context);
    if (context_count(context) == 4 && !with_error && !is(context, 3, "timeout")) {
        resp_error(context->reply, "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
        return OUTCOME_DONE;
    }
    if (!context_integer(context, 2, &id))
        return OUTCOME_DONE;
    session = server_find_session(context->server, (uint64_t)id);
    if (session == NULL || session->waiter == NULL) {
        resp_integer(context->reply, 0);
        return OUTCOME_DONE;
    }
    waiters_unblock(context->server, session, with_error);
    resp_integer(context->reply, 1);
    return OUTCOME_DONE;
}

static enum outcome client_help(struct context *context)
{
    return write_help(context);
}

#define CLIENT_COMMAND(command_name, command_arity, command_syntax, command_summary, handler)  \
    {                                                                                          \
        .name = command_name, .arity = command_arity,                                          \
        .flags = COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE, .group = "connection",    \
        .since = "2.4.0", .summary = command_summary, .complexity = "O(1)",                    \
        .syntax = command_syntax, .categories = "slow connection", .run = handler              \
    }

static const struct command client_commands[] = {
    CLIENT_COMMAND("getname", 2, "", "Get the current connection name", client_getname),
    CLIENT_COMMAND("help", 2, "", "Show helpful text about the different subcommands",
                   client_help),
    CLIENT_COMMAND("id", 2, "", "Returns the client ID for the current connection", client_id),
    CLIENT_COMMAND("info", 2, "", "Returns information about the current client connection.",
                   client_info),
    CLIENT_COMMAND("kill", -3, "old-format|new-format", "Kill the connection of a client",
                   client_kill),
    CLIENT_COMMAND("list", -2, "[TYPE type] [ID client-id [client-id ...]]",
                   "Get the list of client connections", client_list),
    CLIENT_COMMAND("no-evict", 3, "<ON|OFF>",
                   "Set client eviction mode for the current connection", client_on_off),
    CLIENT_COMMAND("no-touch", 3, "<ON|OFF>", "Accepted; nothing here has an access time",
                   client_on_off),
    CLIENT_COMMAND("reply", 3, "<ON|OFF|SKIP>",
                   "Instruct the server whether to reply to commands", client_reply),
    CLIENT_COMMAND("setinfo", 4, "attribute value", "Set the client's library name and version",
                   client_setinfo),
    CLIENT_COMMAND("setname", 3, "connection-name", "Set the current connection name",
                   client_setname),
    CLIENT_COMMAND("unblock", -3, "client-id [TIMEOUT|ERROR]",
                   "Unblock a client blocked in a blocking command", client_unblock),
    {.name = NULL}};

#define ANYTIME (COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE | COMMAND_FAST)

const struct command connection_commands[] = {
    {.name = "auth",
     .arity = -2,
     .flags = ANYTIME | COMMAND_NO_AUTH | COMMAND_ALLOW_BUSY,
     .group = "connection",
     .since = "1.0.0",
     .summary = "Authenticate to the server",
     .complexity = "O(N) where N is the number of passwords defined for the user",
     .syntax = "[username] password",
     .categories = "connection",
     .run = run_auth},
    {.name = "client",
     .arity = -2,
     .group = "connection",
     .since = "2.4.0",
     .summary = "A container for client connection commands",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .flags = COMMAND_LOADING,
     .categories = "slow",
     .subcommands = client_commands},
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
    {.name = "hello",
     .arity = -1,
     .flags = ANYTIME | COMMAND_NO_AUTH | COMMAND_ALLOW_BUSY,
     .group = "connection",
     .since = "6.0.0",
     .summary = "Handshake with Redis",
     .complexity = "O(1)",
     .syntax = "[protover [AUTH username password] [SETNAME clientname]]",
     .categories = "connection",
     .run = run_hello},
    {.name = "ping",
     .arity = -1,
     .flags = COMMAND_FAST | COMMAND_LOADING | COMMAND_STALE,
     .group = "connection",
     .since = "1.0.0",
     .summary = "Ping the server",
     .complexity = "O(1)",
     .syntax = "[message]",
     .categories = "connection",
     .run = run_ping},
    {.name = "quit",
     .arity = -1,
     .flags = ANYTIME | COMMAND_NO_AUTH | COMMAND_ALLOW_BUSY,
     .group = "connection",
     .since = "1.0.0",
     .summary = "Close the connection",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "connection",
     .run = run_quit},
    {.name = "reset",
     .arity = 1,
     .flags = ANYTIME | COMMAND_NO_AUTH | COMMAND_ALLOW_BUSY,
     .group = "connection",
     .since = "6.2.0",
     .summary = "Reset the connection",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "connection",
     .run = run_reset},
    {.name = "select",
     .arity = 2,
     .flags = COMMAND_LOADING | COMMAND_STALE | COMMAND_FAST,
     .group = "connection",
     .since = "1.0.0",
     .summary = "Change the selected database for the current connection",
     .complexity = "O(1)",
     .syntax = "index",
     .categories = "connection",
     .run = run_select},
    {.name = NULL}};
