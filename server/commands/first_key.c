#include "server/commands/first_key.h"

#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "server/session/waiters.h"

#include <stdlib.h>

struct search {
    enum keys_type type;
    size_t at, end; /* arguments */
};

/* Tells the state from others of the same command: long_work_state_of. */
static void free_search(void *state)
{
    free(state);
}

static enum first_key look(struct context *context, struct search *search, size_t budget,
                           size_t *ret_key, uint64_t *ret_size)
{
    size_t left = search->end - search->at;
    size_t to = left > budget ? search->at + budget : search->end;

    for (; search->at < to; search->at++) {
        enum dueq_status status = database_count_for_wait(
            context, context_slice(context, search->at), search->type, ret_size);

        if (!context_check_status(context, status))
            return FIRST_KEY_ERROR;
        if (status == DUEQ_NOTFOUND)
            continue;
        *ret_key = search->at;
        return FIRST_KEY_FOUND;
    }
    return search->at < search->end ? FIRST_KEY_LATER : FIRST_KEY_NONE;
}

static enum first_key go_on(struct context *context, struct search *search, size_t *ret_key,
                            uint64_t *ret_size)
{
    enum first_key result = look(context, search, alone_budget(context), ret_key, ret_size);

    if (result == FIRST_KEY_FOUND)
        alone_begin_anew(context);
    return result;
}

/* One that was barred has a waiter already, and a removal that begins again has its state. */
static bool may_be_put_off(const struct context *context)
{
    return context->waiter == NULL && long_work_state(context) == NULL;
}

enum first_key first_key_find(struct context *context, enum keys_type type, size_t first,
                              size_t count, size_t *ret_key, uint64_t *ret_size)
{
    struct search search, *begun = long_work_state_of(context, free_search);
    size_t budget = may_be_put_off(context) ? alone_budget(context) : SIZE_MAX;
    enum first_key result;

    if (begun != NULL)
        return go_on(context, begun, ret_key, ret_size);
    waiters_select_changed(context, &first, &count);
    search = (struct search){type, first, first + count};
    result = look(context, &search, budget, ret_key, ret_size);
    if (result == FIRST_KEY_LATER &&
        !alone_put_off(context, &search, sizeof(search), free_search))
        result = look(context, &search, SIZE_MAX, ret_key, ret_size);
    return result;
}
