#include "server/dispatch/permission.h"

#include "server/acl/acl.h"
#include "server/acl/acl_check.h"
#include "server/dispatch/long_work.h"
#include "server/server.h"
#include "server/session/session_output.h"
#include "server/session/waiters.h"

static bool is_in_multi(const struct context *context)
{
    return context->queued || context->session->transaction != NULL;
}

static void note(struct context *context, enum acl_reason reason, struct argument object,
                 struct argument user)
{
    struct acl *acl = context->server->acl;
    struct acl_entry entry = {.reason = reason,
                              .in_multi = is_in_multi(context),
                              .time = context->server->clock.last.wall,
                              .object = dueq_slice(object.data, object.size),
                              .user = dueq_slice(user.data, user.size)};
    struct buffer client;

    acl->denied[reason]++;
    buffer_init(&client, SIZE_MAX);
    session_describe(context->session, &client);
    if (!client.overflowed)
        entry.client = dueq_slice(buffer_content(&client), buffer_size(&client));
    acl_log_add(&acl->log, &entry, (uint64_t)context->server->config.acllog_max_len);
    buffer_release(&client);
}

/* Redis' texts. */
static void tell(struct context *context, enum acl_reason reason)
{
    static const char *const texts[] = {
        [ACL_DENIED_KEY] = "NOPERM this user has no permissions to access one of the keys used "
                           "as arguments",
        [ACL_DENIED_CHANNEL] = "NOPERM this user has no permissions to access one of the "
                               "channels used as arguments"};

    if (reason == ACL_DENIED_COMMAND)
        resp_errorf(context->reply,
                    "NOPERM this user has no permissions to run the '%s' command",
                    command_full_name(context->command));
    else
        resp_error(context->reply, texts[reason]);
}

static void tell_in_exec(struct context *context, enum acl_reason reason)
{
    static const char *const texts[] = {
        [ACL_DENIED_COMMAND] = "no permission to execute the command or subcommand",
        [ACL_DENIED_KEY] = "no permission to touch the specified keys",
        [ACL_DENIED_CHANNEL] = "no permission to access one of the channels used as arguments"};

    resp_errorf(
        context->reply,
        "NOPERM ACLs rules changed between the moment the transaction was accumulated "
        "and the EXEC call. This command is no longer allowed for the following reason: "
        "%s",
        texts[reason]);
}

static void refuse(struct context *context, struct acl_verdict verdict)
{
    const struct acl_user *user = context->session->user;
    const char *name = command_full_name(context->command);
    struct argument object = {name, strlen(name)};

    if (verdict.reason != ACL_DENIED_COMMAND)
        object = context_argument(context, verdict.argument);
    note(context, verdict.reason, object, (struct argument){user->name, user->name_size});
    if (context->queued)
        tell_in_exec(context, verdict.reason);
    else
        tell(context, verdict.reason);
}

static bool works_in_slices(const struct context *context)
{
    return (context->waiter != NULL && waiters_work_of(context->waiter) != NULL) ||
           (context->nested != NULL && context->nested->state != NULL);
}

/* The time of a command that has waited is over, and its reply tells nothing. That of one that
 * waited for jobs tells what has become of them. */
static bool ends_empty(const struct context *context)
{
    return context->timed_out && waiters_jobs_of(context->waiter) == NULL;
}

/* Is it the request's first run? Then it can run again from its start. */
static bool may_come_later(const struct context *context)
{
    return context->may_wait && context->waiter == NULL && !context->queued;
}

static bool is_current(const struct context *context, const struct acl_memo *memo)
{
    return memo != NULL && memo->user == context->session->user &&
           memo->version == context->server->acl->version;
}

/* All at once, or a slice of what `memo` then knows. */
static struct acl_verdict check(struct context *context, struct acl_memo *memo)
{
    const struct acl_user *user = context->session->user;
    struct acl_verdict verdict;

    if (!may_come_later(context))
        return acl_check(user, context->command, context->request);
    if (!context->again || !is_current(context, memo))
        *memo = (struct acl_memo){.user = user, .version = context->server->acl->version};
    memo->pace.steps = ACL_SLICE_STEPS;
    verdict = acl_check_some(user, context->command, context->request, &memo->pace);
    memo->allowed = verdict.reason == ACL_ALLOWED;
    return verdict;
}

enum permission permission_check(struct context *context)
{
    struct session *session = context->session;
    const struct acl_memo *known = context->queued ? context->rights : &session->rights;
    bool is_new = may_come_later(context) && !context->again;
    struct acl_verdict verdict;

    if (is_new)
        session->rights.allowed = false; /* that was about another request */
    if (session->user->unrestricted || ends_empty(context) || works_in_slices(context) ||
        (is_current(context, known) && known->allowed))
        return PERMISSION_GIVEN;
    verdict = check(context, &session->rights);
    if (verdict.reason == ACL_ALLOWED)
        return PERMISSION_GIVEN;
    if (verdict.reason == ACL_UNDECIDED)
        return PERMISSION_LATER;
    refuse(context, verdict);
    return PERMISSION_REFUSED;
}

bool permission_covers_key(const struct context *context, struct dueq_slice key,
                           const char *flags)
{
    return acl_check_key(context->session->user, context->command, context->request, key,
                         flags);
}

void permission_deny_key(struct context *context, struct dueq_slice key)
{
    const struct acl_user *user = context->session->user;

    note(context, ACL_DENIED_KEY, (struct argument){key.data, key.size},
         (struct argument){user->name, user->name_size});
    tell(context, ACL_DENIED_KEY);
}

bool permission_for_key(struct context *context, struct dueq_slice key, const char *flags)
{
    bool good = permission_covers_key(context, key, flags);

    if (!good)
        permission_deny_key(context, key);
    return good;
}

bool permission_note_failed_login(struct context *context, struct argument user)
{
    struct server *server = context->server;

    note(context, ACL_DENIED_LOGIN, context_argument(context, 0), user);
    log_write_limited(LOG_WARNING, "failed login as '%.64s' from %s", user.data,
                      context->session->address);
    return login_failures_note(&server->acl->failures, context->session->address,
                               server->clock.last.monotonic);
}
