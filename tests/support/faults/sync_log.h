/* Replaces fsync, syncfs and rename of the program: they do what they are for, and a log says
 * in which order they came. For code that calls the kernel, and not struct dueq_io. */
#ifndef DUEQ_SYNC_LOG_H
#define DUEQ_SYNC_LOG_H

#include <stddef.h>

/* Empties the log; no call fails any more. */
void sync_log_begin(void);
/* A word for each call, with a space before it: "file:SIZE" or "directory" for fsync, "all" for
 * syncfs, "rename". */
const char *sync_log_text(void);
/* After so many syncs one fails with EIO. */
void sync_log_fail(size_t passing);

#endif
