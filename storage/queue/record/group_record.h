/* What a group of a topic has: its record, which is there while one of its jobs is claimed,
 * parked or holds it, or its bucket of permits is not full, and its place among the groups that
 * can run a parked job, or that are to be looked at when time has come. Private to
 * storage/queue. */
#ifndef DUEQ_GROUP_RECORD_H
#define DUEQ_GROUP_RECORD_H

#include "storage/kv/key.h"
#include "storage/queue/record/bucket.h"
#include "storage/queue/record/numbers.h"
#include "storage/queue/record/position.h"

/* A place in a group: jobs that hold it come first (rank 0, else 1), then by priority and
 * position. */
struct group_place {
    uint8_t rank, priority;
    struct position position;
};

/* By what groups that can run a job are sorted. */
enum group_order {
    GROUP_WAITS, /* it has no parked job, or must wait */
    GROUP_BY_PLACE,
    GROUP_BY_TURN,
    GROUP_BY_PERMIT /* by the time at which it has a permit, or its bucket is full */
};

struct group_record {
    uint64_t running;        /* claimed jobs */
    uint64_t parked;         /* jobs of CLASS_PARKED */
    uint64_t holds;          /* pending jobs that hold the group */
    uint64_t turn;           /* its next turn is due then, on the topic's clock of turns */
    uint8_t order;           /* enum group_order: where it is in TABLE_TURN */
    struct group_place head; /* parked > 0: no parked job comes before */
    struct bucket bucket;
    int64_t at; /* GROUP_BY_PERMIT: when it is looked at, on the queue's clock */
};

enum { GROUP_RECORD_MAX = 2 + 9 * NUMBERS_MAX + 2 };

static inline bool group_waits_for_time(const struct group_record *record)
{
    return BUCKETS_KNOWN && record->order == GROUP_BY_PERMIT;
}

/* Can a claim take one of its parked jobs? */
static inline bool group_can_run(const struct group_record *record)
{
    return record->order == GROUP_BY_PLACE || record->order == GROUP_BY_TURN;
}

static inline bool group_place_before(struct group_place a, struct group_place b)
{
    if (a.rank != b.rank)
        return a.rank < b.rank;
    return a.priority != b.priority ? a.priority < b.priority
                                    : position_before(a.position, b.position);
}

/* bytes: GROUP_RECORD_MAX of them. Returns how many were written. */
size_t group_record_write(uint8_t *bytes, const struct group_record *record);
/* False: it is malformed. */
bool group_record_read(struct dueq_slice bytes, struct group_record *ret_record);

/* The entry of a group in TABLE_TURN; record->order is not GROUP_WAITS. */
struct dueq_slice group_turn_key(struct kv_key *key, uint64_t topic, uint64_t group,
                                 const struct group_record *record);
/* Reads such a key of that topic. False: it is malformed. Of *ret_record order, and what orders
 * by it, are set. */
bool group_turn_read(struct dueq_slice key, uint64_t *ret_group,
                     struct group_record *ret_record);
/* The entry of a parked job. */
struct dueq_slice group_parked_key(struct kv_key *key, uint64_t topic, uint64_t group,
                                   struct group_place place);
/* Reads the place in such a key; head: bytes before it. False: it is malformed. */
bool group_parked_read(struct dueq_slice key, size_t head, struct group_place *ret_place);

#endif
