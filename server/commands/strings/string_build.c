#include "server/commands/strings/string_build.h"

#include "server/dispatch/long_work.h"
#include "storage/keys/large_copy.h"

#include <stdlib.h>

enum {
    SLICE_BYTES = 1 << 20, /* half a millisecond: copied, in pages that are new */
    SLICE_LEAST = 4096
};

struct building {
    uint8_t *bytes; /* NULL: the store has taken it over */
    size_t size, at;
};

static void free_building(void *state)
{
    struct building *building = state;

    free(building->bytes);
    free(building);
}

static size_t slice_of(size_t reads)
{
    size_t bytes = SLICE_BYTES / (reads > 0 ? reads : 1);

    return bytes < SLICE_LEAST ? SLICE_LEAST : bytes;
}

/* The store may take the bytes over, and not the request's. */
enum outcome string_build_store(struct context *context,
                                enum outcome (*store)(struct context *context, void *arg,
                                                      struct dueq_slice value),
                                void *arg, uint8_t **bytes, size_t size)
{
    struct dueq_loan loan = {*bytes, *bytes, size, 0};
    enum outcome outcome;

    dueq_lend(context->store, &loan, 1);
    outcome = store(context, arg, dueq_slice(*bytes, size));
    dueq_lend(context->store, context->loans, context->loan_count);
    *bytes = loan.memory;
    return outcome;
}

/* True: the reply or the error is written. */
static bool advance(struct context *context, const struct string_build_form *form, void *arg,
                    struct building *building, size_t most)
{
    size_t left = building->size - building->at;
    size_t to = left <= most ? building->size : building->at + most;

    if (!form->fill(context, arg, building->bytes, building->at, to))
        return true;
    building->at = to;
    if (to < building->size)
        return false;
    string_build_store(context, form->end, arg, &building->bytes, building->size);
    return true;
}

/* NULL: out of memory. */
static void *copy_of(const struct building *building)
{
    struct building *copy = malloc(sizeof(*copy));

    if (copy != NULL)
        *copy = *building;
    return copy;
}

/* What is short is done at once, in memory of nothing but the value. */
static enum outcome begin(struct context *context, const struct string_build_form *form,
                          void *arg, size_t size, size_t reads)
{
    struct building building = {large_copy_memory(size), size, 0};
    struct building *kept;

    if (building.bytes == NULL)
        return context_status(context, DUEQ_NOMEM);
    if (size <= slice_of(reads)) {
        advance(context, form, arg, &building, size);
        free(building.bytes);
        return OUTCOME_DONE;
    }
    kept = copy_of(&building);
    if (kept != NULL)
        return long_work_continue(context, kept, free_building, LONG_HOLDS_KEYS);
    free(building.bytes);
    return context_status(context, DUEQ_NOMEM);
}

static bool begin_again(struct building *building, size_t size)
{
    free(building->bytes);
    *building = (struct building){large_copy_memory(size), size, 0};
    return building->bytes != NULL;
}

enum outcome string_build(struct context *context, const struct string_build_form *form,
                          void *arg, size_t size, size_t reads)
{
    struct building *building = long_work_state(context);

    if (building == NULL)
        return begin(context, form, arg, size, reads);
    if ((long_work_keys_changed(context) || building->size != size) &&
        !begin_again(building, size))
        return context_status(context, DUEQ_NOMEM);
    if (advance(context, form, arg, building, slice_of(reads)))
        return OUTCOME_DONE;
    long_work_state_holds(context, building->size);
    return long_work_continue(context, building, free_building, LONG_HOLDS_KEYS);
}
