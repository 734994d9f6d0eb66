/* The file that names the running server, for those who want to signal it. */
#ifndef DUEQ_PIDFILE_H
#define DUEQ_PIDFILE_H

#include <stdbool.h>

/* Writes this process' number. False: errno says why. */
bool pidfile_write(const char *path);
/* Removes the file if it still names this process. */
void pidfile_remove(const char *path);

#endif
