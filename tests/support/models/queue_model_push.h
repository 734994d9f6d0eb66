/* Pushes into a queue_model: which are refused, and what the others do. */
#ifndef DUEQ_QUEUE_MODEL_PUSH_H
#define DUEQ_QUEUE_MODEL_PUSH_H

#include "tests/support/models/queue_model.h"
#include "tests/support/models/queue_model_limits.h"

/* One push, as the store gets it and as the model has it. */
struct model_push {
    struct model_job job; /* its topic and id; id_size 0: the store gives one */
    struct model_content content;
    struct dueq_push push;
};

/* What the store must answer. */
enum dueq_status model_push_status(const struct queue_model *model,
                                   const struct model_push *push, struct dueq_time time);
/* The same for pushes of which all happen or none. */
enum dueq_status model_pushes_status(const struct queue_model *model,
                                     const struct model_push *pushes, size_t count,
                                     struct dueq_time time);

/* What makes room for the pushes, before the first of them; model_drop_jobs comes after the
 * last one, because they may wait for what goes. */
void model_plan_room(const struct queue_model *model, const struct model_push *pushes,
                     size_t count, struct dueq_time time, struct model_fates *ret_fates);
/* A push that is not refused. id: as the store has told it. */
enum dueq_push_outcome model_push(struct queue_model *model, const struct model_push *push,
                                  struct dueq_slice id, struct dueq_time time);

#endif
