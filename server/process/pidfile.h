/* The pid file: contains the process number of the running server. */
#ifndef DUEQ_PIDFILE_H
#define DUEQ_PIDFILE_H

#include <stdbool.h>

/* Writes the number of this process. False: errno says why. */
bool pidfile_write(const char *path);
/* Removes the file if it still contains the number of this process. */
void pidfile_remove(const char *path);

#endif
