/* Daemons that also get the log: syslog and systemd-journald, each by a datagram for a line,
 * without their libraries. A line never waits for them: glibc's syslog() would, for a daemon
 * that hangs. One for the process; for log.c. */
#ifndef DUEQ_LOG_DAEMONS_H
#define DUEQ_LOG_DAEMONS_H

#include <stdbool.h>
#include <time.h>

/* ident, facility: see log.h. The paths of the sockets can be set for tests: DUEQ_SYSLOG_SOCKET
 * (/dev/log), DUEQ_JOURNALD_SOCKET (/run/systemd/journal/socket) in the environment. */
void log_daemons_use_syslog(const char *ident, int facility);
void log_daemons_use_journald(const char *ident);
/* Does journald get each line, and the standard output besides? */
bool log_daemons_read_output(void);
/* level: enum log_level. text: one printable line. */
void log_daemons_tell(int level, const char *text, time_t now);

#endif
