/* A pipeline says early which keys it will look for. What is known of them is fetched into the
 * processor's caches together, before its requests run one after the other. */
#ifndef DUEQ_LOOKAHEAD_H
#define DUEQ_LOOKAHEAD_H

#include "protocol/resp_reader.h"
#include "server/session/session.h"

/* Of one client; zero at first. One whose requests name no values, or the same ones again and
 * again, is looked at seldom. */
struct lookahead {
    unsigned in_vain; /* looks that have fetched nothing, since the last one that did */
};

/* For the next `most` requests of a session, LOOKAHEAD_MOST of them or fewer. Changes nothing
 * that a client can see. O(log keys) for each request. */
enum { LOOKAHEAD_MOST = 32 };
void lookahead(struct lookahead *lookahead, const struct server *server,
               const struct session *session, const struct resp_reader *reader, size_t most);

#endif
