/* The service manager that started the process is told how it is (the protocol of sd_notify:
 * datagrams to the socket in NOTIFY_SOCKET). Without a manager that listens nothing happens. */
#ifndef DUEQ_SUPERVISOR_H
#define DUEQ_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the environment. Before it, and when a variable makes no sense, nobody is told. */
void supervisor_open(void);

/* The store is loaded and clients are served. Waits while the manager's socket is full: a
 * manager that misses this one would never take the service for started. */
void supervisor_ready(void);
void supervisor_stopping(void);
/* Another program takes the place of this one, and will say that it is ready. */
void supervisor_reloading(int64_t monotonic_usec);

/* The loop runs: to be called in each turn. Tells it when half of WATCHDOG_USEC has passed
 * since the last time; now is monotonic, in ms. */
void supervisor_alive(int64_t now);
/* ms until supervisor_alive has something to tell; INT64_MAX: never. */
int64_t supervisor_next(int64_t now);

/* Sockets that listen already, given by the service manager (LISTEN_FDS): their descriptors are
 * SUPERVISOR_SOCKETS and those after it. Returns how many; 0: none, or they are for another
 * process. The environment forgets them. */
enum { SUPERVISOR_SOCKETS = 3 };
int supervisor_sockets(void);
/* The name of the socket at that place (0 ...) in the unit of the manager; "" if it has none.
 */
const char *supervisor_socket_name(int index);

#endif
