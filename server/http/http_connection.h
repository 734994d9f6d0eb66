/* A connection of the HTTP port: reads heads of requests, strictly one after the other, and
 * sends replies. Who serves a request (a handler of a path, the API) takes its body and
 * replies. Each stage has a deadline, so that a slow peer is cut off. Everything belongs to the
 * loop. */
#ifndef DUEQ_HTTP_CONNECTION_H
#define DUEQ_HTTP_CONNECTION_H

#include "protocol/http_head.h"
#include "server/server.h"

struct api;
struct evbuffer;
struct event;
struct http_connection;
struct http_socket;

enum http_stage {
    HTTP_READS,  /* it awaits a head */
    HTTP_SERVES, /* a request has no whole reply yet */
    HTTP_SENDS,  /* the last reply is being sent */
    HTTP_ENDS,   /* it is sent; what the peer still sends is thrown away */
    HTTP_DEAD    /* it is freed as soon as nothing uses it */
};

/* Who serves a request. Each may be NULL. */
struct http_hooks {
    void (*on_input)(void *served);   /* there is more of the body */
    void (*on_drained)(void *served); /* there is room for more output */
    void (*on_gone)(void *served);    /* the peer has gone: no reply is wanted */
};

/* Who has the list of connections. */
struct http_owner {
    void (*serve)(struct http_connection *connection); /* a head is read: replies, or serves */
    void (*ended)(struct http_connection *connection); /* frees it */
};

struct http_connection {
    struct server *server;
    struct http_socket *socket;
    struct event *again;
    int fd;
    char address[64], local_address[64];
    enum http_stage stage;
    int64_t deadline; /* monotonic ms; 0: none */
    int64_t idle_since;
    size_t unsent;    /* at the last look of has_stalled, */
    int64_t moved_at; /* and when it became another number */
    bool has_begun;   /* of the next head some bytes are there */
    bool is_advancing;
    bool keeps;          /* after the reply it reads another request */
    bool peer_ended;     /* it sends nothing more */
    bool is_stream;      /* of the dashboard: the reply has no end, and nobody waits for one */
    bool ends_with_peer; /* the request that is served ends when the peer has ended */
    char *bytes;         /* of the head that is served; NULL: none */
    struct http_head head;
    uint64_t body_left;             /* bytes of the body that are not taken yet */
    const struct http_hooks *hooks; /* of the request that is served; NULL: none */
    void *served;
    struct api *api; /* NULL: it has not asked for the API yet */
    const struct http_owner *owner;
    struct http_connection *prev, *next;
};

/* Takes the socket over; by TLS when http-tls says so. NULL: out of memory, and it is closed.
 */
struct http_connection *http_connection_new(struct server *server, int fd,
                                            const struct http_owner *owner);
void http_connection_free(struct http_connection *connection);
/* Ends it without a word; it is freed in this turn or the next one. */
void http_connection_doom(struct http_connection *connection);

/* Is it by TLS? */
bool http_connection_is_secure(const struct http_connection *connection);

/* Bytes that it holds, without what serves it. */
size_t http_connection_memory(const struct http_connection *connection);

/* Set by who serves the request, until it has replied. */
void http_connection_served_by(struct http_connection *connection,
                               const struct http_hooks *hooks, void *served);
/* The body's bytes that are there, at most body_left of them are the request's; who takes some
 * says so. */
struct evbuffer *http_connection_input(struct http_connection *connection);
void http_connection_took(struct http_connection *connection, size_t size);
struct evbuffer *http_connection_output(struct http_connection *connection);
bool http_connection_has_room(const struct http_connection *connection);
/* Is a part of a reply yet to be sent, or to reach the peer's machine? */
bool http_connection_sends(const struct http_connection *connection);
/* Has it taken nothing of its reply for HTTP_STALL_MS, of the time after `since` (monotonic
 * ms)? Asked again and again, it sees what moves in between. */
bool http_connection_has_stalled(struct http_connection *connection, int64_t since);
/* A peer that waits to be told so may send its body now. */
void http_connection_continue(struct http_connection *connection);
/* The peer has so long for the next part. */
void http_connection_expect(struct http_connection *connection);
/* The reply is written: the connection reads the next request, or ends when it is sent. */
void http_connection_done(struct http_connection *connection);
/* Once a second: is it over its deadline? */
bool http_connection_is_late(const struct http_connection *connection);

#endif
