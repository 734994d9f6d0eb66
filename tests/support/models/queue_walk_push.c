#include "tests/support/models/queue_walk.h"

#include "storage/queue/record/given_id.h"
#include "storage/queue/record/safe_time.h"
#include "tests/support/models/queue_model_life.h"
#include "tests/support/models/queue_model_push.h"
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

void walk_note_given_id(int number, struct dueq_slice id)
{
    struct model_topic *topic = &walk.model.topics[number];
    struct model_job *other = model_find(&walk.model, number, id);

    /* One that comes from another topic in the same tick finds it taken. */
    if (other != NULL && other->arrived)
        other->taken = true;
    else
        assert_null(other);
    assert_true(dueq_slice_compare(id, dueq_slice(topic->last_given, topic->last_given_size)) >
                0);
    memcpy(topic->last_given, id.data, id.size);
    topic->last_given_size = id.size;
}

/* ---- options */

void walk_choose_due(struct dueq_push *push, struct model_content *content)
{
    struct dueq_time time = walk.fixture.time;
    int64_t range = walk_once_in(9) ? 50000000 : walk_once_in(5) ? 4 : 3000;

    content->due = time.now;
    content->wall = false;
    if (!walk.groups && walk_once_in(3)) {
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

/* No two are the same. */
void walk_write_body(char *body)
{
    snprintf(body, QUEUE_MODEL_BODY, "%0*" PRIu64, 1 + (int)walk_roll(QUEUE_MODEL_BODY - 1),
             ++walk.bodies);
}

static void choose_group(struct dueq_push *push)
{
    static const char *const names[] = {"", "g", "second", "\x01\xff"};
    const char *name = names[walk_roll(4)];

    if (!walk.groups || name[0] == '\0')
        return;
    push->group = dueq_slice(name, strlen(name));
    push->weight = 1 + walk_roll(3);
}

static void choose_content(int topic, struct dueq_push *push, struct model_content *content)
{
    walk_choose_due(push, content);
    walk_choose_options(push);
    choose_group(push);
    push->priority = (int)walk_roll(4) * 60;
    walk_write_body(content->body);
    content->pushed = walk.fixture.time.wall;
    content->options = *push;
    if (push->ttl == DUEQ_DEFAULT)
        content->options.ttl = model_setting(&walk.model, topic, DUEQ_SET_TTL, DUEQ_DEFAULT);
}

/* ---- push */

static void choose_name(struct model_job *job, const struct walk_target *same)
{
    if (same != NULL && walk_once_in(3)) {
        job->topic = same->topic_number;
        job->id_size = same->id.size;
        memcpy(job->id, same->id.data, same->id.size);
        return;
    }
    job->topic = (int)walk_roll(QUEUE_MODEL_TOPICS);
    choose_id(job);
}

void walk_choose_push(struct model_push *push, const struct walk_target *same)
{
    struct model_job *job = &push->job;

    memset(push, 0, sizeof(*push));
    choose_name(job, same);
    dueq_push_init(&push->push);
    choose_uniqueness(&push->push);
    choose_content(job->topic, &push->push, &push->content);
    push->push.topic = model_topic_name(job->topic);
    push->push.id = model_id(job);
    push->push.body = dueq_slice(push->content.body, strlen(push->content.body));
}

/* Ids that the store gives grow, and are not among those that callers took. */
static void check_id(const struct model_push *push, struct dueq_slice id)
{
    if (push->job.id_size > 0)
        assert_true(dueq_slice_equal(id, model_id(&push->job)));
    else
        walk_note_given_id(push->job.topic, id);
}

void walk_follow_push(const struct model_push *push, const struct dueq_pushed *pushed)
{
    check_id(push, pushed->id);
    assert_int_equal(pushed->outcome,
                     model_push(&walk.model, push, pushed->id, walk.fixture.time));
}

static enum dueq_status call_push(const struct dueq_push *push, struct dueq_pushed *ret_pushed)
{
    if (push->on_duplicate != DUEQ_REJECT || walk_once_in(2))
        return dueq_push_unique(walk.fixture.store, push, walk.fixture.time, ret_pushed);
    ret_pushed->outcome = DUEQ_CREATED;
    return dueq_push(walk.fixture.store, push, walk.fixture.time, &ret_pushed->id);
}

/* The ids are copied: a place among the jobs may be taken. */
void walk_await(struct model_push *push, int topic, struct dueq_slice id,
                struct walk_awaited *awaited)
{
    size_t at = push->push.after_count;

    if (id.size == 0 || at == QUEUE_MODEL_AFTER ||
        (topic == push->job.topic && dueq_slice_equal(id, model_id(&push->job))))
        return;
    memcpy(awaited->ids[at], id.data, id.size);
    awaited->list[at] = (struct dueq_prerequisite){.topic = model_topic_name(topic),
                                                   .id = dueq_slice(awaited->ids[at], id.size)};
    push->push.after_count++;
}

void walk_choose_after(struct model_push *push, struct walk_awaited *awaited)
{
    size_t count = walk_once_in(2) ? 0 : (size_t)walk_roll(QUEUE_MODEL_AFTER + 1);

    if (push->push.on_duplicate == DUEQ_REPLACE || push->push.on_duplicate == DUEQ_DEBOUNCE)
        return;
    push->push.after = awaited->list;
    push->push.on_dead = push->content.options.on_dead = (enum dueq_on_dead)walk_roll(3);
    for (size_t i = 0; i < count; i++) {
        struct walk_target target;

        if (walk_choose(&target))
            walk_await(push, target.topic_number, target.id, awaited);
    }
}

void walk_push(void)
{
    struct model_push push;
    struct walk_awaited awaited;
    struct dueq_pushed pushed;
    struct model_fates fates;
    enum dueq_status wanted;

    if (model_free_job(&walk.model) == NULL)
        return;
    walk_choose_push(&push, NULL);
    walk_choose_after(&push, &awaited);
    wanted = model_push_status(&walk.model, &push, walk.fixture.time);
    assert_int_equal(call_push(&push.push, &pushed), wanted);
    if (wanted != DUEQ_OK)
        return;
    model_plan_room(&walk.model, &push, 1, walk.fixture.time, &fates);
    walk_follow_push(&push, &pushed);
    model_drop_jobs(&walk.model, &fates);
}
