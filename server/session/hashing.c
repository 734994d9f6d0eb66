#include "server/session/hashing.h"

#include "server/acl/acl.h"
#include "server/server.h"
#include "server/session/session_output.h"
#include "server/session/waiters.h"

#include <assert.h>

bool hashing_has_room(const struct context *context)
{
    const struct hasher *hasher = context->server->hasher;

    return hasher == NULL || hasher_has_room(hasher);
}

static enum outcome refuse(struct context *context, struct hash_job *job)
{
    hash_job_free(job);
    return context_status(context, DUEQ_NOMEM);
}

enum outcome hashing_wait(struct context *context, struct hash_job *job)
{
    struct session *session = context->session;
    enum outcome outcome = OUTCOME_WAIT;

    assert(context->may_wait && session->hashing == NULL);
    if (context->server->hasher == NULL)
        return refuse(context, job);
    if (context->waiter == NULL)
        outcome = waiters_wait_for_keys(context, KEYS_NONE, 0, 0, DUEQ_NEVER);
    if (outcome != OUTCOME_WAIT) {
        hash_job_free(job);
        return outcome;
    }
    if (hasher_give(context->server->hasher, job)) {
        session->hashing = job;
        return OUTCOME_WAIT;
    }
    if (context->waiter == NULL)
        waiters_cancel(context->server, session);
    return refuse(context, job);
}

const struct hash_job *hashing_result(const struct context *context)
{
    const struct hash_job *job = context->session->hashing;

    return job != NULL && job->is_told ? job : NULL;
}

void hashing_serve(struct server *server)
{
    struct hash_job *job;
    uint64_t hash;

    while ((job = hasher_next_done(server->hasher)) != NULL) {
        struct session *session = job->owner;

        assert(session->hashing == job && session->waiter != NULL);
        waiters_run(server, session);
    }
    if (hasher_take_file(server->hasher, &hash))
        server->acl->file_hash = hash;
}

void hashing_end(struct server *server, struct session *session)
{
    if (session->hashing != NULL)
        hasher_drop(server->hasher, session->hashing);
    session->hashing = NULL;
}
