/* Binary search in a page, as a whole or one step after the other. Its keys mostly begin with
 * the same bytes, which are compared once; then eight bytes of each key that is met. Which half
 * comes next is computed, not jumped to: a processor cannot guess the way of a random key.
 * Private to storage/kv/pages.
 *
 * For trees whose keys are bytes, and pages that are known to be sound. */
#ifndef DUEQ_PAGE_SEARCH_H
#define DUEQ_PAGE_SEARCH_H

#include "storage/key_hint.h"
#include "storage/kv/pages/page_layout.h"

struct page_search {
    const uint8_t *bytes;
    unsigned at, left; /* the first key at or above is one of nodes at ... at + left */
    size_t shared;     /* bytes that all keys and the sought one begin with */
    uint64_t hint;     /* of the sought one, after these */
};

/* first: the first node that counts, 1 in a branch. Looks at the first and the last key. */
void page_search_begin(struct page_search *search, const uint8_t *bytes, unsigned first,
                       struct dueq_slice key);

/* The node that the next step looks at; only while `left` is not 0. */
static inline unsigned page_search_next(const struct page_search *search)
{
    return search->at + search->left / 2;
}

static inline void page_search_step(struct page_search *search)
{
    unsigned next = page_search_next(search), half = search->left / 2;
    uint64_t hint = key_hint(page_key_at(search->bytes, next), search->shared);
    bool below = hint < search->hint;

    search->at = below ? next + 1 : search->at;
    search->left = below ? search->left - half - 1 : half;
}

/* When `left` is 0: the index of the first key at or above, the count when there is none.
 * *ret_exact: it is the sought one. */
unsigned page_search_end(const struct page_search *search, struct dueq_slice key,
                         bool *ret_exact);

/* All of it. O(log n). */
unsigned page_search(const uint8_t *bytes, unsigned first, struct dueq_slice key,
                     bool *ret_exact);

#endif
