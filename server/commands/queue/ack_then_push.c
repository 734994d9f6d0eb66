#include "server/commands/queue/ack_then_push.h"

#include "server/commands/queue/job_ids.h"
#include "server/commands/queue/push_after.h"
#include "server/commands/queue/push_options.h"
#include "server/commands/queue/push_slices.h"

#include <stdlib.h>

struct hand_over {
    struct after_rights *rights;
    int64_t token;
    const struct dueq_done *done;
    struct dueq_push *pushes;
    struct push_after_name *names; /* of each */
    size_t count, capacity;
    size_t awaited; /* names behind AFTER, of all pushes */
    size_t colons;  /* in them */
    struct push_slices slices;
};

static bool is_then_push(const struct context *context, size_t at)
{
    return arguments_is(context, at, "then") && arguments_is(context, at + 1, "push");
}

bool ack_then_push_is_meant(const struct context *context, size_t at)
{
    return context_count(context) > at + 1 && is_then_push(context, at);
}

/* ---- reading */

static struct dueq_push *begin_push(struct hand_over *hand_over)
{
    struct dueq_push *push = &hand_over->pushes[hand_over->count++];

    dueq_push_init(push);
    return push;
}

static struct dueq_push *add_push(struct context *context, struct hand_over *hand_over)
{
    size_t capacity = hand_over->capacity == 0 ? 4 : hand_over->capacity * 2;
    struct push_after_name *names;
    struct dueq_push *grown;

    if (hand_over->count == JOB_IDS_MAX) {
        resp_error(context->reply, "ERR there are more than " TEXT_OF(JOB_IDS_MAX) " pushes");
        return NULL;
    }
    if (hand_over->count < hand_over->capacity)
        return begin_push(hand_over);
    grown = realloc(hand_over->pushes, capacity * sizeof(*grown));
    if (grown != NULL)
        hand_over->pushes = grown;
    names = realloc(hand_over->names, capacity * sizeof(*names));
    if (names != NULL)
        hand_over->names = names;
    if (grown == NULL || names == NULL) {
        context_status(context, DUEQ_NOMEM);
        return NULL;
    }
    hand_over->capacity = capacity;
    return begin_push(hand_over);
}

/* AFTER is the last option of its push: the next THEN PUSH ends it. */
static struct push_after_place place_of(const struct context *context, size_t at,
                                        const struct hand_over *hand_over)
{
    while (at < context_count(context) && !ack_then_push_is_meant(context, at))
        at++;
    return (struct push_after_place){.rights = hand_over->rights,
                                     .end = at,
                                     .most = DUEQ_AFTER_MAX - hand_over->awaited,
                                     .colons = PUSH_AFTER_COLONS_MAX - hand_over->colons,
                                     .earlier = hand_over->pushes,
                                     .names = hand_over->names,
                                     .earlier_count = hand_over->count - 1};
}

static bool read_options(struct context *context, size_t *at, struct hand_over *hand_over,
                         struct dueq_push *push)
{
    struct push_after_place place = place_of(context, *at, hand_over);
    bool is_after = true;

    while (is_after) {
        if (!push_options_read_leading(context, at, PUSH_OPTIONS_FOR_ONE, push))
            return false;
        if (*at == context_count(context) || ack_then_push_is_meant(context, *at))
            break;
        if (!push_after_read(context, at, &place, push, &is_after))
            return false;
    }
    if (!is_after) {
        context_syntax_error(context);
        return false;
    }
    hand_over->awaited += push->after_count;
    hand_over->colons = PUSH_AFTER_COLONS_MAX - place.colons;
    return push_options_fit(context, push);
}

/* Reads THEN PUSH topic body and options; *at is the first argument after them then. */
static bool read_push(struct context *context, size_t *at, struct hand_over *hand_over)
{
    struct dueq_push *push;

    if (context_count(context) - *at < 4 || !is_then_push(context, *at)) {
        context_syntax_error(context);
        return false;
    }
    push = add_push(context, hand_over);
    if (push == NULL || !arguments_name(context, *at + 2, "topic"))
        return false;
    push->topic = context_slice(context, *at + 2);
    push->body = context_slice(context, *at + 3);
    *at += 4;
    if (!read_options(context, at, hand_over, push))
        return false;
    hand_over->names[hand_over->count - 1] = push_after_name_of(push);
    return true;
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

static void free_hand_over(void *state)
{
    struct hand_over *hand_over = state;

    push_slices_release(&hand_over->slices);
    for (size_t i = 0; i < hand_over->count; i++)
        push_after_release(&hand_over->pushes[i]);
    free(hand_over->pushes);
    free(hand_over->names);
    free(hand_over);
}

static enum dueq_status begin(struct context *context, struct hand_over *hand_over)
{
    struct push_slices *slices = &hand_over->slices;

    slices->count = hand_over->count;
    slices->pushed = malloc(hand_over->count * sizeof(*slices->pushed));
    if (slices->pushed == NULL)
        return DUEQ_NOMEM;
    return store_hand_over_begin(
        context->store, context_slice(context, 1), context_slice(context, 2), hand_over->token,
        hand_over->done, hand_over->pushes, hand_over->count, context->now, &slices->batch);
}

/* A job that is not there was given on and finished: for its last worker it is stale. */
static enum outcome refuse(struct context *context, const struct hand_over *hand_over,
                           enum dueq_status status)
{
    if (status != DUEQ_INVALID || hand_over->awaited == 0)
        return context_status(context, status == DUEQ_NOTFOUND ? DUEQ_STALE : status);
    resp_error(context->reply, "ERR a job cannot wait for a later one of its command");
    return OUTCOME_DONE;
}

/* Takes `hand_over`. status: of the beginning. */
static enum outcome run(struct context *context, struct after_rights *rights,
                        struct hand_over *hand_over, enum dueq_status status)
{
    enum outcome outcome = OUTCOME_DONE;

    if (push_slices_have_more(context, rights, &hand_over->slices, hand_over, free_hand_over,
                              &status))
        return OUTCOME_WAIT;
    if (status != DUEQ_OK)
        outcome = refuse(context, hand_over, status);
    free_hand_over(hand_over);
    return outcome;
}

/* What ack_then_push_run is called with. */
struct form {
    size_t at;
    const struct dueq_done *done;
};

static enum outcome read_and_run(struct context *context, struct after_rights *rights,
                                 void *arg)
{
    const struct form *form = arg;
    struct hand_over *hand_over = rights->work;
    enum outcome outcome = OUTCOME_DONE;

    if (hand_over != NULL)
        return run(context, rights, hand_over, DUEQ_OK);
    hand_over = calloc(1, sizeof(*hand_over));
    if (hand_over == NULL)
        return context_status(context, DUEQ_NOMEM);
    hand_over->rights = rights;
    hand_over->done = form->done;
    if (read(context, form->at, hand_over) && after_rights_known(rights)) {
        if (push_slices_must_wait(context, hand_over->count))
            outcome = OUTCOME_WAIT;
        else
            return run(context, rights, hand_over, begin(context, hand_over));
    }
    free_hand_over(hand_over);
    return outcome;
}

enum outcome ack_then_push_run(struct context *context, size_t at, const struct dueq_done *done)
{
    struct form form = {at, done};

    return after_rights_run(context, read_and_run, &form);
}
