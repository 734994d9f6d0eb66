/* Checks a page as a whole before anything in it is used. Private to storage/kv/pages. */
#ifndef DUEQ_PAGE_CHECK_H
#define DUEQ_PAGE_CHECK_H

#include "storage/kv/pages/pages_internal.h"

/* A page that is used at that level of the tree, from 0, the root. It is read and checked the
 * first time; the check of the main tree's pages may read the list of free pages. */
enum dueq_status page_check_visit(struct pages *pages, const struct page_tree *tree,
                                  uint64_t page, unsigned level, const uint8_t **ret_bytes);

#endif
