/* INFO: Redis' sections and field names, and dueq's own. */
#ifndef DUEQ_INFO_H
#define DUEQ_INFO_H

#include "server/dispatch/context.h"

/* Sets of sections, a bit each: those that INFO shows without arguments; those that an argument
 * asks for, 0 for a name that is unknown. */
unsigned info_usual(void);
unsigned info_named(struct argument name);
/* Appends the sections of a set to `text`. */
void info_write(struct context *context, unsigned chosen, struct buffer *text);
/* Writes the sections that INFO shows without arguments into the log, several fields a line. */
void info_log(struct server *server);

#endif
