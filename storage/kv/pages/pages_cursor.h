/* Finds and reads records in a view of LMDB's pages, and checks what a change will use. Slices
 * live until the next pages_show. */
#ifndef DUEQ_PAGES_CURSOR_H
#define DUEQ_PAGES_CURSOR_H

#include "storage/kv/pages/pages.h"

enum { PAGES_LEVELS = 32 };

struct pages_cursor {
    struct pages *pages;
    uint64_t txnid;
    unsigned depth; /* of the path from the root to a leaf; 0: no position */
    uint64_t page[PAGES_LEVELS];
    unsigned index[PAGES_LEVELS];
};

enum dueq_status pages_get(struct pages *pages, struct dueq_slice key,
                           struct dueq_slice *ret_value);
enum dueq_status pages_seek(struct pages_cursor *cursor, struct dueq_slice key); /* >= */
enum dueq_status pages_last(struct pages_cursor *cursor);
enum dueq_status pages_next(struct pages_cursor *cursor);
enum dueq_status pages_prev(struct pages_cursor *cursor);
/* Moves on to the first record that is at or after `end`, or in the next leaf, whichever comes
 * first. *ret_count: the records that lie between, that of the cursor included; it comes before
 * `end`. Only for small values: the keys of large ones are not looked at. Cost: a leaf. */
enum dueq_status pages_skip(struct pages_cursor *cursor, struct dueq_slice end,
                            uint64_t *ret_count);
/* The record that the last move found. Checks the value when it is large. */
enum dueq_status pages_record(struct pages_cursor *cursor, struct dueq_slice *ret_key,
                              struct dueq_slice *ret_value);

/* ---- writing */

/* Checks every page that LMDB may use to change that key. Cheap if the key is in the same leaf
 * as the key before. */
enum dueq_status pages_allow(struct pages *pages, struct dueq_slice key);
/* Grows when a key is allowed that is in another leaf than the one before. */
uint64_t pages_allowed_leaves(const struct pages *pages);
/* Does a leaf have the place of both keys, of which `last` is not the lesser one? Looks at the
 * branches only. False also when they are damaged. */
bool pages_share_leaf(struct pages *pages, struct dueq_slice first, struct dueq_slice last);
/* The key that comes after this one in the same leaf. False: there is none. */
bool pages_next_in_leaf(struct pages *pages, struct dueq_slice key, struct dueq_slice *ret_key);

#endif
