/* Sockets that one program leaves to the next one in the same process: execve keeps
 * descriptors, and an environment variable says what they are. So no connection is refused in
 * between: those that come wait in the sockets' backlogs. One for the process. */
#ifndef DUEQ_HANDOVER_H
#define DUEQ_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>

/* ---- for the program that takes over */

/* Reads the environment, which forgets it. To be called first. */
void handover_open(void);
/* Has this program taken the place of another one, and is it not settled yet? */
bool handover_is_pending(void);
/* A socket of that kind; `text` (an address, a path) and `port` are what handover_add was
 * given. The descriptor is the caller's. -1: there is none. */
int handover_take(const char *kind, const char *text, int port);
/* The text of the first socket of that kind from *at on, and its place; NULL: there is none.
 * handover_keep takes that one, also from the program of before. */
const char *handover_look(const char *kind, size_t *at);
int handover_keep(size_t at);
/* The bytes that were left under that kind, with a zero after them; the caller frees them.
 * NULL: there are none, or *ret_failed: they cannot be read. They stay for the program of
 * before. */
char *handover_read(const char *kind, size_t *ret_size, bool *ret_failed);
/* This program serves: what it has not taken is closed, and there is no way back. */
void handover_settle(void);
/* This program cannot serve: the one of before takes its place again, with all sockets. Returns
 * when there is none, or when that fails; true: an error, and errno says which. */
bool handover_go_back(void);

/* ---- for the program that leaves */

/* Keeps the command line. */
void handover_remember(int argc, char **argv);
/* Where the program is that takes over: what the process was started as. */
const char *handover_program(void);
/* Starts `program check-config ...` with the arguments of this server: would it start? Returns
 * a descriptor that does not block and from which its output can be read; -1: errno says why.
 */
int handover_start_check(int *ret_pid);

/* Notes a socket, and keeps a descriptor of its own. False: no memory or descriptor. */
bool handover_add(const char *kind, const char *text, int port, int fd);
/* The same for a descriptor that is not the caller's any more. */
bool handover_give(const char *kind, const char *text, int port, int fd);
/* Leaves bytes, in a file in memory, instead of those that were left under that kind before.
 * False: errno says why, and those of before stay. */
bool handover_leave(const char *kind, const void *bytes, size_t size);
/* Becomes the program. Returns when that fails: errno says why. Before that it becomes this one
 * again, as it was started. */
void handover_run(void);

#endif
