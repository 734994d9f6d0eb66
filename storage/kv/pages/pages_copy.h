/* Copies what a view shows into another file, without the free pages. Private to storage/kv. */
#ifndef DUEQ_PAGES_COPY_H
#define DUEQ_PAGES_COPY_H

#include "storage/kv/pages/pages.h"

/* Bytes that the copy will have: those of the pages in use. */
uint64_t pages_copy_size(const struct pages *pages);

struct pages_copy {
    struct pages *pages; /* as pages_show left it; nothing may change what it shows */
    int fd;              /* of the new file, which is empty or has zeros; opened for writing */
    /* Called for each MiB with the bytes copied so far; false: give up. */
    bool (*goes_on)(void *arg, uint64_t bytes);
    void *arg;
};

/* Every page and value is checked before it is copied. Pages come in the order of keys, so the
 * records of a leaf's neighbour are beside it. Both meta pages lead to the copy, which has the
 * number of the transaction that is shown. The file is synced.
 *
 * DUEQ_BUSY: gave up. DUEQ_FULL: there is no room for the copy. DUEQ_CORRUPT: the view is
 * damaged. DUEQ_IO: it cannot be read, or the copy cannot be written; *ret_error is errno of
 * the writing, or 0. DUEQ_NOMEM. O(pages in use). */
enum dueq_status pages_copy(const struct pages_copy *copy, int *ret_error);

#endif
