/* Reads LMDB's pages, and checks each page as a whole before it uses anything in it. So damage
 * on the disk ends in an error that names the page, never in a signal, an endless loop or a
 * wrong result. LMDB itself checks none of this. Private to lmdb_store.c, with pages_cursor.h
 * (reads), pages_prefetch.h (many at once) and pages_census.h (checks the whole file).
 *
 * Checks when a page is first read: it has the right number and is not free, its nodes do not
 * overlap and are in order, and key and value of each record have the right checksum. On each
 * way down: the keys of a page are between the keys of its parent that lead to it. A search
 * that finds nothing at the edge of a leaf also reads the next leaf. FORMAT.md says what is not
 * checked.
 *
 * A page is first read by pread, so that a page that the disk cannot read causes an error and
 * not a signal; later reads use a map. One thread uses a view. Functions return DUEQ_CORRUPT
 * for a damaged page and DUEQ_IO for an unreadable one (pages_damage). */
#ifndef DUEQ_PAGES_H
#define DUEQ_PAGES_H

#include "storage/io.h"
#include "storage/slice.h"
#include "storage/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Four bytes of XXH3-64 of the value, seeded by the XXH3-64 of the key, follow each value. */
enum { PAGES_SUM_SIZE = 4 };
void pages_write_sum(uint8_t *sum, struct dueq_slice key, struct dueq_slice value);

struct pages;

/* Checks the two meta pages of the file, which mdb_env_open does not check. */
enum dueq_status pages_check_metas(const struct dueq_io *io, int fd, struct dueq_error *error);

/* A view of the file. fd is the caller's and stays open while the view lives. `for_writer`:
 * also checks what only a change uses. NULL: out of memory. */
struct pages *pages_new(const struct dueq_io *io, int fd, uint64_t map_bytes, bool for_writer);
/* The same with a map of the file that the caller has, and that stays while the view lives: a
 * machine with 32 bits has room for few maps. NULL: out of memory. */
struct pages *pages_new_on(const struct dueq_io *io, int fd, const void *map, size_t map_bytes,
                           bool for_writer);
/* Another view of the same file, for another thread. It uses the map of the first one, which
 * must be freed after it. NULL: out of memory. */
struct pages *pages_new_beside(const struct pages *first, bool for_writer);
void pages_free(struct pages *pages); /* NULL is fine */

/* Shows the file as it was after transaction `txnid`. Until the next call an LMDB reader must
 * hold this transaction and the one shown before, or this one must be the base of the writer.
 * Cost: the pages freed in between; the first time, the whole list of free pages.
 * DUEQ_NOTFOUND: the transaction is no longer one of the last two. On failure the view stays as
 * it was. */
enum dueq_status pages_show(struct pages *pages, uint64_t txnid);
/* The first pages_show of a view, in two steps. pages_begin, O(1), takes note of the
 * transaction; after DUEQ_NOTFOUND it can be called again. pages_begin_list has the rest of the
 * cost, and may be called by another thread. */
enum dueq_status pages_begin(struct pages *pages, uint64_t txnid);
enum dueq_status pages_begin_list(struct pages *pages);

/* Gives the memory of the map, also of views beside, back; the system may keep it as cache. Any
 * thread may call. Cost: the pages that were in memory. */
void pages_drop(struct pages *pages);

/* The last failure in words; lives until the next one. "": no failure since the view was made
 * or pages_forget_damage was called. */
const char *pages_damage(const struct pages *pages);
void pages_forget_damage(struct pages *pages);

/* Limits how many bytes of values above PAGES_SLICED pages_cursor.h checks: what it checks
 * is taken from *allowance, and when that is used up before a value is checked as a whole, it
 * answers DUEQ_BUSY and sets was_busy. The same call goes on from there, unless the value has
 * changed. A value that was checked is not checked again while the file has it. */
enum { PAGES_SLICED = 1024 * 1024 };
struct pages_limit {
    size_t *allowance; /* NULL: no limit */
    bool was_busy;
};
/* The limit is the caller's, and may change between calls; NULL, as at first: none. */
void pages_limit(struct pages *pages, struct pages_limit *limit);

/* Does the byte lie in the file's map? */
bool pages_contain(const struct pages *pages, const void *byte);

#endif
