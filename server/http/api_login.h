/* The login of a session of the API: a HELLO, and its reply. */
#ifndef DUEQ_API_LOGIN_H
#define DUEQ_API_LOGIN_H

#include "protocol/http_head.h"

struct evbuffer;

/* Without a user: the default one must need no password. */
void api_login_write(struct evbuffer *requests);
/* An empty user is the default one. */
void api_login_write_user(struct evbuffer *requests, struct http_part user,
                          struct http_part password);
/* The value of an Authorization field. False: it is no login. */
bool api_login_write_basic(struct evbuffer *requests, struct http_part authorization);

/* The line of an error that is the whole reply, "-WRONGPASS ..."; the caller frees it. NULL: it
 * is not there. */
char *api_login_error(struct evbuffer *replies);
/* Takes the reply of a HELLO that has succeeded away. False: it is not whole yet. */
bool api_login_skip(struct evbuffer *replies);

#endif
