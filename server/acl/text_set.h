/* A set of byte strings in the order in which they were added, each with a number: what users
 * have many of (patterns, passwords, rules). Copies what it is given. */
#ifndef DUEQ_TEXT_SET_H
#define DUEQ_TEXT_SET_H

#include "server/containers/seeded_table.h"
#include "storage/slice.h"

#include <stdbool.h>

struct text {
    UT_hash_handle hh; /* hh.next: the one that was added next */
    unsigned number;
    size_t size;
    char bytes[]; /* with a zero after them */
};

struct text_set {
    struct text *first; /* NULL: empty */
};

/* NULL: it is not there. O(1). */
struct text *text_set_find(const struct text_set *set, struct dueq_slice bytes);
/* Adds it, or finds it. A new one has the number 0. NULL: out of memory. O(1). */
struct text *text_set_add(struct text_set *set, struct dueq_slice bytes);
void text_set_remove(struct text_set *set, struct text *text);
void text_set_clear(struct text_set *set);
size_t text_set_count(const struct text_set *set);
/* Makes *copy, which is empty, contain the same. False: out of memory, *copy is empty. */
bool text_set_copy(const struct text_set *set, struct text_set *copy);

static inline struct text *text_next(const struct text *text)
{
    return text->hh.next;
}
static inline struct dueq_slice text_slice(const struct text *text)
{
    return dueq_slice(text->bytes, text->size);
}

#endif
