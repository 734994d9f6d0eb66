/* The data directory as a whole: one process, one format. Private to storage/kv. */
#ifndef DUEQ_DATA_DIR_H
#define DUEQ_DATA_DIR_H

#include "storage/io.h"
#include "storage/status.h"

/* Creates the directory (one level) and its FORMAT file when missing, syncs its name, checks
 * the format, takes the lock. Only that sync goes through io. *ret_fd holds the lock until
 * data_dir_unlock, or until the process ends. DUEQ_INVALID: the path is too long. DUEQ_LOCKED,
 * DUEQ_FORMAT, DUEQ_IO. */
enum dueq_status data_dir_lock(const char *dir, const struct dueq_io *io, int *ret_fd,
                               struct dueq_error *error);
void data_dir_unlock(int fd); /* closes fd; -1 is fine */

#endif
