#include "tests/support/models/queue_walk.h"

#include "tests/support/models/queue_model_life.h"
#include "tests/support/models/queue_model_rate.h"
#include "tests/support/models/queue_model_settings.h"

#include <string.h>

#include "tests/support/cmocka.h"

static bool is_empty(const struct dueq_settings *settings)
{
    for (int i = 0; i < DUEQ_SETTINGS; i++)
        if (settings->numbers[i] != DUEQ_DEFAULT)
            return false;
    return settings->step_count == 0 && settings->dead_topic_size == 0;
}

/* ---- pause */

bool walk_has_topic(int topic)
{
    struct dueq_topic_stats stats;

    return dueq_topic_stats(walk.fixture.store, model_topic_name(topic), walk.fixture.time,
                            &stats) == DUEQ_OK;
}

void walk_pause(void)
{
    int topic = (int)walk_roll(QUEUE_MODEL_TOPICS);
    struct model_topic *model = &walk.model.topics[topic];
    bool in = walk_once_in(4), out = walk_once_in(4);
    int64_t wait = walk_once_in(3) ? DUEQ_DEFAULT : walk_roll(1000);
    enum dueq_status wanted = in || out || walk_has_topic(topic) ? DUEQ_OK : DUEQ_NOTFOUND;

    assert_int_equal(dueq_pause(walk.fixture.store, model_topic_name(topic), in, out, wait,
                                walk.fixture.time),
                     wanted);
    if (wanted != DUEQ_OK)
        return;
    model->paused_in = in;
    model->paused_out = out;
    model->paused_until =
        wait == DUEQ_DEFAULT ? DUEQ_NEVER : model_after(walk.fixture.time, wait);
}

/* ---- drop */

void walk_clear_topic(int topic)
{
    struct model_topic *model = &walk.model.topics[topic];

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        if (walk.model.jobs[i].there && walk.model.jobs[i].topic == topic)
            model_remove(&walk.model, &walk.model.jobs[i], DUEQ_END_GONE);
    model->paused_in = model->paused_out = false;
    model_fill_buckets(&walk.model, topic);
    model_drop_totals(&walk.model, topic);
    walk_forget_events(topic);
}

static bool waits_for_topic(const struct model_job *job, int topic)
{
    for (size_t i = 0; i < job->awaits; i++)
        if (job->after[i] != NULL && job->after[i]->topic == topic)
            return true;
    return false;
}

/* Those of other topics that wait for jobs of this one are told later. */
static void remove_waiters(int topic)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *job = &walk.model.jobs[i];

        if (!job->there || job->state != MODEL_WAITING || job->topic == topic ||
            !waits_for_topic(job, topic))
            continue;
        assert_int_equal(dueq_del(walk.fixture.store, model_topic_name(job->topic),
                                  model_id(job), walk.fixture.time),
                         DUEQ_OK);
        model_remove(&walk.model, job, DUEQ_END_GONE);
        walk.model.topics[job->topic].totals.deleted++;
        walk_follow_arrivals(false);
        i = -1;
    }
}

/* The first scopes are the names of the topics. */
void walk_drop(void)
{
    int topic = (int)walk_roll(QUEUE_MODEL_TOPICS);
    struct dueq_slice name = model_topic_name(topic);
    struct dueq_settings *own = &walk.model.settings[topic];
    enum dueq_status wanted;

    remove_waiters(topic);
    walk_follow_events(); /* those of the topic go with it */
    assert_true(dueq_slice_equal(model_scope_name(topic), name));
    wanted = walk_has_topic(topic) || !is_empty(own) ? DUEQ_OK : DUEQ_NOTFOUND;
    assert_int_equal(dueq_drop(walk.fixture.store, name, walk.fixture.time), wanted);
    walk_clear_topic(topic);
    dueq_settings_init(own);
    assert_false(walk_has_topic(topic));
}

/* ---- settings */

static void choose_dead_topic(struct dueq_settings *settings)
{
    struct dueq_slice name = model_topic_name((int)walk_roll(QUEUE_MODEL_TOPICS));

    memcpy(settings->dead_topic, name.data, name.size);
    settings->dead_topic_size = name.size;
}

/* A permit each so many whole ms. */
static void choose_rate(int64_t *numbers)
{
    numbers[0] = 1 + walk_roll(4);
    numbers[1] = numbers[0] * (1 + walk_roll(walk_once_in(20) ? 40000 : 400));
    if (walk_once_in(2))
        numbers[2] = 1 + walk_roll(5);
}

static void choose_settings(struct dueq_settings *settings)
{
    static const uint64_t sides[] = {
        [DUEQ_SET_LEASE] = 4000,        [DUEQ_SET_RETRIES] = 5,
        [DUEQ_SET_CRASHES] = 5,         [DUEQ_SET_BACKOFF] = 3000,
        [DUEQ_SET_BACKOFF_MAX] = 20000, [DUEQ_SET_JITTER] = 101,
        [DUEQ_SET_TTL] = 4000,          [DUEQ_SET_TTL_ACTION] = 2,
        [DUEQ_SET_KEEP] = 3000,         [DUEQ_SET_DEAD_KEEP] = 9000,
        [DUEQ_SET_DEAD_MAX] = 8,        [DUEQ_SET_MAX_LENGTH] = 150,
        [DUEQ_SET_MAX_BYTES] = 2000,    [DUEQ_SET_OVERFLOW] = 2,
        [DUEQ_SET_MAX_BODY] = 24,       [DUEQ_SET_DURABILITY] = 2,
        [DUEQ_SET_GROUP_MODE] = 6,      [DUEQ_SET_GROUP_ON_FAILURE] = 2,
        [DUEQ_SET_CONCURRENCY] = 12,    [DUEQ_SET_GROUP_CONCURRENCY] = 6,
        [DUEQ_SET_AGE_AFTER] = 100,     [DUEQ_SET_EVENTS] = MODEL_RING_MOST};

    dueq_settings_init(settings);
    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
        if (sides[i] > 0 && walk_once_in(i == DUEQ_SET_TTL || i == DUEQ_SET_MAX_BODY ? 8 : 4))
            settings->numbers[i] = walk_roll(sides[i]);
    if (walk.groups) /* which jobs are the oldest is not known of groups */
        settings->numbers[DUEQ_SET_OVERFLOW] = DUEQ_DEFAULT;
    if (walk.groups && walk_once_in(2))
        settings->numbers[DUEQ_SET_GROUP_MODE] = walk_roll(6);
    if (!walk.groups || settings->numbers[DUEQ_SET_GROUP_CONCURRENCY] == 0)
        settings->numbers[DUEQ_SET_GROUP_CONCURRENCY] = DUEQ_DEFAULT;
    if (!walk.groups)
        settings->numbers[DUEQ_SET_GROUP_MODE] = DUEQ_DEFAULT;
    if (walk_once_in(4))
        choose_rate(settings->numbers + DUEQ_SET_RATE);
    if (walk.groups && walk_once_in(3))
        choose_rate(settings->numbers + DUEQ_SET_GROUP_RATE);
    if (walk_once_in(3))
        choose_dead_topic(settings);
    if (!walk_once_in(5))
        return;
    settings->step_count = 1 + (size_t)walk_roll(DUEQ_STEPS_MAX);
    for (size_t i = 0; i < settings->step_count; i++)
        settings->steps[i] = walk_roll(3000);
}

static bool is_own_dead_topic(int scope, const struct dueq_settings *settings)
{
    return dueq_slice_equal(model_scope_name(scope),
                            dueq_slice(settings->dead_topic, settings->dead_topic_size));
}

void walk_put_settings(void)
{
    int scope = (int)walk_roll(QUEUE_MODEL_SCOPES);
    struct dueq_settings settings;
    enum dueq_status wanted;
    uint64_t before;

    walk_follow_events();
    dueq_settings_init(&settings);
    if (walk_once_in(2))
        choose_settings(&settings);
    wanted = is_own_dead_topic(scope, &settings) ? DUEQ_INVALID : DUEQ_OK;
    assert_int_equal(dueq_put_settings(walk.fixture.store, model_scope_name(scope), &settings),
                     wanted);
    if (wanted != DUEQ_OK)
        return;
    before = model_rates(&walk.model);
    walk.model.settings[scope] = settings;
    if (model_rates(&walk.model) == before)
        return;
    model_settle_buckets(&walk.model, walk.fixture.time);
    walk_tick_all(); /* what a bucket lacks at most counts from now on */
}

static void check_scope(int scope)
{
    const struct dueq_settings *wanted = &walk.model.settings[scope];
    struct dueq_settings found;
    enum dueq_status status =
        dueq_get_settings(walk.fixture.store, model_scope_name(scope), &found);

    assert_int_equal(status, is_empty(wanted) ? DUEQ_NOTFOUND : DUEQ_OK);
    if (status != DUEQ_OK)
        return;
    assert_memory_equal(found.numbers, wanted->numbers, sizeof(found.numbers));
    assert_int_equal(found.step_count, wanted->step_count);
    assert_memory_equal(found.steps, wanted->steps, found.step_count * sizeof(found.steps[0]));
    assert_int_equal(found.dead_topic_size, wanted->dead_topic_size);
    assert_memory_equal(found.dead_topic, wanted->dead_topic, found.dead_topic_size);
}

void walk_set_defaults(void)
{
    struct dueq_defaults *defaults = &walk.model.defaults;

    defaults->lease = walk_roll(5000);
    defaults->retries = walk_roll(20);
    defaults->crashes = walk_roll(6);
    defaults->backoff = walk_roll(2000);
    defaults->backoff_max = walk_roll(100000);
    dueq_set_defaults(walk.fixture.store, defaults);
}

/* They are listed in the order of their names. */
static void check_scopes(void)
{
    struct dueq_slice scope = dueq_slice(NULL, 0), next;
    int wanted = 0;

    for (int i = 0; i < QUEUE_MODEL_SCOPES; i++)
        wanted += !is_empty(&walk.model.settings[i]);
    while (dueq_settings_after(walk.fixture.store, scope, &next) == DUEQ_OK) {
        assert_true(dueq_slice_compare(scope, next) < 0);
        scope = next;
        wanted--;
    }
    assert_int_equal(wanted, 0);
}

void walk_check_settings(void)
{
    check_scopes();
    for (int scope = 0; scope < QUEUE_MODEL_SCOPES; scope++)
        check_scope(scope);
    for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++)
        for (unsigned setting = 0; setting <= DUEQ_SETTINGS; setting++) {
            int scope = model_scope_of(&walk.model, topic, setting);
            struct dueq_slice found =
                dueq_setting_source(walk.fixture.store, model_topic_name(topic), setting);

            assert_true(dueq_slice_equal(found, scope < 0 ? dueq_slice(NULL, 0)
                                                          : model_scope_name(scope)));
        }
}
