/* A pipeline says early which keys it will look for. What is known of them is fetched into the
 * processor's caches together, before its requests run one after the other. */
#ifndef DUEQ_LOOKAHEAD_H
#define DUEQ_LOOKAHEAD_H

#include "protocol/resp_reader.h"
#include "server/session/session.h"

/* For the next `most` requests of a session, LOOKAHEAD_MOST of them or fewer. Changes nothing
 * that a client can see. O(log keys) for each request. */
enum { LOOKAHEAD_MOST = 32 };
void lookahead(const struct server *server, const struct session *session,
               const struct resp_reader *reader, size_t most);

#endif
