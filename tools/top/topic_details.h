/* Everything about one topic, as lines for people. */
#ifndef DUEQ_TOPIC_DETAILS_H
#define DUEQ_TOPIC_DETAILS_H

#include "tools/client/client_call.h"
#include "tools/top/top_state.h"

/* Asks about the topic and replaces the lines. What the server refuses to tell stands there
 * with the reason. False: the connection is lost, and call->why says why. */
bool topic_details_ask(struct client_call *call, const char *topic, size_t size,
                       struct top_lines *lines);

#endif
