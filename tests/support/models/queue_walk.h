/* A random walk through the queue: one store and its model, and the steps that do the same to
 * both and compare what they answer. The test decides which steps come, and how the store
 * ends. */
#ifndef DUEQ_QUEUE_WALK_H
#define DUEQ_QUEUE_WALK_H

#include "tests/support/dice.h"
#include "tests/support/models/queue_model.h"
#include "tests/support/store/store_fixture.h"

struct queue_walk {
    struct store_fixture fixture;
    struct dice dice;
    struct queue_model model;
    bool waiting[QUEUE_MODEL_TOPICS]; /* a claim found nothing: a signal must come before a
                                         claim finds a job */
};
extern struct queue_walk walk;

/* 0 .. sides - 1 */
int64_t walk_roll(uint64_t sides);
bool walk_once_in(uint64_t times);

/* The id of a present or former job, the job if it exists, and a token that may be its own. */
struct walk_target {
    struct dueq_slice topic, id;
    int topic_number;
    struct model_job *job; /* NULL: there is none */
    struct model_topic *sums;
    int64_t token;
};
/* False: there was no job yet in the place that was chosen. */
bool walk_choose(struct walk_target *ret_target);

/* The store shows the job as the model has it. */
void walk_check_job(const struct dueq_job *found, const struct model_job *job);
/* The state in the store; DUEQ_STATES: it is not there. */
int walk_shown_state(const struct model_job *job);
void walk_check_stats(void);

/* ---- pushes (queue_walk_push.c) */

void walk_push(void);
void walk_push_many(void);
/* A moment for `push`, and for the model's job that comes of it. */
void walk_choose_due(struct dueq_push *push, struct model_content *content);
/* Sets options of a push at random, others not. */
void walk_choose_options(struct dueq_push *push);

/* ---- claims (queue_walk_claim.c) */

void walk_claim(void);
void walk_ack(void);
void walk_finish(void);
void walk_nack(void);
void walk_extend(void);

/* ---- changes by id (queue_walk_change.c) */

void walk_reschedule(void);
void walk_update(void);
void walk_move(void);
void walk_cancel(void);
void walk_delete(void);
void walk_get(void);

/* ---- topics (queue_walk_topic.c) */

void walk_pause(void);
void walk_put_settings(void);
/* Each setting comes from the right scope. */
void walk_check_settings(void);

/* Dead jobs are removed, or begin anew. */
void walk_dead(void);

/* ---- time (queue_walk_time.c) */

/* The clocks go on, and a tick does what is due, or a part of it. */
void walk_advance(void);
void walk_tick_all(void);
/* The wall clock is set. */
void walk_step_wall(void);

#endif
