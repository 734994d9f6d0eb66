/* /v1/session: who is logged in to the dashboard. GET tells it, or begins a login of the
 * default user when that needs no password; POST logs in by user and password, as slowly and as
 * loudly as the other ports do; DELETE logs out. */
#ifndef DUEQ_WEB_LOGIN_H
#define DUEQ_WEB_LOGIN_H

#include "server/http/http_connection.h"

struct web_session;

enum { WEB_LOGIN_MAX = 16 * 1024 /* bytes of JSON */ };

bool web_login_has_path(struct http_part path);
/* Of the request, by its cookie; NULL: it has none that is good, or the dashboard is off. */
struct web_session *web_login_find(const struct http_connection *connection);
/* Does the request name a session, be it there or not? False when the dashboard is off. */
bool web_login_is_tried(const struct http_connection *connection);
/* Is it a login by user and password? */
bool web_login_is_entered(const struct http_head *head);
/* session: of the request, NULL: none. Host, origin and the second secret are checked. */
void web_login_serve(struct http_connection *connection, struct web_session *session);

#endif
