/* The struct queue, and what its files share. Private to storage/queue and tests. */
#ifndef DUEQ_QUEUE_INTERNAL_H
#define DUEQ_QUEUE_INTERNAL_H

#include "storage/kv/kv.h"
#include "storage/queue/garbage.h"
#include "storage/queue/given_id.h"
#include "storage/queue/id_index.h"
#include "storage/queue/job.h"
#include "storage/queue/lookup.h"
#include "storage/queue/queue.h"
#include "storage/queue/schedule.h"
#include "storage/queue/topics.h"

/* What outlives topics. One record on disk. */
struct counters {
    uint64_t next_topic;            /* id of the next topic */
    uint64_t first_topic;           /* all topics with lower ids are flushed */
    uint64_t next_seq, next_token;  /* greater than those of all dropped topics */
    struct dueq_topic_stats totals; /* of dropped topics */
    bool dirty;
};

struct queue {
    struct kv *kv;
    struct kv_cursor *cursor; /* shared by all functions; none keeps it across calls */
    struct topic *topics;     /* by name (uthash) */
    struct topic *dirty;      /* to be saved, by dirty_next */
    struct topic *signals;    /* in order (utlist) */
    struct topic *empty;      /* without jobs, those used last at the end (utlist) */
    struct topic *flushed;    /* to be freed, by hh.next */
    unsigned empty_count, empty_kept;
    struct counters counters;
    uint64_t most_seq, most_token; /* greater than those of all topics */
    struct dueq_defaults defaults;
    struct job_counts jobs;         /* in all topics */
    struct dueq_topic_stats totals; /* of all topics; only its totals are used */
    struct wheel wheel;
    int64_t now;                   /* the greatest time given, ms */
    int64_t offset;                /* wall - now, ms, rounded down */
    struct dueq_timeline timeline; /* kept for the caller */
    bool has_timeline;
    int64_t timers_offset; /* the offset that the timers are set by */
    int64_t unarmed_until; /* then topics after the wheel's horizon are offered to it again */
    struct garbage garbage;
    struct id_index ids;
    char id[GIVEN_ID_SIZE];        /* given to the job pushed last */
    uint8_t error[DUEQ_ERROR_MAX]; /* of the job returned last */
};

/* The end of a wait that begins now. wait: ms, 0 or more. */
static inline int64_t queue_after(struct dueq_time time, int64_t wait)
{
    return wait == 0 ? time.now : safe_time_add(time.ceiling, wait);
}

/* Converts a time of the given clock to the queue's clock, ms. */
static inline int64_t queue_clock_of(const struct queue *queue, uint8_t clock, int64_t time)
{
    return clock == CLOCK_QUEUE ? time : time - queue->offset;
}

/* Converts a time of the given clock to the wall clock (unix ms), as callers see all times. */
static inline int64_t queue_wall_of(const struct queue *queue, uint8_t clock, int64_t time)
{
    return clock == CLOCK_WALL ? time : time + queue->offset;
}

/* Counts an event in the totals of the topic and of the queue. */
#define QUEUE_COUNT(queue, topic, total)                                                       \
    ((void)((topic)->totals.total++, (queue)->totals.total++))

static inline bool queue_valid_name(struct dueq_slice name)
{
    return name.size > 0 && name.size <= DUEQ_NAME_MAX;
}

static inline int64_t queue_or_default(int64_t given, int64_t otherwise)
{
    return given == DUEQ_DEFAULT ? otherwise : given;
}

/* The topic's record is written before the next commit. */
void queue_mark_dirty(struct queue *queue, struct topic *topic);
/* The next calls of queue_next_signal name the topic once. */
void queue_signal(struct queue *queue, struct topic *topic);
/* Takes the topic out of the signals; no-op when it is not among them. */
void queue_unsignal(struct queue *queue, struct topic *topic);
/* Sets the topic's timer to `at` (ms, the queue's clock) unless it fires earlier. */
void queue_event_at(struct queue *queue, struct topic *topic, int64_t at);

#endif
