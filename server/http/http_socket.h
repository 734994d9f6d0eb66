/* The bytes of an HTTP connection, plain or by TLS: what comes gathers in `input`, and what is
 * put into `output` is sent as the peer takes it. Knows nothing of HTTP. Everything belongs to
 * the loop. */
#ifndef DUEQ_HTTP_SOCKET_H
#define DUEQ_HTTP_SOCKET_H

#include "server/server.h"

struct evbuffer;
struct http_socket;

enum {
    HTTP_INPUT_MOST = 64 * 1024, /* with so much nothing more is read */
    HTTP_OUTPUT_LOW = 32 * 1024  /* at which there is room for more */
};

/* Who uses it; called with a turn begun. None may free the socket. */
struct http_socket_hooks {
    void (*on_input)(void *arg);               /* there is more of it */
    void (*on_sent)(void *arg);                /* some was sent, and HTTP_OUTPUT_LOW is left */
    void (*on_end)(void *arg, bool is_broken); /* the peer sends nothing more; or it is lost */
};

/* Takes the socket over, which does not block; with TLS when `is_secure`. NULL: no memory, and
 * it is closed. */
struct http_socket *http_socket_new(struct server *server, int fd, bool is_secure,
                                    const struct http_socket_hooks *hooks, void *arg);
/* Says goodbye and closes the socket at once. NULL: no-op. */
void http_socket_free(struct http_socket *socket);
/* Reads and sends nothing more; calls nobody. */
void http_socket_stop(struct http_socket *socket);
/* Tells the peer that nothing more comes. All output must be sent. */
void http_socket_end_output(struct http_socket *socket);

struct evbuffer *http_socket_input(struct http_socket *socket);
struct evbuffer *http_socket_output(struct http_socket *socket);
/* Is there input that nobody has taken, here or in the kernel? */
bool http_socket_has_unread(const struct http_socket *socket);
/* Bytes of output that the peer's machine has not got yet. */
size_t http_socket_unsent(const struct http_socket *socket);
bool http_socket_is_secure(const struct http_socket *socket);
/* Bytes that it holds, about. O(1). */
size_t http_socket_memory(const struct http_socket *socket);

#endif
