#include "tests/support/models/queue_model_push.h"

#include "tests/support/models/queue_model_life.h"
#include "tests/support/models/queue_model_limits.h"

#include <string.h>

/* The job with the id of the push; NULL: none. */
static struct model_job *find_same(const struct queue_model *model,
                                   const struct model_push *push)
{
    return push->job.id_size == 0
               ? NULL
               : model_find((struct queue_model *)model, push->job.topic, model_id(&push->job));
}

/* Who has the id. A dead job may give it up. */
static struct model_job *find_holder(const struct queue_model *model,
                                     const struct model_push *push)
{
    struct model_job *same = find_same(model, push);

    return same != NULL && push->push.ignore_dead && same->state == MODEL_DEAD ? NULL : same;
}

/* ---- refusals */

static bool is_too_big(const struct queue_model *model, const struct model_push *push)
{
    return !model_takes_body(model, push->job.topic, (int64_t)strlen(push->content.body));
}

static enum dueq_status paused_status(const struct queue_model *model,
                                      const struct model_push *push)
{
    return model->topics[push->job.topic].paused_in ? DUEQ_PAUSED : DUEQ_OK;
}

static enum dueq_status id_status(const struct queue_model *model,
                                  const struct model_push *push)
{
    return push->push.on_duplicate == DUEQ_REJECT && find_holder(model, push) != NULL
               ? DUEQ_DUPLICATE
               : DUEQ_OK;
}

/* What the pushes add to the topic. */
static struct model_amount sum_up(const struct queue_model *model,
                                  const struct model_push *pushes, size_t count, int topic)
{
    struct model_amount added = {0, 0};

    for (size_t i = 0; i < count; i++)
        if (pushes[i].job.topic == topic && find_holder(model, &pushes[i]) == NULL) {
            added.jobs++;
            added.bytes += (int64_t)strlen(pushes[i].content.body);
        }
    return added;
}

/* drops: those jobs have to go. */
static enum dueq_status admit(const struct queue_model *model, const struct model_push *pushes,
                              size_t count, struct dueq_time time, bool *drops)
{
    enum dueq_status status = DUEQ_OK;

    memset(drops, 0, QUEUE_MODEL_JOBS * sizeof(*drops));
    for (int topic = 0; topic < QUEUE_MODEL_TOPICS && status == DUEQ_OK; topic++) {
        struct model_amount added = sum_up(model, pushes, count, topic);

        status = model_admit(model, topic, &added, time, drops);
    }
    return status;
}

enum dueq_status model_push_status(const struct queue_model *model,
                                   const struct model_push *push, struct dueq_time time)
{
    bool drops[QUEUE_MODEL_JOBS];

    if (paused_status(model, push) != DUEQ_OK)
        return DUEQ_PAUSED;
    if (is_too_big(model, push))
        return DUEQ_TOOBIG;
    if (id_status(model, push) != DUEQ_OK)
        return DUEQ_DUPLICATE;
    return admit(model, push, 1, time, drops);
}

static bool has_id_twice(const struct model_push *pushes, size_t last)
{
    const struct model_push *push = &pushes[last];

    for (size_t i = 0; i < last; i++)
        if (push->job.id_size > 0 && pushes[i].job.topic == push->job.topic &&
            dueq_slice_equal(model_id(&pushes[i].job), model_id(&push->job)))
            return true;
    return false;
}

/* The first that is refused decides. */
enum dueq_status model_pushes_status(const struct queue_model *model,
                                     const struct model_push *pushes, size_t count,
                                     struct dueq_time time)
{
    bool drops[QUEUE_MODEL_JOBS];

    for (size_t i = 0; i < count; i++) {
        if (paused_status(model, &pushes[i]) != DUEQ_OK)
            return DUEQ_PAUSED;
        if (id_status(model, &pushes[i]) != DUEQ_OK || has_id_twice(pushes, i))
            return DUEQ_DUPLICATE;
    }
    for (size_t i = 0; i < count; i++)
        if (is_too_big(model, &pushes[i]))
            return DUEQ_TOOBIG;
    return admit(model, pushes, count, time, drops);
}

/* ---- what a push does */

void model_make_room(struct queue_model *model, const struct model_push *pushes, size_t count,
                     struct dueq_time time)
{
    bool drops[QUEUE_MODEL_JOBS];

    (void)admit(model, pushes, count, time, drops);
    model_drop_jobs(model, drops);
}

/* The push meets the holder of its id. */
static enum dueq_push_outcome change(struct model_job *holder,
                                     const struct model_content *content, struct dueq_time time)
{
    enum dueq_on_duplicate on_duplicate = content->options.on_duplicate;

    if (on_duplicate == DUEQ_IGNORE || on_duplicate == DUEQ_THROTTLE ||
        holder->state == MODEL_DONE)
        return DUEQ_IGNORED;
    if (holder->state == MODEL_CLAIMED) {
        holder->followed = true;
        holder->next = *content;
        return DUEQ_FOLLOWS;
    }
    if (on_duplicate == DUEQ_DEBOUNCE && holder->state == MODEL_PENDING) {
        model_set_due(holder, content->wall, content->due, time);
        return DUEQ_DEBOUNCED;
    }
    model_begin(holder, content, time);
    return DUEQ_REPLACED;
}

static void add(struct queue_model *model, const struct model_push *push, struct dueq_slice id,
                struct dueq_time time)
{
    struct model_job *job = model_free_job(model);

    *job = push->job;
    memcpy(job->id, id.data, id.size);
    job->id_size = id.size;
    job->there = true;
    job->seq = ++model->seq;
    job->stamp = time.now;
    model_begin(job, &push->content, time);
    model->topics[job->topic].totals.pushed++;
}

enum dueq_push_outcome model_push(struct queue_model *model, const struct model_push *push,
                                  struct dueq_slice id, struct dueq_time time)
{
    struct model_job *holder = find_holder(model, push), *dead = find_same(model, push);

    if (holder != NULL)
        return change(holder, &push->content, time);
    if (dead != NULL) {
        model_remove(model, dead, DUEQ_END_GONE);
        model->topics[dead->topic].totals.deleted++;
    }
    add(model, push, id, time);
    return DUEQ_CREATED;
}
