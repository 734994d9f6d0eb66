#include "storage/kv/pages/pages_census.h"

#include "storage/kv/pages/free_pages.h"
#include "storage/kv/pages/page_check.h"
#include "storage/kv/pages/page_path.h"
#include "storage/kv/pages/page_value.h"

#include <stdlib.h>

struct census {
    struct pages *pages;
    uint8_t *seen;
    struct pages_census counted;
    struct page_tree found;
};

static enum dueq_status see(struct census *census, uint64_t page, uint64_t count)
{
    struct pages *pages = census->pages;

    for (uint64_t at = page; at < page + count; at++) {
        if (pages_has_bit(census->seen, at))
            return pages_damaged(pages, at, "it is used twice");
        if (pages_has_bit(pages->unused, at))
            return pages_damaged(pages, at, "it is in use and on the list of free pages");
        pages_set_bit(census->seen, at);
        census->counted.pages++;
    }
    return DUEQ_OK;
}

static enum dueq_status see_leaf(struct census *census, const struct page_tree *tree,
                                 const uint8_t *bytes)
{
    struct pages *pages = census->pages;
    enum dueq_status status = DUEQ_OK;

    for (unsigned i = 0; status == DUEQ_OK && i < page_count(bytes); i++) {
        struct page_node node = page_node_at(bytes, i);
        uint64_t large, count = page_value_pages(pages, node.size);
        struct dueq_slice value;

        census->found.records++;
        if (!(node.flags & NODE_BIG))
            continue;
        large = page_word(node.value);
        status = tree == &pages->meta.main
                     ? page_value_large(pages, &node, &value)
                     : page_value_check_head(pages, large, node.size, &count);
        if (status == DUEQ_OK)
            status = see(census, large, count);
        census->found.large += count;
    }
    return status;
}

static enum dueq_status see_page(struct census *census, const struct page_tree *tree,
                                 uint64_t page, unsigned level, struct page_range range)
{
    struct pages *pages = census->pages;
    const uint8_t *bytes;
    enum dueq_status status = page_check_visit(pages, tree, page, level, &bytes);

    if (status == DUEQ_OK)
        status = page_path_check_range(pages, tree, page, bytes, &range);
    if (status == DUEQ_OK)
        status = see(census, page, 1);
    if (status != DUEQ_OK)
        return status;
    if (page_is_leaf(bytes)) {
        census->found.leaves++;
        return see_leaf(census, tree, bytes);
    }
    census->found.branches++;
    for (unsigned i = 0; status == DUEQ_OK && i < page_count(bytes); i++) {
        struct page_range narrower = range;

        page_path_narrow(&narrower, bytes, i);
        status = see_page(census, tree, page_node_at(bytes, i).child, level + 1, narrower);
    }
    return status;
}

static enum dueq_status see_tree(struct census *census, const struct page_tree *tree)
{
    struct page_range all = {.has_from = false};
    enum dueq_status status = DUEQ_OK;
    const struct page_tree *found = &census->found;

    census->found = (struct page_tree){.records = 0};
    if (tree->root != NO_ROOT)
        status = see_page(census, tree, tree->root, 0, all);
    if (status == DUEQ_OK &&
        (found->branches != tree->branches || found->leaves != tree->leaves ||
         found->large != tree->large || found->records != tree->records))
        status = pages_damaged(census->pages, census->pages->meta.txnid % 2,
                               "what it counts is not what there is");
    return status;
}

static void count_free_and_lost(struct census *census)
{
    for (uint64_t page = 2; page <= census->pages->meta.last_page; page++) {
        bool unused = pages_has_bit(census->pages->unused, page);

        census->counted.free_pages += unused;
        census->counted.lost_pages += !unused && !pages_has_bit(census->seen, page);
    }
}

enum dueq_status pages_check(struct pages *pages, struct pages_census *ret_census)
{
    struct census census = {.pages = pages, .seen = calloc(1, pages->bits / 8)};
    enum dueq_status status;

    if (census.seen == NULL)
        return DUEQ_NOMEM;
    status = free_pages_list_anew(pages, true);
    if (status == DUEQ_OK)
        status = see_tree(&census, &pages->meta.free);
    if (status == DUEQ_OK)
        status = see_tree(&census, &pages->meta.main);
    census.counted.records = census.found.records;
    if (status == DUEQ_OK)
        count_free_and_lost(&census);
    free(census.seen);
    if (status == DUEQ_OK)
        *ret_census = census.counted;
    return status;
}
