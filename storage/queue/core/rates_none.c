/* No rates, for `make libdueq-small`: in place of rates.c. None can be set, a directory that
 * has some is refused, and every bucket is full. */
#include "storage/queue/core/rates.h"

#include "storage/queue/core/topic.h"

enum dueq_status rates_check(const struct dueq_settings *settings)
{
    for (int i = DUEQ_SET_RATE; i <= DUEQ_SET_GROUP_RATE_BURST; i++)
        if (settings->numbers[i] != DUEQ_DEFAULT)
            return DUEQ_FORMAT;
    return DUEQ_OK;
}

struct rate rates_read(const struct dueq_settings *settings, enum dueq_setting setting)
{
    (void)settings;
    (void)setting;
    return (struct rate){.count = 0};
}

uint64_t rates_number(const struct rate *rate)
{
    (void)rate;
    return 0;
}

int64_t rates_next(const struct rate *rate, const struct bucket *bucket)
{
    (void)rate;
    (void)bucket;
    return INT64_MIN;
}

uint64_t rates_permits(const struct rate *rate, const struct bucket *bucket, int64_t now)
{
    (void)rate;
    (void)bucket;
    (void)now;
    return 0;
}

void rates_settle(const struct rate *rate, struct bucket *bucket, int64_t now)
{
    (void)rate;
    (void)now;
    *bucket = (struct bucket){0, 0};
}

void rates_take(const struct rate *rate, struct bucket *bucket, int64_t now)
{
    (void)rate;
    (void)bucket;
    (void)now;
}

bool rates_allow(struct queue *queue, struct topic *topic, int64_t now)
{
    (void)queue;
    (void)topic;
    (void)now;
    return true;
}

void rates_note_claim(struct queue *queue, struct topic *topic, int64_t now)
{
    (void)queue;
    (void)topic;
    (void)now;
}

void rates_tick(struct queue *queue, struct topic *topic, int64_t now)
{
    (void)queue;
    (void)now;
    topic->bucket = (struct bucket){0, 0};
}

int64_t rates_next_event(struct queue *queue, struct topic *topic)
{
    (void)queue;
    (void)topic;
    return DUEQ_NEVER;
}
