#include "tests/support/models/queue_walk.h"

#include "storage/queue/after.h"
#include "storage/store.h"
#include "tests/support/models/queue_model_life.h"
#include "tests/support/models/queue_model_settings.h"

#include <string.h>

#include "tests/support/cmocka.h"

struct queue_walk walk;

int64_t walk_roll(uint64_t sides)
{
    return (int64_t)dice_roll(&walk.dice, sides);
}

bool walk_once_in(uint64_t times)
{
    return dice_once_in(&walk.dice, times);
}

bool walk_choose(struct walk_target *ret_target)
{
    struct model_job *any = &walk.model.jobs[walk_roll(QUEUE_MODEL_JOBS)];

    if (any->id_size == 0)
        return false;
    *ret_target = (struct walk_target){.topic = model_topic_name(any->topic),
                                       .topic_number = any->topic,
                                       .id = model_id(any),
                                       .sums = &walk.model.topics[any->topic]};
    ret_target->job = model_find(&walk.model, any->topic, model_id(any));
    ret_target->token = ret_target->job == NULL ? 1 : ret_target->job->token;
    if (walk_once_in(5))
        ret_target->token -= 1;
    return true;
}

bool walk_choose_held(struct walk_target *ret_target)
{
    for (int i = 0; i < 20; i++)
        if (walk_choose(ret_target) &&
            model_held(ret_target->job, ret_target->token, true) == DUEQ_OK)
            return true;
    return walk_choose(ret_target);
}

void walk_forget(void)
{
    struct dueq_defaults defaults;

    model_forget(&walk.model);
    memset(walk.waiting, 0, sizeof(walk.waiting));
    memset(walk.watches, 0, sizeof(walk.watches));
    walk.purge.runs = false;
    walk.times.count = 0;
    dueq_get_defaults(walk.fixture.store, &defaults);
    assert_memory_equal(&defaults, &walk.model.defaults, sizeof(defaults));
}

/* A topic that is empty for a moment only must not go. */
void walk_commit_part(void)
{
    if (walk.drops || !walk_once_in(4))
        return;
    store_fixture_commit(&walk.fixture);
    walk.is_split = true;
}

/* ---- one job */

static void check_text(struct dueq_slice found, const char *wanted)
{
    assert_true(
        dueq_slice_equal(found, dueq_slice(wanted, wanted == NULL ? 0 : strlen(wanted))));
}

static void check_options(const struct dueq_job *found, const struct model_job *job)
{
    struct model_options options = model_options(&walk.model, job);

    assert_int_equal(found->priority, job->content.options.priority);
    assert_int_equal(found->ttl, job->content.options.ttl);
    assert_int_equal(found->window, job->content.options.window);
    assert_true(dueq_slice_equal(found->group, job->content.options.group));
    assert_int_equal(found->weight,
                     job->content.options.group.size == 0 ? 1 : job->content.options.weight);
    assert_int_equal(found->lease, options.lease);
    assert_int_equal(found->retries, options.retries);
    assert_int_equal(found->crashes, options.crashes);
    assert_int_equal(found->backoff, options.backoff);
    assert_int_equal(found->backoff_max, options.backoff_max);
    assert_int_equal(found->jitter, options.jitter);
    assert_int_equal(found->step_count, options.step_count);
    for (size_t i = 0; i < options.step_count; i++)
        assert_int_equal(found->steps[i], options.steps[i]);
}

static void check_history(const struct dueq_job *found, const struct model_job *job)
{
    struct dueq_attempt attempts[DUEQ_ATTEMPTS_KEPT];

    assert_int_equal(dueq_job_attempts(found, attempts), job->attempts);
    for (size_t i = 0; i < job->attempts; i++) {
        assert_int_equal(attempts[i].ended, job->history[i].ended);
        assert_int_equal(attempts[i].duration, job->history[i].duration);
        assert_int_equal(attempts[i].outcome, job->history[i].outcome);
        check_text(attempts[i].worker, job->history[i].worker);
    }
}

/* That of a job that has waited names another job: any, when several were not done. */
static void check_error(struct dueq_slice found, const char *wanted)
{
    size_t size = strlen(MODEL_AFTER_ERROR);

    if (strcmp(wanted, MODEL_AFTER_ERROR) == 0)
        assert_true(found.size > size && memcmp(found.data, wanted, size) == 0);
    else
        check_text(found, wanted);
}

void walk_check_look(const struct dueq_job *found, const struct model_job *job)
{
    struct dueq_time time = walk.fixture.time;
    int64_t ahead = time.wall - time.now;

    assert_true(dueq_slice_equal(found->id, model_id(job)));
    check_text(found->body, job->content.body);
    check_error(found->error, job->error);
    check_text(found->worker, job->worker);
    check_text(found->progress, job->progress);
    assert_int_equal(found->state, model_state(job, time));
    assert_int_equal(found->due, model_shown_due(job, time));
    assert_int_equal(found->claimed_at, job->state == MODEL_CLAIMED ? job->since + ahead : 0);
    assert_int_equal(found->kept_until, job->state == MODEL_DONE ? job->expires + ahead : 0);
    assert_int_equal(found->attempt, job->attempt);
    assert_int_equal(found->failures, job->failures);
    assert_int_equal(found->leases_expired, job->crashes);
    assert_int_equal(found->token, job->token);
    assert_int_equal(found->pushed, job->content.pushed);
    assert_int_equal(found->cancelled, job->cancelled);
    assert_int_equal(found->followed, job->followed);
    assert_int_equal(found->awaits, job->state == MODEL_WAITING ? job->awaits : 0);
    check_options(found, job);
    check_history(found, job);
}

void walk_check_job(const struct dueq_job *found, const struct model_job *job)
{
    walk_check_look(found, job);
    assert_int_equal(found->has_result, job->result != NULL);
    if (job->result != NULL)
        check_text(found->result, job->result);
}

static bool has_body(const struct dueq_job *found, const struct model_job *job)
{
    return dueq_slice_equal(found->body,
                            dueq_slice(job->content.body, strlen(job->content.body)));
}

int walk_shown_state(const struct model_job *job)
{
    struct dueq_job found;
    enum dueq_status status = dueq_get(walk.fixture.store, model_topic_name(job->topic),
                                       model_id(job), walk.fixture.time, &found);

    if (status == DUEQ_NOTFOUND)
        return DUEQ_STATES;
    assert_int_equal(status, DUEQ_OK);
    return has_body(&found, job) ? (int)found.state : DUEQ_STATES;
}

/* ---- jobs that died in one topic and came to another */

/* The job whose body it is; NULL: the topic had it before. */
static struct model_job *find_arrived(int topic, const struct dueq_job *found)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *job = &walk.model.jobs[i];

        if (job->there && job->topic == topic && job->arrived && has_body(found, job))
            return job;
    }
    return NULL;
}

/* When jobs came in an order that is not known, so is what their ids met. */
static void take_id(struct model_job *job, struct dueq_slice id, bool in_order)
{
    bool is_new = !dueq_slice_equal(id, model_id(job));

    if (in_order)
        assert_int_equal(is_new, job->taken);
    if (!is_new)
        return;
    walk_note_given_id(job->topic, id);
    memcpy(job->id, id.data, id.size);
    job->id_size = id.size;
}

struct arrivals {
    int topic;
    bool in_order;
    size_t count; /* so far */
};

/* Jobs are shown in the order in which they came to the topic. */
static bool follow_arrival(void *arg, const struct dueq_job *found)
{
    struct arrivals *arrivals = arg;
    struct model_job *job = find_arrived(arrivals->topic, found);

    if (job == NULL) {
        assert_int_equal(arrivals->count, 0);
        return true;
    }
    arrivals->count++;
    take_id(job, found->id, arrivals->in_order);
    job->seq = ++walk.model.seq;
    return true;
}

static size_t end_arrivals(int topic)
{
    size_t count = 0;

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *job = &walk.model.jobs[i];

        if (!job->there || job->topic != topic || !job->arrived)
            continue;
        count++;
        job->arrived = false;
        assert_ptr_equal(model_find(&walk.model, topic, model_id(job)), job);
    }
    return count;
}

static bool has_arrivals(int topic)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        if (walk.model.jobs[i].there && walk.model.jobs[i].topic == topic &&
            walk.model.jobs[i].arrived)
            return true;
    return false;
}

bool walk_settle(void)
{
    unsigned budget = 1000000;

    if (walk.fixture.store->queue->afters.any)
        after_settle(walk.fixture.store->queue,
                     queue_time(walk.fixture.store->queue, walk.fixture.time), &budget);
    return model_settle(&walk.model, walk.fixture.time);
}

void walk_follow_arrivals(bool in_order)
{
    char cursor[DUEQ_CURSOR_SIZE];
    struct dueq_scan scan;

    dueq_scan_init(&scan);
    scan.count = 2 * QUEUE_MODEL_JOBS;
    if (walk_settle())
        in_order = false;
    for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++) {
        struct arrivals arrivals = {.topic = topic, .in_order = in_order};

        if (!has_arrivals(topic))
            continue;
        scan.topic = model_topic_name(topic);
        assert_int_equal(dueq_scan(walk.fixture.store, &scan, dueq_slice("0", 1),
                                   walk.fixture.time, follow_arrival, &arrivals, cursor),
                         DUEQ_OK);
        assert_int_equal(arrivals.count, end_arrivals(topic));
    }
}

/* ---- sums */

static void add_stats(struct dueq_topic_stats *sum, const struct dueq_topic_stats *stats)
{
    for (int state = 0; state < DUEQ_STATES; state++)
        sum->counts[state] += stats->counts[state];
    if (stats->oldest_ready_age > sum->oldest_ready_age)
        sum->oldest_ready_age = stats->oldest_ready_age;
    sum->bytes += stats->bytes;
    topic_add_totals(sum, stats);
}

/* Those of dropped topics stay in those of the store. */
static void check_totals(const struct dueq_topic_stats *store,
                         const struct dueq_topic_stats *wanted)
{
    assert_int_equal(store->pushed, wanted->pushed);
    assert_int_equal(store->claimed, wanted->claimed);
    assert_int_equal(store->acked, wanted->acked);
    assert_int_equal(store->nacked, wanted->nacked);
    assert_int_equal(store->deleted, wanted->deleted);
    assert_int_equal(store->leases_expired, wanted->leases_expired);
    assert_int_equal(store->jobs_expired, wanted->jobs_expired);
    assert_int_equal(store->dead, wanted->dead);
    assert_int_equal(store->cancelled, wanted->cancelled);
    assert_int_equal(store->dead_removed, wanted->dead_removed);
    assert_int_equal(store->dropped, wanted->dropped);
}

static void check_all(const struct dueq_topic_stats *all)
{
    struct dueq_topic_stats sum;

    assert_int_equal(dueq_total_stats(walk.fixture.store, walk.fixture.time, &sum), DUEQ_OK);
    for (int state = 0; state < DUEQ_STATES; state++)
        assert_int_equal(sum.counts[state], all->counts[state]);
    assert_int_equal(sum.oldest_ready_age, all->oldest_ready_age);
    assert_int_equal(sum.bytes, all->bytes);
    check_totals(&sum, all);
}

/* Of jobs that wait for their groups the age is not known. */
static void check_age(int64_t found, int64_t wanted)
{
    if (walk.groups)
        assert_true(found <= wanted);
    else
        assert_int_equal(found, wanted);
}

static void check_numbers(const struct dueq_topic_stats *stats, struct dueq_topic_stats *wanted)
{
    for (int state = 0; state < DUEQ_STATES; state++)
        assert_int_equal(stats->counts[state], wanted->counts[state]);
    assert_int_equal(stats->next_due, wanted->next_due);
    check_age(stats->oldest_ready_age, wanted->oldest_ready_age);
    assert_int_equal(stats->bytes, wanted->bytes);
    assert_int_equal(stats->paused_in, wanted->paused_in);
    assert_int_equal(stats->paused_out, wanted->paused_out);
    assert_int_equal(stats->paused_until, wanted->paused_until);
    assert_false(stats->counting);
    wanted->oldest_ready_age = stats->oldest_ready_age;
    assert_memory_equal(stats, wanted, offsetof(struct dueq_topic_stats, bytes));
}

void walk_check_stats(void)
{
    struct dueq_topic_stats all = walk.model.gone;

    for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++) {
        struct dueq_topic_stats stats, wanted;

        model_stats(&walk.model, topic, walk.fixture.time, &wanted);
        if (dueq_topic_stats(walk.fixture.store, model_topic_name(topic), walk.fixture.time,
                             &stats) != DUEQ_OK) {
            assert_false(model_is_used(&walk.model, topic));
            assert_int_equal(wanted.pushed, 0);
            continue;
        }
        check_numbers(&stats, &wanted);
        add_stats(&all, &stats);
    }
    check_all(&all);
}
