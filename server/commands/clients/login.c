/* AUTH and HELLO: the user and the protocol of a session. */
#include "server/commands/clients/session_names.h"
#include "server/dispatch/command_list.h"

#include "protocol/number.h"
#include "server/acl/acl.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/permission.h"
#include "server/server.h"
#include "server/session/hashing.h"
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

static enum outcome tell_failure(struct context *context)
{
    resp_error(context->reply, "WRONGPASS invalid username-password pair or user is disabled.");
    return OUTCOME_DONE;
}

/* ---- logins that are not answered at once */

/* What the session's login waits for. */
enum login_stage {
    LOGIN_LATE,    /* it has failed; the reply comes when the time is over */
    LOGIN_PUT_OFF, /* its password is looked at when the time is over */
    LOGIN_HASHES   /* its password is slow to check */
};

enum { FULL_MS = 1000 }; /* until the next look whether a slow check has room */

struct attempt {
    struct argument name, password;
};

static struct dueq_slice slice_of(struct argument argument)
{
    return dueq_slice(argument.data, argument.size);
}

/* The clock of waits is not that of the store before that is open. */
static bool may_wait(const struct context *context)
{
    return context->may_wait && !context->server->loading;
}

static bool may_delay(const struct context *context)
{
    return may_wait(context) && context->server->config.auth_delay > 0;
}

static enum outcome wait_for(struct context *context, enum login_stage stage, int64_t ms)
{
    int64_t deadline = context_deadline(context, ms);

    context->session->login_stage = (int)stage;
    if (context->waiter == NULL)
        return waiters_wait_for_keys(context, KEYS_NONE, 0, 0, deadline);
    waiters_set_deadline(context, deadline);
    return OUTCOME_WAIT;
}

/* Whoever fails often gets the reply late, and runs nothing until then: the command runs again
 * when the time is over, and then only tells what is known already. */
static enum outcome refuse(struct context *context, const struct attempt *attempt)
{
    bool is_late = permission_note_failed_login(context, attempt->name);

    if (!is_late || !may_delay(context))
        return tell_failure(context);
    context->server->acl->delayed++;
    return wait_for(context, LOGIN_LATE, context->server->config.auth_delay);
}

/* *ret_in: the login has succeeded, and the command goes on. */
static enum outcome let_in(struct context *context, struct acl_user *user, bool *ret_in)
{
    login_failures_give_back(&context->server->acl->failures, context->session->address,
                             context->server->config.auth_delay);
    context->session->user = user;
    context->session->credentials = user->credentials;
    context->session->authenticated = true;
    *ret_in = true;
    return OUTCOME_DONE;
}

/* As long as somebody has a slow password, every login that fails takes as long. */
static enum outcome check_later(struct context *context, const struct attempt *attempt)
{
    struct hash_job *job;

    if (!context->may_wait) {
        resp_error(context->reply, "ERR a login is not possible within a transaction while a "
                                   "user has a password that is slow to check");
        return OUTCOME_DONE;
    }
    if (!hashing_has_room(context) && may_wait(context))
        return wait_for(context, LOGIN_PUT_OFF, FULL_MS);
    if (!hashing_has_room(context)) {
        resp_error(context->reply, "ERR too many logins are being checked, try again later");
        return OUTCOME_DONE;
    }
    job = acl_log_in_later(context->server->acl, slice_of(attempt->name),
                           slice_of(attempt->password), context->session);
    if (job == NULL)
        return context_status(context, DUEQ_NOMEM);
    context->session->login_stage = LOGIN_HASHES;
    return hashing_wait(context, job);
}

static enum outcome look(struct context *context, const struct attempt *attempt, bool *ret_in)
{
    const struct acl *acl = context->server->acl;
    struct acl_user *user =
        acl_log_in(acl, slice_of(attempt->name), slice_of(attempt->password));

    if (user != NULL)
        return let_in(context, user, ret_in);
    return acl->has_slow ? check_later(context, attempt) : refuse(context, attempt);
}

static bool has_failed(const struct hash_job *job)
{
    bool failed = false;

    for (size_t i = 0; i < job->count; i++)
        failed |= job->items[i].result == ACL_ARGON_FAILED;
    return failed;
}

static enum outcome see_hashes(struct context *context, const struct attempt *attempt,
                               bool *ret_in)
{
    const struct hash_job *job = hashing_result(context);
    struct acl_user *user;

    if (job == NULL)
        return OUTCOME_WAIT;
    user = acl_end_log_in(context->server->acl, slice_of(attempt->name), job);
    if (user != NULL)
        return let_in(context, user, ret_in);
    return has_failed(job) ? context_status(context, DUEQ_NOMEM) : refuse(context, attempt);
}

/* Of a network that fails often only so many passwords are looked at in a time. */
static enum outcome begin(struct context *context, const struct attempt *attempt, bool *ret_in)
{
    int64_t delay = may_delay(context) ? context->server->config.auth_delay : 0;
    int64_t wait =
        login_failures_take_place(&context->server->acl->failures, context->session->address,
                                  context->server->clock.last.monotonic, delay);

    if (wait > LOGIN_PUT_OFF_MOST) {
        resp_error(context->reply,
                   "ERR too many failed logins from this address, try again later");
        return OUTCOME_DONE;
    }
    if (wait == 0)
        return look(context, attempt, ret_in);
    context->server->acl->delayed++;
    return wait_for(context, LOGIN_PUT_OFF, wait);
}

static enum outcome go_on(struct context *context, const struct attempt *attempt, bool *ret_in)
{
    switch ((enum login_stage)context->session->login_stage) {
    case LOGIN_PUT_OFF:
        return context->timed_out ? look(context, attempt, ret_in) : OUTCOME_WAIT;
    case LOGIN_HASHES:
        return see_hashes(context, attempt, ret_in);
    case LOGIN_LATE:
        break;
    }
    return tell_failure(context);
}

/* True: the session is logged in. False: the command ends with *ret_outcome. */
static bool log_in(struct context *context, struct argument name, struct argument password,
                   enum outcome *ret_outcome)
{
    struct attempt attempt = {name, password};
    bool is_in = false;

    if (context->waiter != NULL)
        *ret_outcome = go_on(context, &attempt, &is_in);
    else if (is_unheard(context))
        *ret_outcome = refuse(context, &attempt);
    else
        *ret_outcome = begin(context, &attempt, &is_in);
    return is_in;
}

/* ---- AUTH */

static enum outcome run_auth(struct context *context)
{
    bool named = context_count(context) == 3;
    struct argument user = {"default", 7};
    enum outcome outcome;

    if (context_count(context) > 3)
        return context_syntax_error(context);
    if (!named && context->waiter == NULL && acl_default(context->server->acl)->no_password) {
        resp_error(context->reply,
                   "ERR AUTH <password> called without any password configured for the default "
                   "user. Are you sure your configuration is correct?");
        return OUTCOME_DONE;
    }
    if (named)
        user = context_argument(context, 1);
    return log_in(context, user, context_argument(context, named ? 2 : 1), &outcome)
               ? context_ok(context)
               : outcome;
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
    enum outcome outcome;

    if (!read_version(context, &hello) || !read_options(context, &hello))
        return OUTCOME_DONE;
    if (hello.user.data != NULL && !log_in(context, hello.user, hello.password, &outcome))
        return outcome;
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
