/* A purge by state and glob, in slices, with any other steps in between. */
#include "tests/support/models/queue_walk.h"

#include "storage/glob.h"
#include "storage/queue/queue.h"
#include "storage/store.h"
#include "tests/support/models/queue_model_life.h"

#include <string.h>

#include "tests/support/cmocka.h"

static void choose(struct walk_purge *purge)
{
    static const int states[] = {DUEQ_DEFAULT, DUEQ_DELAYED, DUEQ_READY,
                                 DUEQ_DEAD,    DUEQ_DONE,    DUEQ_WAITING};
    static const char *const globs[] = {NULL, NULL, "*", "[!0]*", "0*", "?*[a-z]*"};
    const char *glob = globs[walk_roll(sizeof(globs) / sizeof(globs[0]))];

    *purge = (struct walk_purge){
        .runs = true, .topic = (int)walk_roll(QUEUE_MODEL_TOPICS), .last_seq = walk.model.seq};
    purge->what =
        (struct dueq_purge){.topic = model_topic_name(purge->topic),
                            .state = states[walk_roll(sizeof(states) / sizeof(states[0]))],
                            .match = dueq_slice(glob, glob == NULL ? 0 : strlen(glob))};
}

/* Would a slice that meets the job now remove it? */
static bool is_wanted(const struct walk_purge *purge, const struct model_job *job)
{
    enum dueq_state state = model_state(job, walk.fixture.time);
    struct dueq_slice id = model_id(job), glob = purge->what.match;

    return job->there && job->topic == purge->topic && job->seq <= purge->last_seq &&
           state != DUEQ_CLAIMED &&
           (purge->what.state == DUEQ_DEFAULT || purge->what.state == (int)state) &&
           (glob.data == NULL || glob_match(glob.data, glob.size, id.data, id.size, false));
}

/* Those that every slice so far would have removed. */
static void mark(const struct walk_purge *purge, bool is_first)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *job = &walk.model.jobs[i];

        job->purged = is_wanted(purge, job) && (is_first || job->purged);
    }
}

/* Removes what the slice has removed. Returns how many jobs these were. */
static uint64_t follow_slice(const struct walk_purge *purge)
{
    uint64_t count = 0;

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *job = &walk.model.jobs[i];

        if (!is_wanted(purge, job) || walk_shown_state(job) != DUEQ_STATES)
            continue;
        model_remove(&walk.model, job, DUEQ_END_GONE);
        walk.model.topics[purge->topic].totals.deleted++;
        count++;
    }
    return count;
}

static void check_stats(const struct walk_purge *purge)
{
    struct dueq_topic_stats stats;

    if (dueq_topic_stats(walk.fixture.store, purge->what.topic, walk.fixture.time, &stats) !=
        DUEQ_OK)
        return;
    assert_int_equal(stats.purging, !purge->progress.is_over);
    assert_int_equal(stats.purged, purge->progress.removed);
}

static void check_end(const struct walk_purge *purge)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        assert_false(is_wanted(purge, &walk.model.jobs[i]) && walk.model.jobs[i].purged);
}

/* A topic that was dropped since the first slice, or made anew, shows nothing of the purge. */
void walk_purge(void)
{
    struct walk_purge *purge = &walk.purge;
    uint64_t before = purge->progress.removed;
    bool is_first = !purge->runs;

    if (is_first) {
        choose(purge);
        before = 0;
    }
    mark(purge, is_first);
    assert_int_equal(queue_purge(walk.fixture.store->queue, &purge->what, walk.fixture.time,
                                 1 + (unsigned)walk_roll(60), &purge->progress),
                     DUEQ_OK);
    assert_int_equal(purge->progress.removed - before, follow_slice(purge));
    if (is_first)
        check_stats(purge);
    if (purge->progress.is_over)
        check_end(purge);
    purge->runs = !purge->progress.is_over;
}
