#include "storage/kv/pages/pages_prefetch.h"

#include "storage/kv/pages/pages_internal.h"

enum {
    LINE = 64,         /* bytes that are fetched at once */
    VALUE_LINES = 3,   /* of a value, at most */
    BEFORE_VALUE = 40, /* bytes of a node and its key, as a rule */
};

/* A search. What it looks at next is on its way to the caches. */
enum phase { AT_PAGE, AT_NODE, AT_END };

struct walk {
    enum phase phase;
    unsigned level, low, high; /* the search in the page is between these two nodes */
    uint64_t page;
    const uint8_t *bytes;
};

static void fetch_node(const struct walk *walk, unsigned index)
{
    const uint8_t *node = walk->bytes + page_u16(walk->bytes + PAGE_HEADER + 2 * index);

    __builtin_prefetch(node);
    __builtin_prefetch(node + BEFORE_VALUE);
}

static void enter(const struct pages *pages, struct walk *walk, uint64_t page)
{
    walk->phase = AT_END;
    if (page < 2 || page > pages->meta.last_page || !pages_has_bit(pages->sound, page))
        return;
    walk->phase = AT_PAGE;
    walk->page = page;
    walk->bytes = pages_at(pages, page);
    __builtin_prefetch(walk->bytes);
    __builtin_prefetch(walk->bytes + LINE);
}

/* A search that finds nothing also looks at the first and the last key. */
static void end_without(struct walk *walk)
{
    fetch_node(walk, 0);
    fetch_node(walk, page_count(walk->bytes) - 1);
    walk->phase = AT_END;
}

/* Turns to the next node of the page, or to the page below. */
static void go_on(const struct pages *pages, struct walk *walk)
{
    if (walk->low < walk->high) {
        fetch_node(walk, (walk->low + walk->high) / 2);
        walk->phase = AT_NODE;
    } else if (page_is_leaf(walk->bytes)) {
        end_without(walk);
    } else {
        walk->level++;
        enter(pages, walk, page_node_at(walk->bytes, walk->low - 1).child);
    }
}

static void begin_page(const struct pages *pages, struct walk *walk)
{
    bool leaf = page_is_leaf(walk->bytes);

    walk->phase = AT_END;
    if (leaf != (walk->level + 1 == pages->meta.main.depth))
        return;
    walk->low = leaf ? 0 : 1;
    walk->high = page_count(walk->bytes);
    go_on(pages, walk);
}

static void fetch_value(const struct page_node *node)
{
    size_t size = node->flags & NODE_BIG ? PAGE_WORD : node->size;

    for (size_t at = 0; at < size && at < VALUE_LINES * LINE; at += LINE)
        __builtin_prefetch(node->value + at);
}

static void compare_node(struct pages *pages, struct walk *walk, struct dueq_slice key)
{
    unsigned middle = (walk->low + walk->high) / 2;
    struct page_node node = page_node_at(walk->bytes, middle);
    int order = dueq_slice_compare(dueq_slice(node.key, node.key_size), key);

    if (order == 0 && page_is_leaf(walk->bytes)) {
        page_places_add(&pages->places, key, walk->page, middle);
        fetch_value(&node);
        walk->phase = AT_END;
        return;
    }
    if (order <= 0)
        walk->low = middle + 1;
    else
        walk->high = middle;
    go_on(pages, walk);
}

static void step(struct pages *pages, struct walk *walk, struct dueq_slice key)
{
    if (walk->phase == AT_PAGE)
        begin_page(pages, walk);
    else
        compare_node(pages, walk, key);
}

void pages_prefetch(struct pages *pages, const struct dueq_slice *keys, size_t count)
{
    struct walk walks[PAGES_PREFETCH_MOST] = {{AT_END, 0, 0, 0, 0, NULL}};
    bool walking = true;

    page_places_clear(&pages->places);
    for (size_t i = 0; i < count; i++)
        enter(pages, &walks[i], pages->meta.main.root);
    while (walking) {
        walking = false;
        for (size_t i = 0; i < count; i++)
            if (walks[i].phase != AT_END) {
                step(pages, &walks[i], keys[i]);
                walking = true;
            }
    }
}
