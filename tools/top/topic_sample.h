/* What `dueq top` asks a server, and how it takes the replies. */
#ifndef DUEQ_TOPIC_SAMPLE_H
#define DUEQ_TOPIC_SAMPLE_H

#include "tools/client/client_call.h"
#include "tools/top/server_figures.h"
#include "tools/top/top_topics.h"

int64_t top_clock(void); /* ms of a clock that only runs on, never 0 */

/* All of these need a connection. False: it is lost, or the server has refused; call->why says
 * why, and *ret_refused which of both (may be NULL). */
bool sample_server(struct client_call *call, struct server_figures *figures, bool *ret_refused);
bool sample_names(struct client_call *call, struct top_topics *rows, bool *ret_refused);
/* A topic that the user may not read is marked, which is no failure. */
bool sample_topics(struct client_call *call, struct top_topic *const *rows, size_t count);

#endif
