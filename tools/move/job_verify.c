#include "tools/move/job_verify.h"

#include "storage/xxh3.h"
#include "tools/move/job_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHOWN = 20, SLACK_MS = 1000 };

static int64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* NULL: nothing. What a worker has begun, or has done, is as it should be. */
static const char *difference(const redisReply *job, const struct awaited *awaited)
{
    const redisReply *body = job_field(job, "body"), *due = job_field(job, "due");

    if (job->type != REDIS_REPLY_ARRAY || body == NULL || due == NULL)
        return "it is not there";
    if (awaited->dead != job_is(job, "dead") && awaited->dead)
        return "it is not dead";
    if (job_is(job, "done"))
        return NULL;
    if (XXH3_64bits(reply_slice(body).data, reply_slice(body).size) != awaited->body)
        return "the body";
    if (job_is(job, "delayed") && due->integer != awaited->due)
        return "the due time";
    if (job_is(job, "ready") && awaited->due > wall_ms() + SLACK_MS)
        return "it is ready before its time";
    return NULL;
}

static bool hear_one(struct job_verify *verify, struct awaited *awaited)
{
    redisReply *job = peer_take(&verify->move->to);
    const char *what;

    if (job == NULL)
        return false;
    what = difference(job, awaited);
    if (what != NULL && verify->different++ < SHOWN) {
        fputs("differs: job ", stdout);
        move_print_name(awaited->id);
        printf(": %s\n", what);
    }
    verify->compared++;
    freeReplyObject(job);
    return true;
}

bool job_verify_settle(struct job_verify *verify)
{
    bool going = true;

    for (size_t i = 0; i < verify->count; i++) {
        going = going && hear_one(verify, &verify->awaited[i]);
        free((void *)(uintptr_t)verify->awaited[i].id.data);
    }
    verify->count = 0;
    return going;
}

bool job_verify(void *arg, const struct moved_job *job)
{
    struct job_verify *verify = arg;
    char *id;

    progress_add(&verify->move->progress, 1);
    if (verify->seen++ % verify->step != 0)
        return true;
    id = malloc(job->id.size + 1);
    if (id == NULL)
        return peer_fail(&verify->move->to, "out of memory");
    memcpy(id, job->id.data, job->id.size);
    verify->awaited[verify->count++] =
        (struct awaited){dueq_slice(id, job->id.size),
                         XXH3_64bits(job->body.data, job->body.size), job->due, job->dead};
    peer_say(&verify->move->to, 3,
             (struct dueq_slice[]){text_slice("Q.GET"), job->topic, job->id});
    return verify->count < VERIFY_AHEAD || job_verify_settle(verify);
}
