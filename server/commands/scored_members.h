/* Members with scores, gathered in memory: what a command has read from several keys, or has to
 * read before it writes. A zeroed one is empty. */
#ifndef DUEQ_SERVER_SCORED_MEMBERS_H
#define DUEQ_SERVER_SCORED_MEMBERS_H

#include "server/keyspace.h"
#include "server/seeded_table.h"

struct scored_member {
    UT_hash_handle hh; /* by member; hh.next: the order of a walk */
    double score;
    size_t size;
    char bytes[];
};

struct scored_members {
    struct scored_member *first;
    bool failed; /* out of memory: something is missing */
};

void scored_members_release(struct scored_members *members);

/* NULL: it is not among them. */
struct scored_member *scored_members_find(const struct scored_members *members,
                                          struct dueq_slice member);
/* Copies a member that is not among them to the end. */
void scored_members_add(struct scored_members *members, struct dueq_slice member, double score);

/* By score, then by bytes. */
void scored_members_sort(struct scored_members *members);

/* Makes the key a sorted set of them (none: removes it), replies their number and tells of
 * `event`, as Redis' ...STORE commands do. `grown`: as in zset_replace. Releases
 * them. */
enum outcome scored_members_store(struct context *context, struct dueq_slice name,
                                  struct scored_members *members, const char *event,
                                  bool grown);
/* Replies them in order, with their scores or without. Releases them. */
enum outcome scored_members_reply(struct context *context, struct scored_members *members,
                                  bool with_scores);

/* One of a reply: RESP3 has pairs, RESP2 a flat array. */
void scored_member_write(struct resp_writer *writer, struct dueq_slice member, double score,
                         bool with_score);

#endif
