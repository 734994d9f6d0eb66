/* The system calls that the process may still make, by a filter of the kernel (seccomp).
 * sandbox.c has it, by libseccomp; a build without (`make SANDBOX=no`) has sandbox_none.c. */
#ifndef DUEQ_SANDBOX_H
#define DUEQ_SANDBOX_H

#include <stdbool.h>

/* For this thread and those that it starts, for good, so before there are others: starting
 * programs, sockets other than of IP and unix, executable memory and all else that a server has
 * no use for is refused. Such a call fails with EPERM, and the log names it, once. False:
 * *ret_why says why there is no filter. */
bool sandbox_enter(const char **ret_why);

#endif
