#include "storage/kv/pages/page_search.h"

#ifdef DUEQ_SMALL /* a search of whole keys is smaller */
enum { HINTS = 0 };
#else
enum { HINTS = 1 };
#endif

void page_search_begin(struct page_search *search, const uint8_t *bytes, unsigned first,
                       struct dueq_slice key)
{
    unsigned count = page_count(bytes);
    struct dueq_slice low, high;
    int order;

    *search = (struct page_search){.bytes = bytes, .at = first};
    if (first >= count)
        return;
    low = page_key_at(bytes, first);
    high = page_key_at(bytes, count - 1);
    search->shared = key_common_prefix(low, high, low.size);
    order = dueq_slice_compare(
        dueq_slice(key.data, key.size < search->shared ? key.size : search->shared),
        dueq_slice(low.data, search->shared));
    if (order > 0)
        search->at = count;
    if (order != 0)
        return;
    search->left = count - first;
    search->hint = key_hint(key, search->shared);
}

/* The first key at or above, among the nodes from `low` on: compares whole keys. */
static unsigned first_from(const uint8_t *bytes, unsigned low, struct dueq_slice key,
                           bool *ret_exact)
{
    unsigned high = page_count(bytes);

    *ret_exact = false;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        int order = dueq_slice_compare(page_key_at(bytes, middle), key);

        if (order == 0) {
            *ret_exact = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Hints that are equal say nothing. */
unsigned page_search_end(const struct page_search *search, struct dueq_slice key,
                         bool *ret_exact)
{
    struct dueq_slice found;
    int order;

    *ret_exact = false;
    if (search->at >= page_count(search->bytes))
        return search->at;
    found = page_key_at(search->bytes, search->at);
    order = dueq_slice_compare(found, key);
    *ret_exact = order == 0;
    return order < 0 ? first_from(search->bytes, search->at + 1, key, ret_exact) : search->at;
}

unsigned page_search(const uint8_t *bytes, unsigned first, struct dueq_slice key,
                     bool *ret_exact)
{
    struct page_search search;

    if (!HINTS)
        return first_from(bytes, first, key, ret_exact);
    page_search_begin(&search, bytes, first, key);
    while (search.left > 0)
        page_search_step(&search);
    return page_search_end(&search, key, ret_exact);
}
