/* Topics and their jobs, on a key space: what storage/store.c calls, and what the files of
 * storage/queue share. */
#ifndef DUEQ_QUEUE_H
#define DUEQ_QUEUE_H

#include "storage/kv/kv.h"
#include "storage/queue/topic.h"
#include "storage/queue/id_index.h"

/* Where the reclaiming of flushed topics has got to. */
struct garbage {
    bool any;         /* there may be something of topics below the first that lives */
    size_t table;     /* the one being emptied of it */
    struct kv_key at; /* everything before is removed: the next search starts there */
};

/* What outlives topics. One record on disk. */
struct counters {
    uint64_t next_topic;            /* id of the next topic */
    uint64_t first_topic;           /* all with ids below are flushed */
    uint64_t next_seq, next_token;  /* above those of all topics that are no more */
    struct dueq_topic_stats totals; /* of topics that are no more */
    bool dirty;
};

struct queue {
    struct kv *kv;
    struct kv_cursor *cursor; /* for whoever needs one; never held across calls */
    struct topic *topics;     /* by name (uthash) */
    struct topic *dirty;
    struct topic *signals; /* in order (utlist) */
    struct topic *empty;   /* without jobs, those used last at the end (utlist) */
    struct topic *flushed; /* to be freed, by hh.next */
    unsigned empty_count, empty_kept;
    struct counters counters;
    uint64_t most_seq, most_token; /* above those of all topics */
    struct dueq_defaults defaults;
    struct job_counts jobs;         /* in all topics */
    struct dueq_topic_stats totals; /* of all topics, the totals of it only */
    struct wheel wheel;
    int64_t now;                   /* the greatest time given */
    int64_t offset;                /* wall - now, rounded down */
    struct dueq_timeline timeline; /* for the caller */
    bool has_timeline;
    int64_t timers_offset; /* the offset that timers are set by */
    int64_t unarmed_until; /* topics beyond the wheel's horizon are offered again then */
    struct garbage garbage;
    struct unique unique;
    char id[GIVEN_ID_SIZE];        /* given to the job pushed last */
    uint8_t error[DUEQ_ERROR_MAX]; /* of the job returned last */
};

/* ---- the queue as a whole (queue.c) */

/* Arms the topics of the space, of which no backlog is read. */
enum dueq_status queue_new(struct kv *kv, struct dueq_time time, struct queue **ret_queue);
void queue_free(struct queue *queue); /* saves nothing; NULL is fine */
/* dueq_keep_timeline */
void queue_keep_timeline(struct queue *queue, const struct dueq_timeline *line);

/* ---- jobs, as the functions of dueq.h with these names after the dueq_ (push.c, claim.c,
 * lookup.c, stats of topics, topics.c) */

enum dueq_status queue_push(struct queue *queue, const struct dueq_push *push,
                            struct dueq_time time, struct dueq_slice *ret_id);
enum dueq_status queue_claim(struct queue *queue, struct dueq_slice topic, int64_t lease,
                             struct dueq_time time, struct dueq_job *ret_job);
enum dueq_status queue_ack(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                           int64_t token, struct dueq_time time);
enum dueq_status queue_nack(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                            int64_t token, const struct dueq_nack *nack, struct dueq_time time,
                            enum dueq_state *ret_state);
enum dueq_status queue_extend(struct queue *queue, struct dueq_slice topic,
                              struct dueq_slice id, int64_t token, int64_t lease,
                              struct dueq_time time, int64_t *ret_end);
enum dueq_status queue_get(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                           struct dueq_time time, struct dueq_job *ret_job);
enum dueq_status queue_del(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                           struct dueq_time time);
enum dueq_status queue_topic_stats(struct queue *queue, struct dueq_slice topic,
                                   struct dueq_time time, struct dueq_topic_stats *ret_stats);
enum dueq_status queue_total_stats(struct queue *queue, struct dueq_time time,
                                   struct dueq_topic_stats *ret_stats);
enum dueq_status queue_topic_after(struct queue *queue, struct dueq_slice after,
                                   struct dueq_slice *ret_name);
size_t queue_topic_count(const struct queue *queue);
enum dueq_status queue_next_signal(struct queue *queue, struct dueq_slice *ret_topic);

/* Time as the store sees it: `now` never backward, all within reason, `ceiling` not below
 * `now`. The offset between the clocks changes when one was stepped, not with their rounding.
 */
struct dueq_time queue_time(struct queue *queue, struct dueq_time time);

/* The last time that was given. */
static inline struct dueq_time queue_last_time(const struct queue *queue)
{
    return (struct dueq_time){queue->now, queue->now + queue->offset, queue->now};
}

/* When something ends that begins now and takes that long, 0 or more. */
static inline int64_t queue_after(struct dueq_time time, int64_t wait)
{
    return wait == 0 ? time.now : safe_time_add(time.ceiling, wait);
}

static inline int64_t queue_clock_of(const struct queue *queue, uint8_t clock, int64_t moment)
{
    return clock == CLOCK_QUEUE ? moment : moment - queue->offset;
}

/* As callers are shown all moments: unix ms of the wall clock. */
static inline int64_t queue_wall_of(const struct queue *queue, uint8_t clock, int64_t moment)
{
    return clock == CLOCK_WALL ? moment : moment + queue->offset;
}

/* Counts an event in the topic's totals and the store's. */
#define QUEUE_COUNT(queue, topic, total)                                                       \
    ((void)((topic)->totals.total++, (queue)->totals.total++))

static inline bool queue_valid_name(struct dueq_slice name)
{
    return name.size > 0 && name.size <= DUEQ_NAME_MAX;
}

void queue_mark_dirty(struct queue *queue, struct topic *topic);
void queue_signal(struct queue *queue, struct topic *topic);
/* It is not, or no longer, among those signalled. */
void queue_unsignal(struct queue *queue, struct topic *topic);
/* The topic's next event may have come nearer. */
void queue_event_at(struct queue *queue, struct topic *topic, int64_t at);

/* ---- the directory of topics (topics.c) */

/* A topic without jobs is kept for its totals, but no more than so many are: those that were
 * used last. */
enum { TOPICS_EMPTY_KEPT = 1000 };

enum dueq_status topics_load(struct queue *queue);
void topics_release(struct queue *queue);
enum dueq_status topics_find(struct queue *queue, struct dueq_slice name,
                             struct topic **ret_topic);
/* Makes the topic when there is none: its seqs and tokens go on above those that a topic of
 * that name may have had before. */
enum dueq_status topics_open(struct queue *queue, struct dueq_slice name,
                             struct topic **ret_topic);
/* Puts the records of changed topics. */
void topics_save(struct queue *queue);
/* The same before a commit, and drops empty topics. Pointers to topics are void. */
void topics_prepare_commit(struct queue *queue);
/* Drops all topics. O(1): ticks give back memory and space. */
void topics_flush(struct queue *queue);

/* ---- schedule (schedule.c) */

static inline int64_t schedule_lane_now(const struct lane *lane, struct dueq_time time)
{
    return lane->clock == CLOCK_QUEUE ? time.now : time.wall;
}

/* Makes room for an entry of that state, so that schedule_add cannot fail. DUEQ_NOMEM. */
enum dueq_status schedule_reserve(struct topic *topic, const struct job_state *state,
                                  struct dueq_time time);
void schedule_add(struct queue *queue, struct topic *topic, const struct job_state *state,
                  uint64_t seq, struct dueq_time time);
void schedule_remove(struct queue *queue, struct topic *topic, const struct job_state *state,
                     uint64_t seq);
/* Searches take a budget, as those of cursors do (kv_cursor_seek_within): DUEQ_NOTFOUND with
 * nothing left of it says that another call may find more. NULL: without end. */

/* The first entry of the lane that is due; DUEQ_NOTFOUND. */
enum dueq_status schedule_first(struct queue *queue, struct topic *topic, struct lane *lane,
                                struct dueq_time time, unsigned *budget,
                                struct place *ret_place);
/* Counts what has fallen due (or, with a wall clock set back, has not yet) in at most *budget
 * steps. *moved grows by the jobs that became ready. A budget of 0 afterwards: there may be
 * more. */
enum dueq_status schedule_count(struct queue *queue, struct topic *topic, struct lane *lane,
                                struct dueq_time time, unsigned *budget, uint64_t *moved);
/* Makes lane->next_due exact; what is due must be counted. */
enum dueq_status schedule_find_next_due(struct queue *queue, struct topic *topic,
                                        struct lane *lane, unsigned *budget);
/* The first entry of a class from a place on; DUEQ_NOTFOUND. */
enum dueq_status schedule_class_first(struct queue *queue, const struct topic *topic,
                                      uint8_t class, struct place from, unsigned *budget,
                                      struct place *ret_place);

/* ---- jobs (job.c) */

struct job {
    uint64_t seq;
    struct job_body body;
    struct job_state state;
    bool moved; /* the state is a record of its own, no longer that of the push */
};

/* The slices live until the next write. */
enum dueq_status job_load(struct queue *queue, struct topic *topic, uint64_t seq,
                          struct job *ret_job);
enum dueq_status job_load_body(struct queue *queue, struct topic *topic, uint64_t seq,
                               struct job_body *ret_body);
/* DUEQ_NOTFOUND: it is as it was pushed. */
enum dueq_status job_load_state(struct queue *queue, struct topic *topic, uint64_t seq,
                                struct job_state *ret_state);
/* Of the body only the id is looked at. */
void job_remove(struct queue *queue, struct topic *topic, const struct job *job);

/* Moves the job to where `state` says; `error` of the new state may lie in the old one.
 * Afterwards job->state is the new one with its error in store->error. On
 * DUEQ_NOMEM nothing has changed. */
enum dueq_status job_reschedule(struct queue *queue, struct topic *topic, struct job *job,
                                struct job_state state, struct dueq_time time);

/* What becomes of a job that is no longer claimed: dead when `final`, past its retries or its
 * ttl, else pending at `due`. error: size 0 keeps the last one. */
enum dueq_status job_give_back(struct queue *queue, struct topic *topic, struct job *job,
                               int64_t due, bool final, struct dueq_slice error,
                               struct dueq_time time, enum dueq_state *ret_state);

/* Has the ttl run out? It counts from the due time: first the end follows a wall clock that was
 * set back. */
bool job_is_over(struct queue *queue, struct topic *topic, struct job *job,
                 struct dueq_time time);
void job_put_ttl(struct queue *queue, struct topic *topic, uint64_t seq, int64_t expires);

/* A job whose ttl has run out dies. */
void job_expire(struct queue *queue, struct topic *topic, struct job *job,
                struct dueq_time time);

/* How long the job waits after a failure. */
int64_t job_backoff(const struct topic *topic, const struct job *job);

/* ---- jobs by id, and as callers see them (lookup.c) */

/* Only ids that the store gave. */
enum dueq_status lookup_given(struct queue *queue, struct topic *topic, struct dueq_slice id,
                              struct job *ret_job);
/* What a caller's id stands for, by the index alone. DUEQ_NOTFOUND. */
enum dueq_status lookup_seq(struct queue *queue, struct topic *topic, struct dueq_slice id,
                            uint64_t *ret_seq);
enum dueq_status lookup_id(struct queue *queue, struct topic *topic, struct dueq_slice id,
                           struct job *ret_job);
/* Checks both names. */
enum dueq_status lookup_job(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                            struct topic **ret_topic, struct job *ret_job);
void lookup_show(struct queue *queue, const struct job *job, struct dueq_time time,
                 struct dueq_job *ret_job);

static inline int64_t queue_or_default(int64_t given, int64_t otherwise)
{
    return given == DUEQ_DEFAULT ? otherwise : given;
}

/* ---- time (tick.c, garbage.c) */

/* As dueq_tick and dueq_next_tick, for what the queue has to do; *budget is what is left. */
void queue_tick(struct queue *queue, struct dueq_time time, unsigned *budget);
int64_t queue_next_tick(const struct queue *queue, struct dueq_time time);

/* Gives back memory and records of flushed topics in at most *budget steps. */
void garbage_collect(struct queue *queue, unsigned *budget);
void garbage_free(struct queue *queue, unsigned *budget); /* their memory only */
void garbage_begin(struct queue *queue);                  /* topics have been flushed */
void garbage_load(struct queue *queue);                   /* they may have been, before */
static inline bool garbage_any(const struct queue *queue)
{
    return queue->garbage.any || queue->flushed != NULL;
}

/* Walks everything and compares counts, entries, indexes and timers: NULL when sound, else what
 * is wrong (static text). For tests (check.c). */
const char *queue_check(struct queue *queue);

#endif
