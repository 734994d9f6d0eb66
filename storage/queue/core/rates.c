#include "storage/queue/core/rates.h"

#include "storage/queue/core/queue_state.h"
#include "storage/xxh3.h"

/* ---- settings */

static bool is_valid(const int64_t *numbers)
{
    bool has_burst = numbers[2] != DUEQ_DEFAULT;

    if (numbers[0] == DUEQ_DEFAULT)
        return numbers[1] == DUEQ_DEFAULT && !has_burst;
    return numbers[0] >= 1 && numbers[0] <= DUEQ_RATE_MAX && numbers[1] >= 1 &&
           numbers[1] <= DUEQ_RATE_PERIOD_MAX &&
           (!has_burst || (numbers[2] >= 1 && numbers[2] <= DUEQ_RATE_MAX));
}

enum dueq_status rates_check(const struct dueq_settings *settings)
{
    return is_valid(settings->numbers + DUEQ_SET_RATE) &&
                   is_valid(settings->numbers + DUEQ_SET_GROUP_RATE)
               ? DUEQ_OK
               : DUEQ_CORRUPT;
}

struct rate rates_read(const struct dueq_settings *settings, enum dueq_setting setting)
{
    const int64_t *numbers = settings == NULL ? NULL : settings->numbers + setting;

    if (numbers == NULL || numbers[0] == DUEQ_DEFAULT)
        return (struct rate){.count = 0};
    return (struct rate){numbers[0], numbers[1], queue_or_default(numbers[2], numbers[0])};
}

uint64_t rates_number(const struct rate *rate)
{
    const int64_t numbers[] = {rate->count, rate->period, rate->burst};

    return rate->count == 0 ? 0 : XXH3_64bits(numbers, sizeof(numbers));
}

/* At the end of time there are no parts of a ms. */
static struct bucket bucket_at(int64_t full, int64_t part)
{
    return full >= SAFE_TIME_MAX ? (struct bucket){SAFE_TIME_MAX, 0}
                                 : (struct bucket){full, part};
}

/* ---- a bucket: the permits that it lacks take until `full` to come back, `period` / `count`
 * ms each. The products fit: DUEQ_RATE_MAX * DUEQ_RATE_PERIOD_MAX is below 2^62. */

int64_t rates_next(const struct rate *rate, const struct bucket *bucket)
{
    int64_t others;

    if (rate->count == 0 || bucket_is_full(bucket))
        return INT64_MIN;
    others = (rate->burst - 1) * rate->period; /* that it has besides */
    return bucket->full - others / rate->count - (bucket->part < others % rate->count);
}

/* In a ms that has begun what comes back until its end counts. */
uint64_t rates_permits(const struct rate *rate, const struct bucket *bucket, int64_t now)
{
    int64_t lacks, more;

    if (rates_next(rate, bucket) > now)
        return 0;
    lacks = bucket_is_over(bucket, now) ? 0 : (bucket->full - now) * rate->count + bucket->part;
    more = rate->count - lacks;
    return (uint64_t)(rate->burst - 1 +
                      (more > 0 ? (more + rate->period - 1) / rate->period
                                : -(-more / rate->period)));
}

void rates_settle(const struct rate *rate, struct bucket *bucket, int64_t now)
{
    int64_t all = rate->burst * rate->period, last;

    if (rate->count == 0 || bucket_is_over(bucket, now)) {
        *bucket = (struct bucket){0, 0};
        return;
    }
    if (bucket->part >= rate->count) /* that of another rate */
        *bucket = bucket_at(bucket->full + 1, 0);
    last = safe_time_add(now, all / rate->count);
    if (bucket->full > safe_time_add(last, 2))
        *bucket = bucket_at(last, all % rate->count);
}

void rates_take(const struct rate *rate, struct bucket *bucket, int64_t now)
{
    int64_t part;

    if (rate->count == 0)
        return;
    rates_settle(rate, bucket, now);
    if (bucket_is_full(bucket))
        bucket->full = now;
    part = bucket->part + rate->period % rate->count;
    *bucket = bucket_at(safe_time_add(bucket->full, rate->period / rate->count) +
                            (part >= rate->count),
                        part % rate->count);
}

/* ---- that of a topic */

static struct rate rate_of(struct queue *queue, struct topic *topic)
{
    return rates_read(settings_of(queue, topic), DUEQ_SET_RATE);
}

/* A bucket that was cut down, or forgotten with its rate, must not be read again as it was:
 * after each crash claims would wait anew. One that has filled itself may be. */
static void settle(struct queue *queue, const struct rate *rate, struct topic *topic,
                   int64_t now)
{
    struct bucket before = topic->bucket;

    rates_settle(rate, &topic->bucket, now);
    if (before.full != topic->bucket.full && !bucket_is_over(&before, now))
        queue_mark_dirty(queue, topic);
}

bool rates_allow(struct queue *queue, struct topic *topic, int64_t now)
{
    struct rate rate = rate_of(queue, topic);

    settle(queue, &rate, topic, now);
    if (rates_next(&rate, &topic->bucket) <= now)
        return true;
    topic->awaits_permit = true;
    queue->rate_refusals++;
    queue_event_at(queue, topic, rates_next(&rate, &topic->bucket));
    return false;
}

void rates_note_claim(struct queue *queue, struct topic *topic, int64_t now)
{
    struct rate rate = rate_of(queue, topic);

    rates_take(&rate, &topic->bucket, now);
}

void rates_tick(struct queue *queue, struct topic *topic, int64_t now)
{
    struct rate rate = rate_of(queue, topic);

    settle(queue, &rate, topic, now);
    if (topic->awaits_permit && rates_next(&rate, &topic->bucket) <= now) {
        topic->awaits_permit = false;
        queue_signal(queue, topic);
    }
    if (!topic->is_empty && !topics_is_needed(topic)) /* perhaps a claim found it full */
        queue_mark_dirty(queue, topic);
}

int64_t rates_next_event(struct queue *queue, struct topic *topic)
{
    if (topic->awaits_permit) {
        struct rate rate = rate_of(queue, topic);

        return rates_next(&rate, &topic->bucket);
    }
    if (bucket_is_full(&topic->bucket) || topics_has_jobs(topic))
        return DUEQ_NEVER;
    return topic->bucket.full + (topic->bucket.part > 0);
}
