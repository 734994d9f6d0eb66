/* An increment: the archived segments with the records since a backup, in a directory of its
 * own. Private to storage/kv. */
#ifndef DUEQ_BACKUP_INCREMENT_H
#define DUEQ_BACKUP_INCREMENT_H

#include "storage/io.h"
#include "storage/status.h"

#include <stdbool.h>
#include <stdint.h>

struct increment {
    const struct dueq_io *io;
    const char *archive; /* the directory of the archive */
    const char *dir;     /* where the increment goes */
    uint64_t seed;       /* of the store */
    uint64_t history;    /* id */
    uint64_t disk_reserve;
    bool (*goes_on)(void *arg, uint64_t bytes);
    void *arg;
    /* filled in */
    uint64_t bytes, last_lsn;
};

/* Copies the segments with the records after `after`, up to `to` at least, each synced and
 * checked. DUEQ_CORRUPT: the archive does not have them all. DUEQ_BUSY: goes_on was false.
 * DUEQ_FULL, DUEQ_IO, DUEQ_NOMEM. */
enum dueq_status increment_write(struct increment *increment, uint64_t after, uint64_t to);

#endif
