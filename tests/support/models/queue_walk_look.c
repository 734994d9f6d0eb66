/* Looks at many jobs: the store shows all that the model has, in its order. */
#include "tests/support/models/queue_model_settings.h"
#include "tests/support/models/queue_walk.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

/* Jobs that are to be shown. */
struct view {
    const struct model_job *jobs[QUEUE_MODEL_JOBS];
    size_t count, seen;
};

/* ---- which jobs, in which order */

static bool has_state(const struct model_job *job, int topic, int state)
{
    return job->there && job->topic == topic &&
           (state == DUEQ_DEFAULT || state == (int)model_state(job, walk.fixture.time));
}

static int64_t due_of(const struct model_job *job)
{
    return job->state == MODEL_DONE ? job->expires
                                    : model_clock_of(job->wall, job->due, walk.fixture.time);
}

static int compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Ready jobs come as they would be claimed. Others come by time: that of the due time, the end
 * of the lease, the death, the end of keeping; of one time the delayed ones by priority. */
static int compare(const void *a, const void *b)
{
    const struct model_job *left = *(const struct model_job *const *)a,
                           *right = *(const struct model_job *const *)b;
    enum dueq_state state = model_state(left, walk.fixture.time);
    int by_time = compare_numbers(due_of(left), due_of(right)),
        by_priority =
            compare_numbers(left->content.options.priority, right->content.options.priority),
        by_arrival = left->seq < right->seq ? -1 : 1;

    if (state == DUEQ_READY && by_priority != 0)
        return by_priority;
    if (by_time != 0)
        return by_time;
    return state == DUEQ_DELAYED && by_priority != 0 ? by_priority : by_arrival;
}

static void add_state(struct view *view, int topic, enum dueq_state state)
{
    size_t begin = view->count;

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        if (has_state(&walk.model.jobs[i], topic, (int)state))
            view->jobs[view->count++] = &walk.model.jobs[i];
    qsort(view->jobs + begin, view->count - begin, sizeof(view->jobs[0]), compare);
}

/* ---- peek */

static bool check_next(void *arg, const struct dueq_job *found)
{
    struct view *view = arg;

    assert_true(view->seen < view->count);
    if (!walk.groups)
        walk_check_look(found, view->jobs[view->seen]);
    view->seen++;
    return true;
}

static void peek(int topic)
{
    struct dueq_peek peek = {.topic = model_topic_name(topic),
                             .state = (int)walk_roll(DUEQ_STATES + 1) - 1,
                             .count = 1 + (size_t)walk_roll(300)};
    struct view view = {.count = 0};

    if (peek.state == DUEQ_DEFAULT) {
        add_state(&view, topic, DUEQ_READY);
        add_state(&view, topic, DUEQ_DELAYED);
    } else {
        add_state(&view, topic, (enum dueq_state)peek.state);
    }
    if (view.count > peek.count)
        view.count = peek.count;
    assert_int_equal(dueq_peek(walk.fixture.store, &peek, walk.fixture.time, check_next, &view),
                     DUEQ_OK);
    assert_int_equal(view.seen, view.count);
}

/* ---- scan */

static bool check_any(void *arg, const struct dueq_job *found)
{
    struct view *view = arg;

    for (size_t i = 0; i < view->count; i++)
        if (dueq_slice_equal(found->id, model_id(view->jobs[i]))) {
            walk_check_look(found, view->jobs[i]);
            view->jobs[i] = view->jobs[--view->count];
            return true;
        }
    fail_msg("a job that is not wanted, or twice");
    return false;
}

/* Mostly at the due time of a job, or one ms beside it. */
static int64_t choose_time(void)
{
    struct walk_target target;

    if (walk_once_in(3) || !walk_choose(&target) || target.job == NULL)
        return walk.fixture.time.wall - 2000 + walk_roll(4000);
    return model_shown_due(target.job, walk.fixture.time) - 1 + walk_roll(3);
}

static void choose_scan(int topic, struct dueq_scan *scan)
{
    dueq_scan_init(scan);
    scan->topic = model_topic_name(topic);
    scan->state = (int)walk_roll(DUEQ_STATES + 1) - 1;
    scan->count = 1 + (size_t)walk_roll(50);
    scan->by_due = walk_once_in(2);
    scan->from = walk_once_in(4) ? INT64_MIN : choose_time();
    scan->to = walk_once_in(4) ? INT64_MAX : choose_time();
}

static bool is_scanned(const struct model_job *job, int topic, const struct dueq_scan *scan)
{
    int64_t due = model_shown_due(job, walk.fixture.time);

    return has_state(job, topic, scan->state) &&
           (!scan->by_due || (scan->from <= due && due <= scan->to));
}

static void scan(int topic)
{
    char cursor[DUEQ_CURSOR_SIZE] = "0";
    struct dueq_scan scan;
    struct view view = {.count = 0};

    choose_scan(topic, &scan);
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        if (is_scanned(&walk.model.jobs[i], topic, &scan))
            view.jobs[view.count++] = &walk.model.jobs[i];
    do
        assert_int_equal(dueq_scan(walk.fixture.store, &scan, text(cursor), walk.fixture.time,
                                   check_any, &view, cursor),
                         DUEQ_OK);
    while (strcmp(cursor, "0") != 0);
    assert_int_equal(view.count, 0);
}

/* ---- forecast, and how many come before a job */

enum { BUCKETS = 20 };

static uint64_t count_bucket(int topic, int64_t after, int64_t last)
{
    uint64_t count = 0;

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        const struct model_job *job = &walk.model.jobs[i];

        count +=
            has_state(job, topic, DUEQ_DELAYED) && due_of(job) > after && due_of(job) <= last;
    }
    return count;
}

static void forecast(int topic)
{
    uint64_t counts[BUCKETS] = {0};
    struct dueq_forecast forecast = {.topic = model_topic_name(topic),
                                     .bucket = 1 + walk_roll(500),
                                     .count = BUCKETS,
                                     .counts = counts};
    int64_t begin = walk.fixture.time.now;
    enum dueq_status status = DUEQ_BUSY;

    while (status == DUEQ_BUSY) {
        unsigned budget = 2 + (unsigned)walk_roll(20);

        status = dueq_forecast(walk.fixture.store, &forecast, walk.fixture.time, &budget);
    }
    assert_int_equal(status, DUEQ_OK);
    for (int i = 0; i < BUCKETS; i++)
        assert_int_equal(counts[i], count_bucket(topic, begin + i * forecast.bucket,
                                                 begin + (i + 1) * forecast.bucket));
}

static void ahead(int topic)
{
    struct view view = {.count = 0};
    uint64_t found;

    add_state(&view, topic, DUEQ_READY);
    if (view.count == 0 || walk.groups ||
        model_setting(&walk.model, topic, DUEQ_SET_AGE_AFTER, 0) > 0)
        return;
    view.seen = (size_t)walk_roll(view.count);
    assert_int_equal(dueq_ahead(walk.fixture.store, model_topic_name(topic),
                                model_id(view.jobs[view.seen]), walk.fixture.time, &found),
                     DUEQ_OK);
    assert_int_equal(found, view.seen);
}

void walk_look(void)
{
    static void (*const looks[])(int topic) = {peek, scan, forecast, ahead};
    int topic = (int)walk_roll(QUEUE_MODEL_TOPICS);

    if (walk_has_topic(topic))
        looks[walk_roll(sizeof(looks) / sizeof(looks[0]))](topic);
}
