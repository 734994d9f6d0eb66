#include "server/commands/admin/new_passwords.h"

#include "server/acl/acl_rules.h"
#include "server/server.h"
#include "server/session/hashing.h"

#include <stdio.h>

/* True: the error is written. */
static bool is_refused(struct context *context, const struct argument *rules, size_t count,
                       size_t *ret_passwords)
{
    const char *why = NULL;

    *ret_passwords = 0;
    for (size_t i = 0; i < count; i++) {
        if (!new_passwords_is_one(dueq_slice(rules[i].data, rules[i].size)))
            continue;
        ++*ret_passwords;
        if (rules[i].size > ACL_ARGON_PASSWORD_MAX)
            why = acl_error_text(ACL_TOO_MUCH);
    }
    if (*ret_passwords > HASH_ITEMS_MOST)
        why = acl_error_text(ACL_TOO_MUCH);
    else if (*ret_passwords > 0 && !context->may_wait)
        why = "a password with acl-password-hash argon2id cannot be set within a transaction";
    else if (*ret_passwords > 0 && !hashing_has_room(context))
        why = "too many passwords are being checked, try again later";
    if (why != NULL)
        resp_errorf(context->reply, "ERR %s", why);
    return why != NULL;
}

static enum outcome make(struct context *context, const struct argument *rules, size_t count)
{
    struct hash_job *job = hash_job_new(HASH_MAKE, context->session);
    bool good = job != NULL;

    for (size_t i = 0; good && i < count; i++)
        if (new_passwords_is_one(dueq_slice(rules[i].data, rules[i].size)))
            good = hash_job_add(job, dueq_slice(rules[i].data + 1, rules[i].size - 1), NULL);
    if (good)
        return hashing_wait(context, job);
    hash_job_free(job);
    return context_status(context, DUEQ_NOMEM);
}

static bool are_made(struct context *context, enum outcome *ret_outcome)
{
    const struct hash_job *job = hashing_result(context);

    *ret_outcome = OUTCOME_WAIT;
    if (job == NULL)
        return false;
    for (size_t i = 0; i < job->count; i++)
        if (job->items[i].result != ACL_ARGON_SAME) {
            *ret_outcome = context_status(context, DUEQ_NOMEM);
            return false;
        }
    return true;
}

bool new_passwords_are_ready(struct context *context, size_t first, enum outcome *ret_outcome)
{
    const struct argument *rules = context->request->arguments + first;
    size_t count = context_count(context) - first, passwords;

    if (context->waiter != NULL)
        return are_made(context, ret_outcome);
    if (context->server->config.acl_password_hash == PASSWORD_SHA256)
        return true;
    *ret_outcome = OUTCOME_DONE;
    if (is_refused(context, rules, count, &passwords))
        return false;
    if (passwords == 0)
        return true;
    *ret_outcome = make(context, rules, count);
    return false;
}

bool new_passwords_rule(const struct context *context, size_t number, char *text)
{
    const struct hash_job *job = hashing_result(context);

    if (job == NULL || number >= job->count)
        return false;
    snprintf(text, ACL_ARGON_SIZE + 1, "#%s", job->items[number].text);
    return true;
}
