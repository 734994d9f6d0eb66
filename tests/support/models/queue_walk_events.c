/* The events that topics keep: after each step those that came are compared with what the model
 * wants, and now and then all that are still there with those that came. */
#include "storage/queue/core/queue_state.h"
#include "storage/store.h"
#include "tests/support/models/queue_model_settings.h"
#include "tests/support/models/queue_walk.h"

#include <string.h>

#include "tests/support/cmocka.h"

/* What the store has for a topic now. */
struct look {
    int topic;
    struct model_ring *ring;
    uint64_t next;    /* the number that comes next; 0: any */
    uint64_t dropped; /* of those that came */
    size_t count;     /* those that came, without what fell due */
    bool is_new;      /* else all of them came before */
};

static uint64_t size_of(int topic)
{
    return (uint64_t)model_setting(&walk.model, topic, DUEQ_SET_EVENTS, 0);
}

bool walk_has_events(int topic)
{
    struct topic_entry *entry =
        topic_table_find(&walk.fixture.store->queue->topics, model_topic_name(topic));
    struct topic *found;

    return entry != NULL && topics_wake(walk.fixture.store->queue, entry, &found) == DUEQ_OK &&
           found->ring.next > found->ring.first;
}

void walk_forget_events(int topic)
{
    struct model_ring *ring = &walk.model.rings[topic];

    if (ring->last >= ring->least)
        ring->least = ring->last + 1;
    ring->last = 0;
    memset(ring->kept, 0, sizeof(ring->kept));
}

/* ---- what falls due: once, and unless a claim came first */

static void check_due(int topic, const struct dueq_kept_event *event)
{
    struct model_job *job = model_find(&walk.model, topic, event->id);

    if (job == NULL || job->state != MODEL_PENDING)
        return; /* it was claimed in the same step */
    assert_int_equal(model_state(job, walk.fixture.time), DUEQ_READY);
    assert_int_equal(event->attempt, job->attempt);
    assert_false(job->told && !job->wall && job->told_due == job->due);
    job->told = true;
    job->told_due = job->due;
    job->awaits_due = false;
}

/* all: everything that was due has been counted, in the step in which it fell due. */
static void follow_due(int topic, bool all)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *job = &walk.model.jobs[i];
        bool waits = job->there && job->topic == topic && job->state == MODEL_PENDING &&
                     !job->wall && !job->content.options.group.size;

        if (job->topic != topic)
            continue;
        if (waits && model_state(job, walk.fixture.time) == DUEQ_DELAYED) {
            job->awaits_due = size_of(topic) > 0;
            job->awaited_due = job->due;
        } else if (!waits || job->due != job->awaited_due || size_of(topic) == 0) {
            job->awaits_due = false;
        }
        if (job->due > walk.fixture.time.now)
            continue;
        assert_false(all && job->awaits_due);
        job->awaits_due = false; /* any step may take it before the next tick */
    }
}

/* ---- those that come */

static bool fits(const struct model_wanted *wanted, int topic,
                 const struct dueq_kept_event *event)
{
    return !wanted->came && wanted->topic == topic && wanted->type == event->type &&
           wanted->attempt == event->attempt &&
           model_event_id(event->id) ==
               (wanted->job == NULL ? wanted->id : model_event_id(model_id(wanted->job)));
}

static void check_wanted(int topic, const struct dueq_kept_event *event)
{
    for (size_t i = 0; i < walk.wishes.count; i++)
        if (fits(&walk.wishes.list[i], topic, event)) {
            walk.wishes.list[i].came = true;
            return;
        }
    fail_msg("an event that the model does not know: %s", dueq_event_name(event->type));
}

static void check_new(struct look *look, const struct dueq_kept_event *event)
{
    assert_int_equal(event->at, walk.fixture.time.wall);
    if (event->type == DUEQ_EVENT_DUE) {
        check_due(look->topic, event);
    } else {
        check_wanted(look->topic, event);
        look->count++;
    }
    look->ring->kept[event->number % MODEL_RING_MOST] = (struct model_kept){
        event->number, event->type, event->attempt, event->at, model_event_id(event->id)};
}

static void check_old(const struct look *look, const struct dueq_kept_event *event)
{
    const struct model_kept *kept = &look->ring->kept[event->number % MODEL_RING_MOST];

    if (kept->number < event->number)
        return; /* too many came at once for the size that the ring had */
    assert_int_equal(kept->number, event->number);
    assert_int_equal(kept->type, event->type);
    assert_int_equal(kept->attempt, event->attempt);
    assert_true(kept->at == event->at);
    assert_true(kept->id == model_event_id(event->id));
}

static bool take(void *arg, const struct dueq_kept_event *event)
{
    struct look *look = arg;
    uint64_t first = event->number + 1 - (event->dropped > 0 ? event->dropped : 1);

    assert_true(first >= look->ring->least || !look->is_new);
    assert_true(look->next == 0 || first == look->next);
    look->next = event->number + 1;
    look->dropped += event->dropped;
    if (event->dropped == 0 && look->is_new)
        check_new(look, event);
    else if (event->dropped == 0)
        check_old(look, event);
    return true;
}

static size_t wanted_of(int topic)
{
    size_t count = 0;

    for (size_t i = 0; i < walk.wishes.count; i++)
        count += walk.wishes.list[i].topic == topic;
    return count;
}

static void follow_topic(int topic, bool all_due)
{
    struct model_ring *ring = &walk.model.rings[topic];
    struct look look = {.topic = topic,
                        .ring = ring,
                        .next = ring->last == 0 ? 0 : ring->last + 1,
                        .is_new = true};
    enum dueq_status status = dueq_events(walk.fixture.store, model_topic_name(topic),
                                          ring->last, SIZE_MAX, take, &look);

    assert_int_equal(status, size_of(topic) == 0 ? DUEQ_WRONGSTATE : DUEQ_OK);
    if (status != DUEQ_OK) {
        follow_due(topic, false);
        return;
    }
    if (look.next > 0)
        ring->last = look.next - 1;
    if (look.dropped == 0)
        assert_int_equal(look.count, wanted_of(topic));
    else
        assert_true(look.count + look.dropped >= wanted_of(topic));
    follow_due(topic, all_due && look.dropped == 0);
}

/* Not in a walk that notes none. */
void walk_follow_events(void)
{
    bool all = walk.all_ticked && !walk.groups;

    for (int topic = 0; walk.model.wishes != NULL && topic < QUEUE_MODEL_TOPICS; topic++)
        follow_topic(topic, all);
    walk.wishes.count = 0;
    walk.all_ticked = false;
}

/* ---- those that are there */

void walk_check_events(void)
{
    walk_follow_events();
    for (int topic = 0; topic < QUEUE_MODEL_TOPICS; topic++) {
        struct model_ring *ring = &walk.model.rings[topic];
        struct look look = {.topic = topic, .ring = ring};
        uint64_t last;

        if (size_of(topic) == 0)
            continue;
        assert_int_equal(dueq_last_event(walk.fixture.store, model_topic_name(topic), &last),
                         DUEQ_OK);
        assert_int_equal(last, ring->last);
        assert_int_equal(
            dueq_events(walk.fixture.store, model_topic_name(topic), 0, SIZE_MAX, take, &look),
            DUEQ_OK);
        assert_true(look.next == 0 || look.next == ring->last + 1);
    }
}
