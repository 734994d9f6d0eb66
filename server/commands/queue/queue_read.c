/* Reads jobs and topics: Q.GET, Q.LEN, Q.STATS, Q.TOPICS. */
#include "server/dispatch/command_list.h"

#include "server/commands/long_read.h"
#include "server/commands/queue/reply_fields.h"
#include "server/commands/queue/reply_waiting.h"
#include "server/commands/queue/state_words.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/arguments.h"
#include "storage/glob.h"

/* ---- Q.GET */

struct get {
    bool with_after;
};

static void write_steps(struct resp_writer *reply, const struct dueq_job *job)
{
    resp_string(reply, "steps");
    resp_array(reply, job->step_count);
    for (size_t i = 0; i < job->step_count; i++)
        resp_integer(reply, job->steps[i]);
}

static void write_options(struct resp_writer *reply, const struct dueq_job *job)
{
    write_number(reply, "lease", job->lease);
    write_number(reply, "retries", job->retries);
    write_number(reply, "crashes", job->crashes);
    write_number(reply, "backoff", job->backoff);
    write_number(reply, "backoff-max", job->backoff_max);
    write_number(reply, "jitter", job->jitter);
    write_steps(reply, job);
    write_number_or_nil(reply, "ttl", job->ttl, job->ttl != DUEQ_DEFAULT);
    write_number_or_nil(reply, "window", job->window, job->window != DUEQ_DEFAULT);
    write_bytes_or_nil(reply, "group", job->group);
    write_number_or_nil(reply, "weight", job->weight, job->group.size > 0);
}

static void write_result(struct resp_writer *reply, const struct dueq_job *job)
{
    resp_string(reply, "result");
    if (job->has_result)
        resp_slice(reply, job->result);
    else
        resp_null(reply);
}

static void write_job(struct resp_writer *reply, const struct dueq_job *job)
{
    resp_map(reply, job->state == DUEQ_WAITING ? 35 : 30);
    write_bytes(reply, "id", job->id);
    write_state(reply, job->state);
    write_bytes(reply, "body", job->body);
    write_number(reply, "due", job->due);
    write_number(reply, "attempt", job->attempt);
    write_number_or_nil(reply, "token", job->token, job->token > 0);
    write_number(reply, "priority", job->priority);
    write_number(reply, "pushed", job->pushed);
    write_options(reply, job);
    write_number(reply, "failures", job->failures);
    write_number(reply, "leases-expired", job->leases_expired);
    write_number_or_nil(reply, "claimed-at", job->claimed_at, job->claimed_at != 0);
    write_number_or_nil(reply, "kept-until", job->kept_until, job->kept_until != 0);
    write_result(reply, job);
    write_bytes_or_nil(reply, "worker", job->worker);
    write_bytes_or_nil(reply, "progress", job->progress);
    write_number(reply, "cancelled", job->cancelled);
    write_number(reply, "followed", job->followed);
    write_attempts(reply, job);
    write_bytes_or_nil(reply, "error", job->error);
}

static const struct argument_option get_options[] = {
    {"withafter", OPTION_FLAG(struct get, with_after)}, {.name = NULL}};

static enum outcome write_after(struct context *context, struct after_rights *rights,
                                const struct dueq_job *job, const struct get *get)
{
    write_number(context->reply, "delay", job->delay);
    write_number_or_nil(context->reply, "at", job->at, job->at != 0);
    if (get->with_after)
        return write_all_waiting(context, rights, job);
    write_waiting(context, rights, job);
    return OUTCOME_DONE;
}

static enum outcome get_job(struct context *context, struct after_rights *rights, void *arg)
{
    struct dueq_job job;
    enum dueq_status status;

    if (rights->progress.slices > 0)
        return write_more_waiting(context, rights);
    status = dueq_get(context->store, context_slice(context, 1), context_slice(context, 2),
                      context->now, &job);
    if (status == DUEQ_NOTFOUND) {
        resp_null(context->reply);
        return OUTCOME_DONE;
    }
    if (status != DUEQ_OK)
        return context_status(context, status);
    write_job(context->reply, &job);
    return job.state == DUEQ_WAITING ? write_after(context, rights, &job, arg) : OUTCOME_DONE;
}

static enum outcome run_q_get(struct context *context)
{
    struct get get = {.with_after = false};

    if (!arguments_name(context, 1, "topic") || !arguments_name(context, 2, "id") ||
        !argument_options_read(context, 3, get_options, &get))
        return OUTCOME_DONE;
    return after_rights_run(context, get_job, &get);
}

/* ---- Q.LEN, Q.STATS */

/* An unknown topic counts as empty. False: the error is written. */
static bool read_stats(struct context *context, struct dueq_topic_stats *stats)
{
    enum dueq_status status;

    *stats = (struct dueq_topic_stats){.next_due = DUEQ_NEVER};
    if (!arguments_name(context, 1, "topic"))
        return false;
    status = dueq_topic_stats(context->store, context_slice(context, 1), context->now, stats);
    if (status == DUEQ_OK || status == DUEQ_NOTFOUND)
        return true;
    context_status(context, status);
    return false;
}

static enum outcome run_q_len(struct context *context)
{
    struct dueq_topic_stats stats;
    bool one_state = context_count(context) > 2;
    unsigned wanted = 0;
    uint64_t jobs = 0;

    if (context_count(context) > 3)
        return context_arity_error(context);
    if ((one_state && !arguments_choice(context, 2, state_words, &wanted)) ||
        !read_stats(context, &stats))
        return OUTCOME_DONE;
    for (unsigned state = 0; state < DUEQ_STATES; state++)
        if (!one_state || state == wanted)
            jobs += stats.counts[state];
    resp_integer(context->reply, (int64_t)jobs);
    return OUTCOME_DONE;
}

static void write_pause(struct resp_writer *reply, const struct dueq_topic_stats *stats)
{
    resp_string(reply, "paused");
    if (stats->paused_in || stats->paused_out)
        resp_string(reply, !stats->paused_out ? "in" : stats->paused_in ? "all" : "out");
    else
        resp_null(reply);
    write_number_or_nil(reply, "paused-until", stats->paused_until,
                        stats->paused_until != 0 && stats->paused_until != DUEQ_NEVER);
}

static void write_quantiles(struct resp_writer *reply, const char *name,
                            const struct dueq_quantiles *times)
{
    resp_string(reply, name);
    resp_map(reply, 5);
    write_number(reply, "count", (int64_t)times->count);
    write_number(reply, "p50", times->p50);
    write_number(reply, "p99", times->p99);
    write_number(reply, "p999", times->p999);
    write_number(reply, "max", times->max);
}

static void write_latencies(struct resp_writer *reply, const struct dueq_latencies *latencies)
{
    static const char *const names[DUEQ_SPANS] = {
        [DUEQ_SPAN_WAIT] = "wait", [DUEQ_SPAN_RUN] = "run", [DUEQ_SPAN_LATE] = "lateness"};

    for (int span = 0; span < DUEQ_SPANS; span++) {
        const struct dueq_quantiles *times = latencies->times[span];

        resp_string(reply, names[span]);
        resp_map(reply, DUEQ_WINDOWS);
        write_quantiles(reply, "minute", &times[DUEQ_WINDOW_MINUTE]);
        write_quantiles(reply, "5-minutes", &times[DUEQ_WINDOW_5_MINUTES]);
        write_quantiles(reply, "all", &times[DUEQ_WINDOW_ALL]);
    }
    write_number_or_nil(reply, "measured-since", latencies->since,
                        latencies->since != DUEQ_NEVER);
}

/* Those of an unknown topic are empty. */
static enum dueq_status read_latencies(struct context *context,
                                       struct dueq_latencies *latencies)
{
    enum dueq_status status = dueq_topic_latencies(context->store, context_slice(context, 1),
                                                   context->now, latencies);

    if (status == DUEQ_NOTFOUND)
        *latencies = (struct dueq_latencies){.since = DUEQ_NEVER};
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static enum outcome run_q_stats(struct context *context)
{
    struct resp_writer *reply = context->reply;
    struct dueq_topic_stats stats;
    struct dueq_latencies latencies;
    enum dueq_status status;

    if (!read_stats(context, &stats))
        return OUTCOME_DONE;
    status = read_latencies(context, &latencies);
    if (status != DUEQ_OK)
        return context_status(context, status);
    resp_map(reply, DUEQ_STATES + 20 + DUEQ_SPANS + 1);
    for (int state = 0; state < DUEQ_STATES; state++)
        write_number(reply, dueq_state_name((enum dueq_state)state),
                     (int64_t)stats.counts[state]);
    write_number(reply, "oldest-ready-age", stats.oldest_ready_age);
    write_number_or_nil(reply, "next-due", stats.next_due, stats.next_due != DUEQ_NEVER);
    write_number(reply, "total-pushed", (int64_t)stats.pushed);
    write_number(reply, "total-claimed", (int64_t)stats.claimed);
    write_number(reply, "total-acked", (int64_t)stats.acked);
    write_number(reply, "total-nacked", (int64_t)stats.nacked);
    write_number(reply, "total-expired", (int64_t)stats.leases_expired);
    write_number(reply, "total-dead", (int64_t)stats.dead);
    write_number(reply, "total-lapsed", (int64_t)stats.jobs_expired);
    write_number(reply, "total-deleted", (int64_t)stats.deleted);
    write_number(reply, "total-cancelled", (int64_t)stats.cancelled);
    write_number(reply, "total-dead-removed", (int64_t)stats.dead_removed);
    write_number(reply, "total-dropped", (int64_t)stats.dropped);
    write_number(reply, "bytes", (int64_t)stats.bytes);
    write_pause(reply, &stats);
    write_number_or_nil(reply, "purging", (int64_t)stats.purged, stats.purging);
    write_number(reply, "counting", stats.counting);
    write_number_or_nil(reply, "rate-left", (int64_t)stats.rate_left, stats.rated);
    write_number_or_nil(reply, "rate-next", stats.rate_next, stats.rate_next != 0);
    write_latencies(reply, &latencies);
    return OUTCOME_DONE;
}

/* ---- Q.TOPICS */

enum { TOPICS_MOST = 1000 * 1000 };

struct topics_form {
    struct dueq_slice match, after;
    int64_t count; /* 0: all */
};

static const struct argument_option topics_options[] = {
    {"match", OPTION_BYTES(struct topics_form, match)},
    {"after", OPTION_NAME(struct topics_form, after, "name")},
    {"count", OPTION_INTEGER(struct topics_form, count),
     .rule = INTEGER_RANGE(1, TOPICS_MOST, RANGE_TEXT(1, 1000000))},
    {.name = NULL}};

static bool take_topic(struct long_read *read, const struct long_read_element *element)
{
    const struct topics_form *form = read->arg;
    struct dueq_slice name = element->name;

    if (glob_match(form->match.data, form->match.size, name.data, name.size, false)) {
        resp_slice(read->reply, name);
        read->at.found++;
    }
    return form->count == 0 || read->at.found < (uint64_t)form->count;
}

static void end_topics(struct long_read *read)
{
    long_read_end_array(read, read->at.found);
}

/* Of `count` names a part is read at once, as far as they match. */
static uint64_t topics_steps(const struct context *context, const struct topics_form *form)
{
    uint64_t all = dueq_topic_count(context->store), wanted = (uint64_t)form->count;

    return wanted > 0 && wanted < all ? wanted : all;
}

static enum outcome run_q_topics(struct context *context)
{
    struct topics_form form = {.match = {"*", 1}};
    struct long_read read = {.source = LONG_READ_TOPICS,
                             .arg = &form,
                             .begin = long_read_begin_array,
                             .take = take_topic,
                             .end = end_topics};

    if (!argument_options_read(context, 1, topics_options, &form))
        return OUTCOME_DONE;
    read.steps = topics_steps(context, &form);
    read.at.name_size = form.after.size;
    if (form.after.size > 0)
        memcpy(read.at.name, form.after.data, form.after.size);
    return long_read_run(context, &read);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "q.get",
     .arity = -3,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Everything about a job",
     .complexity = "O(log(N)), with WITHAFTER M*O(log(N)) for M jobs that it waits for",
     .syntax = "topic id [WITHAFTER]",
     .categories = "queue",
     .run = run_q_get},
    {.name = "q.len",
     .arity = -2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "How many jobs a topic has, in all or in a state",
     .complexity = "O(L) with L the number of priorities in use",
     .syntax = "topic [delayed|ready|claimed|dead|done|waiting]",
     .categories = "queue",
     .run = run_q_len},
    {.name = "q.stats",
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Counts by state, age of the oldest ready job, next due, totals",
     .complexity = "O(L*log(N)) with L the number of priorities in use",
     .syntax = "topic",
     .categories = "queue",
     .run = run_q_stats},
    {.name = "q.topics",
     .arity = -1,
     .flags = COMMAND_READONLY,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Names of the topics",
     .complexity = "O(N), of a page O(L*log(N)) with L the names that it passes",
     .syntax = "[MATCH pattern] [AFTER name] [COUNT 1-1000000]",
     .categories = "queue",
     .run = run_q_topics},
    {.name = NULL}};

COMMANDS(queue_read, entries)
