/* Members with scores, as they are replied. */
#ifndef DUEQ_SCORED_MEMBERS_H
#define DUEQ_SCORED_MEMBERS_H

#include "server/commands/database.h"

/* One of a reply: RESP3 has pairs, RESP2 a flat array. */
void scored_members_write_one(struct resp_writer *writer, struct dueq_slice member,
                              double score, bool with_score);

#endif
