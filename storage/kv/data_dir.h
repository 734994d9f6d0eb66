/* The data directory as a whole: one process, one format. Private to storage/kv. */
#ifndef DUEQ_DATA_DIR_H
#define DUEQ_DATA_DIR_H

#include "storage/io.h"
#include "storage/status.h"

#include <stdbool.h>

/* Creates the directory (one level) and its FORMAT file when missing, syncs its name, checks
 * the format, takes the lock. Only that sync goes through io. *ret_fd holds the lock until
 * data_dir_unlock, or until the process ends. DUEQ_INVALID: the path is too long. DUEQ_LOCKED,
 * DUEQ_FORMAT, DUEQ_IO. */
enum dueq_status data_dir_lock(const char *dir, const struct dueq_io *io, int *ret_fd,
                               struct dueq_error *error);
/* Likewise for one who only reads, of a directory that may be damaged; several may. *ret_fd -1:
 * no lock, because there is no FORMAT. DUEQ_CORRUPT: FORMAT is damaged or missing; *ret_fd is
 * set, and error says what is wrong. */
enum dueq_status data_dir_lock_to_read(const char *dir, int *ret_fd, struct dueq_error *error);
/* True: no store was ever open in it. Then it has no lock.mdb, and no file of a journal; both
 * are made after data.mdb, whose name is on the disk by then. */
bool data_dir_is_new(const char *dir);
/* False: there is no file of a journal, so nobody has gone on in this directory. */
bool data_dir_has_journal(const char *dir);
/* True: there is the folder of a journal, and nothing in it. */
bool data_dir_has_empty_journal(const char *dir);
void data_dir_unlock(int fd); /* closes fd; -1 is fine */

#endif
