#include "tests/support/models/queue_walk.h"

#include "storage/queue/record/safe_time.h"
#include "tests/support/models/queue_model_life.h"
#include "tests/support/models/queue_model_limits.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

/* What a change of a job that must wait answers. */
static enum dueq_status waits(const struct model_job *job)
{
    if (job == NULL)
        return DUEQ_NOTFOUND;
    return job->state == MODEL_PENDING ? DUEQ_OK : DUEQ_WRONGSTATE;
}

/* The same of a change that a job which waits for others takes, too. */
static enum dueq_status stands_by(const struct model_job *job)
{
    return job != NULL && job->state == MODEL_WAITING ? DUEQ_OK : waits(job);
}

/* ---- reschedule */

void walk_reschedule(void)
{
    struct dueq_time time = walk.fixture.time;
    struct walk_target target;
    struct dueq_push push;
    struct model_content content;
    int64_t due;
    enum dueq_status wanted;
    bool waited;

    if (!walk_choose(&target))
        return;
    dueq_push_init(&push);
    walk_choose_due(&push, &content);
    wanted = push.absolute || push.delay > 0 ? waits(target.job) : stands_by(target.job);
    assert_int_equal(dueq_reschedule(walk.fixture.store, target.topic, target.id, push.absolute,
                                     push.absolute ? push.at : push.delay, time, &due),
                     wanted);
    if (wanted != DUEQ_OK)
        return;
    waited = target.job->state == MODEL_WAITING;
    if (waited)
        model_begin_now(target.job);
    if (waited || push.absolute || push.delay > 0 ||
        model_state(target.job, time) != DUEQ_READY)
        model_set_due(target.job, content.wall, content.due, time);
    assert_int_equal(due, model_shown_due(target.job, time));
}

/* ---- update */

static int64_t given_or(int64_t given, int64_t otherwise)
{
    return given == DUEQ_DEFAULT ? otherwise : given;
}

static void update_backoff(struct dueq_push *options, const struct dueq_push *changes)
{
    if (changes->step_count == 0 && changes->backoff == DUEQ_DEFAULT)
        return;
    options->backoff = changes->step_count > 0 ? DUEQ_DEFAULT : changes->backoff;
    options->backoff_max = changes->step_count > 0 ? DUEQ_DEFAULT : changes->backoff_max;
    options->jitter = changes->step_count > 0 ? DUEQ_DEFAULT : changes->jitter;
    options->step_count = changes->step_count;
    memcpy(options->steps, changes->steps, sizeof(options->steps));
}

/* The ttl counts from the due time; of a claimed job from that of the ttl before, or else from
 * the claim. */
static void update_ttl(struct model_job *job, int64_t ttl)
{
    int64_t before = job->content.options.ttl, from = job->since;

    if (ttl == before)
        return;
    job->content.options.ttl = ttl;
    if (job->state == MODEL_WAITING)
        return;
    if (job->state == MODEL_PENDING)
        from = model_clock_of(job->wall, job->due, walk.fixture.time);
    else if (before != DUEQ_DEFAULT && job->expires < SAFE_TIME_MAX)
        from = job->expires - before;
    job->expires = safe_time_add(safe_time_clamp(from), ttl);
}

static void follow_update(struct model_job *job, const struct dueq_push *changes,
                          const char *body)
{
    struct dueq_push *options = &job->content.options;

    options->lease = given_or(changes->lease, options->lease);
    options->retries = given_or(changes->retries, options->retries);
    options->crashes = given_or(changes->crashes, options->crashes);
    options->priority = (int)given_or(changes->priority, options->priority);
    update_backoff(options, changes);
    if (changes->ttl != DUEQ_DEFAULT)
        update_ttl(job, changes->ttl);
    if (body != NULL)
        snprintf(job->content.body, sizeof(job->content.body), "%s", body);
}

/* fates: those jobs make room for a larger body. */
static enum dueq_status update_status(const struct model_job *job, const char *body,
                                      struct model_fates *fates)
{
    struct model_amount added = {0, 0};
    int64_t size = body == NULL ? 0 : (int64_t)strlen(body);
    enum dueq_status status = stands_by(job);

    if (job != NULL && job->state == MODEL_CLAIMED && body == NULL)
        return DUEQ_OK;
    if (status != DUEQ_OK || body == NULL)
        return status;
    if (!model_takes_body(&walk.model, job->topic, size))
        return DUEQ_TOOBIG;
    added.bytes = size - model_bytes(job);
    fates->jobs[job - walk.model.jobs] = MODEL_STAYS;
    return model_admit(&walk.model, job->topic, &added, walk.fixture.time, fates);
}

void walk_update(void)
{
    struct walk_target target;
    struct dueq_push changes;
    bool with_body = walk_once_in(2);
    char body[QUEUE_MODEL_BODY];
    struct model_fates fates = {{MODEL_MAY_GO}};
    enum dueq_status wanted;

    if (!walk_choose(&target))
        return;
    dueq_push_init(&changes);
    walk_choose_options(&changes);
    if (walk_once_in(2))
        changes.priority = (int)walk_roll(4) * 60;
    walk_write_body(body);
    changes.topic = target.topic;
    changes.id = target.id;
    changes.body = dueq_slice(body, strlen(body));
    wanted = update_status(target.job, with_body ? body : NULL, &fates);
    assert_int_equal(dueq_update(walk.fixture.store, &changes, with_body, walk.fixture.time),
                     wanted);
    if (wanted != DUEQ_OK)
        return;
    model_drop_jobs(&walk.model, &fates);
    follow_update(target.job, &changes, with_body ? body : NULL);
}

/* ---- move, cancel, delete */

/* As a push into the other topic. fates: those jobs make room for it. */
static enum dueq_status move_status(const struct model_job *job, int other,
                                    struct model_fates *fates)
{
    struct model_amount added = {.jobs = 1};
    enum dueq_status status = waits(job);

    if (status != DUEQ_OK || job->topic == other)
        return status;
    if (walk.model.topics[other].paused_in)
        return DUEQ_PAUSED;
    if (model_find(&walk.model, other, model_id(job)) != NULL)
        return DUEQ_DUPLICATE;
    added.bytes = model_bytes(job);
    if (!model_takes_body(&walk.model, other, added.bytes))
        return DUEQ_TOOBIG;
    return model_admit(&walk.model, other, &added, walk.fixture.time, fates);
}

/* The id stays in its old place, for requests in vain. */
void walk_move(void)
{
    struct walk_target target;
    int other = (int)walk_roll(QUEUE_MODEL_TOPICS);
    struct model_job *place = model_free_job(&walk.model);
    struct model_fates fates = {{MODEL_MAY_GO}};
    enum dueq_status wanted;

    if (place == NULL || !walk_choose(&target))
        return;
    wanted = move_status(target.job, other, &fates);
    assert_int_equal(dueq_move(walk.fixture.store, target.topic, target.id,
                               model_topic_name(other), walk.fixture.time),
                     wanted);
    if (wanted != DUEQ_OK || target.job->topic == other)
        return;
    model_drop_jobs(&walk.model, &fates);
    *place = *target.job;
    place->topic = other;
    place->seq = ++walk.model.seq;
    place->token_valid = place->holds = false;
    place->token = 0;
    place->watch = 0;
    model_remove(&walk.model, target.job, DUEQ_END_GONE);
    target.sums->totals.deleted++;
    walk.model.topics[other].totals.pushed++;
    place->told = place->awaits_due = false;
    model_note(&walk.model, place, DUEQ_EVENT_PUSHED);
}

static enum dueq_status cancel_status(const struct model_job *job)
{
    return job != NULL && job->state == MODEL_CLAIMED ? DUEQ_OK : stands_by(job);
}

void walk_cancel(void)
{
    struct walk_target target;
    bool claimed;

    if (!walk_choose(&target))
        return;
    assert_int_equal(
        dueq_cancel(walk.fixture.store, target.topic, target.id, walk.fixture.time, &claimed),
        cancel_status(target.job));
    if (cancel_status(target.job) != DUEQ_OK)
        return;
    assert_int_equal(claimed, target.job->state == MODEL_CLAIMED);
    if (claimed) {
        target.job->cancelled = true;
        target.job->followed = false;
        return;
    }
    model_note(&walk.model, target.job, DUEQ_EVENT_CANCELLED);
    model_remove(&walk.model, target.job, DUEQ_END_CANCELLED);
    target.sums->totals.cancelled++;
}

void walk_delete(void)
{
    struct walk_target target;

    if (!walk_choose(&target))
        return;
    assert_int_equal(dueq_del(walk.fixture.store, target.topic, target.id, walk.fixture.time),
                     target.job == NULL ? DUEQ_NOTFOUND : DUEQ_OK);
    if (target.job == NULL)
        return;
    model_remove(&walk.model, target.job, DUEQ_END_GONE);
    target.sums->totals.deleted++;
}

void walk_get(void)
{
    struct walk_target target;
    struct dueq_job found;

    if (!walk_choose(&target))
        return;
    assert_int_equal(
        dueq_get(walk.fixture.store, target.topic, target.id, walk.fixture.time, &found),
        target.job == NULL ? DUEQ_NOTFOUND : DUEQ_OK);
    if (target.job != NULL)
        walk_check_job(&found, target.job);
}
