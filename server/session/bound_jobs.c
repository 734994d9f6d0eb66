#include "server/session/bound_jobs.h"

#include "protocol/resp_writer.h"
#include "server/containers/seeded_table.h"
#include "server/server.h"
#include "server/session/session_output.h"
#include "storage/dueq.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
    CHECKS = 2,      /* of older jobs, when one is added */
    ENDS_MOST = 256, /* leases that end in a turn: some 3 ms */
    TOKEN_SIZE = sizeof(int64_t)
};

struct bound_job {
    UT_hash_handle hh;
    struct session *session; /* NULL: it is gone */
    struct bound_job *prev, *next;
    int64_t token;
    uint8_t flags, topic_size, id_size;
    char bytes[]; /* token and topic, which are the key; id */
};

static struct dueq_slice topic_of(const struct bound_job *job)
{
    return dueq_slice(job->bytes + TOKEN_SIZE, job->topic_size);
}

static struct dueq_slice id_of(const struct bound_job *job)
{
    return dueq_slice(job->bytes + TOKEN_SIZE + job->topic_size, job->id_size);
}

static size_t bytes_of(const struct bound_job *job)
{
    return sizeof(*job) + TOKEN_SIZE + job->topic_size + job->id_size;
}

static void forget(struct server *server, struct bound_job **list, struct bound_job *job)
{
    assert(server->bound_jobs.by_token != NULL && *list != NULL);
    if (job->session != NULL) {
        job->session->bound_count--;
        job->session->bound_bytes -= bytes_of(job);
    }
    HASH_DEL(server->bound_jobs.by_token, job);
    DL_DELETE(*list, job);
    assert(*list != job);
    free(job);
}

/* The oldest come first; one that is still held goes to the end. */
static void check_some(struct server *server, struct session *session)
{
    for (int i = 0; i < CHECKS && session->bound_jobs != NULL; i++) {
        struct bound_job *job = session->bound_jobs;
        enum dueq_status status =
            dueq_holds(server->store, topic_of(job), id_of(job), job->token);

        if (status == DUEQ_NOTFOUND || status == DUEQ_STALE || status == DUEQ_CANCELLED) {
            forget(server, &session->bound_jobs, job);
        } else {
            DL_DELETE(session->bound_jobs, job);
            DL_APPEND(session->bound_jobs, job);
        }
    }
}

static struct bound_job *find(struct server *server, struct dueq_slice topic, int64_t token)
{
    char key[TOKEN_SIZE + DUEQ_NAME_MAX];
    struct bound_job *job;

    memcpy(key, &token, TOKEN_SIZE);
    memcpy(key + TOKEN_SIZE, topic.data, topic.size);
    HASH_FIND(hh, server->bound_jobs.by_token, key, TOKEN_SIZE + topic.size, job);
    return job;
}

bool bound_jobs_add(struct server *server, struct session *session, struct dueq_slice topic,
                    struct dueq_slice id, int64_t token, unsigned flags)
{
    struct bound_job *job = malloc(sizeof(*job) + TOKEN_SIZE + topic.size + id.size);

    if (job == NULL)
        return false;
    *job = (struct bound_job){.session = session,
                              .token = token,
                              .flags = (uint8_t)flags,
                              .topic_size = (uint8_t)topic.size,
                              .id_size = (uint8_t)id.size};
    memcpy(job->bytes, &token, TOKEN_SIZE);
    memcpy(job->bytes + TOKEN_SIZE, topic.data, topic.size);
    memcpy(job->bytes + TOKEN_SIZE + topic.size, id.data, id.size);
    HASH_ADD_KEYPTR(hh, server->bound_jobs.by_token, job->bytes, TOKEN_SIZE + topic.size, job);
    if (!seeded_table_holds(job)) {
        free(job);
        return false;
    }
    check_some(server, session);
    DL_APPEND(session->bound_jobs, job);
    session->bound_count++;
    session->bound_bytes += bytes_of(job);
    return true;
}

void bound_jobs_leave(struct server *server, struct session *session)
{
    struct bound_job *job, *next;

    DL_FOREACH_SAFE(session->bound_jobs, job, next) {
        if (!(job->flags & BOUND_ENDS) || server->stopping)
            forget(server, &session->bound_jobs, job);
        else
            job->session = NULL;
    }
    DL_CONCAT(server->bound_jobs.loose, session->bound_jobs);
    session->bound_jobs = NULL;
    session->bound_count = 0;
    session->bound_bytes = 0;
}

/* A job that cannot be read now keeps its lease. */
void bound_jobs_turn(struct server *server)
{
    for (unsigned ended = 0;
         server->bound_jobs.loose != NULL && turn_may_go_on(server, ended, ENDS_MOST);
         ended++) {
        struct bound_job *job = server->bound_jobs.loose;

        dueq_end_lease(server->store, topic_of(job), id_of(job), job->token, server->now);
        forget(server, &server->bound_jobs.loose, job);
    }
}

void bound_jobs_forget(struct server *server)
{
    struct session *session;

    while (server->bound_jobs.loose != NULL)
        forget(server, &server->bound_jobs.loose, server->bound_jobs.loose);
    DL_FOREACH(server->sessions, session)
        while (session->bound_jobs != NULL)
            forget(server, &session->bound_jobs, session->bound_jobs);
}

void bound_jobs_tell_cancelled(struct server *server, struct dueq_slice topic, int64_t token)
{
    const struct bound_job *job = find(server, topic, token);
    struct dueq_slice id;
    struct resp_writer *out;

    if (job == NULL || !(job->flags & BOUND_TELLS) || job->session == NULL ||
        job->session->protocol != 3)
        return;
    id = id_of(job);
    out = session_push_begin(job->session);
    resp_push(out, 4);
    resp_string(out, "cancelled");
    resp_bulk(out, topic.data, topic.size);
    resp_bulk(out, id.data, id.size);
    resp_integer(out, token);
    session_push_end(job->session);
}
