/* LMDB's pages, read without believing them: a page is looked at whole before anything in it is
 * used, so that what a disk has changed ends in an error that names the page, and never in a
 * signal, a loop or a wrong answer. LMDB itself checks nothing of that. Private to
 * lmdb_store.c.
 *
 * What is checked. A page, when it is first met: that it is where it says and is not free, that
 * its nodes lie side by side and in order; of each record a checksum of key and value. On each
 * way down: that the keys of a page lie between those of its parent that lead to it. A search
 * that finds nothing at the edge of a leaf looks at the leaf beside it as well. What remains is
 * said in storage/FORMAT.md.
 *
 * Pages are read by pread when they are first met, so that a disk that cannot read them says so
 * in an error, and from a map afterwards. A view is one thread's. */
#ifndef DUEQ_LMDB_PAGES_H
#define DUEQ_LMDB_PAGES_H

#include "storage/io.h"
#include "storage/slice.h"
#include "storage/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Values carry four bytes behind them: of XXH3-64, seeded by that of the key. */
enum { PAGES_SUM_SIZE = 4, PAGES_LEVELS = 32 };
void pages_write_sum(uint8_t *sum, struct dueq_slice key, struct dueq_slice value);

struct pages;

/* Looks at the file's two meta pages: what mdb_env_open would take for granted. */
enum dueq_status pages_check_metas(const struct dueq_io *io, int fd, struct dueq_error *error);

/* A view of the file, whose descriptor is the caller's. `for_writer`: also looks at what only a
 * change would use. NULL: out of memory. */
struct pages *pages_new(const struct dueq_io *io, int fd, uint64_t map_bytes, bool for_writer);
void pages_free(struct pages *pages); /* NULL is fine */

/* Shows the file as transaction `txnid` has left it. That one, and the one shown before, must
 * be held by a reader of LMDB, or be the writer's own base, until the next call. Cost: what was
 * freed in between; the first time, the whole list of free pages. DUEQ_NOTFOUND: it is not
 * one of the last two any more. On failure the view stays as it was. */
enum dueq_status pages_show(struct pages *pages, uint64_t txnid);

/* What was wrong the last time, in words; static until the next failure. "": nothing since the
 * view was made or this was forgotten. */
const char *pages_damage(const struct pages *pages);
void pages_forget_damage(struct pages *pages);

/* ---- reading. Slices live until the next pages_show. */

struct pages_place {
    struct pages *pages;
    uint64_t txnid;
    unsigned depth; /* 0: nowhere */
    uint64_t page[PAGES_LEVELS];
    unsigned index[PAGES_LEVELS];
};

enum dueq_status pages_get(struct pages *pages, struct dueq_slice key,
                           struct dueq_slice *ret_value);
enum dueq_status pages_seek(struct pages_place *place, struct dueq_slice key); /* >= */
enum dueq_status pages_last(struct pages_place *place);
enum dueq_status pages_next(struct pages_place *place);
enum dueq_status pages_prev(struct pages_place *place);
/* Of the place that the last move found. The value of a large one is looked at here. */
enum dueq_status pages_record(struct pages_place *place, struct dueq_slice *ret_key,
                              struct dueq_slice *ret_value);

/* ---- writing */

/* Looks at every page that LMDB may use to change that key. Cheap for a key that lies in the
 * same leaf as the one before. */
enum dueq_status pages_allow(struct pages *pages, struct dueq_slice key);

/* ---- the whole */

struct pages_census {
    uint64_t records, pages, free_pages, lost_pages; /* lost: neither used nor free */
};
/* Looks at every page and every value. O(file). */
enum dueq_status pages_check(struct pages *pages, struct pages_census *ret_census);

#endif
