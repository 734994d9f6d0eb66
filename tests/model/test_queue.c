/* Random life of topics against a plain array of jobs: every claim must pick exactly the right
 * one, tokens must grow, counts be exact, no signal be missed, across commits, crashes, clean
 * reopening and a wall clock that steps. SEED= reproduces, STEPS= scales. */
#include "storage/dueq.h"
#include "storage/kv/kv.h"
#include "tests/support/dice.h"
#include "tests/support/temp_dir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

struct queue;
struct queue *store_queue(struct dueq *store);
const char *queue_check(struct queue *queue);

enum { TOPICS = 3, JOBS_MAX = 400, RETRIES = 3 };

struct model_job {
    bool there, given; /* given: the id is the store's */
    char id[32];
    size_t id_size;
    int topic, priority;
    uint64_t seq; /* order of arrival */
    bool wall;
    int64_t due, token, attempt, expires;
    enum { PENDING, CLAIMED, DEAD } state;
    bool token_valid;
    char body[24];
};

struct model {
    struct model_job jobs[JOBS_MAX];
    uint64_t seq;
    int64_t last_token[TOPICS];
};

static struct {
    struct dice dice;
    char *dir;
    struct dueq *store;
    struct dueq_time time;
    struct model now, committed;
    bool waiting[TOPICS]; /* a signal must have come since */
} test;

static const char *const topic_names[TOPICS] = {"a", "second", "t\x01\xff"};

static struct dueq_slice topic_of(int topic)
{
    return dueq_slice(topic_names[topic], strlen(topic_names[topic]));
}

static struct dueq_slice id_of(const struct model_job *job)
{
    return dueq_slice(job->id, job->id_size);
}

static void open_store(void)
{
    struct kv_options options;
    struct dueq_error error;

    kv_options_init(&options);
    options.memtable_bytes = 200000;
    options.segment_bytes = 1 << 20;
    options.journal_bytes = 4 << 20;
    options.map_bytes = 256 << 20;
    options.disk_reserve_bytes = 0;
    if (dueq_open(test.dir, &options, test.time, &test.store, &error) != DUEQ_OK)
        fail_msg("%s", error.text);
}

/* ---- the model's rules */

static int64_t clock_of(const struct model_job *job)
{
    return job->wall ? test.time.wall : test.time.now;
}

static bool due(const struct model_job *job)
{
    return job->there && job->state == PENDING && job->due <= clock_of(job);
}

static bool better(const struct model_job *a, const struct model_job *b)
{
    if (a->priority != b->priority)
        return a->priority < b->priority;
    return a->due != b->due ? a->due < b->due : a->seq < b->seq;
}

static struct model_job *best(int topic)
{
    struct model_job *found = NULL;

    for (int i = 0; i < JOBS_MAX; i++) {
        struct model_job *job = &test.now.jobs[i];

        if (job->topic == topic && due(job) && (found == NULL || better(job, found)))
            found = job;
    }
    return found;
}

static void kill_job(struct model_job *job)
{
    job->state = DEAD;
    job->due = test.time.now;
    job->expires = DUEQ_NEVER;
}

/* Lives end before leases do. */
static void model_tick(void)
{
    for (int i = 0; i < JOBS_MAX; i++) {
        struct model_job *job = &test.now.jobs[i];

        if (job->there && job->state == PENDING && job->expires <= test.time.now)
            kill_job(job);
        if (!job->there || job->state != CLAIMED || job->due > test.time.now)
            continue;
        if (job->attempt > RETRIES || job->expires <= test.time.now) {
            kill_job(job);
            continue;
        }
        job->state = PENDING;
        job->wall = false;
    }
}

static void take_signals(void)
{
    struct dueq_slice name;
    bool came[TOPICS] = {false};

    while (dueq_next_signal(test.store, &name) == DUEQ_OK)
        for (int topic = 0; topic < TOPICS; topic++)
            if (dueq_slice_equal(name, topic_of(topic)))
                came[topic] = true;
    for (int topic = 0; topic < TOPICS; topic++) {
        if (test.waiting[topic] && best(topic) != NULL)
            assert_true(came[topic]);
        test.waiting[topic] = best(topic) == NULL;
    }
}

static void tick(void)
{
    while (dueq_tick(test.store, test.time, 1 + (unsigned)dice_roll(&test.dice, 20)))
        ;
    model_tick();
    take_signals();
}

/* ---- steps */

static struct model_job *free_job(void)
{
    for (int i = 0; i < JOBS_MAX; i++)
        if (!test.now.jobs[i].there)
            return &test.now.jobs[i];
    return NULL;
}

static struct model_job *random_job(void)
{
    return &test.now.jobs[dice_roll(&test.dice, JOBS_MAX)];
}

static void push_one(void)
{
    struct model_job *job = free_job();
    struct dueq_push push;
    struct dueq_slice id;

    if (job == NULL)
        return;
    *job = (struct model_job){.there = true, .expires = DUEQ_NEVER};
    job->topic = (int)dice_roll(&test.dice, TOPICS);
    job->seq = ++test.now.seq;
    job->given = dice_once_in(&test.dice, 2);
    dueq_push_init(&push);
    if (!job->given) {
        job->id_size = (size_t)snprintf(job->id, sizeof(job->id), "id-%" PRIu64, job->seq);
        push.id = id_of(job);
    }
    snprintf(job->body, sizeof(job->body), "body %" PRIu64, job->seq);
    push.topic = topic_of(job->topic);
    push.body = dueq_slice(job->body, strlen(job->body));
    push.retries = RETRIES;
    job->priority = (int)dice_roll(&test.dice, 4) * 60;
    push.priority = job->priority;
    job->due = test.time.now;
    if (dice_once_in(&test.dice, 3)) {
        push.absolute = true;
        push.at = test.time.wall - 500 + (int64_t)dice_roll(&test.dice, 5000);
        job->wall = push.at > test.time.wall;
        job->due = job->wall ? push.at : test.time.now;
    } else if (dice_once_in(&test.dice, 2)) {
        push.delay =
            (int64_t)dice_roll(&test.dice, dice_once_in(&test.dice, 9) ? 50000000 : 3000);
        job->due += push.delay;
    }
    if (dice_once_in(&test.dice, 6)) {
        push.ttl = (int64_t)dice_roll(&test.dice, 2000);
        job->expires =
            push.ttl + (job->wall ? job->due - test.time.wall + test.time.now : job->due);
    }
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_OK);
    if (job->given) {
        job->id_size = id.size;
        memcpy(job->id, id.data, id.size);
    }
    push.id = id_of(job);
    assert_int_equal(dueq_push(test.store, &push, test.time, &id), DUEQ_DUPLICATE);
}

static void claim_one(void)
{
    int topic = (int)dice_roll(&test.dice, TOPICS);
    int64_t lease = 1 + (int64_t)dice_roll(&test.dice, 4000);
    struct model_job *wanted = best(topic);
    struct dueq_job job;
    enum dueq_status status = dueq_claim(test.store, topic_of(topic), lease, test.time, &job);

    if (wanted == NULL) {
        assert_int_equal(status, DUEQ_NOTFOUND);
        return;
    }
    assert_int_equal(status, DUEQ_OK);
    assert_int_equal(job.id.size, wanted->id_size);
    assert_memory_equal(job.id.data, wanted->id, job.id.size);
    assert_int_equal(job.body.size, strlen(wanted->body));
    assert_memory_equal(job.body.data, wanted->body, job.body.size);
    assert_true(job.token > test.now.last_token[topic]);
    assert_int_equal(job.attempt, wanted->attempt + 1);
    test.now.last_token[topic] = job.token;
    wanted->token = job.token;
    wanted->token_valid = true;
    wanted->attempt++;
    wanted->state = CLAIMED;
    wanted->due = test.time.now + lease;
}

static enum dueq_status held(const struct model_job *job, int64_t token)
{
    if (!job->there)
        return DUEQ_NOTFOUND;
    return job->token_valid && job->token == token ? DUEQ_OK : DUEQ_STALE;
}

static int64_t some_token(const struct model_job *job)
{
    return dice_once_in(&test.dice, 5) ? job->token - 1 : job->token;
}

static void ack_one(void)
{
    struct model_job *job = random_job();
    int64_t token = some_token(job);

    if (job->id_size == 0)
        return;
    assert_int_equal(dueq_ack(test.store, topic_of(job->topic), id_of(job), token, test.time),
                     held(job, token));
    if (held(job, token) == DUEQ_OK)
        job->there = false;
}

static void nack_one(void)
{
    struct model_job *job = random_job();
    int64_t token = some_token(job);
    struct dueq_nack nack = {.delay = (int64_t)dice_roll(&test.dice, 1000),
                             .dead = dice_once_in(&test.dice, 10),
                             .error = dueq_slice("boom", 4)};
    enum dueq_status wanted = held(job, token);
    enum dueq_state state;

    if (job->id_size == 0)
        return;
    if (wanted == DUEQ_OK && job->state == DEAD)
        wanted = DUEQ_STALE;
    assert_int_equal(dueq_nack(test.store, topic_of(job->topic), id_of(job), token, &nack,
                               test.time, &state),
                     wanted);
    if (wanted != DUEQ_OK)
        return;
    job->token_valid = false;
    if (nack.dead || job->attempt > RETRIES || job->expires <= test.time.now) {
        assert_int_equal(state, DUEQ_DEAD);
        kill_job(job);
        return;
    }
    job->state = PENDING;
    job->wall = false;
    job->due = test.time.now + nack.delay;
    assert_int_equal(state, nack.delay == 0 ? DUEQ_READY : DUEQ_DELAYED);
}

static void extend_one(void)
{
    struct model_job *job = random_job();
    int64_t lease = (int64_t)dice_roll(&test.dice, 5000), end, token = some_token(job);
    enum dueq_status wanted = held(job, token);

    if (job->id_size == 0)
        return;
    if (wanted == DUEQ_OK && job->state == DEAD)
        wanted = DUEQ_STALE;
    assert_int_equal(dueq_extend(test.store, topic_of(job->topic), id_of(job), token, lease,
                                 test.time, &end),
                     wanted);
    if (wanted != DUEQ_OK)
        return;
    assert_int_equal(end, test.time.wall + lease);
    job->state = CLAIMED;
    job->due = test.time.now + lease;
}

static void get_or_delete_one(void)
{
    struct model_job *job = random_job();
    struct dueq_job found;
    enum dueq_status wanted = job->there ? DUEQ_OK : DUEQ_NOTFOUND;

    if (job->id_size == 0)
        return;
    assert_int_equal(dueq_get(test.store, topic_of(job->topic), id_of(job), test.time, &found),
                     wanted);
    if (wanted == DUEQ_OK) {
        assert_int_equal(found.due, job->due);
        assert_int_equal(found.attempt, job->attempt);
        assert_int_equal(found.state, job->state == CLAIMED ? DUEQ_CLAIMED
                                      : job->state == DEAD  ? DUEQ_DEAD
                                      : due(job)            ? DUEQ_READY
                                                            : DUEQ_DELAYED);
    }
    if (dice_once_in(&test.dice, 3))
        return;
    assert_int_equal(dueq_del(test.store, topic_of(job->topic), id_of(job), test.time), wanted);
    job->there = false;
}

static void check_counts(void)
{
    for (int topic = 0; topic < TOPICS; topic++) {
        uint64_t counts[DUEQ_STATES] = {0};
        int64_t next = DUEQ_NEVER;
        struct dueq_topic_stats stats;

        for (int i = 0; i < JOBS_MAX; i++) {
            const struct model_job *job = &test.now.jobs[i];

            if (!job->there || job->topic != topic)
                continue;
            counts[job->state == CLAIMED ? DUEQ_CLAIMED
                   : job->state == DEAD  ? DUEQ_DEAD
                   : due(job)            ? DUEQ_READY
                                         : DUEQ_DELAYED]++;
            if (job->state == PENDING && !due(job) &&
                job->due - clock_of(job) + test.time.wall < next)
                next = job->due - clock_of(job) + test.time.wall;
        }
        if (dueq_topic_stats(test.store, topic_of(topic), test.time, &stats) != DUEQ_OK)
            continue;
        for (int state = 0; state < DUEQ_STATES; state++)
            assert_int_equal(stats.counts[state], counts[state]);
        assert_true(stats.next_due <= next); /* a lower bound: its job may be gone */
    }
}

static void commit(void)
{
    uint64_t lsn;

    assert_int_equal(dueq_commit(test.store, test.time, &lsn), DUEQ_OK);
    test.committed = test.now;
    if (dice_once_in(&test.dice, 3))
        dueq_maintain(test.store, dice_once_in(&test.dice, 4));
}

static void reopen(bool crash)
{
    const char *wrong;

    if (crash) {
        dueq_wait(test.store, kv_lsn(dueq_kv(test.store)));
        dueq_abandon(test.store);
        test.now = test.committed;
    } else {
        commit();
        assert_int_equal(dueq_close(test.store), DUEQ_OK);
    }
    open_store();
    wrong = queue_check(store_queue(test.store));
    assert_string_equal(wrong == NULL ? "" : wrong, "");
    memset(test.waiting, 0, sizeof(test.waiting));
    tick();
    check_counts();
}

static void advance(void)
{
    int64_t step =
        (int64_t)dice_roll(&test.dice, dice_once_in(&test.dice, 200) ? 40000000 : 300);

    test.time.now += step;
    test.time.wall += step;
    if (dice_once_in(&test.dice, 100))
        test.time.wall += (int64_t)dice_roll(&test.dice, 6000) - 3000;
    tick();
}

static void random_step(void)
{
    static void (*const moves[])(void) = {push_one,  push_one, push_one,          claim_one,
                                          claim_one, ack_one,  nack_one,          extend_one,
                                          advance,   ack_one,  get_or_delete_one, commit};
    const char *wrong;

    moves[dice_roll(&test.dice, sizeof(moves) / sizeof(moves[0]))]();
    if (dice_once_in(&test.dice, 50))
        check_counts();
    if (dice_once_in(&test.dice, 800))
        reopen(dice_once_in(&test.dice, 2));
    if (dice_once_in(&test.dice, 300)) {
        wrong = queue_check(store_queue(test.store));
        assert_string_equal(wrong == NULL ? "" : wrong, "");
    }
    if (dice_once_in(&test.dice, 20000)) {
        assert_int_equal(dueq_flush(test.store, test.time), DUEQ_OK);
        memset(test.now.jobs, 0, sizeof(test.now.jobs));
        memset(test.now.last_token, 0, sizeof(test.now.last_token));
        memset(test.waiting, 0, sizeof(test.waiting));
    }
}

static void a_topic_is_the_queue_it_claims_to_be(void **state)
{
    long steps = dice_setting("STEPS", 60000);

    (void)state;
    dice_begin(&test.dice);
    test.dir = temp_dir_new();
    test.time = (struct dueq_time){1000000, 1000000};
    open_store();
    for (long step = 0; step < steps; step++)
        random_step();
    assert_int_equal(dueq_close(test.store), DUEQ_OK);
    temp_dir_remove(test.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_topic_is_the_queue_it_claims_to_be)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
