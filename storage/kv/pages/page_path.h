/* The way down a tree, from its root to a leaf, and on to the leaf beside. Each page is
 * checked, and its keys against those of its parents. Private to storage/kv/pages. */
#ifndef DUEQ_PAGE_PATH_H
#define DUEQ_PAGE_PATH_H

#include "storage/kv/pages/pages_cursor.h"
#include "storage/kv/pages/pages_internal.h"

/* What leads to a page: its keys are at or above `from` and below `to`. */
struct page_range {
    struct dueq_slice from, to;
    bool has_from, has_to;
};
/* Narrows the range to that of a child. */
void page_path_narrow(struct page_range *range, const uint8_t *branch, unsigned index);
enum dueq_status page_path_check_range(struct pages *pages, const struct page_tree *tree,
                                       uint64_t page, const uint8_t *bytes,
                                       const struct page_range *range);

/* The tree of the records. */
const struct page_tree *page_path_tree(const struct pages_cursor *cursor);
/* Goes down to the leaf of the key, or (NULL) to the first or the last record. DUEQ_NOTFOUND:
 * the tree is empty. */
enum dueq_status page_path_enter(struct pages_cursor *cursor, const struct page_tree *tree,
                                 const struct dueq_slice *key, bool last);
/* Where the leaf of the key ends, in *ret_range: the leaf itself is not looked at. */
enum dueq_status page_path_leaf_range(struct pages *pages, const struct page_tree *tree,
                                      struct dueq_slice key, struct page_range *ret_range);
/* Moves to the leaf beside. DUEQ_NOTFOUND: there is none, and the cursor stays. */
enum dueq_status page_path_cross(struct pages_cursor *cursor, const struct page_tree *tree,
                                 bool onward);
/* Moves by one record. */
enum dueq_status page_path_next(struct pages_cursor *cursor, const struct page_tree *tree);
enum dueq_status page_path_prev(struct pages_cursor *cursor, const struct page_tree *tree);

/* The leaf of a cursor that has a position. */
const uint8_t *page_path_leaf(const struct pages_cursor *cursor);

#endif
