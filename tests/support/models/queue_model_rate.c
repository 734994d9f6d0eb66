#include "tests/support/models/queue_model_rate.h"

#include "tests/support/models/queue_model_settings.h"

#include <string.h>

struct rate {
    int64_t each, burst; /* a permit comes back each so many ms; 0: no limit */
};

static struct rate rate_of(const struct queue_model *model, int topic,
                           enum dueq_setting setting)
{
    int64_t count = model_setting(model, topic, setting, DUEQ_DEFAULT);
    struct rate rate = {0, 0};

    if (count == DUEQ_DEFAULT)
        return rate;
    rate.each = model_setting(model, topic, setting + 1, 0) / count;
    rate.burst = model_setting(model, topic, setting + 2, count);
    return rate;
}

bool model_has_rate(const struct queue_model *model, int topic)
{
    return rate_of(model, topic, DUEQ_SET_RATE).each > 0;
}

bool model_has_group_rate(const struct queue_model *model, int topic)
{
    return rate_of(model, topic, DUEQ_SET_GROUP_RATE).each > 0;
}

uint64_t model_rates(const struct queue_model *model)
{
    uint64_t sum = 0;

    for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++)
        for (int i = DUEQ_SET_RATE; i <= DUEQ_SET_GROUP_RATE_BURST; i++)
            sum = sum * 1000003 + (uint64_t)model_setting(model, topic, i, DUEQ_DEFAULT);
    return sum;
}

/* 0: it has no group. */
static size_t group_of(const struct model_job *job)
{
    static const char *const names[QUEUE_MODEL_GROUPS] = {"", "g", "second", "\x01\xff"};
    size_t group = 0;

    for (size_t i = 1; i < QUEUE_MODEL_GROUPS; i++)
        if (dueq_slice_equal(job->content.options.group,
                             dueq_slice(names[i], strlen(names[i]))))
            group = i;
    return group;
}

static bool has_permit(const struct rate *rate, int64_t full, int64_t now)
{
    return rate->each == 0 || full - (rate->burst - 1) * rate->each <= now;
}

bool model_has_permit(const struct queue_model *model, const struct model_job *job,
                      struct dueq_time time)
{
    struct rate rate = rate_of(model, job->topic, DUEQ_SET_RATE),
                of_group = rate_of(model, job->topic, DUEQ_SET_GROUP_RATE);
    const struct model_topic *topic = &model->topics[job->topic];
    size_t group = group_of(job);

    return has_permit(&rate, topic->full, time.now) &&
           (group == 0 || has_permit(&of_group, topic->groups_full[group], time.now));
}

static void take(const struct rate *rate, int64_t *full, int64_t now)
{
    if (rate->each > 0)
        *full = (*full > now ? *full : now) + rate->each;
}

void model_take_permit(struct queue_model *model, const struct model_job *job,
                       struct dueq_time time)
{
    struct rate rate = rate_of(model, job->topic, DUEQ_SET_RATE),
                of_group = rate_of(model, job->topic, DUEQ_SET_GROUP_RATE);
    struct model_topic *topic = &model->topics[job->topic];
    size_t group = group_of(job);

    take(&rate, &topic->full, time.now);
    if (group != 0)
        take(&of_group, &topic->groups_full[group], time.now);
}

static void settle(const struct rate *rate, int64_t *full, int64_t now)
{
    int64_t last = now + rate->burst * rate->each;

    if (rate->each == 0)
        *full = 0;
    else if (*full > last + 2)
        *full = last;
}

void model_settle_buckets(struct queue_model *model, struct dueq_time time)
{
    for (int i = 0; i < QUEUE_MODEL_TOPICS; i++) {
        struct rate rate = rate_of(model, i, DUEQ_SET_RATE),
                    of_group = rate_of(model, i, DUEQ_SET_GROUP_RATE);

        settle(&rate, &model->topics[i].full, time.now);
        for (int group = 1; group < QUEUE_MODEL_GROUPS; group++)
            settle(&of_group, &model->topics[i].groups_full[group], time.now);
    }
}

bool model_has_bucket(const struct queue_model *model, int topic, struct dueq_time time)
{
    const struct model_topic *of = &model->topics[topic];
    bool any = of->full > time.now;

    for (int group = 1; group < QUEUE_MODEL_GROUPS; group++)
        any = any || of->groups_full[group] > time.now;
    return any;
}

void model_fill_buckets(struct queue_model *model, int topic)
{
    model->topics[topic].full = 0;
    memset(model->topics[topic].groups_full, 0, sizeof(model->topics[topic].groups_full));
}
