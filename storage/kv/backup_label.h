/* The file BACKUP in the directory of a backup or an increment: lines of text that say what it
 * is. Private to storage. */
#ifndef DUEQ_BACKUP_LABEL_H
#define DUEQ_BACKUP_LABEL_H

#include "storage/io.h"
#include "storage/status.h"

#include <stdbool.h>
#include <stdint.h>

#define BACKUP_LABEL_FILE "BACKUP"

struct backup_label {
    uint64_t store;   /* archive_store() */
    uint64_t history; /* id; of the last record */
    uint64_t lsn;     /* the last record */
    char base[256];   /* what an increment goes on from: the directory of that name beside it;
                         empty: it is a whole backup */
};

/* Writes and syncs it; the directory is not synced. DUEQ_IO (errno), DUEQ_FULL. */
enum dueq_status backup_label_write(const char *dir, const struct dueq_io *io,
                                    const struct backup_label *label);
/* False: there is none, or it says something else. */
bool backup_label_read(const char *dir, struct backup_label *ret_label);

#endif
