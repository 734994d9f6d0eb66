/* /v1/overview: all topics, filtered and sorted, a page of them. The topics are read into a
 * table in slices, some in each turn, so that 100,000 of them do not hold the loop; requests
 * that come meanwhile wait for it, and the next ones use it while it is fresh. Rates are those
 * between two tables. It is freed when nobody has asked for a while. */
#ifndef DUEQ_OVERVIEW_H
#define DUEQ_OVERVIEW_H

#include "server/http/http_connection.h"

#include <jansson.h>

struct overview;
struct web_session;

enum {
    OVERVIEW_TOPICS_MAX = 128 * 1024, /* the first ones by name; some 300 bytes each */
    OVERVIEW_LIMIT_MAX = 1000,        /* topics in a reply */
    OVERVIEW_FRESH_MS = 1000,
    OVERVIEW_KEPT_MS = 30 * 1000,
    OVERVIEW_WAITING_MAX = 64 /* requests */
};

void overview_serve(struct http_connection *connection, const struct web_session *session,
                    const json_t *params);
/* Requests that wait are refused. NULL is fine. */
void overview_free(struct overview *overview);

#endif
