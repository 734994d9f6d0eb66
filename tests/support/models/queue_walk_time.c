#include "tests/support/models/queue_walk.h"

#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/models/queue_model_life.h"
#include "tests/support/models/queue_model_rate.h"
#include "tests/support/models/queue_model_settings.h"

#include "tests/support/cmocka.h"

enum { BIG_BUDGET = 1000000 };
#define MONTH (INT64_C(30) * 86400 * 1000)

/* ---- signals */

/* Then only a claim that was refused is told. */
static bool is_limited(int topic)
{
    return model_setting(&walk.model, topic, DUEQ_SET_CONCURRENCY, DUEQ_DEFAULT) !=
               DUEQ_DEFAULT ||
           model_has_rate(&walk.model, topic) || model_has_group_rate(&walk.model, topic);
}

static void take_signals(void)
{
    struct dueq_slice name;
    bool came[QUEUE_MODEL_TOPICS] = {false};

    while (dueq_next_signal(walk.fixture.store, &name) == DUEQ_OK)
        for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++)
            if (dueq_slice_equal(name, model_topic_name(topic)))
                came[topic] = true;
    for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++) {
        bool something = model_best(&walk.model, topic, walk.fixture.time) != NULL;

        if (walk.waiting[topic] && something)
            assert_true(came[topic]);
        walk.waiting[topic] =
            !something && (!is_limited(topic) || (walk.waiting[topic] && !came[topic]));
    }
}

/* ---- ticks: the model does all that was due or, if the tick has stopped before, what the
 * store shows */

static bool is_gone(const struct model_job *job)
{
    return walk_shown_state(job) == DUEQ_STATES;
}

static bool has_lapsed(const struct model_job *job)
{
    return is_gone(job) || walk_shown_state(job) == DUEQ_DEAD;
}

/* The end of a ttl in the store: it is later once the store notices a step back. */
static int64_t kept_end(const struct model_job *job)
{
    struct topic *topic;
    struct job found;

    assert_int_equal(lookup_job(walk.fixture.store->queue, model_topic_name(job->topic),
                                model_id(job), &topic, &found),
                     DUEQ_OK);
    return found.state.expires;
}

static void follow_life(struct model_job *job, bool done)
{
    struct dueq_time time = walk.fixture.time;

    if (model_life_over(job, time) && (done || has_lapsed(job)))
        model_lapse(&walk.model, job, time);
    else if (job->there && job->state == MODEL_PENDING && job->wall && job->expires <= time.now)
        job->expires = done ? model_life_end(job, time) : kept_end(job);
}

static void follow_job(struct model_job *job, bool done)
{
    struct dueq_time time = walk.fixture.time;

    if (model_keeping_over(job, time) && (done || is_gone(job)))
        model_remove(&walk.model, job, DUEQ_END_GONE);
    if (model_lease_over(job, time) && (done || walk_shown_state(job) != DUEQ_CLAIMED))
        model_end_lease(&walk.model, job, time);
    follow_life(job, done);
}

static bool is_still_paused(int topic)
{
    struct dueq_topic_stats stats;

    assert_int_equal(dueq_topic_stats(walk.fixture.store, model_topic_name(topic),
                                      walk.fixture.time, &stats),
                     DUEQ_OK);
    return stats.paused_in || stats.paused_out;
}

static void follow_pause(int topic, bool done)
{
    struct model_topic *model = &walk.model.topics[topic];

    if ((!model->paused_in && !model->paused_out) ||
        model->paused_until > walk.fixture.time.now)
        return;
    if (done)
        assert_false(is_still_paused(topic));
    if (done || !is_still_paused(topic))
        model->paused_in = model->paused_out = false;
}

/* The next dead job that retention has removed. A tick that stops half way may have removed one
 * before another died in the same ms that would have been first. NULL: none. */
static struct model_job *removed_dead(int topic, bool done)
{
    struct model_job *worst = model_worst_dead(&walk.model, topic, walk.fixture.time);

    if (worst == NULL || done || is_gone(worst))
        return worst;
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *job = &walk.model.jobs[i];

        if (job->there && job->topic == topic && job->state == MODEL_DEAD &&
            job->due == worst->due && is_gone(job))
            return job;
    }
    return NULL;
}

static void follow_retention(int topic, bool done)
{
    struct model_job *job;

    while ((job = removed_dead(topic, done)) != NULL) {
        model_remove(&walk.model, job, DUEQ_END_GONE);
        walk.model.topics[topic].totals.dead_removed++;
    }
}

/* Jobs that waited for those that have ended may lapse in the same tick, and so on. */
static void follow_tick(bool done)
{
    bool again;

    do {
        for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
            follow_job(&walk.model.jobs[i], done);
        for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++)
            follow_retention(topic, done);
        again = walk_settle();
        if (again)
            walk_follow_arrivals(false);
    } while (again);
    for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++)
        follow_pause(topic, done);
    walk_follow_arrivals(false);
}

static void check_next_tick(void)
{
    int64_t next = dueq_next_tick(walk.fixture.store, walk.fixture.time);
    int64_t event = model_next_event(&walk.model, walk.fixture.time);

    if (next > 0 && event != DUEQ_NEVER)
        assert_true(next <= event - walk.fixture.time.now);
}

static void tick_some(void)
{
    bool done = !dueq_tick(walk.fixture.store, walk.fixture.time, 1 + (unsigned)walk_roll(20));

    follow_tick(done);
    if (!done)
        return;
    take_signals();
    assert_true(dueq_next_tick(walk.fixture.store, walk.fixture.time) > 0);
    check_next_tick();
}

void walk_tick_all(void)
{
    while (dueq_tick(walk.fixture.store, walk.fixture.time, BIG_BUDGET))
        ;
    follow_tick(true);
    walk.all_ticked = true;
    take_signals();
    check_next_tick();
}

/* ---- clocks */

/* A step of one millisecond would count as rounding (dueq.h), so steps are larger. Some are of
 * a month. */
void walk_step_wall(void)
{
    int64_t most = walk_once_in(8) ? MONTH : 3000, step = walk_roll((uint64_t)most * 2) - most;

    walk.fixture.time.wall += step == 1 ? 2 : step;
}

void walk_advance(void)
{
    int64_t step = walk_roll(walk_once_in(200) ? 40000000 : walk_once_in(40) ? 40000 : 300);

    walk.fixture.time.now += step;
    walk.fixture.time.wall += step;
    walk.fixture.time.ceiling = walk_once_in(3) ? 0 : walk.fixture.time.now + walk_roll(2);
    if (walk_once_in(60))
        walk_step_wall();
    if (walk_once_in(3))
        tick_some();
    else
        walk_tick_all();
}
