/* Looks for several records at the same time, so that their searches wait for memory together
 * and not one after the other: when a step of one needs a line that no cache has, the line is
 * fetched while the others take their steps. (Kocberber, Falsafi, Grot: Asynchronous Memory
 * Access Chaining, VLDB 2015.) Private to lmdb_store.c. */
#ifndef DUEQ_PAGES_PREFETCH_H
#define DUEQ_PAGES_PREFETCH_H

#include "storage/kv/pages/page_places.h"
#include "storage/kv/pages/pages.h"

/* The next calls of pages_get for these keys find them in the caches, and those that are there
 * without a search; `count` is at most PAGES_PREFETCH_MOST. Changes no result and reports no
 * damage: pages that were not read and checked before are left to pages_get. O(log n) for each.
 */
enum { PAGES_PREFETCH_MOST = PAGE_PLACES_MOST };
void pages_prefetch(struct pages *pages, const struct dueq_slice *keys, size_t count);

#endif
