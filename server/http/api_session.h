/* A session of the API: the client's end of a pair of sockets, whose other end is a connection
 * like any other. So whatever holds for a client of RESP (login, rights, waits, gates, limits,
 * memory, CLIENT LIST) holds here, and nothing of it is built twice. */
#ifndef DUEQ_API_SESSION_H
#define DUEQ_API_SESSION_H

#include "protocol/json_text.h"
#include "server/http/http_connection.h"

enum {
    API_REPLIES_MOST = JSON_STRING_MAX + 64 * 1024, /* bytes of a reply that are here at once */
    API_REQUEST_MOST = 256 * 1024                   /* of a request */
};

struct api_session;

/* user: as whom it is logged in already, and speaks RESP3; NULL: it is to log in. on_event:
 * there are more bytes of replies, room for more of a request, or the session has
 * ended. NULL: no memory or descriptor. */
struct api_session *api_session_open(const struct http_connection *connection,
                                     struct acl_user *user, void (*on_event)(void *arg),
                                     void *arg);
/* The server ends what the session waits for. NULL is allowed. */
void api_session_close(struct api_session *session);

struct evbuffer *api_session_replies(struct api_session *session);
struct evbuffer *api_session_requests(struct api_session *session);
/* Of the server's end; 0: the server has turned it away, and says so in the replies. */
uint64_t api_session_id(const struct api_session *session);
/* Counts what its client's side holds, besides these, with the memory of all clients; that may
 * end it, or others (client_memory.h). */
void api_session_account(struct api_session *session, size_t bytes);
/* The server has closed it; replies of before may be there. */
bool api_session_has_ended(const struct api_session *session);

#endif
