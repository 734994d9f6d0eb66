/* A topic in RAM: counters, lanes, timer. One record on disk, written once per commit when it
 * changed. Private to storage/queue. */
#ifndef DUEQ_STORAGE_TOPIC_H
#define DUEQ_STORAGE_TOPIC_H

#include "storage/queue/record.h"
#include "storage/queue/wheel.h"

#include <uthash.h>

struct kv_cursor;

/* A place in a lane or class: due, then order of arrival. */
struct place {
    int64_t due;
    uint64_t seq;
};

static inline bool place_before(struct place a, struct place b)
{
    return a.due < b.due || (a.due == b.due && a.seq < b.seq);
}

/* Pending jobs of one priority on one clock, ordered by place. Those at or before `counted` are
 * ready, the others delayed: falling due changes a counter and no record. */
struct lane {
    uint8_t priority, clock;
    uint64_t pending, ready;
    struct place counted;
    struct place head; /* nothing lives before it: claims begin here, not among the removed */
    int64_t next_due;  /* no delayed job is due before; DUEQ_NEVER: there is none */
};

struct topic {
    UT_hash_handle hh;
    uint64_t id, next_seq, next_token;
    uint64_t claimed, dead;
    struct dueq_topic_stats totals; /* the totals of it only */
    struct lane *lanes;             /* by priority, then clock */
    size_t lane_count;
    int64_t next_lease, next_ttl; /* nothing ends before; DUEQ_NEVER: nothing at all */
    struct wheel_timer timer;
    int64_t next_event; /* on the queue's clock; DUEQ_NEVER */
    bool dirty, signalled;
    struct topic *dirty_next, *signal_next;
    size_t name_size;
    char name[];
};

static inline struct dueq_slice topic_name(const struct topic *topic)
{
    return dueq_slice(topic->name, topic->name_size);
}

struct topic *topic_new(struct dueq_slice name, uint64_t id); /* NULL: out of memory */
void topic_free(struct topic *topic);

/* The lane, made when missing. NULL: out of memory. Other lanes' pointers are void. */
struct lane *topic_lane(struct topic *topic, uint8_t priority, uint8_t clock,
                        const struct dueq_time *time);

/* Forgets lanes that hold nothing. */
void topic_drop_empty_lanes(struct topic *topic);

/* The record. *ret_bytes is malloc'ed; 0: out of memory. */
size_t topic_write(const struct topic *topic, uint8_t **ret_bytes);
/* NULL: malformed, or out of memory. */
struct topic *topic_read(struct dueq_slice name, struct dueq_slice record);

uint64_t topic_count(const struct topic *topic, enum dueq_state state);

#endif
