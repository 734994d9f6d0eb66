#include "server/commands/queue/push_slices.h"

#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"

#include <stdlib.h>

enum { SLICE_BYTES = ALONE_STEPS * LONG_STEP_BYTES };

bool push_slices_must_wait(struct context *context, size_t count)
{
    return count > 1 && context_copied_of_all(context) > LONG_ENOUGH_BYTES &&
           !after_rights_is_alone(context);
}

/* Within slices a part of them; else what can be done at once is. */
static enum dueq_status run_some(struct context *context, struct push_slices *slices)
{
    bool is_slice = after_rights_is_alone(context);
    size_t bytes = alone_hurries(context) ? SIZE_MAX
                   : is_slice             ? SLICE_BYTES
                                          : LONG_ENOUGH_BYTES;
    enum dueq_status status = DUEQ_OK;

    if (!slices->is_checked)
        status = store_push_check(slices->batch, bytes);
    slices->is_checked = status == DUEQ_OK;
    if (status == DUEQ_OK && !store_push_some(context->store, slices->batch,
                                              is_slice ? bytes : SIZE_MAX, slices->pushed))
        return DUEQ_BUSY;
    return status;
}

static void reply(struct context *context, const struct push_slices *slices)
{
    resp_array(context->reply, slices->count);
    for (size_t i = 0; i < slices->count; i++)
        resp_slice(context->reply, slices->pushed[i].id);
}

bool push_slices_have_more(struct context *context, struct after_rights *rights,
                           struct push_slices *slices, void *work, void (*free_work)(void *),
                           enum dueq_status *status)
{
    if (*status == DUEQ_OK) {
        *status = run_some(context, slices);
        if (*status == DUEQ_OK)
            reply(context, slices);
    }
    after_rights_keep(rights, NULL, NULL);
    if (*status != DUEQ_BUSY)
        return false;
    if (after_rights_is_alone(context))
        after_rights_keep(rights, work, free_work);
    else
        free_work(work);
    return true;
}

void push_slices_release(struct push_slices *slices)
{
    store_push_end(slices->batch);
    free(slices->pushed);
}
