/* Q.*: the native queue commands. */
#include "server/command.h"

#include "protocol/glob.h"
#include "server/session.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 10000, TOPICS_MAX = 1024 };

static bool is(const struct context *context, size_t index, const char *word)
{
    return argument_is(context_argument(context, index), word);
}

/* The value behind an option; false: it is missing, and the error is written. */
static bool has_value(struct context *context, size_t index)
{
    if (index + 1 < context_count(context))
        return true;
    context_syntax_error(context);
    return false;
}

static bool in_range(struct context *context, size_t index, int64_t least, int64_t most,
                     const char *error, int64_t *ret_number)
{
    int64_t number;

    if (!context_integer(context, index, &number))
        return false;
    if (number < least || number > most) {
        resp_error(context->reply, error);
        return false;
    }
    *ret_number = number;
    return true;
}

/* ---- Q.PUSH */

/* One option at *at; false: the error is written. Leaves *at behind it. */
static bool push_option(struct context *context, size_t *at, struct dueq_push *push,
                        bool *delayed)
{
    size_t option = *at, value = option + 1;
    int64_t number;

    if (!has_value(context, option))
        return false;
    *at += 2;
    if (is(context, option, "id")) {
        push->id = context_slice(context, value);
        return context_name(context, value, "id");
    }
    if (is(context, option, "delay")) {
        *delayed = true;
        return context_duration(context, value, &push->delay);
    }
    if (is(context, option, "at")) {
        push->absolute = true;
        return context_integer(context, value, &push->at);
    }
    if (is(context, option, "priority")) {
        if (!in_range(context, value, 0, 255,
                      "ERR value is out of range, must be between 0 and 255", &number))
            return false;
        push->priority = (int)number;
        return true;
    }
    if (is(context, option, "lease"))
        return context_duration(context, value, &push->lease);
    if (is(context, option, "retries"))
        return in_range(context, value, 0, INT32_MAX, "ERR value is out of range",
                        &push->retries);
    if (is(context, option, "ttl"))
        return context_duration(context, value, &push->ttl);
    if (is(context, option, "backoff")) {
        struct argument next = value + 1 < context_count(context)
                                   ? context_argument(context, value + 1)
                                   : (struct argument){"", 0};

        if (!context_duration(context, value, &push->backoff))
            return false;
        if (next.size == 0 || next.data[0] < '0' || next.data[0] > '9')
            return true;
        *at += 1;
        return context_duration(context, value + 1, &push->backoff_max);
    }
    context_syntax_error(context);
    return false;
}

static enum outcome run_push(struct context *context)
{
    struct dueq_push push;
    struct dueq_slice id;
    bool delayed = false;
    enum dueq_status status;

    dueq_push_init(&push);
    if (!context_name(context, 1, "topic"))
        return OUTCOME_DONE;
    push.topic = context_slice(context, 1);
    push.body = context_slice(context, 2);
    for (size_t at = 3; at < context_count(context);)
        if (!push_option(context, &at, &push, &delayed))
            return OUTCOME_DONE;
    if (delayed && push.absolute)
        return context_syntax_error(context);
    status = dueq_push(context->store, &push, context->now, &id);
    if (status != DUEQ_OK)
        return context_status(context, status);
    resp_bulk(context->reply, id.data, id.size);
    return OUTCOME_DONE;
}

/* ---- Q.CLAIM, Q.MCLAIM */

struct claim {
    size_t first_topic, topics;
    bool named;                  /* each job with its topic */
    int64_t count, lease, block; /* block DUEQ_DEFAULT: does not wait */
};

static bool claim_options(struct context *context, size_t at, struct claim *claim)
{
    for (; at < context_count(context); at += 2) {
        if (!has_value(context, at))
            return false;
        if (is(context, at, "count")) {
            if (!in_range(context, at + 1, 1, COUNT_MAX,
                          "ERR value is out of range, must be between 1 and 10000",
                          &claim->count))
                return false;
        } else if (is(context, at, "lease")) {
            if (!context_duration(context, at + 1, &claim->lease))
                return false;
        } else if (is(context, at, "block")) {
            if (!context_duration(context, at + 1, &claim->block))
                return false;
        } else {
            context_syntax_error(context);
            return false;
        }
    }
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

/* Claims from the topics in order and writes the jobs; how many. -1: an error stands in their
 * place at `mark`. */
static int64_t claim_jobs(struct context *context, const struct claim *claim, size_t mark)
{
    int64_t taken = 0;

    for (size_t i = 0; i < claim->topics; i++) {
        struct dueq_slice topic = context_slice(context, claim->first_topic + i);

        while (taken < claim->count) {
            struct dueq_job job;
            enum dueq_status status =
                dueq_claim(context->store, topic, claim->lease, context->now, &job);

            if (status == DUEQ_NOTFOUND)
                break;
            if (status != DUEQ_OK) {
                buffer_truncate(context->reply->out, mark);
                context_status(context, status);
                return -1;
            }
            write_job(context, claim, topic, &job);
            taken++;
        }
    }
    return taken;
}

static enum outcome wait_for_jobs(struct context *context, const struct claim *claim)
{
    struct dueq_slice *topics = malloc(claim->topics * sizeof(*topics));
    int64_t deadline = claim->block == 0 ? DUEQ_NEVER : context->now.now + claim->block;
    enum outcome outcome;

    if (topics == NULL)
        return context_status(context, DUEQ_NOMEM);
    for (size_t i = 0; i < claim->topics; i++)
        topics[i] = context_slice(context, claim->first_topic + i);
    outcome = context_wait(context, topics, claim->topics, deadline);
    free(topics);
    return outcome;
}

static enum outcome run_claims(struct context *context, const struct claim *claim)
{
    size_t mark = resp_deferred(context->reply);
    int64_t taken;

    if (context->timed_out) {
        resp_null_array(context->reply);
        return OUTCOME_DONE;
    }
    taken = claim_jobs(context, claim, mark);
    if (taken < 0)
        return OUTCOME_DONE;
    if (taken == 0 && claim->block != DUEQ_DEFAULT) {
        if (context->may_wait)
            return wait_for_jobs(context, claim);
        resp_null_array(context->reply);
        return OUTCOME_DONE;
    }
    resp_deferred_array(context->reply, mark, (size_t)taken);
    return OUTCOME_DONE;
}

static enum outcome run_claim(struct context *context)
{
    struct claim claim = {.first_topic = 1,
                          .topics = 1,
                          .count = 1,
                          .lease = DUEQ_DEFAULT,
                          .block = DUEQ_DEFAULT};

    if (!context_name(context, 1, "topic") || !claim_options(context, 2, &claim))
        return OUTCOME_DONE;
    return run_claims(context, &claim);
}

static enum outcome run_mclaim(struct context *context)
{
    struct claim claim = {.first_topic = 2,
                          .named = true,
                          .count = 1,
                          .lease = DUEQ_DEFAULT,
                          .block = DUEQ_DEFAULT};
    int64_t topics;

    if (!in_range(context, 1, 1, TOPICS_MAX, "ERR numtopics should be between 1 and 1024",
                  &topics))
        return OUTCOME_DONE;
    claim.topics = (size_t)topics;
    if (2 + claim.topics > context_count(context))
        return context_syntax_error(context);
    for (size_t i = 0; i < claim.topics; i++)
        if (!context_name(context, 2 + i, "topic"))
            return OUTCOME_DONE;
    if (!claim_options(context, 2 + claim.topics, &claim))
        return OUTCOME_DONE;
    return run_claims(context, &claim);
}

/* ---- Q.ACK, Q.NACK, Q.EXTEND */

/* Everything is read before anything is done. */
static enum outcome run_ack(struct context *context)
{
    size_t count = context_count(context);
    int64_t acked = 0, token;

    if (count % 2 != 0)
        return context_arity_error(context);
    for (size_t i = 2; i < count; i += 2)
        if (!context_integer(context, i + 1, &token))
            return OUTCOME_DONE;
    for (size_t i = 2; i < count; i += 2) {
        enum dueq_status status;

        context_integer(context, i + 1, &token);
        status = dueq_ack(context->store, context_slice(context, 1), context_slice(context, i),
                          token, context->now);
        if (status == DUEQ_STALE && count == 4)
            return context_status(context, status);
        acked += status == DUEQ_OK;
    }
    resp_integer(context->reply, acked);
    return OUTCOME_DONE;
}

static bool nack_options(struct context *context, struct dueq_nack *nack)
{
    for (size_t at = 4; at < context_count(context);) {
        if (is(context, at, "dead")) {
            nack->dead = true;
            at++;
            continue;
        }
        if (!has_value(context, at))
            return false;
        if (is(context, at, "delay")) {
            if (!context_duration(context, at + 1, &nack->delay))
                return false;
        } else if (is(context, at, "error")) {
            nack->error = context_slice(context, at + 1);
        } else {
            context_syntax_error(context);
            return false;
        }
        at += 2;
    }
    return true;
}

static enum outcome run_nack(struct context *context)
{
    struct dueq_nack nack = {.delay = DUEQ_DEFAULT};
    enum dueq_state state;
    enum dueq_status status;
    int64_t token;

    if (!context_integer(context, 3, &token) || !nack_options(context, &nack))
        return OUTCOME_DONE;
    status = dueq_nack(context->store, context_slice(context, 1), context_slice(context, 2),
                       token, &nack, context->now, &state);
    if (status != DUEQ_OK)
        return context_status(context, status);
    resp_string(context->reply, dueq_state_name(state));
    return OUTCOME_DONE;
}

static enum outcome run_extend(struct context *context)
{
    int64_t token, lease, end;
    enum dueq_status status;

    if (!context_integer(context, 3, &token) || !context_duration(context, 4, &lease))
        return OUTCOME_DONE;
    status = dueq_extend(context->store, context_slice(context, 1), context_slice(context, 2),
                         token, lease, context->now, &end);
    if (status != DUEQ_OK)
        return context_status(context, status);
    resp_integer(context->reply, end);
    return OUTCOME_DONE;
}

/* ---- looking */

static void write_field(struct resp_writer *reply, const char *name, int64_t number)
{
    resp_string(reply, name);
    resp_integer(reply, number);
}

static void write_optional(struct resp_writer *reply, const char *name, int64_t number,
                           bool present)
{
    resp_string(reply, name);
    if (present)
        resp_integer(reply, number);
    else
        resp_null(reply);
}

static enum outcome run_get(struct context *context)
{
    struct resp_writer *reply = context->reply;
    struct dueq_job job;
    enum dueq_status status = dueq_get(context->store, context_slice(context, 1),
                                       context_slice(context, 2), context->now, &job);

    if (status == DUEQ_NOTFOUND || status == DUEQ_INVALID) {
        resp_null(reply);
        return OUTCOME_DONE;
    }
    if (status != DUEQ_OK)
        return context_status(context, status);
    resp_map(reply, 14);
    resp_string(reply, "id");
    resp_bulk(reply, job.id.data, job.id.size);
    resp_string(reply, "state");
    resp_string(reply, dueq_state_name(job.state));
    resp_string(reply, "body");
    resp_bulk(reply, job.body.data, job.body.size);
    write_field(reply, "due", job.due);
    write_field(reply, "attempt", job.attempt);
    write_optional(reply, "token", job.token, job.token > 0);
    write_field(reply, "priority", job.priority);
    write_field(reply, "pushed", job.pushed);
    resp_string(reply, "error");
    if (job.error.size > 0)
        resp_bulk(reply, job.error.data, job.error.size);
    else
        resp_null(reply);
    write_field(reply, "lease", job.lease);
    write_field(reply, "retries", job.retries);
    write_field(reply, "backoff", job.backoff);
    write_field(reply, "backoff-max", job.backoff_max);
    write_optional(reply, "ttl", job.ttl, job.ttl != DUEQ_DEFAULT);
    return OUTCOME_DONE;
}

static enum outcome run_del(struct context *context)
{
    int64_t removed = 0;

    for (size_t i = 2; i < context_count(context); i++)
        removed += dueq_del(context->store, context_slice(context, 1),
                            context_slice(context, i), context->now) == DUEQ_OK;
    resp_integer(context->reply, removed);
    return OUTCOME_DONE;
}

static void read_stats(struct context *context, struct dueq_topic_stats *stats)
{
    *stats = (struct dueq_topic_stats){.next_due = DUEQ_NEVER};
    dueq_topic_stats(context->store, context_slice(context, 1), context->now, stats);
}

static enum outcome run_len(struct context *context)
{
    struct dueq_topic_stats stats;
    uint64_t total = 0;

    if (context_count(context) > 3)
        return context_arity_error(context);
    read_stats(context, &stats);
    for (int state = 0; state < DUEQ_STATES; state++) {
        total += stats.counts[state];
        if (context_count(context) == 3 &&
            is(context, 2, dueq_state_name((enum dueq_state)state))) {
            resp_integer(context->reply, (int64_t)stats.counts[state]);
            return OUTCOME_DONE;
        }
    }
    if (context_count(context) == 3)
        return context_syntax_error(context);
    resp_integer(context->reply, (int64_t)total);
    return OUTCOME_DONE;
}

static enum outcome run_stats(struct context *context)
{
    struct resp_writer *reply = context->reply;
    struct dueq_topic_stats stats;

    read_stats(context, &stats);
    resp_map(reply, DUEQ_STATES + 10);
    for (int state = 0; state < DUEQ_STATES; state++)
        write_field(reply, dueq_state_name((enum dueq_state)state),
                    (int64_t)stats.counts[state]);
    write_field(reply, "oldest-ready-age", stats.oldest_ready_age);
    write_optional(reply, "next-due", stats.next_due, stats.next_due != DUEQ_NEVER);
    write_field(reply, "total-pushed", (int64_t)stats.pushed);
    write_field(reply, "total-claimed", (int64_t)stats.claimed);
    write_field(reply, "total-acked", (int64_t)stats.acked);
    write_field(reply, "total-nacked", (int64_t)stats.nacked);
    write_field(reply, "total-expired", (int64_t)stats.expired);
    write_field(reply, "total-dead", (int64_t)stats.dead);
    write_field(reply, "total-lapsed", (int64_t)stats.lapsed);
    write_field(reply, "total-deleted", (int64_t)stats.deleted);
    return OUTCOME_DONE;
}

static enum outcome run_topics(struct context *context)
{
    size_t mark = resp_deferred(context->reply), found = 0;
    struct argument pattern = {NULL, 0};
    struct dueq_slice name = {NULL, 0};

    if (context_count(context) != 1) {
        if (context_count(context) != 3 || !is(context, 1, "match"))
            return context_syntax_error(context);
        pattern = context_argument(context, 2);
    }
    while (dueq_topic_after(context->store, name, &name) == DUEQ_OK) {
        if (pattern.data != NULL &&
            !glob_match(pattern.data, pattern.size, name.data, name.size, false))
            continue;
        resp_bulk(context->reply, name.data, name.size);
        found++;
    }
    resp_deferred_array(context->reply, mark, found);
    return OUTCOME_DONE;
}

/* ---- the table */

#define TOPIC                                                                                  \
    {                                                                                          \
        .first = 1, .last = 1, .step = 1                                                       \
    }

const struct command queue_commands[] = {
    {.name = "q.push",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = TOPIC,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Push a job, to be due now, after a delay, or at a moment",
     .complexity = "O(log(N))",
     .syntax =
         "topic body [ID id] [DELAY duration|AT unix-ms] [PRIORITY 0-255] [LEASE duration] "
         "[RETRIES count] [BACKOFF duration [max]] [TTL duration]",
     .categories = "queue",
     .run = run_push},
    {.name = "q.claim",
     .arity = -2,
     .flags = COMMAND_WRITE | COMMAND_NOSCRIPT | COMMAND_BLOCKING,
     .keys = TOPIC,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Take jobs that are due under a lease, or wait for them",
     .complexity = "O(log(N)) for each job",
     .syntax = "topic [COUNT count] [LEASE duration] [BLOCK duration]",
     .categories = "queue",
     .run = run_claim},
    {.name = "q.mclaim",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_NOSCRIPT | COMMAND_BLOCKING | COMMAND_MOVABLEKEYS,
     .keys = {.count_at = 1},
     .group = "queue",
     .since = "1.0.0",
     .summary = "Take jobs that are due from several topics, first ones first",
     .complexity = "O(log(N)) for each topic and job",
     .syntax = "numtopics topic [topic ...] [COUNT count] [LEASE duration] [BLOCK duration]",
     .categories = "queue",
     .run = run_mclaim},
    {.name = "q.ack",
     .arity = -4,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = TOPIC,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Acknowledge claimed jobs: they are done and gone",
     .complexity = "O(log(N)) for each job",
     .syntax = "topic id token [id token ...]",
     .categories = "queue",
     .run = run_ack},
    {.name = "q.nack",
     .arity = -4,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = TOPIC,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Give a claimed job back, to be tried again or to be dead",
     .complexity = "O(log(N))",
     .syntax = "topic id token [DELAY duration] [ERROR text] [DEAD]",
     .categories = "queue",
     .run = run_nack},
    {.name = "q.extend",
     .arity = 5,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = TOPIC,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Let the lease of a claimed job end a duration from now",
     .complexity = "O(log(N))",
     .syntax = "topic id token duration",
     .categories = "queue",
     .run = run_extend},
    {.name = "q.get",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = TOPIC,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Everything about a job",
     .complexity = "O(log(N))",
     .syntax = "topic id",
     .categories = "queue",
     .run = run_get},
    {.name = "q.del",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = TOPIC,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Remove jobs, whatever their state",
     .complexity = "O(log(N)) for each job",
     .syntax = "topic id [id ...]",
     .categories = "queue",
     .run = run_del},
    {.name = "q.len",
     .arity = -2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = TOPIC,
     .group = "queue",
     .since = "1.0.0",
     .summary = "How many jobs a topic has, in all or in a state",
     .complexity = "O(L) with L the number of priorities in use",
     .syntax = "topic [delayed|ready|claimed|dead]",
     .categories = "queue",
     .run = run_len},
    {.name = "q.stats",
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = TOPIC,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Counts by state, age of the oldest ready job, next due, totals",
     .complexity = "O(L*log(N)) with L the number of priorities in use",
     .syntax = "topic",
     .categories = "queue",
     .run = run_stats},
    {.name = "q.topics",
     .arity = -1,
     .flags = COMMAND_READONLY,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Names of all topics",
     .complexity = "O(N)",
     .syntax = "[MATCH pattern]",
     .categories = "queue",
     .run = run_topics},
    {.name = NULL}};
