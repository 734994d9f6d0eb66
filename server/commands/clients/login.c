/* AUTH and HELLO: the user and the protocol of a session. */
#include "server/commands/clients/session_names.h"
#include "server/dispatch/command_list.h"

#include "protocol/number.h"
#include "server/acl/acl.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/permission.h"
#include "server/server.h"
#include "server/session/waiters.h"

/* ---- passwords */

/* No reply within EXEC can come late: the password of who fails often is not looked at there,
 * so that guesses in EXEC are no faster than others. */
static bool is_unheard(const struct context *context)
{
    const struct server *server = context->server;

    return context->queued && server->config.auth_delay > 0 &&
           login_failures_are_many(&server->acl->failures, context->session->address,
                                   server->clock.last.monotonic);
}

static bool log_in(struct context *context, struct argument name, struct argument password)
{
    struct acl_user *user = NULL;

    if (!is_unheard(context))
        user = acl_log_in(context->server->acl, dueq_slice(name.data, name.size),
                          dueq_slice(password.data, password.size));
    if (user == NULL)
        return false;
    context->session->user = user;
    context->session->authenticated = true;
    return true;
}

static enum outcome tell_failure(struct context *context)
{
    resp_error(context->reply, "WRONGPASS invalid username-password pair or user is disabled.");
    return OUTCOME_DONE;
}

/* The clock of waits is not that of the store before that is open. */
static bool may_delay(const struct context *context)
{
    return context->may_wait && !context->server->loading &&
           context->server->config.auth_delay > 0;
}

/* Whoever fails often gets the reply late, and runs nothing until then: the command runs again
 * when the time is over, and then only tells what is known already. */
static enum outcome refuse_login(struct context *context, struct argument name)
{
    bool is_late = permission_note_failed_login(context, name);

    if (!is_late || !may_delay(context))
        return tell_failure(context);
    context->server->acl->delayed++;
    return waiters_wait_for_keys(context, KEYS_NONE, 0, 0,
                                 context_deadline(context, context->server->config.auth_delay));
}

static enum outcome run_auth(struct context *context)
{
    bool named = context_count(context) == 3;
    struct argument user = {"default", 7};

    if (context->waiter != NULL)
        return tell_failure(context);
    if (context_count(context) > 3)
        return context_syntax_error(context);
    if (!named && acl_default(context->server->acl)->no_password) {
        resp_error(context->reply,
                   "ERR AUTH <password> called without any password configured for the default "
                   "user. Are you sure your configuration is correct?");
        return OUTCOME_DONE;
    }
    if (named)
        user = context_argument(context, 1);
    if (!log_in(context, user, context_argument(context, named ? 2 : 1)))
        return refuse_login(context, user);
    return context_ok(context);
}

/* ---- HELLO */

struct hello {
    int64_t version;
    struct argument user, password, name; /* data NULL: not given */
};

static bool read_version(struct context *context, struct hello *hello)
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

static bool read_auth(struct context *context, size_t *at, const struct argument_option *option,
                      void *form)
{
    struct hello *hello = form;

    (void)option;
    hello->user = context_argument(context, (*at)++);
    hello->password = context_argument(context, (*at)++);
    return true;
}

static bool read_name(struct context *context, size_t *at, const struct argument_option *option,
                      void *form)
{
    struct hello *hello = form;

    (void)option;
    hello->name = context_argument(context, (*at)++);
    return session_names_check(context, hello->name);
}

static const struct argument_option options[] = {
    {"auth", OPTION_CUSTOM, .values = 2, .read = read_auth},
    {"setname", OPTION_CUSTOM, .values = 1, .read = read_name},
    {.name = NULL}};

static bool read_options(struct context *context, struct hello *hello)
{
    size_t at = 2;

    if (!argument_options_read_leading(context, &at, options, hello))
        return false;
    if (at >= context_count(context))
        return true;
    resp_errorf(context->reply, "ERR Syntax error in HELLO option '%.128s'",
                context_argument(context, at).data);
    return false;
}

static bool greet(struct context *context, const struct hello *hello)
{
    if (!context->session->authenticated) {
        resp_error(context->reply,
                   "NOAUTH HELLO must be called with the client already authenticated, "
                   "otherwise the HELLO AUTH <user> <pass> option can be used to authenticate "
                   "the client and select the RESP protocol version at the same time");
        return false;
    }
    if (hello->name.data != NULL && !session_names_set(context, hello->name))
        return false;
    context->session->protocol = (int)hello->version;
    context->reply->version = (int)hello->version;
    return true;
}

static enum outcome greet_and_tell(struct context *context, const struct hello *hello)
{
    struct resp_writer *reply = context->reply;

    if (!greet(context, hello))
        return OUTCOME_DONE;
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
    return OUTCOME_DONE;
}

static enum outcome run_hello(struct context *context)
{
    struct hello hello = {0};

    if (context->waiter != NULL)
        return tell_failure(context);
    if (!read_version(context, &hello) || !read_options(context, &hello))
        return OUTCOME_DONE;
    if (hello.user.data != NULL && !log_in(context, hello.user, hello.password))
        return refuse_login(context, hello.user);
    return greet_and_tell(context, &hello);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "auth",
     .arity = -2,
     .flags = COMMAND_ANYTIME | COMMAND_NO_AUTH | COMMAND_ALLOW_BUSY,
     .group = "connection",
     .since = "1.0.0",
     .summary = "Authenticate to the server",
     .complexity = "O(N) where N is the number of passwords defined for the user",
     .syntax = "[username] password",
     .categories = "connection",
     .run = run_auth},
    {.name = "hello",
     .arity = -1,
     .flags = COMMAND_ANYTIME | COMMAND_NO_AUTH | COMMAND_ALLOW_BUSY,
     .group = "connection",
     .since = "6.0.0",
     .summary = "Handshake with Redis",
     .complexity = "O(1)",
     .syntax = "[protover [AUTH username password] [SETNAME clientname]]",
     .categories = "connection",
     .run = run_hello},
    {.name = NULL}};

COMMANDS(login, entries)
