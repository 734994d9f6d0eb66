/* The steps of a push, for one job (push.c) and for several (push_batch.c). Private to
 * storage/queue. */
#ifndef DUEQ_QUEUE_PUSH_H
#define DUEQ_QUEUE_PUSH_H

#include "storage/queue/limits.h"
#include "storage/queue/queue.h"

/* What a job takes beside its body, bytes: its records with their keys. */
enum { PUSH_RECORDS_MOST = 4096 };
enum { PUSH_PRIORITY_DEFAULT = 128 };

/* Are the values within their ranges, and is there room? DUEQ_INVALID, DUEQ_TOOBIG,
 * DUEQ_FULL. */
enum dueq_status push_check(const struct queue *queue, const struct dueq_push *push);

/* Does the topic take pushes now? DUEQ_PAUSED. */
enum dueq_status push_refusal(const struct topic *topic);

/* A moment that has passed on the wall clock is now. delay: ms from now, when not absolute. */
void push_set_due(bool absolute, int64_t delay, int64_t at, struct dueq_time time,
                  uint8_t *ret_clock, int64_t *ret_due);

/* What the options of a push say of its job, without id, due time and window: what is not said
 * is DUEQ_DEFAULT. Slices as in `push`. */
struct job_body push_plain_body(const struct dueq_push *push);
/* The job as it is kept; slices as in `push`. */
struct job_body push_body(struct queue *queue, struct topic *topic,
                          const struct dueq_push *push, struct dueq_time time);

/* Is a caller's id free? DUEQ_DUPLICATE. One that the store may come to give itself makes the
 * topic look before it gives. */
enum dueq_status push_take_id(struct queue *queue, struct topic *topic, struct dueq_slice id,
                              struct id_index_key *ret_name);
/* Writes an id of the store's own into queue->id, for topic->next_seq, which passes over those
 * that callers have taken. */
enum dueq_status push_give_id(struct queue *queue, struct topic *topic, int64_t stamp);

/* What a push does: found before anything changes. */
struct push_plan {
    enum dueq_push_outcome outcome;
    struct limits_change change; /* of the topic */
    bool taken;                  /* a job has the id */
    struct job job;              /* that one, when taken; a dead one goes before a new job */
};

/* What a push of a new job adds. */
static inline struct limits_change push_adds(const struct dueq_push *push)
{
    return (struct limits_change){.jobs = 1, .bytes = (int64_t)push->body.size};
}

/* Plans a push whose id a job of the topic has, as push_take_id has found. DUEQ_DUPLICATE: it
 * is refused. Changes nothing. (push_unique.c) */
enum dueq_status push_onto_plan(struct queue *queue, struct topic *topic,
                                const struct dueq_push *push, struct push_plan *ret_plan);
/* The same for a job whose ack comes first, and that has its id then too: it is kept as done,
 * or a follow-up is in its place. plan->job is a foresight: it is of no use for push_onto. */
enum dueq_status push_onto_plan_after_ack(struct queue *queue, struct topic *topic,
                                          const struct dueq_push *push,
                                          struct push_plan *ret_plan);
/* Makes sure that push_onto needs no memory. (push_unique.c) */
enum dueq_status push_onto_reserve(struct queue *queue, struct topic *topic,
                                   const struct dueq_push *push, const struct job *job,
                                   struct dueq_time time);
/* Does what is planned, while the records of plan->job are as they were. After DUEQ_CREATED the
 * id is free. (push_unique.c) */
enum dueq_status push_onto(struct queue *queue, struct topic *topic,
                           const struct dueq_push *push, struct push_plan *plan,
                           struct dueq_time time);

/* push_add will come soon, with topic->next_seq as it is: the places where it writes are
 * fetched meanwhile (kv_expect). id: the caller's; name: only used with one. */
void push_expect(struct queue *queue, const struct topic *topic, struct dueq_slice id,
                 const struct job_state *state, const struct id_index_key *name);
/* Writes the job with topic->next_seq, which grows; schedule_reserve comes before. name: only
 * used with an id of the caller. */
void push_add(struct queue *queue, struct topic *topic, const struct job_body *body,
              const struct job_state *state, const struct id_index_key *name,
              struct dueq_time time);

#endif
