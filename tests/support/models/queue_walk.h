/* A random walk through the queue: one store and its model, and the steps that do the same to
 * both and compare what they answer. The test decides which steps come, and how the store
 * ends. */
#ifndef DUEQ_QUEUE_WALK_H
#define DUEQ_QUEUE_WALK_H

#include "tests/support/dice.h"
#include "tests/support/models/queue_model_push.h"
#include "tests/support/store/store_fixture.h"

/* A purge that goes on in later steps. */
struct walk_purge {
    bool runs;
    int topic;
    uint64_t last_seq; /* later jobs came after it began */
    struct dueq_purge what;
    struct dueq_purge_progress progress;
};

struct queue_walk {
    struct store_fixture fixture;
    struct dice dice;
    struct queue_model model;
    bool waiting[QUEUE_MODEL_TOPICS]; /* a claim found nothing: a signal must come before a
                                         claim finds a job */
    uint64_t bodies;                  /* made so far */
    struct dueq_watch *watches[QUEUE_MODEL_WATCHES + 1]; /* NULL: that number is free */
    struct walk_purge purge;
    bool groups;                /* jobs have groups, and due times on the queue's clock only */
    bool drops;                 /* a topic is dropped as soon as it is empty */
    bool all_ticked;            /* a tick of this step has done all that was due */
    struct model_wishes wishes; /* events of this step */
    struct model_times times;
    bool is_split; /* the store has committed a part of this step: a commit is to follow it */
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
/* The same; in most cases the token is good for an ack, if there is such a job. */
bool walk_choose_held(struct walk_target *ret_target);

/* The store shows the job as the model has it. */
void walk_check_job(const struct dueq_job *found, const struct model_job *job);
/* The same, but for the result, which looks do not show. */
void walk_check_look(const struct dueq_job *found, const struct model_job *job);
/* The state in the store; DUEQ_STATES: it is not there. */
int walk_shown_state(const struct model_job *job);
/* Jobs may have died: reads from the store in which order they came to dead-letter topics, and
 * which of them got another id. in_order: they died in the order of the model. */
void walk_follow_arrivals(bool in_order);
void walk_check_stats(void);
/* Jobs that wait for others go on or die, in store and model. False: there were none. */
bool walk_settle(void);

/* The store was opened anew: what it does not save is gone. */
void walk_forget(void);
/* May commit what the store has done of this step so far. */
void walk_commit_part(void);

/* ---- pushes (queue_walk_push.c) */

void walk_push(void);
/* same: NULL, or whose id the push has in some cases. */
void walk_choose_push(struct model_push *push, const struct walk_target *same);
/* What a push waits for; it lives as long as the push. */
struct walk_awaited {
    struct dueq_prerequisite list[QUEUE_MODEL_AFTER];
    uint8_t ids[QUEUE_MODEL_AFTER][DUEQ_NAME_MAX];
};
/* Jobs of any topic, and former ones, or none. */
void walk_choose_after(struct model_push *push, struct walk_awaited *awaited);
/* That job too, if it is not the pushed one and not too many. Comes after walk_choose_after. */
void walk_await(struct model_push *push, int topic, struct dueq_slice id,
                struct walk_awaited *awaited);
/* The store took the push. */
void walk_follow_push(const struct model_push *push, const struct dueq_pushed *pushed);
/* The store gave the id: such ids grow, and no job of the topic has it. */
void walk_note_given_id(int topic, struct dueq_slice id);
/* A moment for `push`, and for the model's job that comes of it. */
void walk_choose_due(struct dueq_push *push, struct model_content *content);
/* Sets options of a push at random, others not. */
void walk_choose_options(struct dueq_push *push);
/* body: QUEUE_MODEL_BODY bytes. No two bodies are the same. */
void walk_write_body(char *body);

/* ---- pushes that come together (queue_walk_batch.c) */

void walk_push_many(void);
void walk_hand_over(void);

/* ---- claims (queue_walk_claim.c) */

void walk_claim(void);
void walk_pop(void);
void walk_ack(void);
/* How a job is done. */
struct walk_done {
    struct dueq_done done;
    const char *result; /* NULL: none */
    bool is_plain;      /* nothing is set */
};
void walk_choose_done(struct walk_done *ret_done);
void walk_finish(void);
void walk_nack(void);
void walk_extend(void);
void walk_end_lease(void);
void walk_claimed_topics(void);
void walk_holds(void);
/* The store tells how long jobs took. */
void walk_check_times(void);

/* ---- changes by id (queue_walk_change.c) */

void walk_reschedule(void);
void walk_update(void);
void walk_move(void);
void walk_cancel(void);
void walk_delete(void);
void walk_get(void);

/* ---- many jobs (queue_walk_look.c) */

/* Peeks, scans, forecasts. */
void walk_look(void);

/* ---- topics (queue_walk_topic.c) */

/* Has the store a topic of that name? */
bool walk_has_topic(int topic);
void walk_pause(void);
void walk_drop(void);
/* Nothing of the topic is left in the model; its tokens and ids are not given again. */
void walk_clear_topic(int topic);
void walk_put_settings(void);
void walk_set_defaults(void);
/* Each setting comes from the right scope, and no other scope has any. */
void walk_check_settings(void);

/* ---- purge (queue_walk_purge.c) */

/* Begins one, or goes on with it. */
void walk_purge(void);

/* ---- dead jobs (queue_walk_dead.c) */

/* Those that a query finds are looked at or removed, or begin anew. */
void walk_dead(void);

/* ---- watches (queue_walk_watch.c) */

void walk_watch(void);
void walk_unwatch(void);
/* The store tells all ends that the model knows, each once. */
void walk_take_ends(void);

/* ---- kept events (queue_walk_events.c) */

/* Compares those of this step, which ends. */
void walk_follow_events(void);
/* Compares all that are there. */
void walk_check_events(void);
/* The topic is gone, and its numbers go on. */
void walk_forget_events(int topic);
/* Has the store any of the topic? They keep it there. */
bool walk_has_events(int topic);

/* ---- time (queue_walk_time.c) */

/* The clocks go on, and a tick does what is due, or a part of it. */
void walk_advance(void);
void walk_tick_all(void);
/* The wall clock is set. */
void walk_step_wall(void);

#endif
