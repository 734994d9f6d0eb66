/* A topic that is in use: counters, lanes, bounds. One record on disk, written once per commit
 * when it changed. Its size does not depend on the number of jobs. Private to storage/queue. */
#ifndef DUEQ_TOPIC_H
#define DUEQ_TOPIC_H

#include "storage/queue/record/group_record.h"
#include "storage/queue/record/job_record.h"
#include "storage/queue/record/numbers.h"
#include "storage/queue/record/position.h"
#include "storage/queue/core/rings.h"
#include "storage/queue/core/topic_table.h"
#include "storage/queue/record/queue_key.h"

/* Pending jobs of one priority on one clock, ordered by position. Those at or before `counted`
 * are ready, the others delayed: falling due changes a counter and no record. */
struct lane {
    uint8_t priority, clock;
    uint64_t pending, ready;
    struct position counted;
    struct position head; /* no job is before it: claims start here, after removed entries */
    int64_t next_due;     /* no delayed job is due before this; DUEQ_NEVER: there is none */
};

struct job_counts {
    uint64_t pending, ready, claimed, dead, done, waiting; /* ready: of the pending */
};

#define GROUP_RULES_MIXED                                                                      \
    UINT64_MAX /* topic.group_rules: some groups by these, some by those */

enum { TOPIC_PAUSED_IN = 1, TOPIC_PAUSED_OUT = 2 };

struct topic_latencies;

struct topic {
    struct topic_entry *entry; /* its name and timer */
    uint64_t id, next_seq, next_token;
    uint64_t claimed, dead, done;
    uint64_t waiting; /* jobs that wait for others */
    uint64_t awaited; /* records of TABLE_DEPENDENT: edges from jobs of the topic to those */
    uint64_t bytes;   /* of all bodies */
    struct dueq_topic_stats totals; /* the totals of it only */
    uint64_t paused;                /* TOPIC_PAUSED_* */
    int64_t paused_until;           /* on the queue's clock; DUEQ_NEVER */
    struct dueq_settings *settings; /* see settings_of; NULL: none */
    uint64_t settings_epoch;
    struct lane *lanes; /* by priority, then clock */
    size_t lane_count;
    /* No lease, no ttl ends before, no done job is to be removed before, no dead job has died
     * before: ticks start here. */
    struct position next_lease, next_ttl, next_done, next_dead;
    /* Of groups.h: their records, jobs in their lists, the clock of their turns, and by which
     * rules they were judged. */
    uint64_t groups, parked, turn, group_rules;
    struct ring ring;               /* of events */
    struct group_record first_turn; /* no group's turn comes before; in RAM only */
    int64_t first_permit;           /* no group is to be looked at before; in RAM only */
    struct bucket bucket;           /* see rates.h */
    struct {
        bool runs;
        uint64_t rules, next;
    } follow;          /* a change of the rules: the next group to be judged anew */
    bool purging;      /* and: */
    uint64_t purged;   /* jobs that the purge has removed */
    int64_t purged_at; /* its last call, on the queue's clock */
    struct {
        int64_t jobs, bytes;
    } adding;           /* by the batch that is being planned; else 0 */
    bool lookalikes;    /* a caller has pushed ids that look like the store's own */
    bool refused;       /* a claim found as many jobs claimed as may be */
    bool awaits_permit; /* a claim found the bucket empty */
    bool put_off;       /* a claim ran out of steps: the next tick signals the topic */
    bool dirty, signalled;
    bool unsaved;      /* its record counts less as ready, or has earlier bounds */
    bool fresh;        /* made in this batch: it has no record yet */
    bool ring_news;    /* see rings_next */
    bool keeps_events; /* since a tick has seen that it has a ring */
    struct topic *ring_next, *ring_prev;
    struct topic *dirty_next, *signal_next, *signal_prev;
    struct topic_latencies *latencies; /* see latencies.h; NULL: they are to be looked up */
    struct dueq_watch *watches;        /* of its jobs, see endings.h; NULL: none */
    struct topic *next, *prev; /* among those without jobs, when is_empty, or those awake */
    bool is_empty;
};

static inline struct dueq_slice topic_name(const struct topic *topic)
{
    return topic_entry_name(topic->entry);
}

struct topic *topic_new(uint64_t id); /* NULL: out of memory */
void topic_free(struct topic *topic);

/* NULL: no such lane. */
struct lane *topic_find_lane(struct topic *topic, uint8_t priority, uint8_t clock);

/* The lane, made when missing. NULL: out of memory. Other lanes' pointers are void. */
struct lane *topic_lane(struct topic *topic, uint8_t priority, uint8_t clock,
                        struct dueq_time time);

/* Removes lanes without jobs. */
void topic_drop_empty_lanes(struct topic *topic);

/* The record: numbers, bounds, then lanes, of which there are at most two a priority. */
enum {
    TOPIC_LANES_MAX = 2 * 256,
    TOPIC_NUMBERS = 20,
    TOPIC_BOUNDS = 4,
    TOPIC_GROUP_NUMBERS = 4,
    TOPIC_RING_NUMBERS = 3,
    TOPIC_AFTER_NUMBERS = 2,
    TOPIC_HEAD_MAX = 2 + (TOPIC_NUMBERS + TOPIC_BOUNDS + TOPIC_GROUP_NUMBERS + 2 +
                          TOPIC_RING_NUMBERS + TOPIC_AFTER_NUMBERS + 1) *
                             NUMBERS_MAX,
    TOPIC_LANE_MAX = 2 + 5 * NUMBERS_MAX,
    TOPIC_RECORD_MAX = TOPIC_HEAD_MAX + TOPIC_LANES_MAX * TOPIC_LANE_MAX
};
/* bytes: TOPIC_RECORD_MAX of them. Returns how many were written. */
size_t topic_write(struct topic *topic, uint8_t *bytes);
/* The id in a record; 0: malformed. */
uint64_t topic_read_id(struct dueq_slice record);
/* How many jobs are claimed; of old versions, which do not tell it as cheaply: 1. */
uint64_t topic_read_claimed(struct dueq_slice record);
/* True: it is of version 1, which does not know the bytes of the bodies. */
bool topic_lacks_bytes(struct dueq_slice record);
/* topic: as topic_new returned it, or read before. All but its entry and its lists is as the
 * record says. DUEQ_CORRUPT: malformed. DUEQ_NOMEM. */
enum dueq_status topic_read(struct topic *topic, struct dueq_slice record);
/* True: earlier versions wrote it, with less in it. */
bool topic_record_is_old(struct dueq_slice record);

struct job_counts topic_counts(const struct topic *topic);
static inline uint64_t job_count(const struct job_counts *counts, enum dueq_state state)
{
    switch (state) {
    case DUEQ_DELAYED:
        return counts->pending - counts->ready;
    case DUEQ_READY:
        return counts->ready;
    case DUEQ_CLAIMED:
        return counts->claimed;
    case DUEQ_DONE:
        return counts->done;
    case DUEQ_WAITING:
        return counts->waiting;
    case DUEQ_DEAD:
        break;
    }
    return counts->dead;
}
/* Adds numbers of jobs, or totals. */
void topic_add_counts(struct job_counts *sum, const struct job_counts *counts);
void topic_add_totals(struct dueq_topic_stats *sum, const struct dueq_topic_stats *totals);

#endif
