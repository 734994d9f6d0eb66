/* Checks a whole file of LMDB's pages. */
#ifndef DUEQ_PAGES_CENSUS_H
#define DUEQ_PAGES_CENSUS_H

#include "storage/kv/pages/pages.h"

struct pages_census {
    uint64_t records, pages, free_pages, lost_pages; /* lost: neither used nor free */
};
/* Checks every page and every value. O(file). */
enum dueq_status pages_check(struct pages *pages, struct pages_census *ret_census);

#endif
