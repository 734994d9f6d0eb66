/* Waits for the end of jobs: Q.WAIT. */
#include "server/dispatch/command_list.h"

#include "server/commands/queue/job_ids.h"
#include "server/dispatch/arguments.h"
#include "server/session/waiters.h"

enum { FIRST_ID = 2 };

struct wait {
    size_t count;  /* of ids, from FIRST_ID on */
    int64_t block; /* ms; DUEQ_DEFAULT: does not wait */
};

/* BLOCK is known by its place: the last argument but one, after an id. */
static bool read_wait(struct context *context, struct wait *ret_wait)
{
    size_t end = context_count(context);

    ret_wait->block = DUEQ_DEFAULT;
    if (end > FIRST_ID + 2 && arguments_is(context, end - 2, "block")) {
        end -= 2;
        if (!arguments_duration(context, end + 1, &ret_wait->block))
            return false;
    }
    ret_wait->count = end - FIRST_ID;
    if (!job_ids_fit(context, ret_wait->count) || !arguments_name(context, 1, "topic"))
        return false;
    for (size_t at = FIRST_ID; at < end; at++)
        if (!arguments_name(context, at, "id"))
            return false;
    return true;
}

static enum dueq_status get(struct context *context, size_t index, struct dueq_job *job)
{
    return dueq_get(context->store, context_slice(context, 1),
                    context_slice(context, FIRST_ID + index), context->now, job);
}

/* ---- the reply */

/* The name of its state and what there is to tell. A job that has ended may have been removed
 * since, or its id may be in use again: then there is nothing to tell. */
static const char *describe(enum job_wait_state state, enum dueq_status found,
                            const struct dueq_job *job, struct dueq_slice *ret_text,
                            bool *ret_has_text)
{
    *ret_has_text = false;
    switch (state) {
    case JOB_WAIT_OPEN:
        return found == DUEQ_OK ? dueq_state_name(job->state) : "gone";
    case JOB_WAIT_DONE:
        *ret_has_text = found == DUEQ_OK && job->state == DUEQ_DONE && job->has_result;
        if (*ret_has_text)
            *ret_text = job->result;
        return "done";
    case JOB_WAIT_DEAD:
        *ret_has_text = found == DUEQ_OK && job->state == DUEQ_DEAD && job->error.size > 0;
        if (*ret_has_text)
            *ret_text = job->error;
        return "dead";
    case JOB_WAIT_CANCELLED:
        return "cancelled";
    case JOB_WAIT_GONE:
    case JOB_WAIT_MISSING:
        break;
    }
    return state == JOB_WAIT_GONE ? "gone" : NULL;
}

static enum dueq_status write_job(struct context *context, const struct job_waits *waits,
                                  size_t index)
{
    struct resp_writer *reply = context->reply;
    struct dueq_job job;
    struct dueq_slice text = {NULL, 0};
    bool has_text;
    enum dueq_status status = get(context, index, &job);
    const char *name;

    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        return status;
    name = describe(job_waits_state(waits, index), status, &job, &text, &has_text);
    resp_array(reply, 3);
    resp_slice(reply, context_slice(context, FIRST_ID + index));
    if (name != NULL)
        resp_string(reply, name);
    else
        resp_null(reply);
    if (has_text)
        resp_slice(reply, text);
    else
        resp_null(reply);
    return DUEQ_OK;
}

static enum outcome reply(struct context *context, const struct wait *wait,
                          const struct job_waits *waits)
{
    resp_array(context->reply, wait->count);
    for (size_t i = 0; i < wait->count; i++) {
        enum dueq_status status = write_job(context, waits, i);

        if (status != DUEQ_OK)
            return context_status(context, status);
    }
    return OUTCOME_DONE;
}

/* ---- the command */

/* Which jobs have ended already? */
static enum dueq_status look(struct context *context, const struct wait *wait,
                             struct job_waits *waits)
{
    for (size_t i = 0; i < wait->count; i++) {
        struct dueq_job job;
        enum dueq_status status = get(context, i, &job);

        if (status == DUEQ_NOTFOUND)
            job_waits_set(waits, i, JOB_WAIT_MISSING);
        else if (status != DUEQ_OK)
            return status;
        else if (job.state == DUEQ_DONE || job.state == DUEQ_DEAD)
            job_waits_set(waits, i, job.state == DUEQ_DONE ? JOB_WAIT_DONE : JOB_WAIT_DEAD);
    }
    return DUEQ_OK;
}

static enum outcome run_q_wait(struct context *context)
{
    struct wait wait;
    struct job_waits *waits;
    enum dueq_status status;
    enum outcome outcome;

    if (!read_wait(context, &wait))
        return OUTCOME_DONE;
    if (context->waiter != NULL) /* all have ended, or the time is over */
        return reply(context, &wait, waiters_jobs_of(context->waiter));
    waits = job_waits_new(context->session, wait.count);
    if (waits == NULL)
        return context_status(context, DUEQ_NOMEM);
    status = look(context, &wait, waits);
    if (status == DUEQ_OK && job_waits_open(waits) > 0 && wait.block != DUEQ_DEFAULT &&
        context->may_wait)
        return waiters_wait_for_jobs(context, waits, FIRST_ID, wait.count,
                                     wait.block == 0 ? DUEQ_NEVER
                                                     : context_deadline(context, wait.block));
    outcome =
        status == DUEQ_OK ? reply(context, &wait, waits) : context_status(context, status);
    job_waits_free(NULL, context->store, waits); /* it has joined nothing */
    return outcome;
}

static const struct command entries[] = {
    {.name = "q.wait",
     .arity = -3,
     .flags = COMMAND_READONLY | COMMAND_NOSCRIPT | COMMAND_BLOCKING,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "The state and result of jobs, as soon as all of them have ended",
     .complexity = "O(log(N)) for each job",
     .syntax = "topic id [id ...] [BLOCK duration]",
     .categories = "queue",
     .run = run_q_wait},
    {.name = NULL}};

COMMANDS(queue_wait, entries)
