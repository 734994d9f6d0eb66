/* Claims jobs: Q.CLAIM, Q.MCLAIM, and Q.POP, which acknowledges them at once. */
#include "server/dispatch/command_list.h"

#include "protocol/number.h"
#include "server/commands/queue/job_acks.h"
#include "server/commands/queue/job_ids.h"
#include "server/dispatch/argument_options.h"
#include "server/server.h"
#include "server/session/session.h"
#include "server/session/waiters.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* A reply of more bytes takes no more jobs: to copy them takes a turn. And large bodies
     * could overflow the output buffer: the client would be dropped and its jobs would wait
     * until their leases end. */
    REPLY_BYTES = 2 * 1024 * 1024,
    REPLY_HEAD = 32 /* bytes for the head of the array, which is written last */
};

struct claim {
    size_t first_topic, topics;
    bool pops;                   /* the jobs are done with the claim */
    bool named;                  /* reply each job with its topic */
    bool put_off;                /* a topic was busy: the store has other work first */
    bool bound, notify;          /* see bound_jobs.h */
    int64_t count, lease, block; /* ms; block DUEQ_DEFAULT: does not wait */
    struct dueq_slice worker;    /* size 0: the name of the client */
    struct job_acks acks;        /* first 0: none */
};

/* ---- reading */

/* Are the arguments after ACK whole acknowledgements, and not too many? */
static bool check_acks(struct context *context, const struct job_acks *acks)
{
    size_t size = context_count(context) - acks->first, width = job_acks_width(acks);

    if (size % width != 0) {
        context_syntax_error(context);
        return false;
    }
    return job_ids_fit(context, size / width) && job_acks_check(context, acks);
}

/* ACK is the last option. A claim that has waited does not look at them again. */
static bool read_acks(struct context *context, size_t *at, const struct argument_option *option,
                      void *form)
{
    struct claim *claim = form;

    (void)option;
    claim->acks = (struct job_acks){.topic = claim->named ? 0 : 1, .first = *at};
    *at = context_count(context);
    return context->waiter != NULL || check_acks(context, &claim->acks);
}

#define COUNT_RULE INTEGER_RANGE(1, JOB_IDS_MAX, RANGE_TEXT(1, JOB_IDS_MAX))

static const struct argument_option options[] = {
    {"count", OPTION_INTEGER(struct claim, count), .rule = COUNT_RULE},
    {"lease", OPTION_DURATION(struct claim, lease)},
    {"block", OPTION_DURATION(struct claim, block)},
    {"worker", OPTION_NAME(struct claim, worker, "worker")},
    {"bound", OPTION_FLAG(struct claim, bound)},
    {"notify", OPTION_FLAG(struct claim, notify)},
    {"ack", OPTION_CUSTOM, .values = 2, .read = read_acks},
    {.name = NULL}};

static const struct argument_option pop_options[] = {
    {"count", OPTION_INTEGER(struct claim, count), .rule = COUNT_RULE},
    {"block", OPTION_DURATION(struct claim, block)},
    {.name = NULL}};

/* False: the error is written. */
static bool may_be_bound(struct context *context, const struct claim *claim)
{
    if (claim->notify && context->session->protocol != 3) {
        resp_error(context->reply, "ERR NOTIFY needs RESP3: HELLO 3");
        return false;
    }
    if ((claim->notify || claim->bound) && context->session->bound_count >= BOUND_JOBS_MAX) {
        resp_error(context->reply, "ERR a connection has at most " TEXT_OF(
                                       BOUND_JOBS_MAX) " jobs that are BOUND or NOTIFY");
        return false;
    }
    return true;
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
    return argument_options_read(context, end, claim->pops ? pop_options : options, claim) &&
           may_be_bound(context, claim);
}

/* ---- claiming */

static void write_job(struct context *context, const struct claim *claim,
                      struct dueq_slice topic, const struct dueq_job *job)
{
    struct resp_writer *reply = context->reply;

    resp_array(reply, claim->pops ? 2 : claim->named ? 5 : 4);
    if (claim->named)
        resp_bulk(reply, topic.data, topic.size);
    resp_bulk(reply, job->id.data, job->id.size);
    if (!claim->pops)
        resp_integer(reply, job->token);
    resp_bulk(reply, job->body.data, job->body.size);
    if (!claim->pops)
        resp_integer(reply, job->attempt);
}

/* Acknowledges a job that is written into the reply. */
static enum dueq_status pop(struct context *context, struct dueq_slice topic,
                            const struct dueq_job *job)
{
    char id[DUEQ_NAME_MAX];

    memcpy(id, job->id.data, job->id.size);
    return dueq_ack(context->store, topic, dueq_slice(id, job->id.size), job->token,
                    context->now);
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

/* The name that the claim gives, or that the client has given itself. */
static struct dueq_slice worker_of(const struct context *context, const struct claim *claim)
{
    const char *name = context->session->name;
    struct dueq_slice worker = claim->worker;

    if (worker.size == 0 && name != NULL)
        worker = dueq_slice(name, strlen(name));
    if (worker.size > DUEQ_WORKER_MAX)
        worker.size = DUEQ_WORKER_MAX;
    return worker;
}

/* False: out of memory. */
static bool bind_job(struct context *context, const struct claim *claim,
                     struct dueq_slice topic, const struct dueq_job *job)
{
    unsigned flags = (claim->bound ? BOUND_ENDS : 0U) | (claim->notify ? BOUND_TELLS : 0U);

    return flags == 0 ||
           bound_jobs_add(context->server, context->session, topic, job->id, job->token, flags);
}

/* DUEQ_BUSY also while a large body is checked: the topic is signalled in the next turn. */
static enum dueq_status claim_checked(struct context *context, const struct claim *claim,
                                      struct dueq_slice topic, struct dueq_job *job)
{
    struct dueq_claim wanted = {.topic = topic,
                                .lease = claim->lease,
                                .worker = worker_of(context, claim),
                                .waits_since = waiters_since(context->waiter),
                                .leaves = claim->pops,
                                .yields = true};
    enum dueq_status status;

    if (context->may_wait)
        dueq_begin_slices(context->store);
    status = dueq_claim_with(context->store, &wanted, context->now, job);
    dueq_end_slices(context->store);
    return status;
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
    status = claim_checked(context, claim, topic, &job);
    if (status != DUEQ_OK)
        return status;
    write_job(context, claim, topic, &job);
    if (buffer_has_room(out, REPLY_HEAD)) {
        if (!bind_job(context, claim, topic, &job)) {
            give_back(context, topic, &job, false);
            status = DUEQ_NOMEM;
        } else if (claim->pops) {
            status = pop(context, topic, &job);
        }
        if (status == DUEQ_OK)
            (*taken)++;
        else
            buffer_truncate(out, before);
        return status;
    }
    give_back(context, topic, &job, *taken == 0);
    if (*taken > 0)
        buffer_recover(out, before);
    return DUEQ_TOOBIG;
}

/* Claims from one topic until *taken is the wanted number, the reply is full or no job is due
 * (DUEQ_NOTFOUND), or enough is done for a turn. Writes each job before it claims the next.
 * DUEQ_BUSY: only a command that may wait can try again. */
static enum dueq_status claim_topic(struct context *context, const struct claim *claim,
                                    size_t index, size_t mark, int64_t *taken)
{
    struct dueq_slice topic = context_slice(context, index);

    while (*taken < claim->count && buffer_size(context->reply->out) - mark < REPLY_BYTES) {
        enum dueq_status status = claim_one(context, claim, topic, taken);
        bool enough = dueq_claims_are_enough(context->store);

        if (status == DUEQ_BUSY && !context->may_wait && !enough)
            continue;
        if (status != DUEQ_OK || enough)
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

/* A command that has acknowledged jobs has not failed: it brings none. */
static enum outcome refuse(struct context *context, const struct claim *claim,
                           enum dueq_status status)
{
    if (status != DUEQ_FULL && status != DUEQ_BUSY)
        return context_status(context, status);
    if (claim->acks.first > 0)
        resp_array(context->reply, 0);
    else if (status == DUEQ_BUSY)
        resp_error(context->reply, "TRYAGAIN so many jobs that expired, or wait for their "
                                   "groups, are in the way that it takes several turns");
    else
        resp_error(context->reply, "FULL there is no room for claims: ack, pop or delete jobs, "
                                   "or free some of the disk");
    return OUTCOME_DONE;
}

static void note_worker(struct context *context, const struct claim *claim, int64_t taken)
{
    struct dueq_slice worker = worker_of(context, claim);

    if (worker.size > 0)
        workers_note(context->server, context->session, worker, (uint64_t)taken);
}

static enum outcome claim_or_wait(struct context *context, struct claim *claim)
{
    size_t mark;
    enum dueq_status status;
    int64_t taken;

    if (context->timed_out || (context->stops && claim->block != DUEQ_DEFAULT)) {
        resp_null_array(context->reply);
        return OUTCOME_DONE;
    }
    if (context->stops) {
        resp_array(context->reply, 0);
        return OUTCOME_DONE;
    }
    mark = resp_deferred(context->reply);
    status = claim_jobs(context, claim, mark, &taken);
    if (status != DUEQ_OK) {
        buffer_truncate(context->reply->out, mark);
        return refuse(context, claim, status);
    }
    note_worker(context, claim, taken);
    if (taken == 0 && (claim->block != DUEQ_DEFAULT || claim->put_off)) {
        if (context->may_wait)
            return wait_for_jobs(context, claim);
        if (claim->put_off)
            return refuse(context, claim, DUEQ_BUSY);
        resp_null_array(context->reply);
        return OUTCOME_DONE;
    }
    resp_deferred_array(context->reply, mark, (size_t)taken);
    return OUTCOME_DONE;
}

/* When a claim that has waited runs again, the jobs are acknowledged already. */
static enum outcome ack_and_claim(struct context *context, struct claim *claim)
{
    enum dueq_status status = DUEQ_OK;
    int64_t acked;

    if (claim->acks.first > 0 && context->waiter == NULL)
        status = job_acks_run(context, &claim->acks, &acked);
    return status == DUEQ_OK ? claim_or_wait(context, claim) : context_status(context, status);
}

static enum outcome run_q_claim(struct context *context)
{
    struct claim claim = {.first_topic = 1, .topics = 1};

    return read_claim(context, &claim) ? ack_and_claim(context, &claim) : OUTCOME_DONE;
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
    if (topics > JOB_IDS_MAX) {
        resp_error(context->reply,
                   "ERR a command takes at most " TEXT_OF(JOB_IDS_MAX) " topics");
        return OUTCOME_DONE;
    }
    claim.topics = (size_t)topics;
    return read_claim(context, &claim) ? ack_and_claim(context, &claim) : OUTCOME_DONE;
}

static enum outcome run_q_pop(struct context *context)
{
    struct claim claim = {.first_topic = 1, .topics = 1, .pops = true};

    return read_claim(context, &claim) ? claim_or_wait(context, &claim) : OUTCOME_DONE;
}

static const char claimed_flags[] = "RW,access,update", acked_flags[] = "RW,delete";

/* The topics, and those after ACK: the words before it may be topics, too, or values. */
static bool find_mclaim_keys(const struct request *request, command_key_fn fn, void *arg)
{
    struct argument number = request->arguments[1];
    size_t at = 2;
    int64_t topics;

    if (!number_parse_integer(number.data, number.size, &topics) || topics < 1 ||
        (uint64_t)topics > request->count - at)
        return false;
    for (; topics > 0; topics--)
        fn(arg, at++, claimed_flags, sizeof(claimed_flags) - 1);
    at = argument_options_find(request, at, options, "ack");
    for (at++; at < request->count; at += 3)
        fn(arg, at, acked_flags, sizeof(acked_flags) - 1);
    return true;
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
     .summary =
         "Take jobs that are due under a lease, or wait for them; acknowledge others first",
     .complexity = "O(log(N)) for each job",
     .syntax = "topic [COUNT count] [LEASE duration] [BLOCK duration] "
               "[WORKER name] [BOUND] [NOTIFY] [ACK <id token [id token ...]>]",
     .categories = "queue",
     .run = run_q_claim},
    {.name = "q.mclaim",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_NOSCRIPT | COMMAND_BLOCKING | COMMAND_MOVABLEKEYS,
     .key_specs = "RW,access,update@1/n0:1:1 RW,delete@ACK^3/r-1:3:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Take jobs that are due from several topics, first ones first",
     .complexity = "O(log(N)) for each topic and job",
     .syntax = "numtopics topic [topic ...] [COUNT count] [LEASE duration] [BLOCK duration] "
               "[WORKER name] [BOUND] [NOTIFY] [ACK <topic id token [topic id token ...]>]",
     .categories = "queue",
     .run = run_q_mclaim,
     .find_keys = find_mclaim_keys},
    {.name = "q.pop",
     .arity = -2,
     .flags = COMMAND_WRITE | COMMAND_NOSCRIPT | COMMAND_BLOCKING | COMMAND_TAKES_FOR_GOOD,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,delete@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Take jobs that are due and remove them: delivery at most once",
     .complexity = "O(log(N)) for each job",
     .syntax = "topic [COUNT count] [BLOCK duration]",
     .categories = "queue",
     .run = run_q_pop},
    {.name = NULL}};

COMMANDS(queue_claim, entries)
