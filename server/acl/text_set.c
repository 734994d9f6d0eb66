#include "server/acl/text_set.h"

#include <stdlib.h>
#include <string.h>

struct text *text_set_find(const struct text_set *set, struct dueq_slice bytes)
{
    struct text *text;

    HASH_FIND(hh, set->first, bytes.data, bytes.size, text);
    return text;
}

struct text *text_set_add(struct text_set *set, struct dueq_slice bytes)
{
    struct text *text = text_set_find(set, bytes);

    if (text != NULL)
        return text;
    text = calloc(1, sizeof(*text) + bytes.size + 1);
    if (text == NULL)
        return NULL;
    text->size = bytes.size;
    if (bytes.size > 0)
        memcpy(text->bytes, bytes.data, bytes.size);
    HASH_ADD_KEYPTR(hh, set->first, text->bytes, text->size, text);
    if (seeded_table_holds(text))
        return text;
    free(text);
    return NULL;
}

void text_set_remove(struct text_set *set, struct text *text)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): text_set_clear removes each one once */
    HASH_DEL(set->first, text);
    free(text);
}

void text_set_clear(struct text_set *set)
{
    struct text *text, *next;

    HASH_ITER(hh, set->first, text, next)
        text_set_remove(set, text);
}

size_t text_set_count(const struct text_set *set)
{
    return HASH_COUNT(set->first);
}

bool text_set_copy(const struct text_set *set, struct text_set *copy)
{
    for (const struct text *text = set->first; text != NULL; text = text_next(text)) {
        struct text *added = text_set_add(copy, text_slice(text));

        if (added == NULL) {
            text_set_clear(copy);
            return false;
        }
        added->number = text->number;
    }
    return true;
}
