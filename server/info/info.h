/* INFO: Redis' sections and field names, and dueq's own. */
#ifndef DUEQ_INFO_H
#define DUEQ_INFO_H

#include "server/dispatch/context.h"

/* Appends to `text` the sections that the arguments after the name ask for; an unknown section
 * adds nothing. */
void info_write(struct context *context, struct buffer *text);
/* Writes the sections that INFO shows without arguments into the log, several fields a line. */
void info_log(struct server *server);

#endif
