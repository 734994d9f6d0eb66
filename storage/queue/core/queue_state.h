/* All topics and their jobs, stored in a key space: the state that the operations of
 * storage/queue work on. */
#ifndef DUEQ_QUEUE_STATE_H
#define DUEQ_QUEUE_STATE_H

#include "storage/kv/kv.h"
#include "storage/queue/core/afters.h"
#include "storage/queue/core/counters.h"
#include "storage/queue/core/cron_store.h"
#include "storage/queue/core/endings.h"
#include "storage/queue/core/job_events.h"
#include "storage/queue/core/garbage.h"
#include "storage/queue/core/groups.h"
#include "storage/queue/record/given_id.h"
#include "storage/queue/core/id_index.h"
#include "storage/queue/core/job.h"
#include "storage/queue/core/latencies.h"
#include "storage/queue/core/lookup.h"
#include "storage/queue/core/recent_claims.h"
#include "storage/queue/core/schedule.h"
#include "storage/queue/core/settings.h"
#include "storage/queue/core/topic_sweep.h"
#include "storage/queue/core/topics.h"
#include "storage/spans.h"

#define HASH_NONFATAL_OOM 1 /* a library does not exit: hh.tbl is NULL then */
#include <uthash.h>

struct queue {
    struct kv *kv;
    struct kv_cursor *cursor; /* shared by all functions; none keeps it across calls */
    struct topic_table topics;
    struct topic_table *flushed; /* to be freed, by next */
    struct topic *dirty;         /* to be saved, by dirty_next */
    struct topic *signals;       /* in order (utlist) */
    struct topic *empty;         /* without jobs, those used last at the end (utlist) */
    struct topic *awake;         /* the others in RAM, those used last at the end (utlist) */
    unsigned empty_count, empty_kept, awake_count, awake_kept;
    struct topic_sweep sweep;
    struct counters counters;
    uint64_t most_seq, most_token; /* greater than those of all topics */
    struct dueq_defaults defaults;
    struct scope *scopes, *patterns; /* settings of topics (uthash, utlist) */
    uint64_t settings_epoch;         /* topics with another one compute their settings anew */
    size_t durable_scopes;           /* how many of them set a durability */
    unsigned asked;                  /* by the topics that calls were about: queue_take_asks */
    struct job_counts jobs;          /* in all topics */
    uint64_t bytes;                  /* of the bodies in all topics */
    struct dueq_topic_stats totals;  /* of all topics; only its totals are used */
    struct dueq_spans spans[DUEQ_SPANS];
    struct latencies latencies;
    struct wheel wheel;
    int64_t now;                   /* the greatest time given, ms */
    int64_t offset;                /* wall - now, ms, rounded down */
    struct dueq_timeline timeline; /* kept for the caller */
    bool has_timeline;
    int64_t timers_offset; /* the offset that the timers are set by */
    struct garbage garbage;
    struct id_index ids;
    struct recent_claims claims;
    struct endings endings;
    struct afters afters;
    struct events events;
    struct topic *ring_news; /* in order (utlist): see rings_next */
    bool rings_watched;
    size_t ring_scopes; /* how many of the scopes ask for a ring of events */
    struct crons crons;
    struct group_cache group;
    unsigned parked;        /* jobs that claims have parked since the last commit */
    uint64_t claim_steps;   /* that they have taken since then (pick.c) */
    bool is_adding;         /* a batch of pushes holds topics, and lanes that are still empty */
    uint64_t rate_refusals; /* claims that found the bucket of their topic empty */
    uint64_t rate_releases; /* groups that were looked at when their time had come */
    char id[GIVEN_ID_SIZE]; /* given to the job pushed last */
    uint8_t state[JOB_RECORD_STATE_MAX];     /* record of the state written last */
    uint8_t history[JOB_RECORD_HISTORY_MAX]; /* of that state */
    int64_t steps[DUEQ_STEPS_MAX];           /* of the job returned last */
    uint64_t body_steps; /* since the opening: queue_read_steps and queue_move_steps */
};

/* With libdueq-small large bodies are checked, and batches of pushes added, in one call each.
 */
#ifdef DUEQ_SMALL
enum { SLICES_KNOWN = 0 };
#else
enum { SLICES_KNOWN = 1 };
#endif

/* ---- large bodies */

/* Steps of a budget for a body: it is checked as it is read, and written when it is moved. */
static inline uint64_t queue_read_steps(uint64_t bytes)
{
    return bytes / (16 * 1024);
}

static inline uint64_t queue_move_steps(uint64_t bytes)
{
    return bytes / 1024;
}

/* Between the two a large body is checked in parts, one in each call: within those of a
 * command, or in parts of its own. Returns, and takes, whether these are its own. */
static inline bool queue_begin_parts(struct queue *queue)
{
    if (!SLICES_KNOWN || kv_in_slices(queue->kv))
        return false;
    kv_begin_slices(queue->kv);
    return true;
}

static inline void queue_end_parts(struct queue *queue, bool own)
{
    if (own)
        kv_end_slices(queue->kv);
}

/* job_load for a tick. DUEQ_BUSY: a large body is being checked; nothing is left of the budget.
 */
static inline enum dueq_status queue_load_within(struct queue *queue, struct topic *topic,
                                                 uint64_t seq, unsigned *budget,
                                                 struct job *ret_job)
{
    bool own = queue_begin_parts(queue);
    enum dueq_status status = job_load(queue, topic, seq, ret_job);

    queue_end_parts(queue, own);
    if (SLICES_KNOWN && status == DUEQ_BUSY)
        *budget = 0;
    return status;
}

/* ---- life, time, defaults, signals */

/* Loads the topics of the key space and arms their timers; reads no jobs. kv must live longer
 * than the queue. DUEQ_NOMEM, DUEQ_CORRUPT, DUEQ_IO. O(topics). */
enum dueq_status queue_new(struct kv *kv, struct dueq_time time, struct queue **ret_queue);
/* Saves nothing. NULL is fine. */
void queue_free(struct queue *queue);

/* What the topics that were read or changed since the last call ask for: a sum of enum asks; 0:
 * there were none. */
static inline unsigned queue_take_asks(struct queue *queue)
{
    unsigned asks = queue->asked;

    queue->asked = 0;
    return asks;
}

/* Returns the time that the queue works with, and remembers it: `now` never goes backward, all
 * three are clamped (safe_time.h), `ceiling` is `now` or later. The offset between the clocks
 * changes when one of them is stepped, but not by their rounding. */
struct dueq_time queue_time(struct queue *queue, struct dueq_time time);
/* The last time that was given. */
struct dueq_time queue_last_time(const struct queue *queue);

/* The one that a key space has. DUEQ_NOTFOUND; DUEQ_CORRUPT. */
enum dueq_status queue_read_timeline(struct kv *kv, struct dueq_timeline *ret_line);
bool queue_get_timeline(const struct queue *queue, struct dueq_timeline *ret_line);
void queue_keep_timeline(struct queue *queue, const struct dueq_timeline *line);
/* Of its record: the key, which lives in *key, and the time line's `ahead`. False: malformed.
 */
struct dueq_slice queue_timeline_key(struct kv_key *key);
bool queue_read_ahead(struct dueq_slice value, int64_t *ret_ahead);
void queue_get_defaults(const struct queue *queue, struct dueq_defaults *ret_defaults);
void queue_set_defaults(struct queue *queue, const struct dueq_defaults *defaults);
enum dueq_status queue_next_signal(struct queue *queue, struct dueq_slice *ret_topic);
bool queue_has_signal(const struct queue *queue); /* has queue_next_signal a topic? */

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

/* Counts a time of `ms`; a clock that was set back makes none less than 0. O(1). */
static inline void queue_note_span(struct queue *queue, enum dueq_span span, int64_t ms)
{
    spans_note(&queue->spans[span], ms > 0 ? (uint64_t)ms : 0);
}

/* Does any topic keep its events? */
static inline bool queue_has_rings(const struct queue *queue)
{
#ifdef DUEQ_SMALL /* rings_none.c */
    (void)queue;
    return false;
#else
    return queue->ring_scopes > 0;
#endif
}

/* Does anybody want to know what happens to jobs? */
static inline bool queue_notes_events(const struct queue *queue)
{
    return queue->events.wanted || queue_has_rings(queue);
}

/* Notes what has happened to the job, when somebody listens or the topic keeps it. O(1), or
 * O(log n). */
static inline void queue_note_event(struct queue *queue, struct topic *topic,
                                    const struct job *job, enum dueq_event_type type)
{
    if (queue_notes_events(queue))
        events_note(queue, topic, job, type);
}

/* The change failed before which the topic's ring ended at `next`: nothing has happened. */
static inline void queue_forget_events(struct queue *queue, struct topic *topic, uint64_t next)
{
    if (queue_has_rings(queue) && topic->ring.next != next)
        rings_take_back(queue, topic, next);
}

/* Tells who watches the job that it has ended, unless they were told, and notes it for jobs
 * that wait for it. O(1), or O(log n). */
static inline void queue_note_end(struct queue *queue, struct topic *topic, uint64_t seq,
                                  enum dueq_end end)
{
    if (AFTERS_KNOWN && topic->awaited > 0)
        afters_end(queue, topic, seq, end);
    if (queue->endings.jobs != NULL)
        endings_end(queue, topic->id, seq, end);
}

/* Bodies of so many bytes are gone from the topic, and others have come. */
static inline void queue_count_bytes(struct queue *queue, struct topic *topic, uint64_t gone,
                                     uint64_t come)
{
    if (gone > topic->bytes)
        gone = topic->bytes;
    topic->bytes += come - gone;
    queue->bytes += come - gone;
}

/* The id that the store gave last; valid until it gives another. */
static inline struct dueq_slice queue_given_id(const struct queue *queue)
{
    return dueq_slice(queue->id, GIVEN_ID_SIZE);
}

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
/* Sets the topic's timer to `at` (ms, the queue's clock; DUEQ_NEVER: no event) unless it fires
 * earlier. */
void queue_event_at(struct queue *queue, struct topic *topic, int64_t at);
/* When the topic's timer fires, on the queue's clock; DUEQ_NEVER. */
int64_t queue_next_event(const struct topic *topic);

#endif
