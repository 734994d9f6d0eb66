/* Q.PUSH. */
#include "server/dispatch/command_list.h"

#include "server/commands/queue/push_after.h"
#include "server/commands/queue/push_options.h"

/* WITHSTATUS and ON-DEAD stand among the options of the push; AFTER is the last one. */
static bool read_options(struct context *context, struct after_rights *rights,
                         struct dueq_push *push, bool *ret_with_status)
{
    struct push_after_place place = push_after_alone(context, rights);
    size_t at = 3;
    bool is_after;

    *ret_with_status = false;
    for (;;) {
        if (!push_options_read_leading(context, &at, PUSH_OPTIONS_FOR_ONE, push))
            return false;
        if (at == context_count(context))
            return push_options_fit(context, push);
        if (!push_after_read(context, &at, &place, push, &is_after))
            return false;
        if (is_after)
            continue;
        if (!arguments_is(context, at, "withstatus")) {
            context_syntax_error(context);
            return false;
        }
        *ret_with_status = true;
        at++;
    }
}

static enum outcome push_job(struct context *context, const struct dueq_push *push,
                             bool with_status)
{
    struct resp_writer *reply = context->reply;
    struct dueq_pushed pushed;
    enum dueq_status status = dueq_push_unique(context->store, push, context->now, &pushed);

    if (status != DUEQ_OK)
        return context_status(context, status);
    if (with_status)
        resp_array(reply, 2);
    resp_bulk(reply, pushed.id.data, pushed.id.size);
    if (with_status)
        resp_string(reply, dueq_push_outcome_name(pushed.outcome));
    return OUTCOME_DONE;
}

static enum outcome read_and_push(struct context *context, struct after_rights *rights,
                                  void *arg)
{
    struct dueq_push push;
    bool with_status;
    enum outcome outcome = OUTCOME_DONE;
    (void)arg;

    if (!arguments_name(context, 1, "topic"))
        return OUTCOME_DONE;
    dueq_push_init(&push);
    push.topic = context_slice(context, 1);
    push.body = context_slice(context, 2);
    if (read_options(context, rights, &push, &with_status) && after_rights_known(rights))
        outcome = push_job(context, &push, with_status);
    push_after_release(&push);
    return outcome;
}

static enum outcome run_q_push(struct context *context)
{
    return after_rights_run(context, read_and_push, NULL);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "q.push",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,insert@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Push a job, to be due now, after a delay, or at a moment",
     .complexity = "O(log(N)), with AFTER M*O(log(N)) for M jobs",
     .syntax = "topic body [ID id] " PUSH_OPTIONS_SYNTAX " [WITHSTATUS] " PUSH_AFTER_SYNTAX,
     .categories = "queue",
     .run = run_q_push},
    {.name = NULL}};

COMMANDS(queue_push, entries)
