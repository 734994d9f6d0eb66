/* dueq_dead with all of its options: which jobs it finds, and what becomes of them. */
#include "tests/support/models/queue_walk.h"

#include "storage/glob.h"
#include "tests/support/models/queue_model_life.h"
#include "tests/support/models/queue_model_limits.h"

#include <string.h>

#include "tests/support/cmocka.h"

/* What is asked, and what has come of it. */
struct dead_walk {
    struct dueq_dead query;
    int topic, to; /* numbers; to: that of the same topic when there is no other */
    const struct model_job *wanted[QUEUE_MODEL_JOBS]; /* in the order of their death */
    size_t count, seen; /* jobs that are to be shown, and that were */
    uint64_t found, skipped;
    int64_t bytes; /* of the jobs that are to be shown */
};

/* ---- the query */

static struct dueq_slice choose_glob(const char *const *globs, size_t count)
{
    const char *glob = globs[walk_roll(count)];

    return dueq_slice(glob, glob == NULL ? 0 : strlen(glob));
}

static void choose_query(struct dead_walk *dead)
{
    static const char *const ids[] = {NULL, NULL, "*", "[!0]*", "0*", "?*[a-z]*"};
    static const char *const errors[] = {NULL, NULL, "", "boom", "*expired", "crashed: ?*"};
    struct dueq_dead *query = &dead->query;

    memset(dead, 0, sizeof(*dead));
    dead->topic = dead->to = (int)walk_roll(QUEUE_MODEL_TOPICS);
    dueq_dead_init(query);
    query->topic = model_topic_name(dead->topic);
    query->action = (enum dueq_dead_action)walk_roll(3);
    query->dry_run = walk_once_in(5);
    query->match = choose_glob(ids, sizeof(ids) / sizeof(ids[0]));
    query->error = choose_glob(errors, sizeof(errors) / sizeof(errors[0]));
    query->older = walk_once_in(2) ? 0 : walk_roll(5000);
    if (walk_once_in(2))
        query->limit = (uint64_t)walk_roll(5);
    if (walk_once_in(2)) {
        dead->to = (int)walk_roll(QUEUE_MODEL_TOPICS);
        query->to = model_topic_name(dead->to);
    }
    if (walk_once_in(2)) {
        query->rate = walk_roll(5);
        query->period = walk_roll(3000);
    }
}

/* ---- what the store must find */

static bool matches(struct dueq_slice glob, struct dueq_slice text)
{
    return glob.data == NULL || glob_match(glob.data, glob.size, text.data, text.size, false);
}

static bool is_wanted(const struct dead_walk *dead, const struct model_job *job)
{
    return job->there && job->topic == dead->topic && job->state == MODEL_DEAD &&
           job->due <= walk.fixture.time.now - dead->query.older &&
           matches(dead->query.match, model_id(job)) &&
           matches(dead->query.error, dueq_slice(job->error, strlen(job->error)));
}

static bool died_before(const struct model_job *a, const struct model_job *b)
{
    return a->due != b->due ? a->due < b->due : a->seq < b->seq;
}

/* The wanted job that died first after `last`; NULL: there is none. last NULL: first of all. */
static struct model_job *next_wanted(const struct dead_walk *dead, const struct model_job *last)
{
    struct model_job *next = NULL;

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *job = &walk.model.jobs[i];

        if (is_wanted(dead, job) && (last == NULL || died_before(last, job)) &&
            (next == NULL || died_before(job, next)))
            next = job;
    }
    return next;
}

/* In place no bytes come. A dry run counts those that it has found. */
static struct model_amount added(const struct dead_walk *dead, const struct model_job *job)
{
    struct model_amount amount = {.jobs = 1};

    if (dead->to != dead->topic)
        amount.bytes = model_bytes(job) + dead->bytes;
    if (dead->query.dry_run)
        amount.jobs += (int64_t)dead->found;
    return amount;
}

/* A redrive passes over a job whose id is taken, or for which there is no room. */
static bool stays(const struct dead_walk *dead, const struct model_job *job)
{
    struct model_amount amount = added(dead, job);

    if (dead->query.action != DUEQ_DEAD_REDRIVE)
        return false;
    if (!model_fits(&walk.model, dead->to, &amount))
        return true;
    return dead->to != dead->topic &&
           (model_find(&walk.model, dead->to, model_id(job)) != NULL ||
            !model_takes_body(&walk.model, dead->to, model_bytes(job)));
}

/* ---- what becomes of a job */

static int64_t due_of(const struct dead_walk *dead)
{
    int64_t now = walk.fixture.time.now;

    return dead->query.rate == 0
               ? now
               : now + (int64_t)dead->found * dead->query.period / dead->query.rate;
}

static void redrive_here(struct model_job *job, int64_t due)
{
    job->state = MODEL_PENDING;
    job->token_valid = false;
    job->attempt = job->failures = job->crashes = 0;
    model_set_due(job, false, due, walk.fixture.time);
}

static void act(struct dead_walk *dead, struct model_job *job)
{
    if (dead->query.action == DUEQ_DEAD_LOOK || dead->query.dry_run) {
        dead->wanted[dead->count++] = job;
        dead->bytes += model_bytes(job);
    } else if (dead->query.action == DUEQ_DEAD_PURGE) {
        model_remove(&walk.model, job, DUEQ_END_GONE);
        walk.model.topics[dead->topic].totals.deleted++;
    } else if (dead->to == dead->topic) {
        redrive_here(job, due_of(dead));
    } else {
        model_send(&walk.model, job, dead->to, due_of(dead), walk.fixture.time);
    }
}

/* Those that died first come first. */
static void follow(struct dead_walk *dead)
{
    struct model_job last, *job = next_wanted(dead, NULL);

    while (job != NULL && dead->found < dead->query.limit) {
        last = *job;
        if (stays(dead, job)) {
            dead->skipped++;
        } else {
            act(dead, job);
            dead->found++;
        }
        job = next_wanted(dead, &last);
    }
}

/* ---- the step */

static bool check_shown(void *arg, const struct dueq_job *found)
{
    struct dead_walk *dead = arg;

    assert_true(dead->seen < dead->count);
    walk_check_job(found, dead->wanted[dead->seen++]);
    return true;
}

/* In slices. */
void walk_dead(void)
{
    struct dueq_dead_progress progress = {.is_over = false};
    struct dead_walk dead;

    choose_query(&dead);
    follow(&dead);
    while (!progress.is_over) {
        assert_int_equal(dueq_dead(walk.fixture.store, &dead.query, walk.fixture.time,
                                   1 + (unsigned)walk_roll(20), check_shown, &dead, &progress),
                         DUEQ_OK);
        walk_commit_part();
    }
    assert_int_equal(progress.found, dead.found);
    assert_int_equal(progress.skipped, dead.skipped);
    assert_int_equal(dead.seen, dead.count);
}
