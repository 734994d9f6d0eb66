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

/* ---- limits */

static enum dueq_push_outcome outcome_of(const struct model_push *push,
                                         const struct model_job *same)
{
    enum dueq_on_duplicate on_duplicate = push->push.on_duplicate;

    if (same == NULL || (push->push.ignore_dead && same->state == MODEL_DEAD))
        return DUEQ_CREATED;
    if (on_duplicate == DUEQ_IGNORE || on_duplicate == DUEQ_THROTTLE ||
        same->state == MODEL_DONE)
        return DUEQ_IGNORED;
    if (same->state == MODEL_CLAIMED)
        return DUEQ_FOLLOWS;
    return on_duplicate == DUEQ_DEBOUNCE && same->state == MODEL_PENDING ? DUEQ_DEBOUNCED
                                                                         : DUEQ_REPLACED;
}

/* The body of a claimed job stays when a follow-up comes, in the place of an earlier one. */
static int64_t bytes_gone(const struct model_job *same)
{
    int64_t own = (int64_t)strlen(same->content.body);

    return same->state == MODEL_CLAIMED ? model_bytes(same) - own : own;
}

/* What the push adds to its topic. */
static struct model_amount amount_of(const struct queue_model *model,
                                     const struct model_push *push)
{
    const struct model_job *same = find_same(model, push);
    enum dueq_push_outcome outcome = outcome_of(push, same);
    struct model_amount amount = {0, 0};

    if (outcome == DUEQ_IGNORED || outcome == DUEQ_DEBOUNCED)
        return amount;
    amount.jobs = same == NULL || same->state == MODEL_DEAD;
    amount.bytes = (int64_t)strlen(push->content.body) - (same == NULL ? 0 : bytes_gone(same));
    return amount;
}

static struct model_amount sum_up(const struct queue_model *model,
                                  const struct model_push *pushes, size_t count, int topic)
{
    struct model_amount sum = {0, 0}, amount;

    for (size_t i = 0; i < count; i++)
        if (pushes[i].job.topic == topic) {
            amount = amount_of(model, &pushes[i]);
            sum.jobs += amount.jobs;
            sum.bytes += amount.bytes;
        }
    return sum;
}

/* No push drops a job that another one of the same call names. */
static void spare(const struct queue_model *model, const struct model_push *pushes,
                  size_t count, struct model_fates *fates)
{
    for (size_t i = 0; i < count; i++) {
        const struct model_job *same = find_same(model, &pushes[i]);

        if (same != NULL)
            fates->jobs[same - model->jobs] = MODEL_STAYS;
    }
}

/* fates: which jobs have to go. */
static enum dueq_status admit(const struct queue_model *model, const struct model_push *pushes,
                              size_t count, struct dueq_time time, struct model_fates *fates)
{
    enum dueq_status status = DUEQ_OK;

    memset(fates, 0, sizeof(*fates));
    spare(model, pushes, count, fates);
    for (int topic = 0; topic < QUEUE_MODEL_TOPICS && status == DUEQ_OK; topic++) {
        struct model_amount added = sum_up(model, pushes, count, topic);

        status = model_admit(model, topic, &added, time, fates);
    }
    return status;
}

enum dueq_status model_push_status(const struct queue_model *model,
                                   const struct model_push *push, struct dueq_time time)
{
    struct model_fates fates;

    if (paused_status(model, push) != DUEQ_OK)
        return DUEQ_PAUSED;
    if (is_too_big(model, push))
        return DUEQ_TOOBIG;
    if (id_status(model, push) != DUEQ_OK)
        return DUEQ_DUPLICATE;
    return admit(model, push, 1, time, &fates);
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

/* A job waits for no later one of its call. */
static bool waits_for_later(const struct model_push *pushes, size_t count, size_t index)
{
    const struct dueq_push *push = &pushes[index].push;

    for (size_t i = 0; i < push->after_count; i++)
        for (size_t later = index + 1; later < count; later++)
            if (dueq_slice_equal(push->after[i].topic, pushes[later].push.topic) &&
                dueq_slice_equal(push->after[i].id, pushes[later].push.id))
                return true;
    return false;
}

/* The first that is refused decides. */
enum dueq_status model_pushes_status(const struct queue_model *model,
                                     const struct model_push *pushes, size_t count,
                                     struct dueq_time time)
{
    struct model_fates fates;

    for (size_t i = 0; i < count; i++) {
        if (paused_status(model, &pushes[i]) != DUEQ_OK)
            return DUEQ_PAUSED;
        if (id_status(model, &pushes[i]) != DUEQ_OK || has_id_twice(pushes, i))
            return DUEQ_DUPLICATE;
    }
    for (size_t i = 0; i < count; i++)
        if (waits_for_later(pushes, count, i))
            return DUEQ_INVALID;
    for (size_t i = 0; i < count; i++)
        if (is_too_big(model, &pushes[i]))
            return DUEQ_TOOBIG;
    return admit(model, pushes, count, time, &fates);
}

/* ---- what a push does */

void model_plan_room(const struct queue_model *model, const struct model_push *pushes,
                     size_t count, struct dueq_time time, struct model_fates *ret_fates)
{
    (void)admit(model, pushes, count, time, ret_fates);
}

/* The push meets a job with its id. */
static void change(struct queue_model *model, struct model_job *same,
                   const struct model_content *content, enum dueq_push_outcome outcome,
                   struct dueq_time time)
{
    switch (outcome) {
    case DUEQ_CREATED:
        model_remove(model, same, DUEQ_END_GONE);
        model->topics[same->topic].totals.deleted++;
        break;
    case DUEQ_FOLLOWS:
        same->followed = true;
        same->next = *content;
        break;
    case DUEQ_DEBOUNCED:
        model_set_due(same, content->wall, content->due, time);
        break;
    case DUEQ_REPLACED:
        model_begin(same, content, time);
        break;
    case DUEQ_IGNORED:
        break;
    }
}

/* NULL: it is not there. */
static const struct model_job *find_awaited(struct queue_model *model,
                                            const struct model_push *push, size_t index)
{
    const struct dueq_prerequisite *of = &push->push.after[index];

    for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++)
        if (dueq_slice_equal(of->topic, model_topic_name(topic)))
            return model_find(model, topic, of->id);
    return model_find(model, push->job.topic, of->id);
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
    for (size_t i = 0; i < push->push.after_count; i++)
        model_await(job, find_awaited(model, push, i));
    model_begin_to_wait(job, time);
    model->topics[job->topic].totals.pushed++;
    model_note(model, job, DUEQ_EVENT_PUSHED);
}

enum dueq_push_outcome model_push(struct queue_model *model, const struct model_push *push,
                                  struct dueq_slice id, struct dueq_time time)
{
    struct model_job *same = find_same(model, push);
    enum dueq_push_outcome outcome = outcome_of(push, same);

    if (same != NULL)
        change(model, same, &push->content, outcome, time);
    if (outcome == DUEQ_CREATED)
        add(model, push, id, time);
    return outcome;
}
