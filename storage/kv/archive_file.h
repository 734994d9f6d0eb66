/* Segments outside of a journal: in an archive, in an increment. One file each, with a name
 * that says whose it is:
 *
 *     STORE-LSN-HISTORY.seg    16 hex digits each
 *
 * so that the names of a store are in the order of its records. LSN: of the first record. The
 * file ends with its last record. Private to storage. */
#ifndef DUEQ_ARCHIVE_FILE_H
#define DUEQ_ARCHIVE_FILE_H

#include "storage/io.h"
#include "storage/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { ARCHIVE_NAME_SIZE = 3 * 17 + 4 }; /* with the 0 byte */

struct archive_name {
    uint64_t store;     /* archive_store() */
    uint64_t first_lsn; /* of its records */
    uint64_t history;   /* id */
};

/* A number that tells stores apart, and does not tell the seed. */
uint64_t archive_store(uint64_t seed);
/* Writes ARCHIVE_NAME_SIZE bytes. */
void archive_name_write(const struct archive_name *name, char *text);
/* False: it has another form. */
bool archive_name_read(const char *text, struct archive_name *ret_name);

/* What a copy needs to know. */
struct archive_copy {
    const struct dueq_io *io;
    const char *dir;       /* where the copy goes */
    uint64_t seed;         /* of the store */
    uint64_t disk_reserve; /* bytes that stay free on that disk */
    /* Asked again and again: false: give up. */
    bool (*goes_on)(void *arg);
    void *arg;
    /* filled in */
    uint64_t bytes, last_lsn;
    struct archive_name name;
    bool set_aside; /* a damaged file of that name has another one now: NAME.damaged, or
                       NAME.damaged.2 and so on when that is taken */
};

/* Copies the records up to last_lsn (0: all) of the segment into DIR, synced and read again
 * before the file gets its name. One that is there already with the same bytes is fine,
 * and one that is damaged is set aside.
 * DUEQ_NOTFOUND: `from` does not exist. DUEQ_CORRUPT: it does not have these records.
 * DUEQ_DUPLICATE: DIR has another file of that name. DUEQ_FULL. DUEQ_BUSY: goes_on was false.
 * DUEQ_IO (errno), DUEQ_NOMEM. After a failure there is no file of that name. O(bytes). */
enum dueq_status archive_copy(struct archive_copy *copy, const char *from, uint64_t last_lsn);

#endif
