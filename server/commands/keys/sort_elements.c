#include "server/commands/keys/sort_elements.h"

#include "storage/keys/list.h"
#include "storage/keys/set.h"

enum { SCANNED = 16 }; /* members of one scan */

/* A set has no order of its own, but what is stored must be the same each time. */
static void sort_for_store(struct sort *sort)
{
    if (!sort->unsorted || sort->store == 0 || sort->type != KEYS_SET)
        return;
    sort->unsorted = false;
    sort->alpha = true;
}

bool sort_elements_begin(struct sort *sort)
{
    struct keys_view view = database_view(sort->context);
    struct keys_info info = {.type = KEYS_NONE};
    enum dueq_status status = keys_info(&view, context_slice(sort->context, 1), &info);

    if (status == DUEQ_OK && info.type != KEYS_LIST && info.type != KEYS_SET &&
        info.type != KEYS_ZSET)
        status = DUEQ_WRONGTYPE;
    sort->type = info.type;
    sort->count = info.type == KEYS_NONE ? 0 : info.count;
    sort->cursor = 0;
    sort->place = (struct zset_position){.again = false};
    sort_for_store(sort);
    return context_check_status(sort->context, status);
}

static bool collect(void *arg, struct dueq_slice element, struct dueq_slice value)
{
    struct sort *sort = arg;

    (void)value;
    if (gathered_add(&sort->elements, element, 0, false) == NULL)
        sort->status = DUEQ_NOMEM;
    sort_spend_on(sort, element);
    return sort->status == DUEQ_OK && (sort->type == KEYS_SET || sort->budget > 0) &&
           !sort_is_too_long(sort);
}

static bool collect_scored(void *arg, const struct zset_entry *entry)
{
    return collect(arg, entry->member, dueq_slice(NULL, 0));
}

/* Reads lists and sorted sets in their own order, or in reverse for DESC without sorting. */
static enum dueq_status read_list(struct sort *sort, const struct keys_view *view,
                                  struct dueq_slice name)
{
    uint64_t at = sort->elements.count;

    if (sort->unsorted && sort->direction == SORT_DESCENDS)
        return list_each(view, name, sort->count - 1 - at, LIST_HEAD, collect, sort);
    return list_each(view, name, at, LIST_TAIL, collect, sort);
}

static enum dueq_status read_set(struct sort *sort, const struct keys_view *view,
                                 struct dueq_slice name)
{
    uint64_t count = sort->budget == GATHERED_WHOLE ? UINT64_MAX : SCANNED;
    uint64_t next = 0;
    enum dueq_status status = set_scan(view, name, sort->cursor, count, collect, sort, &next);

    sort->cursor = next;
    return status;
}

static enum dueq_status read_zset(struct sort *sort, const struct keys_view *view,
                                  struct dueq_slice name)
{
    const struct zset_range all = {{.kind = ZSET_FIRST},
                                   {.kind = ZSET_LAST},
                                   .reverse =
                                       sort->unsorted && sort->direction == SORT_DESCENDS};

    return zset_each_on(view, name, &all, &sort->place, collect_scored, sort);
}

void sort_elements_read(struct sort *sort)
{
    struct keys_view view = database_view(sort->context);
    struct dueq_slice name = context_slice(sort->context, 1);

    assert(sort->phase == SORT_READS);
    while (sort->elements.count < sort->count && sort->budget > 0 && sort->status == DUEQ_OK &&
           !sort_is_too_long(sort)) {
        uint64_t before = sort->elements.count;
        enum dueq_status status;

        if (sort->type == KEYS_LIST)
            status = read_list(sort, &view, name);
        else if (sort->type == KEYS_SET)
            status = read_set(sort, &view, name);
        else
            status = read_zset(sort, &view, name);
        if (sort->status == DUEQ_OK)
            sort->status = status;
        if (sort->elements.count == before && sort->status == DUEQ_OK)
            sort->status = DUEQ_CORRUPT; /* fewer elements than the count says */
    }
    if (sort->elements.count >= sort->count)
        sort->phase = sort->unsorted ? SORT_GIVES : SORT_WEIGHS;
}
