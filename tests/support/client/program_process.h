/* The program as a child process whose output goes nowhere, for commands that a test cuts off.
 */
#ifndef DUEQ_PROGRAM_PROCESS_H
#define DUEQ_PROGRAM_PROCESS_H

#include <sys/types.h>

/* Runs the program of server_process.h with these arguments; the last one is NULL. */
pid_t program_begin(const char *const *arguments);
/* Waits for it: the exit status, or minus the signal that ended it. */
int program_end(pid_t pid);

#endif
