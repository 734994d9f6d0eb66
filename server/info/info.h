/* INFO: Redis' sections and field names, and dueq's own. */
#ifndef DUEQ_INFO_H
#define DUEQ_INFO_H

#include "server/dispatch/command.h"

/* Writes the sections that the request asks for; unknown ones write nothing. */
void info_write(struct context *context, struct buffer *text);

#endif
