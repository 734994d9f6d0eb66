/* The events that topics keep, as the model has them: what must come of a step, and the last
 * ones that came. */
#ifndef DUEQ_QUEUE_MODEL_EVENTS_H
#define DUEQ_QUEUE_MODEL_EVENTS_H

#include "storage/dueq.h"

struct model_job;
struct queue_model;

enum { MODEL_RING_MOST = 40, MODEL_WANTED_MOST = 4000 };

/* One that must come, at any place among those of its step. */
struct model_wanted {
    int topic;
    enum dueq_event_type type;
    int64_t attempt;
    const struct model_job *job; /* its id is that of this job afterwards; NULL: it is here */
    uint64_t id;
    bool came;
};

/* Of a step; what falls due is not in it. */
struct model_wishes {
    struct model_wanted list[MODEL_WANTED_MOST];
    size_t count;
};

/* One that came. */
struct model_kept {
    uint64_t number;
    enum dueq_event_type type;
    int64_t attempt, at;
    uint64_t id;
};

struct model_ring {
    uint64_t last;  /* the last number; 0: none, or of a topic before */
    uint64_t least; /* numbers are not less than this */
    struct model_kept kept[MODEL_RING_MOST]; /* by number modulo MODEL_RING_MOST */
};

/* A hash of an id. */
uint64_t model_event_id(struct dueq_slice id);
/* The job's attempts are those that the event tells. */
void model_note(struct queue_model *model, const struct model_job *job,
                enum dueq_event_type type);
/* It came to its topic; what its id is there is not known yet. */
void model_note_arrival(struct queue_model *model, const struct model_job *job);

#endif
