#include "storage/kv/pages/page_path.h"

#include "storage/kv/pages/page_check.h"
#include "storage/kv/pages/page_search.h"

enum dueq_status page_path_check_range(struct pages *pages, const struct page_tree *tree,
                                       uint64_t page, const uint8_t *bytes,
                                       const struct page_range *range)
{
    unsigned count = page_count(bytes), first = page_is_leaf(bytes) ? 0 : 1;

    if (first == count)
        return DUEQ_OK;
    if ((range->has_from && page_compare(tree, page_key_at(bytes, first), range->from) < 0) ||
        (range->has_to && page_compare(tree, page_key_at(bytes, count - 1), range->to) >= 0))
        return pages_damaged(pages, page, "its keys are not those that its parent leads to");
    return DUEQ_OK;
}

void page_path_narrow(struct page_range *range, const uint8_t *branch, unsigned index)
{
    if (index > 0) {
        range->from = page_key_at(branch, index);
        range->has_from = true;
    }
    if (index + 1 < page_count(branch)) {
        range->to = page_key_at(branch, index + 1);
        range->has_to = true;
    }
}

/* The child that the key belongs to. */
static unsigned child_for(const uint8_t *branch, struct dueq_slice key)
{
    bool exact;
    unsigned index = page_search(branch, 1, key, &exact);

    return exact ? index : index - 1;
}

const struct page_tree *page_path_tree(const struct pages_cursor *cursor)
{
    return &cursor->pages->meta.main;
}

/* Goes down from that level: towards the key, or (NULL) to the first or the last leaf. */
static enum dueq_status descend(struct pages_cursor *cursor, const struct page_tree *tree,
                                unsigned level, const struct dueq_slice *key, bool last,
                                struct page_range *range)
{
    struct pages *pages = cursor->pages;

    for (;; level++) {
        const uint8_t *bytes;
        enum dueq_status status =
            page_check_visit(pages, tree, cursor->page[level], level, &bytes);

        if (status == DUEQ_OK)
            status = page_path_check_range(pages, tree, cursor->page[level], bytes, range);
        if (status != DUEQ_OK)
            return status;
        if (level + 1 == tree->depth) {
            cursor->index[level] = last ? page_count(bytes) - 1 : 0;
            cursor->depth = tree->depth;
            return DUEQ_OK;
        }
        if (key != NULL)
            cursor->index[level] = child_for(bytes, *key);
        else
            cursor->index[level] = last ? page_count(bytes) - 1 : 0;
        cursor->page[level + 1] = page_node_at(bytes, cursor->index[level]).child;
        page_path_narrow(range, bytes, cursor->index[level]);
    }
}

enum dueq_status page_path_enter(struct pages_cursor *cursor, const struct page_tree *tree,
                                 const struct dueq_slice *key, bool last)
{
    struct page_range range = {.has_from = false};

    cursor->depth = 0;
    cursor->txnid = cursor->pages->meta.txnid;
    if (tree->root == NO_ROOT)
        return DUEQ_NOTFOUND;
    cursor->page[0] = tree->root;
    return descend(cursor, tree, 0, key, last, &range);
}

enum dueq_status page_path_leaf_range(struct pages *pages, const struct page_tree *tree,
                                      struct dueq_slice key, struct page_range *ret_range)
{
    uint64_t page = tree->root;

    *ret_range = (struct page_range){.has_from = false};
    if (page == NO_ROOT)
        return DUEQ_NOTFOUND;
    for (unsigned level = 0; level + 1 < tree->depth; level++) {
        const uint8_t *bytes;
        enum dueq_status status = page_check_visit(pages, tree, page, level, &bytes);
        unsigned index;

        if (status == DUEQ_OK)
            status = page_path_check_range(pages, tree, page, bytes, ret_range);
        if (status != DUEQ_OK)
            return status;
        index = child_for(bytes, key);
        page = page_node_at(bytes, index).child;
        page_path_narrow(ret_range, bytes, index);
    }
    return DUEQ_OK;
}

enum dueq_status page_path_cross(struct pages_cursor *cursor, const struct page_tree *tree,
                                 bool onward)
{
    struct page_range range = {.has_from = false};
    unsigned level = cursor->depth - 1;
    const uint8_t *bytes;

    do {
        if (level-- == 0)
            return DUEQ_NOTFOUND;
        bytes = pages_at(cursor->pages, cursor->page[level]);
    } while (onward ? cursor->index[level] + 1 >= page_count(bytes)
                    : cursor->index[level] == 0);
    cursor->index[level] += onward ? 1 : -1u;
    for (unsigned above = 0; above <= level; above++)
        page_path_narrow(&range, pages_at(cursor->pages, cursor->page[above]),
                         cursor->index[above]);
    cursor->page[level + 1] = page_node_at(bytes, cursor->index[level]).child;
    return descend(cursor, tree, level + 1, NULL, !onward, &range);
}

const uint8_t *page_path_leaf(const struct pages_cursor *cursor)
{
    return pages_at(cursor->pages, cursor->page[cursor->depth - 1]);
}

enum dueq_status page_path_next(struct pages_cursor *cursor, const struct page_tree *tree)
{
    if (cursor->depth == 0)
        return DUEQ_NOTFOUND;
    if (++cursor->index[cursor->depth - 1] < page_count(page_path_leaf(cursor)))
        return DUEQ_OK;
    return page_path_cross(cursor, tree, true);
}

enum dueq_status page_path_prev(struct pages_cursor *cursor, const struct page_tree *tree)
{
    if (cursor->depth == 0)
        return DUEQ_NOTFOUND;
    if (cursor->index[cursor->depth - 1]-- > 0)
        return DUEQ_OK;
    return page_path_cross(cursor, tree, false);
}
