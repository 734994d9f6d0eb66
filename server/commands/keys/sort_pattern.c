#include "server/commands/keys/sort_pattern.h"

#include "storage/keys/hash.h"
#include "storage/keys/string.h"

#include <stdlib.h>
#include <string.h>

/* head*tail or head*tail->field */
struct parts {
    struct dueq_slice head, tail, field; /* field of size 0: the key is a string */
};

/* False: there is no star. */
static bool split(struct argument pattern, struct parts *ret_parts)
{
    const char *end = pattern.data + pattern.size, *tail, *arrow;
    const char *star = memchr(pattern.data, '*', pattern.size);

    if (star == NULL)
        return false;
    tail = star + 1;
    arrow = memmem(tail, (size_t)(end - tail), "->", 2);
    if (arrow == NULL || arrow + 2 == end)
        arrow = end;
    ret_parts->head = dueq_slice(pattern.data, (size_t)(star - pattern.data));
    ret_parts->tail = dueq_slice(tail, (size_t)(arrow - tail));
    ret_parts->field =
        arrow == end ? dueq_slice(NULL, 0) : dueq_slice(arrow + 2, (size_t)(end - arrow) - 2);
    return true;
}

static char *append(char *end, struct dueq_slice slice)
{
    if (slice.size > 0)
        memcpy(end, slice.data, slice.size);
    return end + slice.size;
}

static enum dueq_status read_key(const struct keys_view *view, const struct parts *parts,
                                 struct dueq_slice element, struct dueq_slice *ret_value)
{
    size_t size = parts->head.size + element.size + parts->tail.size;
    char *name = malloc(size + 1);
    enum dueq_status status;

    if (name == NULL)
        return DUEQ_NOMEM;
    append(append(append(name, parts->head), element), parts->tail);
    status = parts->field.size > 0
                 ? hash_get(view, dueq_slice(name, size), parts->field, ret_value)
                 : string_get(view, dueq_slice(name, size), ret_value);
    free(name);
    return status;
}

bool sort_pattern_look_up(struct sort *sort, struct argument pattern,
                          const struct gathered_item *element, struct dueq_slice *ret_value)
{
    struct keys_view view = database_view(sort->context);
    struct parts parts;
    enum dueq_status status;

    if (pattern.size == 1 && *pattern.data == '#') {
        *ret_value = gathered_bytes(element);
        return true;
    }
    if (!split(pattern, &parts))
        return false;
    status = read_key(&view, &parts, gathered_bytes(element), ret_value);
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND && status != DUEQ_WRONGTYPE)
        sort->status = status;
    return status == DUEQ_OK;
}
