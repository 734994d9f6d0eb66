/* Members of sorted sets in replies. */
#ifndef DUEQ_SCORED_MEMBERS_H
#define DUEQ_SCORED_MEMBERS_H

#include "server/commands/database.h"

/* Writes a member. With its score: an array of two in RESP3, two elements in RESP2. */
void scored_members_write_one(struct resp_writer *writer, struct dueq_slice member,
                              double score, bool with_score);

#endif
