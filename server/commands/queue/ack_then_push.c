#include "server/commands/queue/ack_then_push.h"

#include "server/commands/queue/job_ids.h"
#include "server/commands/queue/push_options.h"

#include <stdlib.h>

struct hand_over {
    int64_t token;
    const struct dueq_done *done;
    struct dueq_push *pushes;
    size_t count, capacity;
};

bool ack_then_push_is_meant(const struct context *context, size_t at)
{
    return context_count(context) > at + 1 && arguments_is(context, at, "then") &&
           arguments_is(context, at + 1, "push");
}

/* ---- reading */

static struct dueq_push *add_push(struct context *context, struct hand_over *hand_over)
{
    size_t capacity = hand_over->capacity == 0 ? 4 : hand_over->capacity * 2;
    struct dueq_push *grown;

    if (hand_over->count == JOB_IDS_MAX) {
        resp_error(context->reply, "ERR there are more than " TEXT_OF(JOB_IDS_MAX) " pushes");
        return NULL;
    }
    if (hand_over->count < hand_over->capacity)
        return &hand_over->pushes[hand_over->count++];
    grown = realloc(hand_over->pushes, capacity * sizeof(*grown));
    if (grown == NULL) {
        context_status(context, DUEQ_NOMEM);
        return NULL;
    }
    hand_over->pushes = grown;
    hand_over->capacity = capacity;
    return &hand_over->pushes[hand_over->count++];
}

/* Reads THEN PUSH topic body and options; *at is the first argument after them then. */
static bool read_push(struct context *context, size_t *at, struct hand_over *hand_over)
{
    struct dueq_push *push;

    if (context_count(context) - *at < 4 || !arguments_is(context, *at, "then") ||
        !arguments_is(context, *at + 1, "push")) {
        context_syntax_error(context);
        return false;
    }
    push = add_push(context, hand_over);
    if (push == NULL || !arguments_name(context, *at + 2, "topic"))
        return false;
    dueq_push_init(push);
    push->topic = context_slice(context, *at + 2);
    push->body = context_slice(context, *at + 3);
    *at += 4;
    return push_options_read_leading(context, at, PUSH_OPTIONS_FOR_ONE, push) &&
           push_options_fit(context, push);
}

static bool read(struct context *context, size_t at, struct hand_over *hand_over)
{
    if (!arguments_name(context, 1, "topic") || !arguments_name(context, 2, "id") ||
        !arguments_integer(context, 3, NULL, &hand_over->token))
        return false;
    while (at < context_count(context))
        if (!read_push(context, &at, hand_over))
            return false;
    return true;
}

/* ---- running */

/* A job that is not there was given on and finished: for its last worker it is stale. */
static enum outcome run(struct context *context, const struct hand_over *hand_over,
                        struct dueq_pushed *pushed)
{
    enum dueq_status status = dueq_hand_over(
        context->store, context_slice(context, 1), context_slice(context, 2), hand_over->token,
        hand_over->done, hand_over->pushes, hand_over->count, context->now, pushed);

    if (status != DUEQ_OK)
        return context_status(context, status == DUEQ_NOTFOUND ? DUEQ_STALE : status);
    resp_array(context->reply, hand_over->count);
    for (size_t i = 0; i < hand_over->count; i++)
        resp_slice(context->reply, pushed[i].id);
    return OUTCOME_DONE;
}

enum outcome ack_then_push_run(struct context *context, size_t at, const struct dueq_done *done)
{
    struct hand_over hand_over = {.done = done};
    struct dueq_pushed *pushed;
    enum outcome outcome = OUTCOME_DONE;

    if (read(context, at, &hand_over)) {
        pushed = malloc(hand_over.count * sizeof(*pushed));
        outcome = pushed == NULL ? context_status(context, DUEQ_NOMEM)
                                 : run(context, &hand_over, pushed);
        free(pushed);
    }
    free(hand_over.pushes);
    return outcome;
}
