#include "storage/kv/pages/pages_prefetch.h"

#include "storage/kv/pages/page_search.h"
#include "storage/kv/pages/pages_internal.h"
#include "storage/prefetch.h"

enum {
    LINE = 64,         /* bytes that are fetched at once */
    VALUE_LINES = 3,   /* of a value, at most */
    BEFORE_VALUE = 40, /* bytes of a node and its key, as a rule */
};

/* A search. What it looks at next is on its way to the caches. */
struct walk {
    struct dueq_slice key;
    uint64_t page;
    struct page_search search;
};

/* All leaves are at the same depth, so the searches take each step together. */
struct walks {
    struct pages *pages;
    struct walk walks[PAGES_PREFETCH_MOST];
    size_t count;
};

static void fetch_node(const uint8_t *bytes, unsigned index)
{
    const uint8_t *node = bytes + page_u16(bytes + PAGE_HEADER + 2 * index);

    prefetch(node);
    prefetch(node + BEFORE_VALUE);
}

static void fetch_value(const struct page_node *node)
{
    size_t size = node->flags & NODE_BIG ? PAGE_WORD : node->size;

    for (size_t at = 0; at < size && at < VALUE_LINES * LINE; at += LINE)
        prefetch(node->value + at);
}

/* The walks to pages that were not read and checked before end here. */
static void enter(struct walks *walks)
{
    const struct pages *pages = walks->pages;
    size_t count = 0;

    for (size_t i = 0; i < walks->count; i++) {
        struct walk *walk = &walks->walks[i];

        if (walk->page < 2 || walk->page > pages->meta.last_page ||
            !pages_has_bit(pages->sound, walk->page))
            continue;
        walk->search.bytes = pages_at(pages, walk->page);
        prefetch(walk->search.bytes);
        prefetch(walk->search.bytes + LINE);
        if (count < i)
            walks->walks[count] = *walk;
        count++;
    }
    walks->count = count;
}

/* first: of the nodes that count. */
static void begin(struct walks *walks, unsigned first)
{
    for (size_t i = 0; i < walks->count; i++) {
        const uint8_t *bytes = walks->walks[i].search.bytes;

        fetch_node(bytes, first);
        fetch_node(bytes, page_count(bytes) - 1);
    }
    for (size_t i = 0; i < walks->count; i++) {
        struct walk *walk = &walks->walks[i];

        page_search_begin(&walk->search, walk->search.bytes, first, walk->key);
        if (walk->search.left > 0)
            fetch_node(walk->search.bytes, page_search_next(&walk->search));
    }
}

static void search(struct walks *walks)
{
    bool searching = true;

    while (searching) {
        searching = false;
        for (size_t i = 0; i < walks->count; i++) {
            struct page_search *search = &walks->walks[i].search;

            if (search->left == 0)
                continue;
            page_search_step(search);
            if (search->left == 0)
                continue;
            fetch_node(search->bytes, page_search_next(search));
            searching = true;
        }
    }
}

static void descend(struct walks *walks)
{
    for (size_t i = 0; i < walks->count; i++) {
        struct walk *walk = &walks->walks[i];
        bool exact;
        unsigned index = page_search_end(&walk->search, walk->key, &exact);

        walk->page = page_node_at(walk->search.bytes, exact ? index : index - 1).child;
    }
}

static void note_places(struct walks *walks)
{
    for (size_t i = 0; i < walks->count; i++) {
        const struct walk *walk = &walks->walks[i];
        bool exact;
        unsigned index = page_search_end(&walk->search, walk->key, &exact);
        struct page_node node;

        if (index == page_count(walk->search.bytes))
            continue;
        page_places_add(&walks->pages->places, walk->key, walk->page, index);
        node = page_node_at(walk->search.bytes, index);
        if (exact)
            fetch_value(&node);
    }
}

/* False: the disk has changed what leads there. */
static bool all_are(const struct walks *walks, bool leaf)
{
    for (size_t i = 0; i < walks->count; i++)
        if (page_is_leaf(walks->walks[i].search.bytes) != leaf)
            return false;
    return true;
}

void pages_prefetch(struct pages *pages, const struct dueq_slice *keys, size_t count)
{
    struct walks walks = {.pages = pages, .count = count};
    unsigned depth = pages->meta.main.depth;

    page_places_clear(&pages->places);
    for (size_t i = 0; i < count; i++)
        walks.walks[i] = (struct walk){keys[i], pages->meta.main.root, {0}};
    for (unsigned level = 1; level <= depth; level++) {
        enter(&walks);
        if (!all_are(&walks, level == depth))
            return;
        begin(&walks, level == depth ? 0 : 1);
        search(&walks);
        if (level < depth)
            descend(&walks);
        else
            note_places(&walks);
    }
}
