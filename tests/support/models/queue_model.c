#include "tests/support/models/queue_model.h"

#include "storage/queue/core/topic.h"
#include "storage/queue/record/safe_time.h"
#include "tests/support/models/queue_model_rate.h"
#include "tests/support/models/queue_model_settings.h"

#include <string.h>

void queue_model_init(struct queue_model *model)
{
    memset(model, 0, sizeof(*model));
    for (int i = 0; i < QUEUE_MODEL_SCOPES; i++)
        dueq_settings_init(&model->settings[i]);
    model_forget(model);
}

void model_forget(struct queue_model *model)
{
    model->defaults = (struct dueq_defaults){
        .lease = 60000, .retries = 20, .crashes = 3, .backoff = 1000, .backoff_max = 3600000};
    memset(model->ends, 0, sizeof(model->ends));
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        model->jobs[i].watch = 0;
}

struct dueq_slice model_topic_name(int topic)
{
    static const char *const names[QUEUE_MODEL_TOPICS] = {"a", "second", "t\x01\xff"};

    return dueq_slice(names[topic], strlen(names[topic]));
}

/* ---- finding */

struct model_job *model_free_job(struct queue_model *model)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        if (!model->jobs[i].there)
            return &model->jobs[i];
    return NULL;
}

struct model_job *model_find(struct queue_model *model, int topic, struct dueq_slice id)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *job = &model->jobs[i];

        if (job->there && job->topic == topic && dueq_slice_equal(model_id(job), id))
            return job;
    }
    return NULL;
}

/* A ready job gains a priority each time it has waited so long. */
static int64_t aged(const struct queue_model *model, const struct model_job *job,
                    struct dueq_time time)
{
    int64_t after = model_setting(model, job->topic, DUEQ_SET_AGE_AFTER, 0),
            priority = job->content.options.priority,
            waited = time.wall - model_shown_due(job, time);

    if (after == 0 || waited <= 0)
        return priority;
    return waited / after > priority ? 0 : priority - waited / after;
}

static bool better(const struct queue_model *model, const struct model_job *a,
                   const struct model_job *b, struct dueq_time time)
{
    int64_t due_a = model_shown_due(a, time), due_b = model_shown_due(b, time),
            aged_a = aged(model, a, time), aged_b = aged(model, b, time);

    if (aged_a != aged_b)
        return aged_a < aged_b;
    return due_a != due_b ? due_a < due_b : a->seq < b->seq;
}

/* ---- groups */

static int64_t group_mode(const struct queue_model *model, int topic)
{
    return model_setting(model, topic, DUEQ_SET_GROUP_MODE, DUEQ_GROUP_NONE);
}

static bool has_holder(const struct queue_model *model, int topic)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        if (model->jobs[i].there && model->jobs[i].topic == topic && model->jobs[i].holds)
            return true;
    return false;
}

static bool is_held_mode(const struct queue_model *model, int topic)
{
    return group_mode(model, topic) == DUEQ_GROUP_SERIAL &&
           model_setting(model, topic, DUEQ_SET_GROUP_ON_FAILURE, DUEQ_GROUP_HOLD) ==
               DUEQ_GROUP_HOLD;
}

static bool ages(const struct queue_model *model, int topic)
{
    return model_setting(model, topic, DUEQ_SET_AGE_AFTER, 0) > 0;
}

static bool has_groups(const struct queue_model *model, int topic)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        if (model->jobs[i].there && model->jobs[i].topic == topic &&
            model->jobs[i].content.options.group.size > 0)
            return true;
    return false;
}

bool model_is_strict(const struct queue_model *model, int topic)
{
    return group_mode(model, topic) != DUEQ_GROUP_FAIR &&
           (!ages(model, topic) || !has_groups(model, topic)) &&
           (is_held_mode(model, topic) || !has_holder(model, topic));
}

bool model_holds_group(const struct queue_model *model, const struct model_job *job)
{
    return job->content.options.group.size > 0 && is_held_mode(model, job->topic);
}

static int64_t most_of_mode(int64_t mode)
{
    if (mode == DUEQ_GROUP_SERIAL)
        return 1;
    return mode > DUEQ_GROUP_FAIR ? mode - DUEQ_GROUP_CAP(0) : INT64_MAX;
}

static int64_t most_of_group(const struct queue_model *model, int topic)
{
    int64_t most = model_setting(model, topic, DUEQ_SET_GROUP_CONCURRENCY, INT64_MAX);
    int64_t of_mode = most_of_mode(group_mode(model, topic));

    return most < of_mode ? most : of_mode;
}

static int64_t claimed_in(const struct queue_model *model, int topic)
{
    int64_t claimed = 0;

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        claimed += model->jobs[i].there && model->jobs[i].topic == topic &&
                   model->jobs[i].state == MODEL_CLAIMED;
    return claimed;
}

bool model_has_place(const struct queue_model *model, const struct model_job *job)
{
    int64_t running = 0, holders = 0;

    if (claimed_in(model, job->topic) >=
        model_setting(model, job->topic, DUEQ_SET_CONCURRENCY, INT64_MAX))
        return false;
    if (job->content.options.group.size == 0)
        return true;
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        const struct model_job *other = &model->jobs[i];

        if (!other->there || other->topic != job->topic ||
            !dueq_slice_equal(other->content.options.group, job->content.options.group))
            continue;
        running += other->state == MODEL_CLAIMED;
        holders += other->holds;
    }
    return running < most_of_group(model, job->topic) &&
           (holders == 0 || job->holds || !is_held_mode(model, job->topic));
}

bool model_is_eligible(const struct queue_model *model, const struct model_job *job,
                       struct dueq_time time)
{
    return job->there && model_state(job, time) == DUEQ_READY && model_has_place(model, job) &&
           model_has_permit(model, job, time);
}

struct model_job *model_best(struct queue_model *model, int topic, struct dueq_time time)
{
    struct model_job *best = NULL;

    if (model->topics[topic].paused_out)
        return NULL;
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *job = &model->jobs[i];

        if (job->topic == topic && model_is_eligible(model, job, time) &&
            (best == NULL || better(model, job, best, time)))
            best = job;
    }
    return best;
}

/* The dead job that died first, and the number of dead ones. */
static const struct model_job *oldest_dead(const struct queue_model *model, int topic,
                                           int64_t *ret_count)
{
    const struct model_job *oldest = NULL;

    *ret_count = 0;
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        const struct model_job *job = &model->jobs[i];

        if (!job->there || job->topic != topic || job->state != MODEL_DEAD)
            continue;
        ++*ret_count;
        if (oldest == NULL || job->due < oldest->due ||
            (job->due == oldest->due && job->seq < oldest->seq))
            oldest = job;
    }
    return oldest;
}

/* When retention removes the next dead job. */
static int64_t dead_end(const struct queue_model *model, int topic, struct dueq_time time)
{
    int64_t keep = model_setting(model, topic, DUEQ_SET_DEAD_KEEP, DUEQ_NEVER);
    int64_t most = model_setting(model, topic, DUEQ_SET_DEAD_MAX, DUEQ_NEVER), count;
    const struct model_job *oldest = oldest_dead(model, topic, &count);

    if (oldest == NULL)
        return DUEQ_NEVER;
    if (count > most)
        return time.now;
    return keep == DUEQ_NEVER ? DUEQ_NEVER : oldest->due + keep;
}

struct model_job *model_worst_dead(struct queue_model *model, int topic, struct dueq_time time)
{
    int64_t count;

    if (dead_end(model, topic, time) > time.now)
        return NULL;
    return (struct model_job *)oldest_dead(model, topic, &count);
}

void model_drop_totals(struct queue_model *model, int topic)
{
    struct dueq_topic_stats *totals = &model->topics[topic].totals;

    topic_add_totals(&model->gone, totals);
    memset(totals, 0, sizeof(*totals));
    model_forget_times(model, topic);
}

static bool is_paused(const struct model_topic *topic)
{
    return topic->paused_in || topic->paused_out;
}

bool model_is_used(const struct queue_model *model, int topic)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        if (model->jobs[i].there && model->jobs[i].topic == topic)
            return true;
    return is_paused(&model->topics[topic]);
}

int64_t model_bytes(const struct model_job *job)
{
    return (int64_t)(strlen(job->content.body) + (job->followed ? strlen(job->next.body) : 0));
}

/* ---- time */

static int64_t clock_of(const struct model_job *job, struct dueq_time time)
{
    return job->wall ? time.wall : time.now;
}

enum dueq_state model_state(const struct model_job *job, struct dueq_time time)
{
    if (job->state == MODEL_CLAIMED)
        return DUEQ_CLAIMED;
    if (job->state == MODEL_DEAD)
        return DUEQ_DEAD;
    if (job->state == MODEL_DONE)
        return DUEQ_DONE;
    if (job->state == MODEL_WAITING)
        return DUEQ_WAITING;
    return job->due <= clock_of(job, time) ? DUEQ_READY : DUEQ_DELAYED;
}

int64_t model_after(struct dueq_time time, int64_t wait)
{
    if (wait == 0)
        return time.now;
    return safe_time_add(time.ceiling > time.now ? time.ceiling : time.now, wait);
}

int64_t model_clock_of(bool wall, int64_t due, struct dueq_time time)
{
    return wall ? due - time.wall + time.now : due;
}

int64_t model_shown_due(const struct model_job *job, struct dueq_time time)
{
    return job->wall ? job->due : job->due + time.wall - time.now;
}

/* ---- sums */

static void show_pause(const struct model_topic *topic, struct dueq_time time,
                       struct dueq_topic_stats *stats)
{
    stats->paused_in = topic->paused_in;
    stats->paused_out = topic->paused_out;
    stats->paused_until = 0;
    if (is_paused(topic))
        stats->paused_until = topic->paused_until == DUEQ_NEVER
                                  ? DUEQ_NEVER
                                  : topic->paused_until + time.wall - time.now;
}

static void add_job(const struct model_job *job, struct dueq_time time,
                    struct dueq_topic_stats *stats)
{
    enum dueq_state state = model_state(job, time);
    int64_t late = clock_of(job, time) - job->due;

    stats->counts[state]++;
    stats->bytes += (uint64_t)model_bytes(job);
    if (state == DUEQ_READY && late > stats->oldest_ready_age)
        stats->oldest_ready_age = late;
    if (state == DUEQ_DELAYED && time.wall - late < stats->next_due)
        stats->next_due = time.wall - late;
}

void model_stats(const struct queue_model *model, int topic, struct dueq_time time,
                 struct dueq_topic_stats *ret_stats)
{
    *ret_stats = model->topics[topic].totals;
    ret_stats->next_due = DUEQ_NEVER;
    show_pause(&model->topics[topic], time, ret_stats);
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        if (model->jobs[i].there && model->jobs[i].topic == topic)
            add_job(&model->jobs[i], time, ret_stats);
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t job_event(const struct model_job *job, struct dueq_time time)
{
    int64_t next = DUEQ_NEVER;

    if (model_state(job, time) == DUEQ_DELAYED || job->state == MODEL_CLAIMED)
        next = model_clock_of(job->wall, job->due, time);
    if (job->state == MODEL_PENDING || job->state == MODEL_DONE)
        next = lesser(next, job->expires);
    return next;
}

int64_t model_next_event(const struct queue_model *model, struct dueq_time time)
{
    int64_t next = DUEQ_NEVER;

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        if (model->jobs[i].there)
            next = lesser(next, job_event(&model->jobs[i], time));
    for (int i = 0; i < QUEUE_MODEL_TOPICS; i++) {
        if (is_paused(&model->topics[i]))
            next = lesser(next, model->topics[i].paused_until);
        next = lesser(next, dead_end(model, i, time));
    }
    return next;
}
