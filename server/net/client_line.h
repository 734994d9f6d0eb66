/* A client as CLIENT LIST shows it. */
#ifndef DUEQ_CLIENT_LINE_H
#define DUEQ_CLIENT_LINE_H

#include "protocol/buffer.h"
#include "server/server.h"

/* Appends one line of CLIENT LIST, without the newline: less than 4 KiB. */
void client_line_write(struct server *server, const struct session *session,
                       struct buffer *text);

#endif
