#include "tests/support/models/queue_walk.h"

#include "tests/support/models/queue_model_life.h"
#include "tests/support/models/queue_model_rate.h"
#include "tests/support/models/queue_model_settings.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

static const char *choose_text(const char *const *texts, size_t count)
{
    return texts[walk_roll(count)];
}

static const char *choose_worker(void)
{
    static const char *const workers[] = {NULL, "w", "host:4711"};

    return choose_text(workers, 3);
}

static const char *choose_progress(void)
{
    static const char *const progresses[] = {NULL, NULL, "half", "nearly done"};

    return choose_text(progresses, 4);
}

static struct dueq_slice slice_of(const char *text)
{
    return dueq_slice(text, text == NULL ? 0 : strlen(text));
}

/* ---- claim */

static struct model_job *best_living(int topic)
{
    struct model_job *best;

    while ((best = model_best(&walk.model, topic, walk.fixture.time)) != NULL &&
           model_life_over(best, walk.fixture.time))
        model_lapse(&walk.model, best, walk.fixture.time);
    return best;
}

/* How a job is asked for. */
struct wish {
    bool to_ack;
    int64_t lease;
    const char *worker;
    int64_t waits_since; /* as dueq_claim has it */
};

static struct wish make_wish(bool to_ack)
{
    if (to_ack)
        return (struct wish){true, DUEQ_DEFAULT, NULL, DUEQ_NEVER};
    return (struct wish){false,
                         walk_once_in(4)     ? DUEQ_DEFAULT
                         : walk_once_in(100) ? INT64_MAX
                                             : walk_roll(4000),
                         choose_worker(),
                         walk_once_in(3) ? walk.fixture.time.now - walk_roll(3000)
                                         : DUEQ_NEVER};
}

static enum dueq_status call_claim(int topic, const struct wish *wish, struct dueq_job *ret_job)
{
    struct dueq_slice name = model_topic_name(topic);
    struct dueq_claim claim = {.topic = name,
                               .lease = wish->lease,
                               .worker = slice_of(wish->worker),
                               .waits_since = wish->waits_since};

    if (wish->waits_since != DUEQ_NEVER)
        return dueq_claim_with(walk.fixture.store, &claim, walk.fixture.time, ret_job);
    if (wish->to_ack)
        return dueq_claim_to_ack(walk.fixture.store, name, walk.fixture.time, ret_job);
    if (wish->worker == NULL)
        return dueq_claim(walk.fixture.store, name, wish->lease, walk.fixture.time, ret_job);
    return dueq_claim_as(walk.fixture.store, name, wish->lease, slice_of(wish->worker),
                         walk.fixture.time, ret_job);
}

/* When any job that need not wait will do, the one that the store chose. Jobs whose lives are
 * over have gone before. */
static struct model_job *follow_choice(int topic, const struct dueq_job *job)
{
    struct model_job *chosen = model_find(&walk.model, topic, job->id);

    assert_non_null(chosen);
    assert_true(model_is_eligible(&walk.model, chosen, walk.fixture.time));
    return chosen;
}

/* From when it was due and was waited for. */
static void note_lateness(const struct model_job *job, int64_t waits_since)
{
    struct dueq_time time = walk.fixture.time;
    int64_t due = model_clock_of(job->wall, job->due, time);

    if (due < job->stamp)
        due = job->stamp;
    if (waits_since != DUEQ_NEVER)
        model_note_time(&walk.model, job->topic, DUEQ_SPAN_LATE,
                        time.now - (due > waits_since ? due : waits_since), time);
}

/* NULL: there was none. */
static struct model_job *claim(bool to_ack)
{
    int topic = (int)walk_roll(QUEUE_MODEL_TOPICS);
    struct wish wish = make_wish(to_ack);
    bool strict = model_is_strict(&walk.model, topic);
    struct model_job *wanted;
    struct dueq_job job;

    if (!strict || model_has_group_rate(&walk.model, topic))
        walk_tick_all();
    wanted = best_living(topic);
    assert_int_equal(call_claim(topic, &wish, &job), wanted == NULL ? DUEQ_NOTFOUND : DUEQ_OK);
    if (wanted != NULL && !strict)
        wanted = follow_choice(topic, &job);
    if (wanted == NULL) {
        walk.waiting[topic] = true;
        walk_follow_arrivals(true);
        return NULL;
    }
    if (wish.lease == DUEQ_DEFAULT)
        wish.lease = model_options(&walk.model, wanted).lease;
    assert_true(job.token > walk.model.topics[topic].last_token);
    wanted->token = walk.model.topics[topic].last_token = job.token;
    note_lateness(wanted, wish.waits_since);
    model_claim(&walk.model, wanted, wish.worker, wish.lease, walk.fixture.time);
    walk_check_job(&job, wanted);
    walk_follow_arrivals(true);
    return wanted;
}

void walk_claim(void)
{
    (void)claim(false);
}

/* For good: it is acked at once. */
void walk_pop(void)
{
    struct model_job *job = claim(true);

    if (job == NULL)
        return;
    assert_int_equal(dueq_ack(walk.fixture.store, model_topic_name(job->topic), model_id(job),
                              job->token, walk.fixture.time),
                     DUEQ_OK);
    model_ack(&walk.model, job, DUEQ_DEFAULT, NULL, walk.fixture.time);
}

/* ---- by token */

static void follow_ack(const struct walk_target *target, enum dueq_status status, int64_t keep,
                       const char *result)
{
    enum dueq_status wanted = model_held(target->job, target->token, true);

    assert_int_equal(status, wanted);
    if (wanted == DUEQ_CANCELLED)
        model_end_cancelled(&walk.model, target->job, walk.fixture.time);
    else if (wanted == DUEQ_OK)
        model_ack(&walk.model, target->job, keep, result, walk.fixture.time);
}

void walk_ack(void)
{
    struct walk_target target;

    if (walk_choose(&target))
        follow_ack(&target,
                   dueq_ack(walk.fixture.store, target.topic, target.id, target.token,
                            walk.fixture.time),
                   DUEQ_DEFAULT, NULL);
}

void walk_choose_done(struct walk_done *ret_done)
{
    static const char *const results[] = {NULL, "", "42", "a longer result"};
    const char *result = choose_text(results, 4);

    *ret_done = (struct walk_done){.result = result,
                                   .done = {.has_result = result != NULL,
                                            .result = slice_of(result),
                                            .keep = DUEQ_DEFAULT}};
    if (walk_once_in(2))
        ret_done->done.keep = walk_once_in(3) ? 0 : walk_roll(2000);
    if (result != NULL && ret_done->done.keep == 0)
        ret_done->done.keep = 1;
    ret_done->is_plain = result == NULL && ret_done->done.keep == DUEQ_DEFAULT;
}

void walk_finish(void)
{
    struct walk_target target;
    struct walk_done done;

    walk_choose_done(&done);
    if (walk_choose(&target))
        follow_ack(&target,
                   dueq_finish(walk.fixture.store, target.topic, target.id, target.token,
                               &done.done, walk.fixture.time),
                   done.done.keep, done.result);
}

static void choose_nack(struct dueq_nack *nack)
{
    static const char *const errors[] = {NULL, "boom", "no route to host"};

    *nack = (struct dueq_nack){.delay = walk_once_in(3) ? 0 : walk_roll(1000),
                               .outcome = walk_once_in(10)  ? DUEQ_FATAL
                                          : walk_once_in(6) ? DUEQ_SILENT
                                                            : DUEQ_FAILED,
                               .error = slice_of(choose_text(errors, 3)),
                               .progress = slice_of(choose_progress()),
                               .unseen = walk_once_in(5)};
    if (walk_once_in(2))
        nack->delay = DUEQ_DEFAULT;
}

/* How long the job waits now; its backoff is not exact. */
static int64_t check_backoff(const struct model_job *job, int64_t failures)
{
    struct model_options options = model_options(&walk.model, job);
    struct dueq_time time = walk.fixture.time;
    struct dueq_job found;
    int64_t least, most, wait;

    if (walk_shown_state(job) != DUEQ_DELAYED)
        return 0;
    assert_int_equal(
        dueq_get(walk.fixture.store, model_topic_name(job->topic), model_id(job), time, &found),
        DUEQ_OK);
    wait = found.due - time.wall - (model_after(time, 1) - 1 - time.now);
    model_backoff(&options, failures, &least, &most);
    assert_true(least <= wait && wait <= most);
    return wait;
}

static void follow_nack(struct walk_target *target, const struct dueq_nack *nack,
                        enum dueq_state state)
{
    struct model_job *job = target->job;
    int64_t delay = nack->delay;

    if (nack->error.size > 0)
        snprintf(job->error, sizeof(job->error), "%s", (const char *)nack->error.data);
    if (nack->progress.size > 0)
        job->progress = nack->progress.data;
    job->token_valid = false;
    target->sums->totals.nacked++;
    model_note(&walk.model, job, DUEQ_EVENT_NACKED);
    if (delay == DUEQ_DEFAULT)
        delay = nack->outcome == DUEQ_SILENT || job->followed
                    ? 0
                    : check_backoff(job, job->failures);
    model_give_back(&walk.model, job, model_after(walk.fixture.time, delay),
                    nack->unseen ? MODEL_UNSEEN : (int)nack->outcome, walk.fixture.time);
    assert_int_equal(state, job->there && !job->arrived ? model_state(job, walk.fixture.time)
                                                        : DUEQ_DEAD);
    walk_follow_arrivals(true);
}

void walk_nack(void)
{
    struct walk_target target;
    struct dueq_nack nack;
    enum dueq_status wanted;
    enum dueq_state state;

    if (!walk_choose(&target))
        return;
    choose_nack(&nack);
    wanted = model_held(target.job, target.token, false);
    assert_int_equal(dueq_nack(walk.fixture.store, target.topic, target.id, target.token, &nack,
                               walk.fixture.time, &state),
                     wanted);
    if (wanted == DUEQ_CANCELLED)
        model_end_cancelled(&walk.model, target.job, walk.fixture.time);
    else if (wanted == DUEQ_OK)
        follow_nack(&target, &nack, state);
}

void walk_holds(void)
{
    struct walk_target target;

    if (walk_choose_held(&target))
        assert_int_equal(dueq_holds(walk.fixture.store, target.topic, target.id, target.token),
                         model_first_held(target.job, target.token));
}

void walk_extend(void)
{
    struct dueq_time time = walk.fixture.time;
    struct walk_target target;
    const char *progress = choose_progress();
    int64_t lease = walk_roll(5000), end;
    enum dueq_status wanted;

    if (!walk_choose(&target))
        return;
    wanted = model_held(target.job, target.token, false);
    if (wanted == DUEQ_OK && target.job->state == MODEL_PENDING &&
        !model_has_place(&walk.model, target.job))
        wanted = DUEQ_STALE;
    assert_int_equal(dueq_extend_with(walk.fixture.store, target.topic, target.id, target.token,
                                      lease, slice_of(progress), time, &end),
                     wanted);
    if (wanted != DUEQ_OK)
        return;
    assert_int_equal(end, model_after(time, lease) + time.wall - time.now);
    model_extend(target.job, lease, time);
    if (progress != NULL)
        target.job->progress = progress;
}

/* Before its time. */
void walk_end_lease(void)
{
    struct dueq_time time = walk.fixture.time;
    struct walk_target target;
    enum dueq_status wanted;

    if (!walk_choose(&target))
        return;
    wanted = model_held(target.job, target.token, false);
    if (wanted == DUEQ_OK || wanted == DUEQ_CANCELLED)
        wanted = target.job->state == MODEL_CLAIMED ? DUEQ_OK : DUEQ_STALE;
    assert_int_equal(
        dueq_end_lease(walk.fixture.store, target.topic, target.id, target.token, time),
        wanted);
    if (wanted != DUEQ_OK)
        return;
    target.job->due = time.now;
    model_end_lease(&walk.model, target.job, time);
    walk_follow_arrivals(true);
}

/* A quantile is at most 1/16 too long. */
static void check_quantile(int64_t found, int64_t wanted)
{
    assert_true(found >= wanted && found <= wanted + wanted / 16);
}

static void check_quantiles(const struct dueq_quantiles *found,
                            const struct dueq_quantiles *wanted)
{
    assert_int_equal(found->count, wanted->count);
    assert_int_equal(found->max, wanted->max);
    check_quantile(found->p50, wanted->p50);
    check_quantile(found->p99, wanted->p99);
    check_quantile(found->p999, wanted->p999);
}

void walk_check_times(void)
{
    struct dueq_time time = walk.fixture.time;
    struct dueq_latencies found, wanted;

    for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++) {
        model_read_times(&walk.model, topic, time, &wanted);
        if (!walk_has_topic(topic))
            continue;
        assert_int_equal(
            dueq_topic_latencies(walk.fixture.store, model_topic_name(topic), time, &found),
            DUEQ_OK);
        if (wanted.since != DUEQ_NEVER)
            wanted.since += time.wall - time.now;
        assert_int_equal(found.since, wanted.since);
        for (int span = 0; span < DUEQ_SPANS; span++)
            for (int window = 0; window < DUEQ_WINDOWS; window++)
                check_quantiles(&found.times[span][window], &wanted.times[span][window]);
    }
}

/* A step at a time. */
static enum dueq_status next_claimed(char *name, size_t *size)
{
    enum dueq_status status = DUEQ_BUSY;

    while (status == DUEQ_BUSY) {
        unsigned budget = 1;
        struct dueq_slice found;

        status = dueq_claimed_topic_after(walk.fixture.store, dueq_slice(name, *size), &budget,
                                          &found);
        if (status == DUEQ_NOTFOUND)
            break;
        memmove(name, found.data, found.size);
        *size = found.size;
    }
    return status;
}

void walk_claimed_topics(void)
{
    char name[DUEQ_NAME_MAX];
    size_t size = 0;
    int found = 0;

    while (next_claimed(name, &size) == DUEQ_OK)
        found++;
    for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++) {
        struct dueq_topic_stats stats = {.counts = {0}};

        (void)dueq_topic_stats(walk.fixture.store, model_topic_name(topic), walk.fixture.time,
                               &stats);
        found -= stats.counts[DUEQ_CLAIMED] > 0;
    }
    assert_int_equal(found, 0);
}
