/* Values in leaves, and large ones on pages of their own, whose checksum is checked before they
 * are read. Private to storage/kv/pages. `size`: of the value with its checksum, bytes. */
#ifndef DUEQ_PAGE_VALUE_H
#define DUEQ_PAGE_VALUE_H

#include "storage/kv/pages/pages_internal.h"

/* Pages that a large value takes, its header included. */
uint64_t page_value_pages(const struct pages *pages, size_t size);
/* Checks the header of a large value's first page: how many pages it has, which are those that
 * it needs, or more. */
enum dueq_status page_value_check_head(struct pages *pages, uint64_t page, size_t size,
                                       uint64_t *ret_count);
/* Likewise; it has those that it needs. */
enum dueq_status page_value_check_place(struct pages *pages, uint64_t page, size_t size);

/* The value of a node of a checked leaf of the main tree. DUEQ_BUSY: pages_limit_checks. */
enum dueq_status page_value_get(struct pages *pages, const struct page_node *node,
                                struct dueq_slice *ret_value);
/* Likewise, of a node with NODE_BIG. */
enum dueq_status page_value_large(struct pages *pages, const struct page_node *node,
                                  struct dueq_slice *ret_value);

#endif
