/* Dead jobs: found by position, and purged or redriven. */
#include "storage/glob.h"
#include "storage/kv/room.h"
#include "storage/queue/job_move.h"
#include "storage/queue/limits.h"
#include "storage/queue/queue.h"

#include <stdlib.h>

enum {
    CHANGE_STEPS = 4,       /* a purge or redrive writes some records */
    BYTES_READ = 16 * 1024, /* that are looked at in a step */
    BYTES_WRITTEN = 1024,   /* that are moved in a step */
    RECORDS_USUAL = 1024    /* what a redrive writes beside texts */
};

struct walk {
    struct queue *queue;
    struct topic *topic;
    const struct dueq_dead *query;
    struct dueq_dead_progress *progress;
    struct dueq_time time;
    unsigned budget;
    bool acted; /* the batch has changes of this call */
    struct topic_entry
        *stand_in; /* for the target of a dry run that is not there; without jobs */
    dueq_job_fn fn;
    void *arg;
};

static void spend(struct walk *walk, uint64_t steps)
{
    walk->budget -= steps < walk->budget ? (unsigned)steps : walk->budget;
}

/* ---- which jobs */

static bool matches(struct dueq_slice pattern, struct dueq_slice text)
{
    return pattern.data == NULL ||
           glob_match(pattern.data, pattern.size, text.data, text.size, false);
}

static bool is_wanted(const struct walk *walk, const struct job *job)
{
    char text[GIVEN_ID_SIZE];

    return matches(walk->query->error, job->state.error) &&
           matches(walk->query->match, job_id(job, text));
}

/* ---- what is done with one. DUEQ_DUPLICATE, DUEQ_LIMIT: it stays. */

/* The i-th job is due i * period / rate after the beginning. */
static int64_t due_of(const struct walk *walk)
{
    const struct dueq_dead *query = walk->query;
    int64_t i = (int64_t)walk->progress->found, period, rest;

    if (query->rate == 0)
        return walk->progress->began;
    period = safe_time_clamp(query->period);
    rest = i % query->rate;
    if (period > 0 && i / query->rate > SAFE_TIME_MAX / period)
        return SAFE_TIME_MAX;
    return safe_time_add(
        safe_time_add(walk->progress->began, safe_time_clamp(i / query->rate * period)),
        rest * (period / query->rate) + rest * (period % query->rate) / query->rate);
}

static bool goes_elsewhere(const struct walk *walk)
{
    return walk->query->to.size > 0 &&
           !dueq_slice_equal(walk->query->to, topic_name(walk->topic));
}

/* The room that a redrive in place needs, bytes. */
static size_t room_here(const struct job *job)
{
    return RECORDS_USUAL + job->state.error.size + job->state.history.size +
           job->state.progress.size + job->state.worker.size;
}

/* A redrive drops nothing: the last of many dead would drop all that waits, then each other.
 * The dead of a topic count for its bytes already. */
static enum dueq_status fit_here(struct walk *walk, int64_t jobs)
{
    struct limits_change change = {.jobs = jobs};

    return limits_fit(walk->queue, walk->topic, &change) ? DUEQ_OK : DUEQ_LIMIT;
}

static enum dueq_status fit_there(struct walk *walk, struct topic *to, const struct job *job,
                                  struct limits_change change)
{
    change.bytes += (int64_t)job->body.body.size;
    return limits_check_body(walk->queue, to, job->body.body.size) == DUEQ_OK &&
                   limits_fit(walk->queue, to, &change)
               ? DUEQ_OK
               : DUEQ_LIMIT;
}

static enum dueq_status redrive_here(struct walk *walk, struct job *job)
{
    struct job_state state = job->state;
    int64_t due = due_of(walk);
    enum dueq_status status = fit_here(walk, 1);

    state.state = PHASE_PENDING;
    state.clock = CLOCK_QUEUE;
    state.due = state.since = due;
    state.attempt = state.failures = state.crashes = 0;
    state.token_valid = false;
    state.expires = job_record_ttl_end(&job->body, due);
    if (status == DUEQ_OK)
        status = kv_room(walk->queue->kv, room_here(job));
    if (status == DUEQ_OK)
        status = job_reschedule(walk->queue, walk->topic, job, state, walk->time);
    return status;
}

static enum dueq_status move_to(struct walk *walk, struct job *job, struct topic *to)
{
    struct job_move move = {.from = walk->topic, .to = to, .job = job};
    enum dueq_status status = fit_there(walk, to, job, (struct limits_change){.jobs = 1});

    if (status != DUEQ_OK)
        return status;
    job_move_anew(&move, due_of(walk), walk->time);
    status = job_move_plan(walk->queue, &move, JOB_MOVE_REFUSES, walk->time);
    if (status == DUEQ_OK)
        job_move_do(walk->queue, &move, walk->time);
    return status;
}

static enum dueq_status redrive_to(struct walk *walk, struct job *job)
{
    struct topic *to;
    enum dueq_status status = job_move_open(walk->queue, job, walk->query->to, &to);

    spend(walk, job->body.body.size / BYTES_WRITTEN);
    if (status != DUEQ_OK)
        return status;
    status = move_to(walk, job, to);
    if (status != DUEQ_OK)
        topics_take_back(walk->queue, to);
    return status;
}

static enum dueq_status try_redrive_here(struct walk *walk, const struct job *job)
{
    enum dueq_status status = fit_here(walk, (int64_t)walk->progress->found + 1);

    if (status == DUEQ_OK)
        walk->progress->bytes += room_here(job);
    return status;
}

static void free_stand_in(struct walk *walk)
{
    if (walk->stand_in != NULL)
        topic_free(walk->stand_in->topic);
    free(walk->stand_in);
    walk->stand_in = NULL;
}

static enum dueq_status make_stand_in(struct walk *walk)
{
    struct topic_entry *entry = topic_entry_new(walk->query->to);

    walk->stand_in = entry;
    if (entry == NULL)
        return DUEQ_NOMEM;
    entry->topic = topic_new(0);
    if (entry->topic == NULL) {
        free_stand_in(walk);
        return DUEQ_NOMEM;
    }
    entry->topic->entry = entry;
    return DUEQ_OK;
}

/* A dry run makes no topic. */
static enum dueq_status trial_topic(struct walk *walk, struct topic **ret_topic)
{
    enum dueq_status status = topics_find(walk->queue, walk->query->to, ret_topic);

    if (status != DUEQ_NOTFOUND)
        return status;
    status = walk->stand_in == NULL ? make_stand_in(walk) : DUEQ_OK;
    if (status == DUEQ_OK)
        *ret_topic = walk->stand_in->topic;
    return status;
}

static enum dueq_status try_redrive_to(struct walk *walk, const struct job *job)
{
    struct dueq_dead_progress *progress = walk->progress;
    struct limits_change change = {.jobs = (int64_t)progress->found + 1,
                                   .bytes = (int64_t)progress->bodies};
    struct topic *to;
    enum dueq_status status = trial_topic(walk, &to);

    if (status == DUEQ_OK)
        status = job_move_check(walk->queue, job, to);
    if (status == DUEQ_OK)
        status = fit_there(walk, to, job, change);
    if (status != DUEQ_OK)
        return status;
    progress->bytes += job_move_room(job);
    progress->bodies += job->body.body.size;
    return DUEQ_OK;
}

/* What would become of it, and what would it write? */
static enum dueq_status try_redrive(struct walk *walk, const struct job *job)
{
    return goes_elsewhere(walk) ? try_redrive_to(walk, job) : try_redrive_here(walk, job);
}

static enum dueq_status look(struct walk *walk, const struct job *job)
{
    struct dueq_job shown;
    enum dueq_status status = DUEQ_OK;

    if (walk->query->action == DUEQ_DEAD_REDRIVE)
        status = try_redrive(walk, job);
    if (status != DUEQ_OK || walk->fn == NULL)
        return status;
    lookup_show(walk->queue, walk->topic, job, walk->time, &shown);
    if (!walk->fn(walk->arg, &shown))
        walk->progress->is_over = true;
    return DUEQ_OK;
}

static enum dueq_status act(struct walk *walk, struct job *job)
{
    if (walk->query->action == DUEQ_DEAD_LOOK || walk->query->dry_run)
        return look(walk, job);
    spend(walk, CHANGE_STEPS - 1);
    if (walk->query->action == DUEQ_DEAD_REDRIVE)
        return goes_elsewhere(walk) ? redrive_to(walk, job) : redrive_here(walk, job);
    QUEUE_COUNT(walk->queue, walk->topic, deleted);
    job_remove(walk->queue, walk->topic, job);
    return DUEQ_OK;
}

/* ---- the walk */

static enum dueq_status act_on(struct walk *walk, uint64_t seq)
{
    struct job job;
    bool stays;
    enum dueq_status status = job_load(walk->queue, walk->topic, seq, &job);

    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
    spend(walk, 1 + job.body.body.size / BYTES_READ);
    if (!is_wanted(walk, &job))
        return DUEQ_OK;
    status = act(walk, &job);
    stays = status == DUEQ_DUPLICATE || status == DUEQ_LIMIT;
    walk->progress->found += status == DUEQ_OK;
    walk->progress->skipped += stays;
    return stays ? DUEQ_OK : status;
}

/* Jobs that died before topic->next_dead are gone: so is it found out what comes first. */
static enum dueq_status find(struct walk *walk, struct position *at)
{
    bool is_first = !position_before(walk->topic->next_dead, *at);
    enum dueq_status status;

    if (is_first)
        *at = walk->topic->next_dead;
    status = schedule_class_first(walk->queue, walk->topic, CLASS_DEAD, *at, &walk->budget, at);
    if (status == DUEQ_OK && is_first)
        walk->topic->next_dead = *at;
    return status;
}

static enum dueq_status step(struct walk *walk)
{
    struct dueq_dead_progress *progress = walk->progress;
    struct position at = {progress->due, progress->seq};
    enum dueq_status status = find(walk, &at);

    if (status == DUEQ_NOTFOUND || (status == DUEQ_OK && at.due > progress->until)) {
        progress->is_over = status == DUEQ_OK || walk->budget > 0;
        return DUEQ_OK;
    }
    if (status == DUEQ_OK)
        status = act_on(walk, at.seq);
    if (status == DUEQ_TOOBIG && walk->acted) {
        walk->budget = 0; /* the next batch may have room for it */
        return DUEQ_OK;
    }
    if (status != DUEQ_OK)
        return status;
    walk->acted = true;
    at = position_after(at);
    progress->due = at.due;
    progress->seq = at.seq;
    progress->left--;
    progress->is_over |= progress->found == walk->query->limit || progress->left == 0;
    return DUEQ_OK;
}

static bool is_valid(const struct dueq_dead *query)
{
    return queue_valid_name(query->topic) && query->to.size <= DUEQ_NAME_MAX &&
           query->older >= 0 && query->rate >= 0 && query->rate <= DUEQ_RATE_MAX &&
           query->period >= 0;
}

/* Jobs that die in this ms are told apart from those that are dead by number only. */
static void begin(struct walk *walk)
{
    struct dueq_dead_progress *progress = walk->progress;
    int64_t older = safe_time_clamp(walk->query->older);

    if (progress->begun)
        return;
    progress->begun = true;
    progress->began = walk->time.now;
    progress->until = walk->time.now - older;
    progress->due = SAFE_TIME_MIN;
    progress->left = walk->topic->dead;
    progress->is_over = walk->query->limit == 0 || progress->left == 0;
}

enum dueq_status queue_dead(struct queue *queue, const struct dueq_dead *query,
                            struct dueq_time time, unsigned budget, dueq_job_fn fn, void *arg,
                            struct dueq_dead_progress *progress)
{
    struct walk walk = {.queue = queue,
                        .query = query,
                        .progress = progress,
                        .time = queue_time(queue, time),
                        .budget = budget,
                        .fn = fn,
                        .arg = arg};
    enum dueq_status status;

    if (!is_valid(query))
        return DUEQ_INVALID;
    status = topics_find(queue, query->topic, &walk.topic);
    if (status == DUEQ_OK)
        begin(&walk);
    if (status == DUEQ_NOTFOUND) {
        progress->is_over = true;
        return DUEQ_OK;
    }
    while (status == DUEQ_OK && !progress->is_over && walk.budget > 0)
        status = step(&walk);
    free_stand_in(&walk);
    return status;
}
