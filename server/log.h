/* The server's log, in Redis' line format. One for the process: what must be said must be said.
 */
#ifndef DUEQ_SERVER_LOG_H
#define DUEQ_SERVER_LOG_H

enum log_level { LOG_DEBUG, LOG_VERBOSE, LOG_NOTICE, LOG_WARNING };

/* path "" or NULL: standard output. False: the file cannot be opened (errno). */
int log_open(const char *path, enum log_level level);
void log_set_level(enum log_level level);
void log_reopen(void); /* after the file was moved away */
void log_write(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
