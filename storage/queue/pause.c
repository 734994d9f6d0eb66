#include "storage/kv/room.h"
#include "storage/queue/push.h"

/* A topic that is there can be paused on a full disk too. */
static enum dueq_status make_topic(struct queue *queue, struct dueq_slice name,
                                   struct topic **ret_topic)
{
    enum dueq_status status = kv_room(queue->kv, PUSH_RECORDS_MOST);

    return status == DUEQ_OK ? topics_open(queue, name, ret_topic) : status;
}

enum dueq_status queue_pause(struct queue *queue, struct dueq_slice topic, bool in, bool out,
                             int64_t wait, struct dueq_time time)
{
    struct topic *found;
    enum dueq_status status;

    if (!queue_valid_name(topic) || wait < DUEQ_DEFAULT)
        return DUEQ_INVALID;
    time = queue_time(queue, time);
    status = topics_find(queue, topic, &found);
    if (status == DUEQ_NOTFOUND && (in || out))
        status = make_topic(queue, topic, &found);
    if (status != DUEQ_OK)
        return status;
    found->paused = (in ? TOPIC_PAUSED_IN : 0) | (out ? TOPIC_PAUSED_OUT : 0);
    found->paused_until = wait == DUEQ_DEFAULT ? DUEQ_NEVER : queue_after(time, wait);
    queue_mark_dirty(queue, found);
    if (!out)
        queue_signal(queue, found);
    if (found->paused != 0)
        queue_event_at(queue, found, found->paused_until);
    return DUEQ_OK;
}

/* Claims that wait for the topic wait for its name. */
enum dueq_status queue_drop(struct queue *queue, struct dueq_slice topic, struct dueq_time time)
{
    struct dueq_settings none, set;
    struct topic *found;
    enum dueq_status status;

    if (!queue_valid_name(topic))
        return DUEQ_INVALID;
    (void)queue_time(queue, time);
    status = topics_find(queue, topic, &found);
    if (settings_get(queue, topic, &set) == DUEQ_OK) {
        enum dueq_status removed;

        dueq_settings_init(&none);
        removed = settings_put(queue, topic, &none);
        if (removed != DUEQ_OK)
            return removed;
        if (status == DUEQ_NOTFOUND)
            return DUEQ_OK;
    }
    if (status == DUEQ_OK)
        topics_drop(queue, found);
    return status;
}
