#include "server/commands/combine_sources.h"

#include "server/commands/database.h"
#include "server/containers/spent.h"

#include <assert.h>
#include <stdlib.h>

enum dueq_status combine_sources_init(struct combine_sources *sources, size_t first,
                                      size_t count)
{
    assert(count > 0);
    *sources = (struct combine_sources){.items = malloc(count * sizeof(*sources->items)),
                                        .count = count,
                                        .first = first,
                                        .integers = true};
    return sources->items == NULL ? DUEQ_NOMEM : DUEQ_OK;
}

void combine_sources_release(struct combine_sources *sources)
{
    spent_memory(sources->items, sources->count * sizeof(*sources->items));
    sources->items = NULL;
}

/* ---- reading */

/* Not before it is read: a million take 32 MB, which to write costs 15 ms. */
static void make(struct combine_sources *sources, size_t index)
{
    if (index < sources->made)
        return;
    sources->items[index] =
        (struct combine_source){.argument = sources->first + index, .weight = 1};
    sources->made++;
}

static void note(struct combine_sources *sources, size_t index, const struct keys_info *info)
{
    struct combine_source *source = &sources->items[index];

    source->type = info->type;
    source->count = info->type == KEYS_NONE ? 0 : info->count;
    sources->members += source->count;
    if (source->count < sources->items[sources->smallest].count)
        sources->smallest = index;
    if (info->type != KEYS_NONE && info->encoding != KEYS_INTSET)
        sources->integers = false;
}

static enum dueq_status read_one(struct combine_sources *sources, const struct context *context,
                                 enum keys_type type, size_t index)
{
    struct keys_view view = database_view(context);
    struct keys_info info = {.type = KEYS_NONE};
    enum dueq_status status;

    make(sources, index);
    status = keys_info(&view, context_slice(context, sources->items[index].argument), &info);
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        return status;
    if (info.type != KEYS_NONE && info.type != KEYS_SET && info.type != type)
        return DUEQ_WRONGTYPE;
    note(sources, index, &info);
    return DUEQ_OK;
}

enum dueq_status combine_sources_read(struct combine_sources *sources,
                                      const struct context *context, enum keys_type type,
                                      size_t most)
{
    size_t left = sources->count - sources->read;
    size_t end = left > most ? sources->read + most : sources->count;
    enum dueq_status status = DUEQ_OK;

    while (sources->read < end && status == DUEQ_OK) {
        status = read_one(sources, context, type, sources->read);
        sources->read += status == DUEQ_OK;
    }
    return status;
}

void combine_sources_forget(struct combine_sources *sources)
{
    sources->read = sources->smallest = sources->heaped = sources->ordered = 0;
    sources->members = 0;
    sources->integers = true;
}

/* ---- order: the largest is at the top of the heap, which ends where the order begins */

static bool is_larger(const struct combine_source *a, const struct combine_source *b)
{
    return a->count != b->count ? a->count > b->count : a->argument > b->argument;
}

static void swap(struct combine_source *a, struct combine_source *b)
{
    struct combine_source kept = *a;

    *a = *b;
    *b = kept;
}

static void sift_up(struct combine_source *heap, size_t at)
{
    for (; at > 0 && is_larger(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&heap[at], &heap[(at - 1) / 2]);
}

static void sift_down(struct combine_source *heap, size_t count)
{
    for (size_t at = 0, child = 1; child < count; at = child, child = 2 * at + 1) {
        if (child + 1 < count && is_larger(&heap[child + 1], &heap[child]))
            child++;
        if (is_larger(&heap[at], &heap[child]))
            return;
        swap(&heap[at], &heap[child]);
    }
}

bool combine_sources_order(struct combine_sources *sources, size_t most)
{
    for (; sources->heaped < sources->count && most > 0; most--)
        sift_up(sources->items, sources->heaped++);
    for (; sources->ordered < sources->count && most > 0; most--) {
        size_t last = sources->count - ++sources->ordered;

        swap(&sources->items[0], &sources->items[last]);
        sift_down(sources->items, last);
    }
    return sources->ordered == sources->count;
}
