#include "server/commands/removals.h"

#include "server/dispatch/long_work.h"
#include "storage/keys/keys_removal.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

struct removal {
    struct keys_removal *removal; /* NULL: not begun, or the key has changed */
    size_t key;                   /* argument */
    uint64_t count;
    bool begun; /* the reply has begun */
};

static void free_removal(void *state)
{
    struct removal *removal = state;

    keys_removal_free(removal->removal);
    free(removal);
}

static struct dueq_slice key_of(const struct context *context,
                                const struct removals_request *request)
{
    return context_slice(context, request->key);
}

/* ---- the reply */

struct writing {
    struct context *context;
    const struct removals_request *request;
};

/* Stops when the reply overflows: then nothing is removed. */
static bool write_element(void *arg, const struct zset_entry *element)
{
    const struct writing *writing = arg;

    writing->request->form->write(writing->context, writing->request, element);
    return !writing->context->reply->out->overflowed;
}

static enum dueq_status step(struct context *context, struct removal *removal,
                             const struct removals_request *request, unsigned budget,
                             bool *ret_finished)
{
    struct keys_view view = database_view(context);
    struct writing writing = {context, request};
    bool writes = request->form->write != NULL;

    if (!removal->begun && writes)
        request->form->begin(context, request, removal->count);
    removal->begun = true;
    return keys_removal_step(removal->removal, &view, request->range, budget,
                             writes ? write_element : NULL, &writing, ret_finished);
}

/* DUEQ_NOTFOUND: the key has changed since the removal began. */
static enum dueq_status finish(struct context *context, const struct removal *removal,
                               const struct removals_request *request)
{
    struct keys_view view = database_view(context);
    enum dueq_status status = keys_removal_finish(removal->removal, &view);

    if (status == DUEQ_OK)
        request->form->end(context, request, keys_removal_found(removal->removal));
    return status;
}

/* Replies the error, or runs at_once for DUEQ_INVALID. `mark`: where the reply begins. */
static enum outcome give_up(struct context *context, const struct removals_request *request,
                            enum dueq_status status, size_t mark)
{
    buffer_truncate(context->reply->out, mark);
    return status == DUEQ_INVALID ? request->form->at_once(context, request)
                                  : context_status(context, status);
}

/* ---- in slices */

bool removals_has_begun(const struct context *context)
{
    return long_work_state_of(context, free_removal) != NULL;
}

bool removals_is_running(struct context *context)
{
    const struct removal *removal = long_work_state_of(context, free_removal);

    return removal != NULL && removal->removal != NULL;
}

/* The command begins again with its next slice. */
static enum outcome begin_again(struct context *context, struct removal *removal)
{
    long_work_restarts(context);
    buffer_truncate(context->reply->out, long_work_reply_begin(context));
    keys_removal_free(removal->removal);
    *removal = (struct removal){.removal = NULL};
    return long_work_continue(context, removal, free_removal, LONG_HOLDS_KEYS);
}

enum outcome removals_continue(struct context *context, const struct removals_request *asked)
{
    struct removal *removal = long_work_state(context);
    struct removals_request request = *asked;
    bool finished = false;
    enum dueq_status status;

    assert(removals_is_running(context));
    request.key = removal->key;
    request.count = removal->count;
    status = step(context, removal, &request, LONG_STEPS, &finished);
    if (context->reply->out->overflowed)
        return OUTCOME_DONE;
    if (status == DUEQ_OK && finished)
        status = finish(context, removal, &request);
    if (status == DUEQ_NOTFOUND)
        return begin_again(context, removal);
    if (status != DUEQ_OK)
        return give_up(context, &request, status, long_work_reply_begin(context));
    return finished ? OUTCOME_DONE
                    : long_work_continue(context, removal, free_removal, LONG_HOLDS_KEYS);
}

/* ---- the beginning */

static enum dueq_status open_removal(struct context *context,
                                     const struct removals_request *request,
                                     struct removal *removal)
{
    struct keys_view view = database_view(context);

    removal->key = request->key;
    removal->count = request->count;
    removal->begun = false;
    return keys_removal_new(&view, key_of(context, request), request->type, &request->part,
                            &removal->removal);
}

static enum outcome run_in_slices(struct context *context,
                                  const struct removals_request *request)
{
    struct removal *removal = long_work_state(context), *made = NULL;
    enum dueq_status status = DUEQ_NOMEM;

    if (removal == NULL)
        removal = made = calloc(1, sizeof(*made));
    if (removal != NULL)
        status = open_removal(context, request, removal);
    if (status == DUEQ_OK)
        return long_work_continue(context, removal, free_removal, LONG_HOLDS_KEYS);
    free(made);
    return give_up(context, request, status, buffer_size(context->reply->out));
}

enum outcome removals_begin(struct context *context, const struct removals_request *request,
                            uint64_t steps)
{
    return long_work_fits(context, steps) ? run_in_slices(context, request) : OUTCOME_DONE;
}
