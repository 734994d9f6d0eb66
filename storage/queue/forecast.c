/* Counts jobs by their place in the schedule, which names none of them. */
#include "storage/kv/cursor.h"
#include "storage/queue/look.h"

/* ---- the buckets of a lane. Each is counted on the lane's clock from where that stood when
 * the forecast began. */

static int64_t begin_of(const struct dueq_forecast *forecast, uint8_t clock)
{
    return clock == CLOCK_QUEUE ? forecast->begin.now : forecast->begin.wall;
}

/* The last ms before that bucket. */
static int64_t before_bucket(const struct dueq_forecast *forecast, uint8_t clock, size_t bucket)
{
    int64_t length = forecast->bucket;
    int64_t wait = bucket > 0 && length > SAFE_TIME_MAX / (int64_t)bucket
                       ? SAFE_TIME_MAX
                       : length * (int64_t)bucket;

    return safe_time_add(begin_of(forecast, clock), wait);
}

/* Counts on in the bucket that forecast->at is in. */
static enum dueq_status count_bucket(struct queue *queue, const struct topic *topic,
                                     struct dueq_forecast *forecast, unsigned *budget)
{
    struct dueq_forecast_place *at = &forecast->at;
    struct kv_key from, end;
    size_t head;
    int64_t after = before_bucket(forecast, at->clock, at->bucket),
            last = before_bucket(forecast, at->clock, at->bucket + 1);
    enum dueq_status status;

    if (*budget == 0)
        return DUEQ_BUSY;
    --*budget; /* an empty bucket takes a search too */
    if (at->due <= after) {
        at->due = after + 1;
        at->seq = 0;
    }
    head = queue_key_lane(&from, topic->id, at->priority, at->clock).size;
    end = from;
    queue_key_add_position(&from, at->due, at->seq);
    queue_key_add_position(&end, last + 1, 0);
    status = kv_cursor_count(queue->cursor, &from, kv_key_slice(&end), budget,
                             &forecast->counts[at->bucket]);
    if (status == DUEQ_BUSY &&
        !queue_key_read_position(kv_key_slice(&from), head, &at->due, &at->seq))
        return DUEQ_CORRUPT;
    return status;
}

/* The lane at or after the one that forecast->at is in. NULL: there is none. */
static const struct lane *find_lane(const struct topic *topic,
                                    const struct dueq_forecast_place *at)
{
    for (size_t i = 0; i < topic->lane_count; i++) {
        const struct lane *lane = &topic->lanes[i];

        if (lane->priority > at->priority ||
            (lane->priority == at->priority && lane->clock >= at->clock))
            return lane;
    }
    return NULL;
}

static void enter_lane(struct dueq_forecast_place *at, const struct lane *lane)
{
    if (lane->priority != at->priority || lane->clock != at->clock)
        *at = (struct dueq_forecast_place){
            .priority = lane->priority, .clock = lane->clock, .due = INT64_MIN};
}

/* Clocks are 0 and 1: past the last one comes the next priority. */
static void leave_lane(struct dueq_forecast_place *at)
{
    *at = (struct dueq_forecast_place){
        .priority = at->priority, .clock = (uint8_t)(at->clock + 1), .due = INT64_MIN};
}

enum dueq_status queue_forecast(struct queue *queue, struct dueq_forecast *forecast,
                                struct dueq_time time, unsigned *budget)
{
    struct dueq_forecast_place *at = &forecast->at;
    const struct lane *lane;
    struct topic *topic;
    enum dueq_status status;

    if (!queue_valid_name(forecast->topic) || forecast->bucket < 1)
        return DUEQ_INVALID;
    time = queue_time(queue, time);
    if (!forecast->begun) {
        forecast->begun = true;
        forecast->begin = time;
        at->due = INT64_MIN;
    }
    status = topics_find(queue, forecast->topic, &topic);
    while (status == DUEQ_OK && (lane = find_lane(topic, at)) != NULL) {
        enter_lane(at, lane);
        for (; status == DUEQ_OK && at->bucket < forecast->count;
             at->bucket += status == DUEQ_OK)
            status = count_bucket(queue, topic, forecast, budget);
        if (status == DUEQ_OK)
            leave_lane(at);
    }
    return status;
}

/* ---- one job's place */

/* Counts the ready jobs of a lane that come before a moment of the queue's clock. */
static enum dueq_status count_before(struct queue *queue, const struct topic *topic,
                                     const struct lane *lane, struct position end,
                                     unsigned *budget, uint64_t *count)
{
    struct kv_key from, to;

    queue_key_lane(&from, topic->id, lane->priority, lane->clock);
    to = from;
    queue_key_add_position(&from, lane->head.due, lane->head.seq);
    queue_key_add_position(&to, end.due, end.seq);
    return kv_cursor_count(queue->cursor, &from, kv_key_slice(&to), budget, count);
}

static enum dueq_status count_better(struct queue *queue, struct topic *topic,
                                     const struct job *job, struct dueq_time time,
                                     uint64_t *count)
{
    unsigned budget = LOOK_STEPS;
    int64_t due = queue_clock_of(queue, job->state.clock, job->state.due);
    enum dueq_status status = DUEQ_OK;

    for (size_t i = 0; i < topic->lane_count && status == DUEQ_OK; i++) {
        const struct lane *lane = &topic->lanes[i];
        struct position end = {schedule_lane_now(lane, time) + 1, 0};

        if (lane->priority > job->state.priority)
            break;
        if (lane->priority == job->state.priority)
            end = (struct position){lane->clock == CLOCK_QUEUE ? due : due + queue->offset,
                                    job->seq};
        status = count_before(queue, topic, lane, end, &budget, count);
    }
    return status;
}

enum dueq_status queue_ahead(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                             struct dueq_time time, uint64_t *ret_ahead)
{
    struct topic *found;
    struct job job;
    struct dueq_job shown;
    uint64_t ahead = 0;
    enum dueq_status status = lookup_job(queue, topic, id, &found, &job);

    if (status != DUEQ_OK)
        return status;
    time = queue_time(queue, time);
    lookup_show(queue, found, &job, time, &shown);
    if (shown.state == DUEQ_READY &&
        (found->parked > 0 || settings_number(queue, found, DUEQ_SET_AGE_AFTER, 0) > 0))
        return DUEQ_BUSY; /* groups take turns, or wait, and jobs age: only claims find out */
    if (shown.state == DUEQ_READY)
        status = count_better(queue, found, &job, time, &ahead);
    if (status == DUEQ_OK)
        *ret_ahead = ahead;
    return status;
}

/* ---- one job's group */

/* When the bucket lets the next job be claimed; 0: at once. */
static int64_t wall_of_permit(const struct queue *queue, const struct rate *rate,
                              const struct bucket *bucket)
{
    int64_t next = rates_next(rate, bucket);

    return next <= queue->now ? 0 : queue_wall_of(queue, CLOCK_QUEUE, next);
}

enum dueq_status queue_group_stats(struct queue *queue, struct dueq_slice topic,
                                   struct dueq_slice id, struct dueq_group_stats *ret_stats)
{
    struct group_record record = {.running = 0};
    struct group_rules rules;
    struct rate rate;
    struct topic *found;
    struct job job;
    enum dueq_status status = lookup_job(queue, topic, id, &found, &job);

    if (status != DUEQ_OK)
        return status;
    rate = rates_read(settings_of(queue, found), DUEQ_SET_RATE);
    rules = groups_rules(queue, found);
    if (job.state.group != 0)
        status = groups_get(queue, found, job.state.group, &record);
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        return status;
    *ret_stats = (struct dueq_group_stats){
        .next = wall_of_permit(queue, &rules.rate, &record.bucket),
        .topic_next = wall_of_permit(queue, &rate, &found->bucket),
        .claimed = record.running,
        .most = rules.most,
        .limit = record.running >= rules.most ? rules.limit : DUEQ_SET_GROUP_ON_FAILURE,
        .holding = record.holds,
        .topic_claimed = found->claimed,
        .topic_most = schedule_most_claimed(queue, found),
        .waits = groups_is_full(&rules, job.state.group, &record, job.state.holds)};
    return DUEQ_OK;
}
