#include "server/commands/zsets/zset_store.h"

#include "server/commands/made_key.h"
#include "server/dispatch/long_work.h"
#include "storage/dueq.h"
#include "storage/keys/keys_build.h"
#include "storage/keys/zset/zset.h"

#include <stdlib.h>

struct storing {
    struct zset_store_request wanted;
    struct zset_position place;
    uint64_t skip, take; /* entries that are still to be skipped and to be stored */
    unsigned budget;     /* steps left in this turn */
    struct keys_view view;
    struct made_key made;
    enum dueq_status status;
};

static void free_storing(void *state)
{
    struct storing *storing = state;

    made_key_release(&storing->made);
    free(storing);
}

/* Steps of an entry that is stored: one to read it, two for its two records. */
enum { STORED_STEPS = 3, SLICE_ROOM = 4 << 20 };

static void spend(struct storing *storing, size_t steps)
{
    storing->budget -= storing->budget < steps ? storing->budget : (unsigned)steps;
}

static bool store_one(void *arg, const struct zset_entry *entry)
{
    struct storing *storing = arg;

    if (storing->skip > 0) {
        storing->skip--;
        spend(storing, 1);
        return storing->budget > 0;
    }
    storing->status =
        made_key_add(&storing->made, &storing->view, entry->member, entry->score, false);
    spend(storing, STORED_STEPS * (1 + entry->member.size / LONG_STEP_BYTES));
    storing->take--;
    return storing->status == DUEQ_OK && storing->take > 0 && storing->budget > 0;
}

/* Begins with the first entry of the range. */
static void begin_storing(struct storing *storing, const struct zset_store_request *wanted)
{
    made_key_release(&storing->made);
    storing->made = (struct made_key){
        .type = KEYS_ZSET, .in_memory = storing->made.in_memory, .grown = true};
    storing->place = (struct zset_position){.again = false};
    storing->status = DUEQ_OK;
    storing->wanted = *wanted;
    storing->skip = wanted->skip;
    storing->take = wanted->take;
}

/* Works until the budget is spent. True: the reply or the error is written. */
static bool advance(struct context *context, struct storing *storing, unsigned budget)
{
    const struct zset_store_request *wanted = &storing->wanted;
    enum dueq_status status = DUEQ_OK;

    storing->budget = budget;
    storing->view = database_view(context);
    if (storing->take > 0)
        status = zset_each_on(&storing->view, context_slice(context, wanted->key),
                              &wanted->range, &storing->place, store_one, storing);
    if (storing->status != DUEQ_OK)
        status = storing->status;
    if (!context_check_status(context, status) ||
        !long_work_fits(context, wanted->take - storing->take))
        return true;
    if (storing->take > 0 && storing->budget == 0)
        return false;
    made_key_store(&storing->made, context, context_slice(context, wanted->key - 1),
                   "zrangestore");
    return true;
}

static enum outcome store_later(struct context *context, const struct storing *storing)
{
    struct storing *state = malloc(sizeof(*state));

    if (state == NULL)
        return context_status(context, DUEQ_NOMEM);
    *state = *storing;
    state->made.in_memory = false;
    return long_work_continue(context, state, free_storing, LONG_HOLDS_SOURCES);
}

/* A short range is stored at once. A long one begins again in the next turn, in slices, and
 * then keeps its result in the store. */
enum outcome zset_store(struct context *context, const struct zset_store_request *wanted)
{
    struct storing storing = {.made.in_memory = true};
    bool answered;

    begin_storing(&storing, wanted);
    answered = advance(context, &storing, LONG_ENOUGH);
    made_key_release(&storing.made);
    if (answered)
        return OUTCOME_DONE;
    begin_storing(&storing, wanted);
    return store_later(context, &storing);
}

static bool is_spoiled(const struct context *context, const struct storing *storing)
{
    const struct keys_build *build = storing->made.build;

    return long_work_keys_changed(context) ||
           (build != NULL && !keys_build_is_sound(build, &storing->view));
}

enum outcome zset_store_continue(struct context *context,
                                 const struct zset_store_request *wanted)
{
    struct storing *storing = long_work_state(context);

    storing->view = database_view(context);
    if (!context_check_status(context, dueq_room(context->store, SLICE_ROOM)))
        return OUTCOME_DONE;
    if (is_spoiled(context, storing))
        begin_storing(storing, wanted);
    return advance(context, storing, LONG_STEPS)
               ? OUTCOME_DONE
               : long_work_continue(context, storing, free_storing, LONG_HOLDS_SOURCES);
}
