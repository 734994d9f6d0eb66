#include "storage/store.h"
#include "tests/support/store/old_jobs.h"

#include "storage/kv/kv.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { BEGAN = 1700000000, LONG_ID = 255, LARGE_BODY = 40000 };

#define MADE_AT ((int64_t)BEGAN * 1000)
#define LATER                                                                                  \
    (MADE_AT + 60 * 1000) /* when the directory was left; the check uses the same time */

/* A job in the directory. */
struct old_job {
    const char *topic, *id; /* the id "long" stands for one of the greatest size */
    size_t body;            /* bytes */
    int64_t delay;          /* ms from MADE_AT */
    bool absolute;          /* the delay was given as a time */
    int priority;
    int64_t ttl;
    enum dueq_state state;
    int claims;
    const char *error;
};

static const struct old_job jobs[] = {
    {"mail", "ready", 5, 0, false, 128, DUEQ_DEFAULT, DUEQ_READY, 0, ""},
    {"mail", "delayed", 0, 3600000, false, 0, DUEQ_DEFAULT, DUEQ_DELAYED, 0, ""},
    {"mail", "at", 100, 7200000, true, 255, 86400000, DUEQ_DELAYED, 0, ""},
    {"mail", "large", LARGE_BODY, 1000, false, 128, DUEQ_DEFAULT, DUEQ_READY, 0, ""},
    {"mail", "long", 10, 0, false, 200, DUEQ_DEFAULT, DUEQ_READY, 0, ""},
    {"claims", "held", 20, 0, false, 128, DUEQ_DEFAULT, DUEQ_CLAIMED, 1, ""},
    {"nacks", "back", 30, 0, false, 128, DUEQ_DEFAULT, DUEQ_DELAYED, 1, "no route"},
    {"dead", "dead", 40, 0, false, 128, DUEQ_DEFAULT, DUEQ_DEAD, 1, "gave up"},
    {"a topic", "\t\n \"binary\" \xff", 50, 0, false, 128, DUEQ_DEFAULT, DUEQ_READY, 0, ""},
};

enum { JOBS = sizeof(jobs) / sizeof(jobs[0]), CHECKPOINT_AFTER = 4 };

static struct dueq_time time_of(int64_t now)
{
    return (struct dueq_time){.now = now, .wall = now};
}

static struct dueq_slice id_of(const struct old_job *job)
{
    static char id[LONG_ID];

    if (strcmp(job->id, "long") != 0)
        return text(job->id);
    memset(id, 'i', sizeof(id));
    return dueq_slice(id, sizeof(id));
}

static struct dueq_slice body_of(const struct old_job *job)
{
    static char body[LARGE_BODY];

    for (size_t i = 0; i < job->body; i++)
        body[i] = (char)('a' + i % 26);
    return dueq_slice(body, job->body);
}

void old_jobs_options(struct dueq_options *ret_options)
{
    dueq_options_init(ret_options);
    ret_options->segment_bytes = 1 << 20;
    ret_options->map_bytes = 64 << 20;
    ret_options->disk_reserve_bytes = 0;
    ret_options->seed = 20261121;
}

/* ---- making */

static void push(struct dueq *store, const struct old_job *job)
{
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.topic = text(job->topic);
    push.id = id_of(job);
    push.body = body_of(job);
    push.absolute = job->absolute;
    push.at = MADE_AT + job->delay;
    push.delay = job->absolute ? 0 : job->delay;
    push.priority = job->priority;
    push.ttl = job->ttl;
    assert_int_equal(dueq_push(store, &push, time_of(MADE_AT), &id), DUEQ_OK);
}

static void bring_about(struct dueq *store, const struct old_job *job)
{
    struct dueq_nack nack = {.delay = 3600000,
                             .error = text(job->error),
                             .outcome = job->state == DUEQ_DEAD ? DUEQ_FATAL : DUEQ_FAILED};
    struct dueq_job claimed;
    enum dueq_state state;

    if (job->claims == 0)
        return;
    assert_int_equal(dueq_claim(store, text(job->topic), 3600000, time_of(MADE_AT), &claimed),
                     DUEQ_OK);
    if (job->state != DUEQ_CLAIMED)
        assert_int_equal(dueq_nack(store, text(job->topic), id_of(job), claimed.token, &nack,
                                   time_of(MADE_AT), &state),
                         DUEQ_OK);
}

static void commit(struct dueq *store)
{
    uint64_t lsn;

    assert_int_equal(dueq_commit(store, time_of(MADE_AT), &lsn), DUEQ_OK);
    assert_int_equal(dueq_wait(store, lsn), DUEQ_OK);
}

void old_jobs_make(const char *dir)
{
    struct dueq_options options;
    struct dueq *store;

    old_jobs_options(&options);
    assert_int_equal(dueq_open(dir, &options, time_of(MADE_AT), &store, NULL), DUEQ_OK);
    for (int i = 0; i < JOBS; i++) {
        push(store, &jobs[i]);
        bring_about(store, &jobs[i]);
        commit(store);
        if (i == CHECKPOINT_AFTER)
            assert_int_equal(kv_checkpoint(store->kv), DUEQ_OK);
    }
    dueq_abandon(store);
}

/* ---- checking */

static void check_job(struct dueq *store, const struct old_job *job)
{
    struct dueq_job found;

    if (dueq_get(store, text(job->topic), id_of(job), time_of(LATER), &found) != DUEQ_OK)
        fail_msg("job %s of %s is not there", job->id, job->topic);
    assert_true(dueq_slice_equal(found.id, id_of(job)));
    assert_true(dueq_slice_equal(found.body, body_of(job)));
    assert_true(dueq_slice_equal(found.error, text(job->error)));
    assert_int_equal(found.state, job->state);
    assert_int_equal(found.attempt, job->claims);
    assert_int_equal(found.priority, job->priority);
    assert_int_equal(found.ttl, job->ttl);
    assert_int_equal(found.pushed, MADE_AT);
    if (job->claims == 0)
        assert_int_equal(found.due, MADE_AT + job->delay);
    else
        assert_true(found.token > 0);
}

/* The most urgent job of the first topic, then all that is ready in it. */
static void check_claims(struct dueq *store)
{
    struct dueq_job job;
    int claimed = 0;

    while (dueq_claim(store, text("mail"), DUEQ_DEFAULT, time_of(LATER), &job) == DUEQ_OK) {
        assert_int_equal(dueq_ack(store, text("mail"), job.id, job.token, time_of(LATER)),
                         DUEQ_OK);
        claimed++;
    }
    assert_int_equal(claimed, 3);
}

void old_jobs_check(struct dueq *store)
{
    struct dueq_topic_stats stats;

    assert_int_equal(dueq_topic_count(store), 5);
    assert_int_equal(dueq_time_floor(store), MADE_AT);
    for (int i = 0; i < JOBS; i++)
        check_job(store, &jobs[i]);
    assert_int_equal(dueq_topic_stats(store, text("mail"), time_of(LATER), &stats), DUEQ_OK);
    assert_int_equal(stats.counts[DUEQ_DELAYED], 2);
    assert_int_equal(stats.counts[DUEQ_READY], 3);
    assert_int_equal(stats.pushed, 5);
    check_claims(store);
    commit(store);
}
