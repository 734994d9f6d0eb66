/* The HTTP/JSON API: each request becomes the command that its route stands for (api_routes.h),
 * runs in a session of its own (api_session.h), and the reply becomes JSON. A connection has
 * one session, which stays for further requests with the same login. */
#ifndef DUEQ_API_H
#define DUEQ_API_H

#include "server/http/http_connection.h"

/* "/v1" and what is below it. */
bool api_has_path(struct http_part path);
void api_serve(struct http_connection *connection);
/* Does it count as a client, and not as a stranger? */
bool api_has_session(const struct http_connection *connection);
/* After a change of what the connection holds: counts it with the memory of the session. NULL
 * is allowed. */
void api_account(struct api *api);
/* NULL is allowed. */
void api_free(struct api *api);

#endif
