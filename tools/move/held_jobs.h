/* Reads the jobs of a dueq, in the order in which workers get them. */
#ifndef DUEQ_HELD_JOBS_H
#define DUEQ_HELD_JOBS_H

#include "tools/move/layout_place.h"

/* Calls for each page of jobs of a topic, at most 1,000, as Q.SCAN replies them. One that
 * changes meanwhile may be missing or come twice. */
typedef bool (*held_fn)(void *arg, struct dueq_slice topic, const redisReply *page);

/* All topics that the options choose. False: the dueq has failed, or `page` said so. */
bool held_jobs(struct move *move, held_fn page, void *arg);
/* A job as Q.GET replies it, in whose memory it is. */
void held_read(struct dueq_slice topic, const redisReply *reply, struct placed_job *ret_job);
/* How many jobs there are in them. 0: failed, or none. */
uint64_t held_count(struct move *move);

#endif
