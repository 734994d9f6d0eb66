/* Where some records lie, or would lie, found ahead by pages_prefetch. Private to
 * storage/kv/pages. */
#ifndef DUEQ_PAGE_PLACES_H
#define DUEQ_PAGE_PLACES_H

#include "storage/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum { PAGE_PLACES_MOST = 32 };
#ifdef DUEQ_SMALL /* without keys, nothing looks ahead */
enum { PAGE_PLACES_USED = 0 };
#else
enum { PAGE_PLACES_USED = 1 };
#endif

struct page_place {
    uint64_t page; /* a leaf */
    unsigned index;
};

/* `index`: of the record, or of the one before which it would be. Void as soon as the view
 * shows another transaction. */
struct page_places {
    unsigned count;
    uint64_t tags[PAGE_PLACES_MOST]; /* of the keys, which are in the leaves */
    struct page_place places[PAGE_PLACES_MOST];
};

static inline void page_places_clear(struct page_places *places)
{
    places->count = 0;
}

/* The last bytes: keys that are used together begin with the same ones. */
static inline uint64_t page_places_tag(struct dueq_slice key)
{
    uint64_t tag = 0;
    size_t size = key.size < sizeof(tag) ? key.size : sizeof(tag);

    memcpy(&tag, (const uint8_t *)key.data + key.size - size, size);
    return tag;
}

static inline void page_places_add(struct page_places *places, struct dueq_slice key,
                                   uint64_t page, unsigned index)
{
    if (places->count == PAGE_PLACES_MOST)
        return;
    places->tags[places->count] = page_places_tag(key);
    places->places[places->count++] = (struct page_place){page, index};
}

#endif
