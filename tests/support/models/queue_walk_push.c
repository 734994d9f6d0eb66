#include "tests/support/models/queue_walk.h"

#include "storage/queue/record/given_id.h"
#include "storage/queue/record/safe_time.h"
#include "tests/support/models/queue_model_life.h"
#include "tests/support/models/queue_model_settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { NAMES = 150 };

/* ---- ids */

/* One of few names, so that each comes again. */
static size_t make_name(uint8_t *bytes, uint64_t number)
{
    size_t size = 1 + dice_hash(number) % (number % 4 == 0 ? DUEQ_NAME_MAX : 12);

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)dice_hash(number * 1000 + i);
    return size;
}

/* An id that the store gave or will give next, or a similar one. */
static size_t make_lookalike(uint8_t *bytes, const struct model_topic *topic)
{
    char text[GIVEN_ID_SIZE];
    uint64_t seq;

    if (!given_id_read(dueq_slice(topic->last_given, topic->last_given_size), &seq))
        return make_name(bytes, 1);
    given_id_write(text, walk.fixture.time.now, seq + (uint64_t)walk_roll(4));
    memcpy(bytes, text, sizeof(text));
    return sizeof(text);
}

/* That of a job that is there, also when the store gave it. */
static bool take_id(struct model_job *job)
{
    struct walk_target target;

    if (!walk_choose(&target) || target.job == NULL)
        return false;
    memcpy(job->id, target.id.data, target.id.size);
    job->id_size = target.id.size;
    job->topic = target.job->topic;
    return true;
}

static void choose_id(struct model_job *job)
{
    if (walk_once_in(2))
        return; /* the store gives the id */
    if (walk_once_in(8))
        job->id_size = make_lookalike(job->id, &walk.model.topics[job->topic]);
    else if (!walk_once_in(3) || !take_id(job))
        job->id_size = make_name(job->id, (uint64_t)walk_roll(NAMES));
}

/* Ids that the store gives grow, and are not among those that callers took. */
static void note_given_id(struct model_job *job, struct dueq_slice id)
{
    struct model_topic *topic = &walk.model.topics[job->topic];

    assert_null(model_find(&walk.model, job->topic, id));
    assert_true(dueq_slice_compare(id, dueq_slice(topic->last_given, topic->last_given_size)) >
                0);
    memcpy(job->id, id.data, id.size);
    memcpy(topic->last_given, id.data, id.size);
    topic->last_given_size = job->id_size = id.size;
}

/* ---- options */

void walk_choose_due(struct dueq_push *push, struct model_content *content)
{
    struct dueq_time time = walk.fixture.time;
    int64_t range = walk_once_in(9) ? 50000000 : 3000;

    content->due = time.now;
    content->wall = false;
    if (walk_once_in(3)) {
        push->absolute = true;
        push->at = walk_once_in(50) ? INT64_MAX : time.wall - 500 + walk_roll(5000);
        content->wall = push->at > time.wall;
        if (content->wall)
            content->due = safe_time_clamp(push->at);
    } else if (walk_once_in(2)) {
        push->delay = walk_once_in(50) ? INT64_MAX : walk_roll((uint64_t)range);
        content->due = model_after(time, push->delay);
    }
}

static void choose_backoff(struct dueq_push *push)
{
    if (walk_once_in(2)) {
        push->backoff = walk_roll(3000);
        push->backoff_max = walk_once_in(2) ? DUEQ_DEFAULT : walk_roll(20000);
    } else {
        push->step_count = 1 + (size_t)walk_roll(DUEQ_STEPS_MAX);
        for (size_t i = 0; i < push->step_count; i++)
            push->steps[i] = walk_roll(3000);
    }
    if (walk_once_in(2))
        push->jitter = walk_roll(101);
}

void walk_choose_options(struct dueq_push *push)
{
    if (walk_once_in(2))
        push->retries = walk_roll(5);
    if (walk_once_in(4))
        push->crashes = walk_roll(4);
    if (walk_once_in(4))
        push->lease = walk_roll(4000);
    if (walk_once_in(5))
        choose_backoff(push);
    if (walk_once_in(6))
        push->ttl = walk_once_in(20) ? INT64_MAX : walk_roll(2000);
}

static void choose_uniqueness(struct dueq_push *push)
{
    push->on_duplicate =
        walk_once_in(2) ? DUEQ_REJECT : (enum dueq_on_duplicate)walk_roll(DUEQ_THROTTLE + 1);
    push->ignore_dead = walk_once_in(3);
    if (walk_once_in(4))
        push->window = walk_once_in(30) ? INT64_MAX : walk_roll(6000);
}

static void choose_content(int topic, struct dueq_push *push, struct model_content *content)
{
    walk_choose_due(push, content);
    walk_choose_options(push);
    push->priority = (int)walk_roll(4) * 60;
    snprintf(content->body, sizeof(content->body), "body %" PRId64, walk_roll(1000000000000));
    content->pushed = walk.fixture.time.wall;
    content->options = *push;
    if (push->ttl == DUEQ_DEFAULT)
        content->options.ttl = model_setting(&walk.model, topic, DUEQ_SET_TTL, DUEQ_DEFAULT);
}

/* ---- push */

/* One push, as the store gets it and as the model has it. */
struct pushing {
    struct model_job job;
    struct model_content content;
    struct dueq_push push;
};

static void choose_push(struct pushing *pushing)
{
    struct model_job *job = &pushing->job;

    memset(pushing, 0, sizeof(*pushing));
    job->topic = (int)walk_roll(QUEUE_MODEL_TOPICS);
    choose_id(job);
    dueq_push_init(&pushing->push);
    choose_uniqueness(&pushing->push);
    choose_content(job->topic, &pushing->push, &pushing->content);
    pushing->push.topic = model_topic_name(job->topic);
    pushing->push.id = model_id(job);
    pushing->push.body = dueq_slice(pushing->content.body, strlen(pushing->content.body));
}

/* Who has the id. A dead job may give it up. */
static struct model_job *find_holder(const struct pushing *pushing)
{
    struct model_job *holder =
        pushing->job.id_size == 0
            ? NULL
            : model_find(&walk.model, pushing->job.topic, model_id(&pushing->job));

    return holder != NULL && pushing->push.ignore_dead && holder->state == MODEL_DEAD ? NULL
                                                                                      : holder;
}

static enum dueq_status push_status(const struct pushing *pushing)
{
    if (walk.model.topics[pushing->job.topic].paused_in)
        return DUEQ_PAUSED;
    return pushing->push.on_duplicate == DUEQ_REJECT && find_holder(pushing) != NULL
               ? DUEQ_DUPLICATE
               : DUEQ_OK;
}

/* ---- limits of the topic's length */

static int64_t length_of(int topic)
{
    struct dueq_topic_stats stats;

    model_stats(&walk.model, topic, walk.fixture.time, &stats);
    return (int64_t)(stats.counts[DUEQ_DELAYED] + stats.counts[DUEQ_READY] +
                     stats.counts[DUEQ_CLAIMED]);
}

static int64_t count_new(const struct pushing *pushings, size_t count, int topic)
{
    int64_t jobs = 0;

    for (size_t i = 0; i < count; i++)
        jobs += pushings[i].job.topic == topic && find_holder(&pushings[i]) == NULL;
    return jobs;
}

/* How many jobs are too many, or 0. */
static int64_t excess(const struct pushing *pushings, size_t count, int topic)
{
    int64_t most = model_setting(&walk.model, topic, DUEQ_SET_MAX_LENGTH, QUEUE_MODEL_JOBS);
    int64_t jobs = count_new(pushings, count, topic);

    return jobs > 0 && length_of(topic) + jobs > most ? length_of(topic) + jobs - most : 0;
}

/* The waiting job that is due first; NULL: none. */
static struct model_job *first_waiting(int topic)
{
    struct dueq_time time = walk.fixture.time;
    struct model_job *first = NULL;

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *job = &walk.model.jobs[i];
        int64_t wait;

        if (!job->there || job->topic != topic || job->state != MODEL_PENDING)
            continue;
        wait = first == NULL ? -1 : model_shown_due(job, time) - model_shown_due(first, time);
        if (wait < 0 || (wait == 0 && job->seq < first->seq))
            first = job;
    }
    return first;
}

static int64_t count_waiting(int topic)
{
    struct dueq_topic_stats stats;

    model_stats(&walk.model, topic, walk.fixture.time, &stats);
    return (int64_t)(stats.counts[DUEQ_DELAYED] + stats.counts[DUEQ_READY]);
}

/* The limit comes last of all refusals. */
static enum dueq_status limited_status(const struct pushing *pushings, size_t count,
                                       enum dueq_status status)
{
    for (int topic = 0; topic < QUEUE_MODEL_TOPICS && status == DUEQ_OK; topic++) {
        int64_t too_many = excess(pushings, count, topic);
        bool drops = model_setting(&walk.model, topic, DUEQ_SET_OVERFLOW,
                                   DUEQ_OVERFLOW_REJECT) == DUEQ_OVERFLOW_DROP_OLDEST;

        if (too_many > 0 && (!drops || count_waiting(topic) < too_many))
            status = DUEQ_LIMIT;
    }
    return status;
}

static void make_room(const struct pushing *pushings, size_t count)
{
    int64_t too_many[QUEUE_MODEL_TOPICS];

    for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++)
        too_many[topic] = excess(pushings, count, topic);
    for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++)
        for (int64_t i = 0; i < too_many[topic]; i++) {
            first_waiting(topic)->there = false;
            walk.model.topics[topic].totals.dropped++;
        }
}

/* ---- what a push does */

static void remove_dead_holder(const struct pushing *pushing)
{
    struct model_job *dead =
        model_find(&walk.model, pushing->job.topic, model_id(&pushing->job));

    if (dead == NULL)
        return;
    dead->there = false;
    walk.model.topics[pushing->job.topic].totals.deleted++;
}

/* The push meets the holder of its id. */
static enum dueq_push_outcome change(struct model_job *holder,
                                     const struct model_content *content)
{
    enum dueq_on_duplicate on_duplicate = content->options.on_duplicate;

    if (on_duplicate == DUEQ_IGNORE || on_duplicate == DUEQ_THROTTLE ||
        holder->state == MODEL_DONE)
        return DUEQ_IGNORED;
    if (holder->state == MODEL_CLAIMED) {
        holder->followed = true;
        holder->next = *content;
        return DUEQ_FOLLOWS;
    }
    if (on_duplicate == DUEQ_DEBOUNCE && holder->state == MODEL_PENDING) {
        model_set_due(holder, content->wall, content->due, walk.fixture.time);
        return DUEQ_DEBOUNCED;
    }
    model_begin(holder, content, walk.fixture.time);
    return DUEQ_REPLACED;
}

static void add_job(struct model_job *job, const struct model_content *content,
                    struct dueq_slice id)
{
    if (job->id_size == 0)
        note_given_id(job, id);
    job->there = true;
    job->seq = ++walk.model.seq;
    job->stamp = walk.fixture.time.now;
    model_begin(job, content, walk.fixture.time);
    walk.model.topics[job->topic].totals.pushed++;
    *model_free_job(&walk.model) = *job;
}

static void follow_push(struct pushing *pushing, const struct dueq_pushed *pushed)
{
    struct model_job *holder = find_holder(pushing);

    if (pushing->job.id_size > 0)
        assert_true(dueq_slice_equal(pushed->id, model_id(&pushing->job)));
    if (holder != NULL) {
        assert_int_equal(pushed->outcome, change(holder, &pushing->content));
        return;
    }
    assert_int_equal(pushed->outcome, DUEQ_CREATED);
    if (pushing->job.id_size > 0)
        remove_dead_holder(pushing);
    add_job(&pushing->job, &pushing->content, pushed->id);
}

static enum dueq_status call_push(const struct dueq_push *push, struct dueq_pushed *ret_pushed)
{
    if (push->on_duplicate != DUEQ_REJECT || walk_once_in(2))
        return dueq_push_unique(walk.fixture.store, push, walk.fixture.time, ret_pushed);
    ret_pushed->outcome = DUEQ_CREATED;
    return dueq_push(walk.fixture.store, push, walk.fixture.time, &ret_pushed->id);
}

void walk_push(void)
{
    struct pushing pushing;
    struct dueq_pushed pushed;
    enum dueq_status wanted;

    if (model_free_job(&walk.model) == NULL)
        return;
    choose_push(&pushing);
    wanted = limited_status(&pushing, 1, push_status(&pushing));
    assert_int_equal(call_push(&pushing.push, &pushed), wanted);
    if (wanted != DUEQ_OK)
        return;
    make_room(&pushing, 1);
    follow_push(&pushing, &pushed);
}

/* ---- several pushes at once */

enum { MANY = 5 };

static bool has_id_twice(const struct pushing *pushings, size_t last)
{
    const struct pushing *pushing = &pushings[last];

    for (size_t i = 0; i < last; i++)
        if (pushing->job.id_size > 0 && pushings[i].job.topic == pushing->job.topic &&
            dueq_slice_equal(pushings[i].push.id, pushing->push.id))
            return true;
    return false;
}

/* The first that is refused decides. */
static enum dueq_status many_status(const struct pushing *pushings, size_t count)
{
    enum dueq_status status = DUEQ_OK;

    for (size_t i = 0; i < count && status == DUEQ_OK; i++) {
        status = push_status(&pushings[i]);
        if (status == DUEQ_OK && has_id_twice(pushings, i))
            status = DUEQ_DUPLICATE;
    }
    return status;
}

static size_t free_places(void)
{
    size_t count = 0;

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        count += !walk.model.jobs[i].there;
    return count;
}

void walk_push_many(void)
{
    struct pushing pushings[MANY];
    struct dueq_push pushes[MANY];
    struct dueq_pushed pushed[MANY];
    size_t count = (size_t)walk_roll(MANY + 1);
    enum dueq_status wanted;

    if (free_places() < MANY)
        return;
    for (size_t i = 0; i < count; i++) {
        choose_push(&pushings[i]);
        pushes[i] = pushings[i].push;
    }
    wanted = limited_status(pushings, count, many_status(pushings, count));
    assert_int_equal(
        dueq_push_many(walk.fixture.store, pushes, count, walk.fixture.time, pushed), wanted);
    if (wanted != DUEQ_OK)
        return;
    make_room(pushings, count);
    for (size_t i = 0; i < count; i++)
        follow_push(&pushings[i], &pushed[i]);
}
