/* The list of free pages, which LMDB keeps in a tree of its own: transaction -> numbers of the
 * pages that it freed. Private to storage/kv/pages.
 *
 * Sets pages->unused, and clears pages->sound where it sets it. */
#ifndef DUEQ_FREE_PAGES_H
#define DUEQ_FREE_PAGES_H

#include "storage/kv/pages/pages_internal.h"

/* Adds what was freed after that transaction. `first`: each page may be named once. */
enum dueq_status free_pages_list(struct pages *pages, uint64_t after, bool first);
/* Reads the whole list: leaves out pages that were free and are in use again. */
enum dueq_status free_pages_list_anew(struct pages *pages, bool first);
/* A page that is in use: is it on no list? May read the list again, as pages that were free may
 * be in use now. */
enum dueq_status free_pages_check_unused(struct pages *pages, uint64_t page);

#endif
