/* /v1/live: what changes, as server-sent events. Once a second each stream gets the server in
 * figures, its topic, and the topics that have changed; what happens to the jobs of its topic
 * comes as it happens. The figures are taken once for all streams, in slices, and only while
 * there is a stream: without one nothing runs. A stream ends with its login; its rights are
 * looked at in each second. Who does not read is cut off. */
#ifndef DUEQ_LIVE_H
#define DUEQ_LIVE_H

#include "server/http/http_connection.h"

#include <jansson.h>

struct live;
struct web_session;

enum {
    LIVE_STREAMS_MAX = 64,
    LIVE_OF_LOGIN_MAX = 8,
    LIVE_UNREAD_MAX = 256 * 1024, /* bytes: with more a stream is cut off */
    LIVE_COMMENT_MS = 15000,      /* between comments */
    LIVE_TOPICS_MAX = 200         /* that are told in a second: those that were used last */
};

void live_serve(struct http_connection *connection, const struct web_session *session,
                const json_t *params);
size_t live_count(const struct server *server);
/* Ends all streams. reason: what they are told. NULL is fine. */
void live_free(struct live *live, const char *reason);

#endif
