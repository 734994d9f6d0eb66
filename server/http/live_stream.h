/* One stream of server-sent events. */
#ifndef DUEQ_LIVE_STREAM_H
#define DUEQ_LIVE_STREAM_H

#include "server/http/http_connection.h"

struct live;
struct live_jobs;

struct live_stream {
    struct live *live;
    struct http_connection *connection;
    uint64_t login; /* number of its web_session */
    char topic[DUEQ_NAME_MAX];
    size_t topic_size; /* 0: none */
    bool wants_topics;
    bool is_new;            /* it has not been told of any second yet */
    uint64_t pushed, ended; /* of its topic, at `seen` */
    int64_t seen;           /* monotonic ms; 0: the topic was not there */
    int64_t kept;           /* monotonic ms of the last comment */
    struct live_jobs *jobs; /* what happens to them; NULL: it is not told */
    struct live_stream *prev, *next;
};

/* The head of the reply. */
void live_stream_begin(struct live_stream *stream);
/* Sends an event with that JSON. Who has too much unread is cut off: then the stream is gone
 * when this returns, and its connection dead. */
void live_stream_send(struct live_stream *stream, const char *event, const char *json,
                      size_t size);
/* Sends a comment when the last one is long ago: a user who may see little hears nothing else,
 * and programs in between cut off what is silent. now: monotonic ms. */
void live_stream_keep(struct live_stream *stream, int64_t now);
/* The reply is whole. Nobody serves the connection any more. */
void live_stream_end(struct http_connection *connection);

#endif
