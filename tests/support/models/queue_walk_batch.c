/* Pushes that come together, alone or with the ack of the job that they follow from. */
#include "storage/store.h"
#include "tests/support/models/queue_walk.h"

#include "tests/support/models/queue_model_life.h"
#include "tests/support/models/queue_model_push.h"

#include "tests/support/cmocka.h"

enum { MANY = 5 };

/* The pushes, and what the store says to them. */
struct batch {
    size_t count;
    struct model_push pushes[MANY];
    struct walk_awaited awaited[MANY];
    struct dueq_push given[MANY]; /* to the store */
    struct dueq_pushed pushed[MANY];
};

static bool has_places(void)
{
    size_t count = 0;

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        count += !walk.model.jobs[i].there;
    return count >= MANY;
}

/* Some wait for others of the batch, or for the one that is acked. */
static void choose_after(struct batch *batch, size_t index, const struct walk_target *same)
{
    struct model_push *push = &batch->pushes[index];
    const struct model_job *other =
        &batch->pushes[walk_roll(walk_once_in(8) ? batch->count : index + 1)].job;

    walk_choose_after(push, &batch->awaited[index]);
    if (push->push.after != NULL && same != NULL && walk_once_in(3))
        walk_await(push, same->topic_number, same->id, &batch->awaited[index]);
    if (push->push.after != NULL && walk_once_in(2))
        walk_await(push, other->topic, model_id(other), &batch->awaited[index]);
}

static void choose_batch(struct batch *batch, size_t count, const struct walk_target *same)
{
    batch->count = count;
    for (size_t i = 0; i < count; i++)
        walk_choose_push(&batch->pushes[i], i == 0 ? same : NULL);
    for (size_t i = 0; i < count; i++) {
        choose_after(batch, i, same);
        batch->given[i] = batch->pushes[i].push;
    }
}

static enum dueq_status batch_status(const struct batch *batch)
{
    return model_pushes_status(&walk.model, batch->pushes, batch->count, walk.fixture.time);
}

static void follow_batch(const struct batch *batch)
{
    struct model_fates fates;

    model_plan_room(&walk.model, batch->pushes, batch->count, walk.fixture.time, &fates);
    for (size_t i = 0; i < batch->count; i++)
        walk_follow_push(&batch->pushes[i], &batch->pushed[i]);
    model_drop_jobs(&walk.model, &fates);
}

/* As the server does it with large bodies: between two parts is done what comes before a
 * commit. hands_over: NULL if no job does. */
static enum dueq_status push_bit_by_bit(struct batch *batch,
                                        const struct walk_target *hands_over,
                                        const struct dueq_done *done)
{
    struct dueq *store = walk.fixture.store;
    struct dueq_time now = walk.fixture.time;
    size_t bytes = 1 + (size_t)walk_roll(64);
    struct push_batch *parts;
    enum dueq_status status =
        hands_over == NULL
            ? store_push_begin(store, batch->given, batch->count, now, &parts)
            : store_hand_over_begin(store, hands_over->topic, hands_over->id, hands_over->token,
                                    done, batch->given, batch->count, now, &parts);

    if (status == DUEQ_OK)
        while ((status = store_push_check(parts, bytes)) == DUEQ_BUSY)
            if (!walk.drops) /* as of walk_commit_part */
                store_prepare(store);
    if (status == DUEQ_OK)
        while (!store_push_some(store, parts, bytes, batch->pushed))
            store_prepare(store);
    store_push_end(parts);
    return status;
}

void walk_push_many(void)
{
    struct batch batch;
    enum dueq_status wanted;

    if (!has_places())
        return;
    choose_batch(&batch, (size_t)walk_roll(MANY + 1), NULL);
    wanted = batch_status(&batch);
    assert_int_equal(walk_once_in(2)
                         ? push_bit_by_bit(&batch, NULL, NULL)
                         : dueq_push_many(walk.fixture.store, batch.given, batch.count,
                                          walk.fixture.time, batch.pushed),
                     wanted);
    if (wanted == DUEQ_OK)
        follow_batch(&batch);
}

/* ---- hand-over: an ack, then the pushes; or nothing. The follow-up of the acked job does not
 * make room. */

static void follow_hand_over(struct walk_target *target, const struct walk_done *done,
                             const struct batch *batch, enum dueq_status status)
{
    static struct queue_model before;
    enum dueq_status wanted;

    size_t times = walk.times.count;

    before = walk.model;
    model_ack(&walk.model, target->job, done->done.keep, done->result, walk.fixture.time);
    target->job->spared = true;
    wanted = batch_status(batch);
    assert_int_equal(status, wanted);
    if (wanted == DUEQ_OK)
        follow_batch(batch);
    target->job->spared = false;
    if (wanted != DUEQ_OK) {
        walk.model = before;
        walk.wishes.count = 0;
        walk.times.count = times;
    }
}

void walk_hand_over(void)
{
    struct walk_target target;
    struct walk_done done;
    const struct dueq_done *how;
    struct batch batch;
    enum dueq_status status, held;

    if (!has_places() || !walk_choose_held(&target))
        return;
    walk_choose_done(&done);
    choose_batch(&batch, 1 + (size_t)walk_roll(MANY), &target);
    held = model_first_held(target.job, target.token);
    how = done.is_plain ? NULL : &done.done;
    status = walk_once_in(2) ? push_bit_by_bit(&batch, &target, how)
                             : dueq_hand_over(walk.fixture.store, target.topic, target.id,
                                              target.token, how, batch.given, batch.count,
                                              walk.fixture.time, batch.pushed);
    if (held == DUEQ_OK)
        follow_hand_over(&target, &done, &batch, status);
    else
        assert_int_equal(status, held);
    if (held == DUEQ_CANCELLED)
        model_end_cancelled(&walk.model, target.job, walk.fixture.time);
}
