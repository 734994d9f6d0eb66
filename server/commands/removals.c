#include "server/commands/removals.h"

#include "server/dispatch/long_work.h"

#include <limits.h>
#include <stdlib.h>

struct removal {
    struct keys_removal *removal; /* NULL: the key has changed */
    size_t key;                   /* argument */
    uint64_t count;
    bool begun; /* the reply */
};

static void free_removal(void *state)
{
    struct removal *removal = state;

    keys_removal_free(removal->removal);
    free(removal);
}

static struct dueq_slice key_of(const struct context *context, const struct removing *removing)
{
    return context_slice(context, removing->key);
}

/* ---- the reply */

struct writing {
    struct context *context;
    const struct removing *removing;
};

/* What the reply cannot show is not taken. */
static bool write_element(void *arg, const struct zset_entry *element)
{
    const struct writing *writing = arg;

    writing->removing->form->write(writing->context, writing->removing, element);
    return !writing->context->reply->out->overflowed;
}

static enum dueq_status step(struct context *context, struct removal *removal,
                             const struct removing *removing, unsigned budget,
                             bool *ret_finished)
{
    struct keys_view view = database_view(context);
    struct writing writing = {context, removing};
    bool writes = removing->form->write != NULL;

    if (!removal->begun && writes)
        removing->form->begin(context, removing, removal->count);
    removal->begun = true;
    return keys_removal_step(removal->removal, &view, removing->range, budget,
                             writes ? write_element : NULL, &writing, ret_finished);
}

/* DUEQ_NOTFOUND: the key has changed in between. */
static enum dueq_status finish(struct context *context, const struct removal *removal,
                               const struct removing *removing)
{
    struct keys_view view = database_view(context);
    enum dueq_status status = keys_removal_finish(removal->removal, &view);

    if (status == DUEQ_OK)
        removing->form->end(context, removing, keys_removal_found(removal->removal));
    return status;
}

/* Answers for what went wrong. `mark`: where the reply begins. */
static enum outcome give_up(struct context *context, const struct removing *removing,
                            enum dueq_status status, size_t mark)
{
    buffer_truncate(context->reply->out, mark);
    return status == DUEQ_INVALID ? removing->form->at_once(context, removing)
                                  : context_status(context, status);
}

/* ---- in slices */

bool removal_is_under_way(struct context *context)
{
    const struct removal *removal = long_work_state(context);

    return removal != NULL && removal->removal != NULL;
}

/* The command begins anew with its next slice. */
static enum outcome begin_anew(struct context *context, struct removal *removal)
{
    buffer_truncate(context->reply->out, long_work_reply_begin(context));
    keys_removal_free(removal->removal);
    *removal = (struct removal){.removal = NULL};
    return long_work_continue(context, removal, free_removal, LONG_HOLDS_KEYS);
}

enum outcome removal_go_on(struct context *context, const struct removing *asked)
{
    struct removal *removal = long_work_state(context);
    struct removing removing = *asked;
    bool finished = false;
    enum dueq_status status;

    removing.key = removal->key;
    removing.count = removal->count;
    status = step(context, removal, &removing, LONG_STEPS, &finished);
    if (context->reply->out->overflowed)
        return OUTCOME_DONE;
    if (status == DUEQ_OK && finished)
        status = finish(context, removal, &removing);
    if (status == DUEQ_NOTFOUND)
        return begin_anew(context, removal);
    if (status != DUEQ_OK)
        return give_up(context, &removing, status, long_work_reply_begin(context));
    return finished ? OUTCOME_DONE
                    : long_work_continue(context, removal, free_removal, LONG_HOLDS_KEYS);
}

/* ---- the beginning */

static enum dueq_status open_removal(struct context *context, const struct removing *removing,
                                     struct removal *removal)
{
    struct keys_view view = database_view(context);

    removal->key = removing->key;
    removal->count = removing->count;
    removal->begun = false;
    return keys_removal_new(&view, key_of(context, removing), removing->type, &removing->part,
                            &removal->removal);
}

static enum outcome run_whole(struct context *context, const struct removing *removing)
{
    size_t mark = buffer_size(context->reply->out);
    struct removal removal = {.removal = NULL};
    bool finished = false;
    enum dueq_status status = open_removal(context, removing, &removal);
    enum outcome outcome = OUTCOME_DONE;

    while (status == DUEQ_OK && !finished && !context->reply->out->overflowed)
        status = step(context, &removal, removing, UINT_MAX, &finished);
    if (status == DUEQ_OK && finished && !context->reply->out->overflowed)
        status = finish(context, &removal, removing);
    if (status != DUEQ_OK)
        outcome = give_up(context, removing, status, mark);
    keys_removal_free(removal.removal);
    return outcome;
}

static enum outcome run_in_slices(struct context *context, const struct removing *removing)
{
    struct removal *removal = long_work_state(context), *made = NULL;
    enum dueq_status status = DUEQ_NOMEM;

    if (removal == NULL)
        removal = made = calloc(1, sizeof(*made));
    if (removal != NULL)
        status = open_removal(context, removing, removal);
    if (status == DUEQ_OK)
        return long_work_continue(context, removal, free_removal, LONG_HOLDS_KEYS);
    free(made);
    return give_up(context, removing, status, buffer_size(context->reply->out));
}

enum outcome removal_begin(struct context *context, const struct removing *removing,
                           uint64_t steps)
{
    if (context->may_wait)
        return run_in_slices(context, removing);
    return long_work_fits_transaction(context, steps) ? run_whole(context, removing)
                                                      : OUTCOME_DONE;
}
