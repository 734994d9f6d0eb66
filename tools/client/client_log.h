/* Standard error of a subcommand that runs for long, which nobody may read: lines, and what
 * programs write. Who does not read must not stop the work: what waits longer than 100 ms is
 * dropped. For any thread. */
#ifndef DUEQ_CLIENT_LOG_H
#define DUEQ_CLIENT_LOG_H

#include <stddef.h>
#include <stdint.h>

/* Each line begins with the name of the subcommand, which must stay. Before any other thread
 * begins. */
void client_log_as(const char *name);
/* A line; control characters become question marks. */
void client_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Bytes that a command wrote. */
void client_pass_on(const char *bytes, size_t size);

int64_t client_monotonic(void); /* monotonic ms */

#endif
