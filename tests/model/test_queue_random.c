/* Random use of topics, compared with a plain array of jobs: every claim must take exactly the
 * right job, tokens must grow, counts and times must be exact, no signal may be missed and no
 * timer may be late; across commits, crashes, clean reopening, ticks that stop half way and a
 * wall clock that steps. SEED= reproduces, STEPS= scales. */
#include "storage/store.h"
#include "storage/queue/queue.h"
#include "tests/support/dice.h"
#include "tests/support/queue_model.h"
#include "tests/support/record_count.h"
#include "tests/support/store_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka.h"

enum { TOPICS = QUEUE_MODEL_TOPICS, NAMES = 150, BIG_BUDGET = 1000000 };

static struct store_fixture fixture;

static struct {
    struct dice dice;
    struct queue_model model, committed;
    struct dueq_timeline line, committed_line;
    bool drops;           /* true: a topic is dropped as soon as it is empty */
    bool waiting[TOPICS]; /* a claim found nothing: a signal must come before a claim finds a
                             job */
} test;

static struct dueq_slice topic_of(int topic)
{
    static const char *const names[TOPICS] = {"a", "second", "t\x01\xff"};

    return dueq_slice(names[topic], strlen(names[topic]));
}

static int64_t roll(uint64_t sides)
{
    return (int64_t)dice_roll(&test.dice, sides);
}

static bool once_in(uint64_t times)
{
    return dice_once_in(&test.dice, times);
}

static void check_store(void)
{
    const char *wrong = queue_check(fixture.store->queue);

    assert_string_equal(wrong == NULL ? "" : wrong, "");
}

static void open_store(void)
{
    struct dueq_time time = fixture.time;

    if (once_in(3)) /* then the store continues at its own time */
        fixture.time.now = DUEQ_DEFAULT;
    store_fixture_open(&fixture);
    fixture.time = time;
    if (test.drops)
        fixture.store->queue->empty_kept = 0;
}

/* ---- time */

static void take_signals(void)
{
    struct dueq_slice name;
    bool came[TOPICS] = {false};

    while (dueq_next_signal(fixture.store, &name) == DUEQ_OK)
        for (int topic = 0; topic < TOPICS; topic++)
            if (dueq_slice_equal(name, topic_of(topic)))
                came[topic] = true;
    for (int topic = 0; topic < TOPICS; topic++) {
        bool something = model_best(&test.model, topic, fixture.time) != NULL;

        if (test.waiting[topic] && something)
            assert_true(came[topic]);
        test.waiting[topic] = !something;
    }
}

static enum dueq_state shown_state(const struct model_job *job)
{
    struct dueq_job found;

    assert_int_equal(
        dueq_get(fixture.store, topic_of(job->topic), model_id(job), fixture.time, &found),
        DUEQ_OK);
    return found.state;
}

/* The end of a ttl in the store: it is later once the store notices a step back. */
static int64_t kept_end(const struct model_job *job)
{
    struct topic *topic;
    struct job found;

    assert_int_equal(
        lookup_job(fixture.store->queue, topic_of(job->topic), model_id(job), &topic, &found),
        DUEQ_OK);
    return found.state.expires;
}

/* Applies to the model what the tick has done: all that was due or, if the tick has stopped
 * before, what the store shows. */
static void follow_tick(bool done)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *job = &test.model.jobs[i];

        if (model_life_over(job, fixture.time) && (done || shown_state(job) == DUEQ_DEAD))
            model_lapse(&test.model, job, fixture.time);
        else if (job->there && job->state == MODEL_PENDING && job->wall &&
                 job->expires <= fixture.time.now)
            job->expires = done ? model_life_end(job, fixture.time) : kept_end(job);
        if (model_lease_over(job, fixture.time) && (done || shown_state(job) != DUEQ_CLAIMED))
            model_end_lease(&test.model, job, fixture.time);
    }
}

static void check_next_tick(void)
{
    int64_t next = dueq_next_tick(fixture.store, fixture.time);
    int64_t event = model_next_event(&test.model, fixture.time);

    if (next > 0 && event != DUEQ_NEVER)
        assert_true(next <= event - fixture.time.now);
}

static void tick_some(void)
{
    bool done = !dueq_tick(fixture.store, fixture.time, 1 + (unsigned)roll(20));

    follow_tick(done);
    if (!done)
        return;
    take_signals();
    assert_true(dueq_next_tick(fixture.store, fixture.time) > 0);
    check_next_tick();
}

static void tick_all(void)
{
    while (dueq_tick(fixture.store, fixture.time, BIG_BUDGET))
        ;
    follow_tick(true);
    take_signals();
    check_next_tick();
}

/* A step of one millisecond would count as rounding (dueq.h), so steps are larger. */
static void step_wall(void)
{
    int64_t step = roll(6000) - 3000;

    fixture.time.wall += step == 1 ? 2 : step;
}

static void advance(void)
{
    int64_t step = roll(once_in(200) ? 40000000 : 300);

    fixture.time.now += step;
    fixture.time.wall += step;
    fixture.time.ceiling = once_in(3) ? 0 : fixture.time.now + roll(2);
    if (once_in(60))
        step_wall();
    if (once_in(3))
        tick_some();
    else
        tick_all();
}

/* ---- push */

/* One of few names, so that each comes again. */
static size_t make_name(uint8_t *bytes, uint64_t number)
{
    size_t size = 1 + dice_hash(number) % (number % 4 == 0 ? DUEQ_NAME_MAX : 12);

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)dice_hash(number * 1000 + i);
    return size;
}

/* An id that the store gave or will give next, or a similar one. */
static size_t make_lookalike(uint8_t *bytes, const struct model_topic *topic)
{
    char text[GIVEN_ID_SIZE];
    uint64_t seq;

    if (!given_id_read(dueq_slice(topic->last_given, topic->last_given_size), &seq))
        return make_name(bytes, 1);
    given_id_write(text, fixture.time.now, seq + (uint64_t)roll(4));
    memcpy(bytes, text, sizeof(text));
    return sizeof(text);
}

static void choose_id(struct model_job *job)
{
    if (once_in(2))
        return; /* the store gives the id */
    if (once_in(8))
        job->id_size = make_lookalike(job->id, &test.model.topics[job->topic]);
    else
        job->id_size = make_name(job->id, (uint64_t)roll(NAMES));
}

static void choose_due(struct model_job *job, struct dueq_push *push)
{
    int64_t range = once_in(9) ? 50000000 : 3000;

    job->due = fixture.time.now;
    if (once_in(3)) {
        push->absolute = true;
        push->at = once_in(50) ? INT64_MAX : fixture.time.wall - 500 + roll(5000);
        job->wall = push->at > fixture.time.wall;
        if (job->wall)
            job->due = safe_time_clamp(push->at);
    } else if (once_in(2)) {
        push->delay = once_in(50) ? INT64_MAX : roll((uint64_t)range);
        job->due = model_after(fixture.time, push->delay);
    }
    if (once_in(6)) {
        push->ttl = job->ttl = roll(2000);
        job->expires = job->wall ? job->due - fixture.time.wall + fixture.time.now : job->due;
        job->expires = safe_time_add(safe_time_clamp(job->expires), push->ttl);
    }
}

/* Ids that the store gives grow, and are not among those that callers took. */
static void note_given_id(struct model_job *job, struct dueq_slice id)
{
    struct model_topic *topic = &test.model.topics[job->topic];

    assert_null(model_find(&test.model, job->topic, id));
    assert_true(dueq_slice_compare(id, dueq_slice(topic->last_given, topic->last_given_size)) >
                0);
    memcpy(job->id, id.data, id.size);
    memcpy(topic->last_given, id.data, id.size);
    topic->last_given_size = job->id_size = id.size;
}

static void push_one(void)
{
    struct model_job *place = model_free_job(&test.model), job = {.expires = DUEQ_NEVER};
    struct dueq_push push;
    struct dueq_slice id;
    enum dueq_status wanted;

    if (place == NULL)
        return;
    job.topic = (int)roll(TOPICS);
    choose_id(&job);
    dueq_push_init(&push);
    choose_due(&job, &push);
    job.priority = (int)roll(4) * 60;
    snprintf(job.body, sizeof(job.body), "body %" PRIu64, test.model.seq);
    push.topic = topic_of(job.topic);
    push.id = model_id(&job);
    push.body = dueq_slice(job.body, strlen(job.body));
    push.retries = QUEUE_MODEL_RETRIES;
    push.priority = job.priority;
    wanted = job.id_size > 0 && model_find(&test.model, job.topic, push.id) != NULL
                 ? DUEQ_DUPLICATE
                 : DUEQ_OK;
    assert_int_equal(dueq_push(fixture.store, &push, fixture.time, &id), wanted);
    if (wanted != DUEQ_OK)
        return;
    if (job.id_size == 0)
        note_given_id(&job, id);
    job.there = true;
    job.seq = ++test.model.seq;
    job.pushed = fixture.time.wall;
    test.model.topics[job.topic].totals.pushed++;
    *place = job;
}

/* ---- claims */

static void check_claimed(const struct dueq_job *job, const struct model_job *wanted)
{
    assert_true(dueq_slice_equal(job->id, model_id(wanted)));
    assert_true(dueq_slice_equal(job->body, dueq_slice(wanted->body, strlen(wanted->body))));
    assert_int_equal(job->attempt, wanted->attempt + 1);
    assert_int_equal(job->state, DUEQ_CLAIMED);
    assert_int_equal(job->priority, wanted->priority);
    assert_true(job->token > test.model.topics[wanted->topic].last_token);
}

static struct model_job *best_living(int topic)
{
    struct model_job *best;

    while ((best = model_best(&test.model, topic, fixture.time)) != NULL &&
           model_life_over(best, fixture.time))
        model_lapse(&test.model, best, fixture.time);
    return best;
}

static void claim_one(void)
{
    int topic = (int)roll(TOPICS);
    int64_t lease = once_in(100) ? INT64_MAX : roll(4000);
    struct model_job *wanted = best_living(topic);
    struct dueq_job job;
    enum dueq_status status =
        dueq_claim(fixture.store, topic_of(topic), lease, fixture.time, &job);

    assert_int_equal(status, wanted == NULL ? DUEQ_NOTFOUND : DUEQ_OK);
    if (wanted == NULL) {
        test.waiting[topic] = true;
        return;
    }
    check_claimed(&job, wanted);
    wanted->token = test.model.topics[topic].last_token = job.token;
    wanted->token_valid = true;
    wanted->attempt++;
    wanted->expires = model_life_end(wanted, fixture.time);
    wanted->state = MODEL_CLAIMED;
    wanted->wall = false;
    wanted->due = model_after(fixture.time, lease);
    assert_int_equal(job.due, model_shown_due(wanted, fixture.time));
    test.model.topics[topic].totals.claimed++;
}

/* The id of a present or former job, the job if it exists, and a token that may be its own. */
struct target {
    struct dueq_slice topic, id;
    struct model_job *job;
    struct model_topic *sums;
    int64_t token;
};

static bool choose_target(struct target *target)
{
    struct model_job *any = &test.model.jobs[roll(QUEUE_MODEL_JOBS)];

    if (any->id_size == 0)
        return false;
    *target = (struct target){.topic = topic_of(any->topic),
                              .id = model_id(any),
                              .job = model_find(&test.model, any->topic, model_id(any)),
                              .sums = &test.model.topics[any->topic]};
    target->token = target->job == NULL ? 1 : target->job->token;
    if (once_in(5))
        target->token -= 1;
    return true;
}

static void ack_one(void)
{
    struct target target;
    enum dueq_status wanted;

    if (!choose_target(&target))
        return;
    wanted = model_held(target.job, target.token, true);
    assert_int_equal(
        dueq_ack(fixture.store, target.topic, target.id, target.token, fixture.time), wanted);
    if (wanted != DUEQ_OK)
        return;
    target.job->there = false;
    target.sums->totals.acked++;
}

/* The job's backoff is 1 s doubling, spread by a fifth. */
static void check_backoff(const struct model_job *job, int64_t *ret_wait)
{
    struct dueq_job found;
    int64_t plain = 1000LL << job->failures;

    assert_int_equal(
        dueq_get(fixture.store, topic_of(job->topic), model_id(job), fixture.time, &found),
        DUEQ_OK);
    *ret_wait =
        found.due - fixture.time.wall - (model_after(fixture.time, 1) - 1 - fixture.time.now);
    if (found.state == DUEQ_DELAYED)
        assert_in_range(*ret_wait, plain - plain / 5, plain + plain / 5);
}

static void nack_one(void)
{
    struct target target;
    struct dueq_nack nack = {.delay = once_in(3) ? 0 : roll(1000),
                             .outcome = once_in(10)  ? DUEQ_FATAL
                                        : once_in(6) ? DUEQ_SILENT
                                                     : DUEQ_FAILED};
    enum dueq_status wanted;
    enum dueq_state state;

    if (!choose_target(&target))
        return;
    if (once_in(4))
        nack.delay = DUEQ_DEFAULT;
    if (once_in(2))
        nack.error = dueq_slice("boom", 4);
    wanted = model_held(target.job, target.token, false);
    assert_int_equal(dueq_nack(fixture.store, target.topic, target.id, target.token, &nack,
                               fixture.time, &state),
                     wanted);
    if (wanted != DUEQ_OK)
        return;
    if (nack.error.size > 0)
        target.job->error = "boom";
    target.job->token_valid = false;
    target.sums->totals.nacked++;
    if (nack.delay == DUEQ_DEFAULT && nack.outcome == DUEQ_SILENT)
        nack.delay = 0;
    if (nack.delay == DUEQ_DEFAULT)
        check_backoff(target.job, &nack.delay);
    model_give_back(&test.model, target.job, model_after(fixture.time, nack.delay),
                    nack.outcome, fixture.time);
    assert_int_equal(state, model_state(target.job, fixture.time));
}

static void extend_one(void)
{
    struct target target;
    int64_t lease = roll(5000), end;
    enum dueq_status wanted;

    if (!choose_target(&target))
        return;
    wanted = model_held(target.job, target.token, false);
    assert_int_equal(dueq_extend(fixture.store, target.topic, target.id, target.token, lease,
                                 fixture.time, &end),
                     wanted);
    if (wanted != DUEQ_OK)
        return;
    assert_int_equal(end,
                     model_after(fixture.time, lease) + fixture.time.wall - fixture.time.now);
    target.job->state = MODEL_CLAIMED;
    target.job->wall = false;
    target.job->due = model_after(fixture.time, lease);
}

/* ---- reading */

static void check_job(const struct dueq_job *found, const struct model_job *job)
{
    struct dueq_slice error =
        dueq_slice(job->error, job->error == NULL ? 0 : strlen(job->error));

    assert_true(dueq_slice_equal(found->id, model_id(job)));
    assert_true(dueq_slice_equal(found->body, dueq_slice(job->body, strlen(job->body))));
    assert_true(dueq_slice_equal(found->error, error));
    assert_int_equal(found->state, model_state(job, fixture.time));
    assert_int_equal(found->due, model_shown_due(job, fixture.time));
    assert_int_equal(found->attempt, job->attempt);
    assert_int_equal(found->failures, job->failures);
    assert_int_equal(found->leases_expired, job->crashes);
    assert_int_equal(found->token, job->token);
    assert_int_equal(found->pushed, job->pushed);
}

static void get_one(void)
{
    struct target target;
    struct dueq_job found;

    if (!choose_target(&target))
        return;
    assert_int_equal(dueq_get(fixture.store, target.topic, target.id, fixture.time, &found),
                     target.job == NULL ? DUEQ_NOTFOUND : DUEQ_OK);
    if (target.job != NULL)
        check_job(&found, target.job);
}

static void delete_one(void)
{
    struct target target;

    if (!choose_target(&target))
        return;
    assert_int_equal(dueq_del(fixture.store, target.topic, target.id, fixture.time),
                     target.job == NULL ? DUEQ_NOTFOUND : DUEQ_OK);
    if (target.job == NULL)
        return;
    target.job->there = false;
    target.sums->totals.deleted++;
}

static void add_stats(struct dueq_topic_stats *sum, const struct dueq_topic_stats *stats)
{
    for (int state = 0; state < DUEQ_STATES; state++)
        sum->counts[state] += stats->counts[state];
    if (stats->oldest_ready_age > sum->oldest_ready_age)
        sum->oldest_ready_age = stats->oldest_ready_age;
    topic_add_totals(sum, stats);
}

/* The totals of flushed topics stay in those of the store. */
static void check_totals(const struct dueq_topic_stats *store,
                         const struct dueq_topic_stats *topics)
{
    assert_true(store->pushed >= topics->pushed && store->claimed >= topics->claimed);
    assert_true(store->acked >= topics->acked && store->nacked >= topics->nacked);
    assert_true(store->deleted >= topics->deleted &&
                store->leases_expired >= topics->leases_expired);
    assert_true(store->jobs_expired >= topics->jobs_expired && store->dead >= topics->dead);
}

static void check_stats(void)
{
    struct dueq_topic_stats sum, all = {.pushed = 0};

    for (int topic = 0; topic < TOPICS; topic++) {
        struct dueq_topic_stats stats, wanted;

        if (dueq_topic_stats(fixture.store, topic_of(topic), fixture.time, &stats) != DUEQ_OK) {
            assert_int_equal(test.model.topics[topic].totals.pushed, 0);
            continue;
        }
        model_stats(&test.model, topic, fixture.time, &wanted);
        for (int state = 0; state < DUEQ_STATES; state++)
            assert_int_equal(stats.counts[state], wanted.counts[state]);
        assert_int_equal(stats.next_due, wanted.next_due);
        assert_int_equal(stats.oldest_ready_age, wanted.oldest_ready_age);
        assert_false(stats.counting);
        assert_memory_equal(&stats, &wanted, offsetof(struct dueq_topic_stats, counting));
        add_stats(&all, &stats);
    }
    assert_int_equal(dueq_total_stats(fixture.store, fixture.time, &sum), DUEQ_OK);
    for (int state = 0; state < DUEQ_STATES; state++)
        assert_int_equal(sum.counts[state], all.counts[state]);
    assert_int_equal(sum.oldest_ready_age, all.oldest_ready_age);
    check_totals(&sum, &all);
}

/* ---- the store as a whole */

static bool has_jobs(int topic)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        if (test.model.jobs[i].there && test.model.jobs[i].topic == topic)
            return true;
    return false;
}

/* The totals of a dropped topic are gone; its tokens and ids are not given again. */
static void follow_drops(void)
{
    size_t topics = 0;

    for (int topic = 0; topic < TOPICS; topic++)
        if (has_jobs(topic))
            topics++;
        else
            memset(&test.model.topics[topic].totals, 0, sizeof(struct dueq_topic_stats));
    assert_int_equal(dueq_topic_count(fixture.store), topics);
}

static void commit(void)
{
    store_fixture_commit(&fixture);
    if (test.drops)
        follow_drops();
    test.committed = test.model;
    test.committed_line = test.line;
    if (once_in(3))
        dueq_maintain(fixture.store, once_in(4));
}

static void crash(void)
{
    dueq_wait(fixture.store, kv_last_lsn(fixture.store->kv));
    store_fixture_abandon(&fixture);
    test.model = test.committed;
    test.line = test.committed_line;
}

/* The store has the time line of the last commit. */
static void check_timeline(void)
{
    struct dueq_timeline line = {0, 0, {0}};

    dueq_get_timeline(fixture.store, &line);
    assert_memory_equal(&line, &test.line, sizeof(line));
    assert_true(dueq_time_floor(fixture.store) <= fixture.time.now);
}

static void change_timeline(void)
{
    test.line.ahead = fixture.time.wall - fixture.time.now;
    test.line.since_boot += roll(3) - 1;
    test.line.boot[0] = (uint8_t)roll(2);
    dueq_keep_timeline(fixture.store, &test.line);
}

static void reopen(void)
{
    if (once_in(2)) {
        crash();
    } else {
        commit();
        store_fixture_close(&fixture);
    }
    if (once_in(4))
        step_wall();
    open_store();
    check_store();
    check_timeline();
    memset(test.waiting, 0, sizeof(test.waiting));
    if (once_in(2))
        tick_all();
    check_stats();
}

static void flush(void)
{
    struct queue_model before = test.model;

    assert_int_equal(dueq_flush(fixture.store, fixture.time), DUEQ_OK);
    assert_int_equal(dueq_topic_count(fixture.store), 0);
    memset(&test.model, 0, sizeof(test.model));
    for (int topic = 0; topic < TOPICS; topic++) { /* seqs and tokens grow further */
        test.model.topics[topic] = before.topics[topic];
        memset(&test.model.topics[topic].totals, 0, sizeof(struct dueq_topic_stats));
    }
    memset(test.waiting, 0, sizeof(test.waiting));
}

static void random_step(void)
{
    static void (*const moves[])(void) = {push_one, push_one, push_one,   claim_one,  claim_one,
                                          ack_one,  ack_one,  nack_one,   extend_one, advance,
                                          advance,  get_one,  delete_one, commit};

    moves[roll(sizeof(moves) / sizeof(moves[0]))]();
    if (once_in(50))
        check_stats();
    if (once_in(100))
        check_store();
    if (once_in(200))
        change_timeline();
    if (once_in(800))
        reopen();
    if (once_in(10000))
        flush();
}

/* No record of a flushed topic is left. */
static void check_empty(void)
{
    flush();
    while (dueq_tick(fixture.store, fixture.time, 100))
        ;
    assert_int_equal(record_count(fixture.store, "BGQSTU"), 0);
}

static void a_topic_is_the_queue_it_claims_to_be(void **state)
{
    long steps = dice_setting("STEPS", 100000);

    (void)state;
    dice_begin(&test.dice);
    test.drops = once_in(2);
    store_fixture_init(&fixture);
    fixture.time = (struct dueq_time){1000000, 1000000, 1000000};
    fixture.options.durability = DUEQ_SYNC_ALWAYS;
    fixture.options.memtable_bytes = 200000;
    fixture.options.journal_bytes = 4 << 20;
    fixture.options.map_bytes = 256 << 20;
    open_store();
    for (long step = 0; step < steps; step++)
        random_step();
    check_empty();
    store_fixture_close(&fixture);
    store_fixture_release(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_topic_is_the_queue_it_claims_to_be)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
