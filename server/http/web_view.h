/* What the dashboard asks for and no command of the queue answers: the server in figures, all
 * topics, what changes, clients, the slow log. Only for logins of the dashboard; each asks for
 * the right to a command that tells the same. */
#ifndef DUEQ_WEB_VIEW_H
#define DUEQ_WEB_VIEW_H

#include "server/http/http_connection.h"

#include <jansson.h>

struct web_session;

bool web_view_has_path(struct http_part path);
/* session: of the request; NULL: it has none, and is refused. Host, origin and the second
 * secret are checked. */
void web_view_serve(struct http_connection *connection, const struct web_session *session);

/* ---- for the views */

/* A parameter that is an integer. It stays as it is when it is not given. False: it is refused,
 * and the reply is written. */
bool web_view_number(struct http_connection *connection, const json_t *params, const char *name,
                     int64_t least, int64_t most, int64_t *number);
/* NULL: it is not given. */
const char *web_view_text(const json_t *params, const char *name, size_t *ret_size);
/* Replies with the JSON, and a newline after it, unless there was no memory. */
void web_view_reply(struct http_connection *connection, struct buffer *out);

#endif
