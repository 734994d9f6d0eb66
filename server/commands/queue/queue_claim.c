/* Claims jobs: Q.CLAIM, Q.MCLAIM. */
#include "server/dispatch/command_list.h"

#include "server/dispatch/arguments.h"
#include "server/session/waiters.h"

#include <stdlib.h>
#include <string.h>

enum {
    COUNT_MAX = 10000,
    /* A reply of more bytes takes no more jobs. Otherwise large bodies could overflow the
     * output buffer: the client would be dropped and its jobs would wait until their leases
     * end. */
    REPLY_BYTES = 16 * 1024 * 1024,
    REPLY_HEAD = 32 /* bytes for the head of the array, which is written last */
};

struct claim {
    size_t first_topic, topics;
    bool named;                  /* reply each job with its topic */
    bool put_off;                /* a topic was busy: the store has other work first */
    int64_t count, lease, block; /* ms; block DUEQ_DEFAULT: does not wait */
};

static bool read_option(struct context *context, size_t at, struct claim *claim)
{
    if (!arguments_has_value(context, at))
        return false;
    if (arguments_is(context, at, "count"))
        return arguments_integer(
            context, at + 1,
            INTEGER_BOUND(1, COUNT_MAX,
                          "ERR value is out of range, must be between 1 and 10000"),
            &claim->count);
    if (arguments_is(context, at, "lease"))
        return arguments_duration(context, at + 1, &claim->lease);
    if (arguments_is(context, at, "block"))
        return arguments_duration(context, at + 1, &claim->block);
    context_syntax_error(context);
    return false;
}

/* Reads the topics from first_topic on and the options after them. */
static bool read_claim(struct context *context, struct claim *claim)
{
    size_t end = claim->first_topic + claim->topics;

    claim->count = 1;
    claim->lease = claim->block = DUEQ_DEFAULT;
    for (size_t at = claim->first_topic; at < end; at++)
        if (!arguments_name(context, at, "topic"))
            return false;
    for (size_t at = end; at < context_count(context); at += 2)
        if (!read_option(context, at, claim))
            return false;
    return true;
}

static void write_job(struct context *context, const struct claim *claim,
                      struct dueq_slice topic, const struct dueq_job *job)
{
    struct resp_writer *reply = context->reply;

    resp_array(reply, claim->named ? 5 : 4);
    if (claim->named)
        resp_bulk(reply, topic.data, topic.size);
    resp_bulk(reply, job->id.data, job->id.size);
    resp_integer(reply, job->token);
    resp_bulk(reply, job->body.data, job->body.size);
    resp_integer(reply, job->attempt);
}

/* Gives back a job for which the reply has no room. When the reply contains other jobs, it is
 * released as it was. A job that does not fit alone counts as failed, so that it becomes dead
 * after its last attempt and is not claimed for ever. */
static void give_back(struct context *context, struct dueq_slice topic,
                      const struct dueq_job *job, bool alone)
{
    static const char why[] = "the reply passed client-output-buffer-limit";
    struct dueq_nack nack = {.delay = alone ? DUEQ_DEFAULT : 0, .unseen = !alone};
    char id[DUEQ_NAME_MAX];
    enum dueq_state state;

    memcpy(id, job->id.data, job->id.size);
    if (alone)
        nack.error = dueq_slice(why, sizeof(why) - 1);
    dueq_nack(context->store, topic, dueq_slice(id, job->id.size), job->token, &nack,
              context->now, &state);
}

/* DUEQ_TOOBIG: the reply has no room for the next job. */
static enum dueq_status claim_one(struct context *context, const struct claim *claim,
                                  struct dueq_slice topic, int64_t *taken)
{
    struct buffer *out = context->reply->out;
    size_t before = buffer_size(out);
    struct dueq_job job;
    enum dueq_status status;

    if (!buffer_has_room(out, REPLY_HEAD))
        return DUEQ_TOOBIG;
    status = dueq_claim(context->store, topic, claim->lease, context->now, &job);
    if (status != DUEQ_OK)
        return status;
    write_job(context, claim, topic, &job);
    if (buffer_has_room(out, REPLY_HEAD)) {
        (*taken)++;
        return DUEQ_OK;
    }
    give_back(context, topic, &job, *taken == 0);
    if (*taken > 0)
        buffer_recover(out, before);
    return DUEQ_TOOBIG;
}

/* Claims from one topic until *taken is the wanted number, the reply is full or no job is due
 * (DUEQ_NOTFOUND). Writes each job before it claims the next. DUEQ_BUSY: only a command that
 * may wait can try again. */
static enum dueq_status claim_topic(struct context *context, const struct claim *claim,
                                    size_t index, size_t mark, int64_t *taken)
{
    struct dueq_slice topic = context_slice(context, index);

    while (*taken < claim->count && buffer_size(context->reply->out) - mark < REPLY_BYTES) {
        enum dueq_status status = claim_one(context, claim, topic, taken);

        if (status == DUEQ_BUSY && !context->may_wait)
            continue;
        if (status != DUEQ_OK)
            return status;
    }
    return DUEQ_OK;
}

/* Claims from the topics in order and skips those that are busy. An error after some jobs were
 * claimed is dropped and these jobs are replied: the next claim meets the same error. */
static enum dueq_status claim_jobs(struct context *context, struct claim *claim, size_t mark,
                                   int64_t *ret_taken)
{
    size_t first = claim->first_topic, topics = claim->topics;
    int64_t taken = 0;

    waiters_select_changed(context, &first, &topics);
    for (size_t i = 0; i < topics; i++) {
        enum dueq_status status = claim_topic(context, claim, first + i, mark, &taken);

        if (status == DUEQ_OK)
            break;
        claim->put_off |= status == DUEQ_BUSY;
        if (status == DUEQ_NOTFOUND || status == DUEQ_BUSY)
            continue;
        if (taken > 0)
            break;
        return status;
    }
    *ret_taken = taken;
    return DUEQ_OK;
}

/* A claim without BLOCK waits only while a topic is busy. */
static enum outcome wait_for_jobs(struct context *context, const struct claim *claim)
{
    struct dueq_slice *topics = malloc(claim->topics * sizeof(*topics));
    int64_t deadline = claim->block <= 0 ? DUEQ_NEVER : context_deadline(context, claim->block);
    enum outcome outcome;

    if (topics == NULL)
        return context_status(context, DUEQ_NOMEM);
    for (size_t i = 0; i < claim->topics; i++)
        topics[i] = context_slice(context, claim->first_topic + i);
    outcome = waiters_wait_for_topics(context, topics, claim->topics, deadline);
    free(topics);
    return outcome;
}

static enum outcome claim_or_wait(struct context *context, struct claim *claim)
{
    size_t mark = resp_deferred(context->reply);
    enum dueq_status status;
    int64_t taken;

    if (context->timed_out) {
        resp_null_array(context->reply);
        return OUTCOME_DONE;
    }
    status = claim_jobs(context, claim, mark, &taken);
    if (status != DUEQ_OK) {
        buffer_truncate(context->reply->out, mark);
        return context_status(context, status);
    }
    if (taken == 0 && (claim->block != DUEQ_DEFAULT || claim->put_off)) {
        if (context->may_wait)
            return wait_for_jobs(context, claim);
        resp_null_array(context->reply);
        return OUTCOME_DONE;
    }
    resp_deferred_array(context->reply, mark, (size_t)taken);
    return OUTCOME_DONE;
}

static enum outcome run_q_claim(struct context *context)
{
    struct claim claim = {.first_topic = 1, .topics = 1};

    return read_claim(context, &claim) ? claim_or_wait(context, &claim) : OUTCOME_DONE;
}

static enum outcome run_q_mclaim(struct context *context)
{
    struct claim claim = {.first_topic = 2, .named = true};
    int64_t topics;

    if (!arguments_integer(
            context, 1, INTEGER_BOUND(1, INT64_MAX, "ERR numtopics should be greater than 0"),
            &topics))
        return OUTCOME_DONE;
    if ((uint64_t)topics > context_count(context) - 2)
        return context_syntax_error(context);
    claim.topics = (size_t)topics;
    return read_claim(context, &claim) ? claim_or_wait(context, &claim) : OUTCOME_DONE;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "q.claim",
     .arity = -2,
     .flags = COMMAND_WRITE | COMMAND_NOSCRIPT | COMMAND_BLOCKING,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Take jobs that are due under a lease, or wait for them",
     .complexity = "O(log(N)) for each job",
     .syntax = "topic [COUNT count] [LEASE duration] [BLOCK duration]",
     .categories = "queue",
     .run = run_q_claim},
    {.name = "q.mclaim",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_NOSCRIPT | COMMAND_BLOCKING | COMMAND_MOVABLEKEYS,
     .key_specs = "RW,access,update@1/n0:1:1",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Take jobs that are due from several topics, first ones first",
     .complexity = "O(log(N)) for each topic and job",
     .syntax = "numtopics topic [topic ...] [COUNT count] [LEASE duration] [BLOCK duration]",
     .categories = "queue",
     .run = run_q_mclaim},
    {.name = NULL}};

COMMANDS(queue_claim, entries)
