/* A collection on its way: it is built under a name of its own, which no other run uses, and
 * takes its place when it is whole. Until then it expires, so a run that is killed leaves
 * nothing for long. */
#ifndef DUEQ_PART_H
#define DUEQ_PART_H

#include "tools/move/peer.h"

enum { PART_NAME = 40 };

void part_make_name(char *name);

/* After each request that adds to it, outside of a transaction: it stays for an hour. */
void part_hold(struct peer *to, const char *part);

/* The requests that give it its place, each with a reply, for a transaction; the last but one
 * of them tells what became of it. expires: unix ms; 0: never. replace: over a key that is
 * there. */
enum { PART_REQUESTS = 3 };
void part_place(struct peer *to, const char *part, struct dueq_slice key, int64_t expires,
                bool replace);

#endif
