#include "tests/support/models/queue_model_settings.h"

#include <string.h>

/* A topic's own name first, then patterns, the longest first. topics: a bit for each of
 * model_topic_name that matches. */
static const struct {
    const char *name;
    unsigned topics;
} scopes[QUEUE_MODEL_SCOPES] = {{"a", 1},    {"second", 2}, {"t\x01\xff", 4}, {"[a-s]*", 3},
                                {"s*nd", 2}, {"t??", 4},    {"*", 7}};

struct dueq_slice model_scope_name(int scope)
{
    return dueq_slice(scopes[scope].name, strlen(scopes[scope].name));
}

static bool is_set(int64_t value)
{
    return value != DUEQ_DEFAULT;
}

/* All of a backoff comes from one scope, and all of a rate. */
static bool decides(const struct dueq_settings *settings, unsigned setting)
{
    if (setting == DUEQ_SETTINGS)
        return settings->dead_topic_size > 0;
    if (setting >= DUEQ_SET_BACKOFF && setting <= DUEQ_SET_JITTER)
        return settings->step_count > 0 || is_set(settings->numbers[DUEQ_SET_BACKOFF]);
    if (setting >= DUEQ_SET_RATE && setting <= DUEQ_SET_GROUP_RATE_BURST)
        return is_set(settings->numbers[setting < DUEQ_SET_GROUP_RATE ? DUEQ_SET_RATE
                                                                      : DUEQ_SET_GROUP_RATE]);
    return is_set(settings->numbers[setting]);
}

int model_scope_of(const struct queue_model *model, int topic, unsigned setting)
{
    for (int i = 0; i < QUEUE_MODEL_SCOPES; i++)
        if ((scopes[i].topics & (1u << topic)) && decides(&model->settings[i], setting))
            return i;
    return -1;
}

static int64_t choose(int64_t first, int64_t otherwise)
{
    return is_set(first) ? first : otherwise;
}

int64_t model_setting(const struct queue_model *model, int topic, enum dueq_setting setting,
                      int64_t otherwise)
{
    int scope = model_scope_of(model, topic, setting);

    return scope < 0 ? otherwise : choose(model->settings[scope].numbers[setting], otherwise);
}

int model_dead_topic(const struct queue_model *model, int topic)
{
    int scope = model_scope_of(model, topic, DUEQ_SETTINGS);

    for (int to = 0; to < QUEUE_MODEL_TOPICS && scope >= 0; to++) {
        const struct dueq_settings *settings = &model->settings[scope];

        if (to != topic &&
            dueq_slice_equal(model_topic_name(to),
                             dueq_slice(settings->dead_topic, settings->dead_topic_size)))
            return to;
    }
    return -1;
}

/* ---- in effect */

static void choose_backoff(const struct queue_model *model, const struct model_job *job,
                           struct model_options *options)
{
    const struct dueq_push *own = &job->content.options;
    int scope = model_scope_of(model, job->topic, DUEQ_SET_BACKOFF);

    options->backoff = model->defaults.backoff;
    options->backoff_max = model->defaults.backoff_max;
    options->jitter = DUEQ_DEFAULT;
    if (own->step_count > 0 || is_set(own->backoff)) {
        options->backoff = choose(own->backoff, model->defaults.backoff);
        options->steps = own->steps;
        options->step_count = own->step_count;
    } else if (scope >= 0) {
        const struct dueq_settings *settings = &model->settings[scope];

        options->backoff = choose(settings->numbers[DUEQ_SET_BACKOFF], model->defaults.backoff);
        options->backoff_max =
            choose(settings->numbers[DUEQ_SET_BACKOFF_MAX], model->defaults.backoff_max);
        options->jitter = settings->numbers[DUEQ_SET_JITTER];
        options->steps = settings->steps;
        options->step_count = settings->step_count;
    }
    options->backoff_max = choose(own->backoff_max, options->backoff_max);
    options->jitter = choose(own->jitter, options->jitter);
    options->jitter = choose(options->jitter, options->step_count > 0 ? 0 : 20);
}

struct model_options model_options(const struct queue_model *model, const struct model_job *job)
{
    const struct dueq_push *own = &job->content.options;
    const struct dueq_defaults *defaults = &model->defaults;
    int topic = job->topic;
    struct model_options options = {
        .lease =
            choose(own->lease, model_setting(model, topic, DUEQ_SET_LEASE, defaults->lease)),
        .retries = choose(own->retries,
                          model_setting(model, topic, DUEQ_SET_RETRIES, defaults->retries)),
        .crashes = choose(own->crashes,
                          model_setting(model, topic, DUEQ_SET_CRASHES, defaults->crashes))};

    choose_backoff(model, job, &options);
    return options;
}

void model_backoff(const struct model_options *options, int64_t failures, int64_t *ret_least,
                   int64_t *ret_most)
{
    int64_t last = (int64_t)options->step_count - 1, most = INT64_MAX / 1000, wait, spread;

    if (options->step_count > 0) {
        wait = options->steps[failures < last ? failures : last];
    } else {
        most = options->backoff_max;
        wait = options->backoff;
        for (int64_t i = 0; i < failures && wait < most; i++)
            wait *= 2;
        wait = wait < most ? wait : most;
    }
    spread = (wait * options->jitter + 99) / 100;
    *ret_least = wait - spread;
    *ret_most = wait + spread < most ? wait + spread : most;
}
