/* Changes jobs: Q.RESCHEDULE, Q.RUN, Q.UPDATE, Q.MOVE, Q.CANCEL. */
#include "server/dispatch/command_list.h"

#include "server/commands/queue/job_ids.h"
#include "server/commands/queue/push_options.h"
#include "server/server.h"

static bool read_job(struct context *context)
{
    return arguments_name(context, 1, "topic") && arguments_name(context, 2, "id");
}

/* ---- Q.RESCHEDULE, Q.RUN */

struct moment {
    int64_t delay, at;
    bool absolute;
};

static bool read_at(struct context *context, size_t *at, const struct argument_option *option,
                    void *form)
{
    struct moment *moment = form;

    (void)option;
    moment->absolute = true;
    return arguments_integer(context, (*at)++, NULL, &moment->at);
}

enum { EITHER = 1 };

static const struct argument_option moments[] = {
    {"delay", OPTION_DURATION(struct moment, delay), .group = EITHER},
    {"at", OPTION_CUSTOM, .group = EITHER, .values = 1, .read = read_at},
    {.name = NULL}};

static enum outcome run_q_reschedule(struct context *context)
{
    struct moment moment = {.delay = DUEQ_DEFAULT};
    int64_t due;
    enum dueq_status status;

    if (!read_job(context) || !argument_options_read(context, 3, moments, &moment))
        return OUTCOME_DONE;
    status = dueq_reschedule(context->store, context_slice(context, 1),
                             context_slice(context, 2), moment.absolute,
                             moment.absolute ? moment.at : moment.delay, context->now, &due);
    if (status != DUEQ_OK)
        return context_status(context, status);
    return context_reply_integer(context, due);
}

/* Without room the rest stays as it is. */
static bool run_next(struct context *context, struct wide *wide)
{
    int64_t due;
    enum dueq_status status =
        dueq_reschedule(context->store, context_slice(context, 1),
                        context_slice(context, wide->at), false, 0, context->now, &due);

    wide->count += status == DUEQ_OK;
    if (status == DUEQ_FULL && wide->count > 0) {
        wide->at = context_count(context) - 1;
        return true;
    }
    return status == DUEQ_WRONGSTATE || context_check_status(context, status);
}

static enum outcome run_q_run(struct context *context)
{
    static const struct wide_form form = {.first = JOB_IDS_FIRST,
                                          .stride = 1,
                                          .takes_jobs = true,
                                          .begin = job_ids_begin,
                                          .take = run_next,
                                          .end = wide_end_count};

    return wide_run(context, &form);
}

/* ---- Q.UPDATE */

/* BODY stands among the options of a push; those on the id and the due time do not. */
static bool read_update(struct context *context, struct dueq_push *changes, bool *ret_body)
{
    size_t at = 3;

    *ret_body = false;
    for (;;) {
        if (!push_options_read_leading(context, &at, PUSH_OPTIONS_FOR_UPDATE, changes))
            return false;
        if (at == context_count(context))
            return true;
        if (!arguments_is(context, at, "body")) {
            context_syntax_error(context);
            return false;
        }
        if (!arguments_has_value(context, at))
            return false;
        changes->body = context_slice(context, at + 1);
        *ret_body = true;
        at += 2;
    }
}

static enum outcome run_q_update(struct context *context)
{
    struct dueq_push changes;
    bool with_body;
    enum dueq_status status;

    if (context_count(context) < 5)
        return context_arity_error(context);
    if (!read_job(context))
        return OUTCOME_DONE;
    dueq_push_init(&changes);
    changes.topic = context_slice(context, 1);
    changes.id = context_slice(context, 2);
    if (!read_update(context, &changes, &with_body))
        return OUTCOME_DONE;
    status = dueq_update(context->store, &changes, with_body, context->now);
    if (status == DUEQ_NOTFOUND)
        return context_reply_integer(context, 0);
    if (status != DUEQ_OK)
        return context_status(context, status);
    return context_reply_integer(context, 1);
}

/* ---- Q.MOVE, Q.CANCEL */

static enum outcome run_q_move(struct context *context)
{
    enum dueq_status status;

    if (!read_job(context) || !arguments_name(context, 3, "topic"))
        return OUTCOME_DONE;
    status = dueq_move(context->store, context_slice(context, 1), context_slice(context, 2),
                       context_slice(context, 3), context->now);
    if (status == DUEQ_NOTFOUND)
        return context_reply_integer(context, 0);
    if (status != DUEQ_OK)
        return context_status(context, status);
    return context_reply_integer(context, 1);
}

/* The token of its claim, when there is somebody to be told; 0: nobody is. */
static int64_t token_to_tell(struct context *context)
{
    struct dueq_job job;

    if (!bound_jobs_any(&context->server->bound_jobs) ||
        dueq_get(context->store, context_slice(context, 1), context_slice(context, 2),
                 context->now, &job) != DUEQ_OK)
        return 0;
    return job.cancelled ? 0 : job.token;
}

static enum outcome run_q_cancel(struct context *context)
{
    bool claimed;
    int64_t token;
    enum dueq_status status;

    if (!read_job(context))
        return OUTCOME_DONE;
    token = token_to_tell(context);
    status = dueq_cancel(context->store, context_slice(context, 1), context_slice(context, 2),
                         context->now, &claimed);
    if (status == DUEQ_NOTFOUND) {
        resp_null(context->reply);
        return OUTCOME_DONE;
    }
    if (status != DUEQ_OK)
        return context_status(context, status);
    if (claimed && token > 0)
        bound_jobs_tell_cancelled(context->server, context_slice(context, 1), token);
    resp_string(context->reply, claimed ? "claimed" : "cancelled");
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "q.reschedule",
     .arity = 5,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Change when a waiting job is due",
     .complexity = "O(log(N))",
     .syntax = "topic id <DELAY duration|AT unix-ms>",
     .categories = "queue",
     .run = run_q_reschedule},
    {.name = "q.run",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Make waiting jobs due now",
     .complexity = "O(log(N)) for each job",
     .syntax = "topic id [id ...]",
     .categories = "queue",
     .run = run_q_run},
    {.name = "q.update",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Change body or options of a job",
     .complexity = "O(log(N)), and the size of the body",
     .syntax = "topic id [BODY body] [PRIORITY 0-255] [LEASE duration] [RETRIES count] "
               "[CRASHES count] [BACKOFF <duration [max]|FIXED duration|EXP base max [JITTER "
               "percent]|STEPS duration [duration ...]>] [TTL duration]",
     .categories = "queue",
     .run = run_q_update},
    {.name = "q.move",
     .arity = 4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 3, 2},
     .key_specs = "RW,access,delete@1/r0:1:0 RW,insert@3/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Move a waiting job to another topic",
     .complexity = "O(log(N)), and the size of the body",
     .syntax = "topic id other",
     .categories = "queue",
     .run = run_q_move},
    {.name = "q.cancel",
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,delete@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Remove a waiting job, or tell the worker of a claimed one",
     .complexity = "O(log(N))",
     .syntax = "topic id",
     .categories = "queue",
     .run = run_q_cancel},
    {.name = NULL}};

COMMANDS(queue_change, entries)
