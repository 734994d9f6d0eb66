/* A plain model of the queue: an array of jobs and the rules, with which the store is compared.
 * What it has, and sums of that; queue_model_life.h changes jobs, queue_model_settings.h has
 * the scopes. The caller says what happens to a job, and when. */
#ifndef DUEQ_QUEUE_MODEL_H
#define DUEQ_QUEUE_MODEL_H

#include "storage/dueq.h"
#include "tests/support/models/queue_model_events.h"
#include "tests/support/models/queue_model_times.h"

enum {
    QUEUE_MODEL_TOPICS = 3,
    QUEUE_MODEL_JOBS = 400,
    QUEUE_MODEL_SCOPES = 7,
    QUEUE_MODEL_WATCHES = 60,
    QUEUE_MODEL_GROUPS = 4, /* the first: no group */
    QUEUE_MODEL_AFTER = 4,  /* jobs that one waits for */
    QUEUE_MODEL_BODY = 24,
    QUEUE_MODEL_ERROR = 48
};

/* What a push says. */
struct model_content {
    struct dueq_push options; /* its slices are not used; ttl: with the topic's */
    char body[QUEUE_MODEL_BODY];
    bool wall;   /* due is on the wall clock */
    int64_t due; /* at first */
    int64_t pushed;
};

struct model_attempt {
    int64_t ended, duration;
    enum dueq_outcome outcome;
    const char *worker;
};

struct model_job {
    bool there; /* false: removed; its id is used in requests for a job that does not exist */
    uint8_t id[DUEQ_NAME_MAX];
    size_t id_size;
    int topic;
    uint64_t seq;  /* order of arrival */
    int64_t stamp; /* of arrival, on the queue's clock */
    struct model_content content, next;
    enum { MODEL_PENDING, MODEL_CLAIMED, MODEL_DEAD, MODEL_DONE, MODEL_WAITING } state;
    bool wall; /* due is on the wall clock */
    bool token_valid, cancelled;
    bool holds;    /* it was given back, and the others of its group wait for it */
    bool followed; /* `next` takes its place when the claim ends */
    bool purged;   /* every slice of the running purge so far would have removed it */
    bool spared;   /* no push drops it at present */
    bool arrived;  /* it died in another topic; its seq, and its id if that was taken here, are
                      still to be read from the store */
    bool taken;    /* arrived: its id was taken here */
    bool told;     /* an event said that it was due at: */
    int64_t told_due;
    bool awaits_due; /* an event will say that it is due at: */
    int64_t awaited_due;
    int watch; /* its number; 0: nobody waits for the end */
    /* Waiting: for `awaits` jobs; NULL among them: one that is gone. */
    const struct model_job *after[QUEUE_MODEL_AFTER];
    size_t awaits;
    bool fails; /* one of them was not done: it is to be dead */
    int64_t due, token, attempt, failures, crashes;
    int64_t expires;    /* end of the ttl; done: of keeping it */
    int64_t since;      /* of the claim */
    const char *worker; /* this and the next two: NULL: none */
    const char *progress;
    const char *result;
    char error[QUEUE_MODEL_ERROR];
    struct model_attempt history[DUEQ_ATTEMPTS_KEPT];
    size_t attempts;
};

struct model_topic {
    struct dueq_topic_stats totals; /* only the totals are used */
    int64_t last_token;
    uint8_t last_given[DUEQ_NAME_MAX]; /* the last id that the store gave */
    size_t last_given_size;
    bool paused_in, paused_out;
    int64_t paused_until; /* on the queue's clock */
    /* When its bucket of permits is full, and those of its groups. */
    int64_t full, groups_full[QUEUE_MODEL_GROUPS];
};

struct queue_model {
    struct model_job jobs[QUEUE_MODEL_JOBS];
    struct model_topic topics[QUEUE_MODEL_TOPICS];
    struct dueq_topic_stats gone; /* totals of topics that were dropped */
    struct dueq_settings settings[QUEUE_MODEL_SCOPES];
    struct dueq_defaults defaults;
    struct model_ring rings[QUEUE_MODEL_TOPICS];
    struct model_wishes *wishes;                 /* NULL: what happens is not noted */
    struct model_times *times;                   /* NULL: they are not noted */
    enum dueq_end ends[QUEUE_MODEL_WATCHES + 1]; /* how the job of each watch has ended */
    uint64_t seq;
};

/* Nothing is there, nothing is set. */
void queue_model_init(struct queue_model *model);
/* What the store does not save: watches are forgotten, the defaults are those of dueq.h. */
void model_forget(struct queue_model *model);

static inline struct dueq_slice model_id(const struct model_job *job)
{
    return dueq_slice(job->id, job->id_size);
}

struct dueq_slice model_topic_name(int topic);

/* An unused element of `jobs`; NULL: there is none. */
struct model_job *model_free_job(struct queue_model *model);
/* The job with that id; NULL: none. */
struct model_job *model_find(struct queue_model *model, int topic, struct dueq_slice id);
/* Must a claim return the best job, and not just one of the best? In a fair topic turns decide;
 * and jobs that held their groups come first in them when the settings hold no group any more.
 */
bool model_is_strict(const struct queue_model *model, int topic);
/* May one more job of its topic, and this one of its group, be claimed? */
bool model_has_place(const struct queue_model *model, const struct model_job *job);
/* Is the job ready, and need it wait neither for its group nor for a permit? */
bool model_is_eligible(const struct queue_model *model, const struct model_job *job,
                       struct dueq_time time);
/* Does a job that is given back hold its group? */
bool model_holds_group(const struct queue_model *model, const struct model_job *job);
/* The job that a claim must return; NULL: none. */
struct model_job *model_best(struct queue_model *model, int topic, struct dueq_time time);
/* The dead job that retention removes first, when it is time for one; NULL: none. */
struct model_job *model_worst_dead(struct queue_model *model, int topic, struct dueq_time time);
/* The topic was dropped: its totals are only in those of the store. */
void model_drop_totals(struct queue_model *model, int topic);
/* Is the topic kept when empty topics are dropped? */
bool model_is_used(const struct queue_model *model, int topic);

/* Bytes of its bodies. */
int64_t model_bytes(const struct model_job *job);

/* ---- time */

enum dueq_state model_state(const struct model_job *job, struct dueq_time time);
/* When a wait of so many ms that begins now ends. */
int64_t model_after(struct dueq_time time, int64_t wait);
/* A moment of the wall clock or the queue's clock, on the queue's clock. */
int64_t model_clock_of(bool wall, int64_t due, struct dueq_time time);
/* The due time on the wall clock, as callers see it. */
int64_t model_shown_due(const struct model_job *job, struct dueq_time time);

/* ---- sums */

/* The statistics that the store must return for the topic. */
void model_stats(const struct queue_model *model, int topic, struct dueq_time time,
                 struct dueq_topic_stats *ret_stats);
/* When the next change by time happens, on the queue's clock; DUEQ_NEVER: none. */
int64_t model_next_event(const struct queue_model *model, struct dueq_time time);

#endif
