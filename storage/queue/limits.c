#include "storage/queue/limits.h"

#include <stdlib.h>

enum { DROPS_SPARE = 200 };

static int64_t limit_of(struct queue *queue, struct topic *topic, enum dueq_setting setting)
{
    return settings_number(queue, topic, setting, INT64_MAX);
}

bool limits_any(struct queue *queue, struct topic *topic)
{
    const struct dueq_settings *settings = settings_of(queue, topic);

    return settings != NULL && (settings->numbers[DUEQ_SET_MAX_LENGTH] != DUEQ_DEFAULT ||
                                settings->numbers[DUEQ_SET_MAX_BYTES] != DUEQ_DEFAULT);
}

enum dueq_status limits_check_body(struct queue *queue, struct topic *topic, size_t size)
{
    return (int64_t)size > limit_of(queue, topic, DUEQ_SET_MAX_BODY) ? DUEQ_TOOBIG : DUEQ_OK;
}

/* ---- how much is too much */

struct amount {
    int64_t jobs, bytes;
};

static bool fits(const struct amount *amount, const struct amount *most)
{
    return amount->jobs <= most->jobs && amount->bytes <= most->bytes;
}

static struct amount amount_before(const struct topic *topic,
                                   const struct limits_change *change)
{
    struct job_counts counts = topic_counts(topic);
    struct amount amount = {
        (int64_t)(counts.pending + counts.claimed + (AFTERS_KNOWN ? counts.waiting : 0)),
        (int64_t)topic->bytes};

    if (change->leaving != NULL) {
        amount.jobs -= (int64_t)change->leaving->jobs;
        amount.bytes -= (int64_t)change->leaving->bytes;
    }
    return amount;
}

static struct amount amount_after(const struct topic *topic, const struct limits_change *change)
{
    struct amount before = amount_before(topic, change);

    return (struct amount){before.jobs + change->jobs, before.bytes + change->bytes};
}

/* What does not grow is within its limit. */
static struct amount most_of(struct queue *queue, struct topic *topic,
                             const struct limits_change *change)
{
    return (struct amount){
        change->jobs > 0 ? limit_of(queue, topic, DUEQ_SET_MAX_LENGTH) : INT64_MAX,
        change->bytes > 0 ? limit_of(queue, topic, DUEQ_SET_MAX_BYTES) : INT64_MAX};
}

bool limits_fit(struct queue *queue, struct topic *topic, const struct limits_change *change)
{
    struct amount after = amount_after(topic, change), most = most_of(queue, topic, change);

    return fits(&after, &most);
}

/* ---- the waiting jobs of all lanes, by due time */

struct front {
    struct position first, order; /* on the lane's clock, on the queue's */
    bool is_over;
};

struct search {
    struct queue *queue;
    struct topic *topic;
    struct front *fronts; /* one a lane */
    struct kv_key parked; /* the last one that was found in the list of a group */
};

static enum dueq_status advance(struct search *search, size_t lane, struct position from)
{
    const struct lane *of = &search->topic->lanes[lane];
    struct front *front = &search->fronts[lane];
    enum dueq_status status =
        schedule_lane_first(search->queue, search->topic, of, from, &front->first);

    front->is_over = status == DUEQ_NOTFOUND;
    front->order = front->first;
    if (status == DUEQ_OK)
        front->order.due = queue_clock_of(search->queue, of->clock, front->first.due);
    return front->is_over ? DUEQ_OK : status;
}

static enum dueq_status begin(struct search *search)
{
    enum dueq_status status = DUEQ_OK;

    search->fronts = calloc(search->topic->lane_count + 1, sizeof(*search->fronts));
    if (search->fronts == NULL)
        return DUEQ_NOMEM;
    for (size_t i = 0; i < search->topic->lane_count && status == DUEQ_OK; i++)
        status = advance(search, i, search->topic->lanes[i].head);
    return status;
}

/* Those in the lists of their groups come last, group by group: they are sorted so. */
static enum dueq_status next_parked(struct search *search, uint64_t *ret_seq)
{
    enum dueq_status status = DUEQ_NOTFOUND;

    if (search->topic->parked > 0)
        status =
            groups_parked_after(search->queue, search->topic, &search->parked, NULL, ret_seq);
    return status == DUEQ_NOTFOUND ? DUEQ_LIMIT : status;
}

/* DUEQ_LIMIT: no job waits. */
static enum dueq_status next_oldest(struct search *search, uint64_t *ret_seq)
{
    const struct front *best = NULL;

    for (size_t i = 0; i < search->topic->lane_count; i++) {
        const struct front *front = &search->fronts[i];

        if (!front->is_over && (best == NULL || position_before(front->order, best->order)))
            best = front;
    }
    if (best == NULL)
        return next_parked(search, ret_seq);
    *ret_seq = best->first.seq;
    return advance(search, (size_t)(best - search->fronts), position_after(best->first));
}

/* ---- choosing which ones go */

static enum dueq_status make_places(struct limits_drops *drops, size_t count)
{
    struct limits_drop *jobs;

    if (drops->count + count <= drops->room)
        return DUEQ_OK;
    jobs = realloc(drops->jobs, (drops->count + count) * sizeof(*jobs));
    if (jobs == NULL)
        return DUEQ_NOMEM;
    drops->jobs = jobs;
    drops->room = drops->count + count;
    return DUEQ_OK;
}

bool limits_spare_one(const void *arg, const struct topic *topic, const struct job *job)
{
    (void)topic;
    return job->seq != *(const uint64_t *)arg;
}

/* The oldest one that may go. */
static enum dueq_status find_oldest(struct search *search, const struct limits_drops *drops,
                                    struct job *ret_job)
{
    for (;;) {
        uint64_t seq;
        enum dueq_status status = next_oldest(search, &seq);

        if (status == DUEQ_OK)
            status = job_load(search->queue, search->topic, seq, ret_job);
        if (status != DUEQ_OK)
            return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
        if (drops->may_go == NULL || drops->may_go(drops->arg, search->topic, ret_job))
            return DUEQ_OK;
    }
}

static enum dueq_status drop_oldest(struct search *search, struct amount *amount,
                                    struct limits_drops *drops)
{
    struct job job;
    enum dueq_status status = find_oldest(search, drops, &job);

    if (status != DUEQ_OK)
        return status;
    amount->jobs--;
    amount->bytes -= (int64_t)job.body.body.size;
    drops->jobs[drops->count++] = (struct limits_drop){search->topic, job.seq};
    return DUEQ_OK;
}

/* What does not fit after as many drops as there may be must at least not grow. */
static enum dueq_status choose(struct search *search, const struct limits_change *change,
                               const struct amount *most, struct limits_drops *drops)
{
    struct amount before = amount_before(search->topic, change),
                  amount = amount_after(search->topic, change);
    size_t drops_most = DROPS_SPARE + (change->jobs > 0 ? (size_t)change->jobs : 0);
    enum dueq_status status = make_places(drops, drops_most);

    if (status == DUEQ_OK)
        status = begin(search);
    for (size_t i = 0; i < drops_most && status == DUEQ_OK && !fits(&amount, most); i++)
        status = drop_oldest(search, &amount, drops);
    free(search->fronts);
    if (status != DUEQ_OK)
        return status;
    return fits(&amount, most) || fits(&amount, &before) ? DUEQ_OK : DUEQ_LIMIT;
}

enum dueq_status limits_admit(struct queue *queue, struct topic *topic,
                              const struct limits_change *change, struct limits_drops *drops)
{
    struct amount most = most_of(queue, topic, change);
    struct search search = {.queue = queue, .topic = topic};

    if (limits_fit(queue, topic, change))
        return DUEQ_OK;
    if (settings_number(queue, topic, DUEQ_SET_OVERFLOW, DUEQ_OVERFLOW_REJECT) ==
        DUEQ_OVERFLOW_REJECT)
        return DUEQ_LIMIT;
    return choose(&search, change, &most, drops);
}

enum dueq_status limits_admit_body(struct queue *queue, struct topic *topic, size_t size,
                                   const struct limits_change *change,
                                   struct limits_drops *drops)
{
    enum dueq_status status = limits_check_body(queue, topic, size);

    return status == DUEQ_OK && limits_any(queue, topic)
               ? limits_admit(queue, topic, change, drops)
               : status;
}

void limits_apply(struct queue *queue, const struct limits_drops *drops)
{
    for (size_t i = 0; i < drops->count; i++) {
        struct topic *topic = drops->jobs[i].topic;
        struct job job;

        if (job_load(queue, topic, drops->jobs[i].seq, &job) != DUEQ_OK)
            continue; /* it was there a moment ago */
        QUEUE_COUNT(queue, topic, dropped);
        job_remove(queue, topic, &job);
    }
}

void limits_release(struct limits_drops *drops)
{
    free(drops->jobs);
}
