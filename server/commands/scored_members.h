/* Members with scores, as they are replied. */
#ifndef DUEQ_SERVER_SCORED_MEMBERS_H
#define DUEQ_SERVER_SCORED_MEMBERS_H

#include "server/keyspace.h"

/* One of a reply: RESP3 has pairs, RESP2 a flat array. */
void scored_member_write(struct resp_writer *writer, struct dueq_slice member, double score,
                         bool with_score);

#endif
