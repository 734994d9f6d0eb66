/* Watched jobs: the store tells how each has ended, once. */
#include "tests/support/models/queue_walk.h"

#include "tests/support/cmocka.h"

/* 0: all are in use. */
static int free_number(void)
{
    for (int i = 1; i <= QUEUE_MODEL_WATCHES; i++)
        if (walk.watches[i] == NULL)
            return i;
    return 0;
}

static enum dueq_status watch_status(const struct model_job *job)
{
    if (job == NULL)
        return DUEQ_NOTFOUND;
    if (job->state == MODEL_DEAD || job->state == MODEL_DONE)
        return DUEQ_WRONGSTATE;
    return job->watch > 0 ? DUEQ_DUPLICATE : DUEQ_OK;
}

void walk_watch(void)
{
    struct walk_target target;
    int number = free_number();

    if (number == 0 || !walk_choose(&target))
        return;
    assert_int_equal(dueq_watch_end(walk.fixture.store, target.topic, target.id,
                                    &walk.watches[number], &walk.watches[number]),
                     watch_status(target.job));
    if (watch_status(target.job) == DUEQ_OK)
        target.job->watch = number;
}

static void forget(int number)
{
    walk.watches[number] = NULL;
    walk.model.ends[number] = DUEQ_END_NONE;
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        if (walk.model.jobs[i].watch == number)
            walk.model.jobs[i].watch = 0;
}

/* Also of a job that has ended. */
void walk_unwatch(void)
{
    int number = 1 + (int)walk_roll(QUEUE_MODEL_WATCHES);

    if (walk.watches[number] == NULL)
        return;
    dueq_unwatch(walk.fixture.store, walk.watches[number]);
    forget(number);
}

void walk_take_ends(void)
{
    enum dueq_end end;
    void *arg;

    while (dueq_next_end(walk.fixture.store, &arg, &end)) {
        int number = (int)((struct dueq_watch **)arg - walk.watches);

        assert_non_null(walk.watches[number]);
        assert_int_equal(end, walk.model.ends[number]);
        forget(number);
    }
    for (int i = 1; i <= QUEUE_MODEL_WATCHES; i++)
        assert_int_equal(walk.model.ends[i], DUEQ_END_NONE);
}
