/* The inside of the queue: what its files share. Private to storage/queue and store.c. */
#ifndef DUEQ_STORAGE_QUEUE_H
#define DUEQ_STORAGE_QUEUE_H

#include "storage/kv/kv.h"
#include "storage/queue/topic.h"

struct queue {
    struct kv *kv;
    struct kv_cursor *cursor; /* for whoever needs one; never held across calls */
    struct topic *topics;     /* by name (uthash) */
    struct topic *dirty;
    struct topic *first_signal, **last_signal;
    uint64_t next_topic;
    struct dueq_defaults defaults;
    struct wheel wheel;
    int64_t now;           /* the greatest time given */
    int64_t offset;        /* wall - now at the last tick */
    int64_t unarmed_until; /* topics beyond the wheel's horizon are offered again then */
    bool garbage;          /* there may be topics to reclaim */
    struct kv_key garbage_at;
    char id[GIVEN_ID_SIZE]; /* of the job returned last, when the store gave it */
};

/* ---- life (queue.c) */
enum dueq_status queue_new(struct kv *kv, struct dueq_time time, struct queue **ret_queue);
void queue_free(struct queue *queue); /* NULL is fine */
void queue_save(struct queue *queue); /* puts the records of changed topics; before a commit */
void queue_flush(struct queue *queue);

/* Time as the queue sees it: never backward. */
struct dueq_time queue_time(struct queue *queue, struct dueq_time time);

enum dueq_status queue_find_topic(struct queue *queue, struct dueq_slice name,
                                  struct topic **ret_topic);
enum dueq_status queue_open_topic(struct queue *queue, struct dueq_slice name,
                                  struct topic **ret_topic);
void queue_dirty(struct queue *queue, struct topic *topic);
void queue_signal(struct queue *queue, struct topic *topic);
/* The topic's next event may have come nearer. */
void queue_event_at(struct queue *queue, struct topic *topic, int64_t at);

/* ---- schedule (schedule.c) */

static inline int64_t lane_now(const struct lane *lane, struct dueq_time time)
{
    return lane->clock == CLOCK_QUEUE ? time.now : time.wall;
}

enum dueq_status schedule_add(struct queue *queue, struct topic *topic,
                              const struct job_state *state, uint64_t seq,
                              struct dueq_time time);
void schedule_remove(struct queue *queue, struct topic *topic, const struct job_state *state,
                     uint64_t seq);
/* The first entry of the lane that is due; DUEQ_NOTFOUND. */
enum dueq_status schedule_first(struct queue *queue, struct topic *topic, struct lane *lane,
                                struct dueq_time time, struct place *ret_place);
/* Counts what has fallen due (or, with a wall clock set back, has not yet) in at most *budget
 * steps. *ret_moved: jobs that became ready. */
enum dueq_status schedule_count(struct queue *queue, struct topic *topic, struct lane *lane,
                                struct dueq_time time, unsigned *budget, uint64_t *ret_moved);
/* The first entry of a class from `from` on; DUEQ_NOTFOUND. */
enum dueq_status schedule_class_first(struct queue *queue, const struct topic *topic,
                                      uint8_t class, int64_t from, struct place *ret_place);

/* ---- jobs (job.c) */

struct job {
    uint64_t seq;
    struct job_body body;
    struct job_state state;
};

/* By id. The slices live until the next write. */
enum dueq_status job_find(struct queue *queue, struct topic *topic, struct dueq_slice id,
                          struct job *ret_job);
enum dueq_status job_load(struct queue *queue, struct topic *topic, uint64_t seq,
                          struct job *ret_job);
void job_save_state(struct queue *queue, struct topic *topic, uint64_t seq,
                    const struct job_state *state, bool fresh);
void job_remove(struct queue *queue, struct topic *topic, const struct job *job);

/* What becomes of a job that is no longer claimed: dead when `final`, past its retries or its
 * ttl, else pending at `due`. The old schedule entry is taken out. */
enum dueq_status job_give_back(struct queue *queue, struct topic *topic, struct job *job,
                               int64_t due, bool final, struct dueq_slice error,
                               struct dueq_time time, enum dueq_state *ret_state);
void job_die(struct queue *queue, struct topic *topic, struct job *job, struct dueq_slice error,
             struct dueq_time time);
int64_t job_backoff(const struct topic *topic, const struct job *job);

/* ---- time (tick.c) */
bool queue_tick(struct queue *queue, struct dueq_time time, unsigned budget);
int64_t queue_next_tick(const struct queue *queue, struct dueq_time time);

/* Walks everything and compares counts, entries and indexes: NULL when sound. For tests. */
const char *queue_check(struct queue *queue);

#endif
