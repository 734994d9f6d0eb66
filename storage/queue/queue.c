#include "storage/queue/queue.h"

#include <stdlib.h>

/* ---- topics */

static struct kv_key topic_key(struct dueq_slice name)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_TOPIC);
    kv_key_name(&key, name, 0); /* 255 bytes at most: never folded */
    return key;
}

static struct kv_key meta_key(void)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_META);
    return key;
}

void queue_dirty(struct queue *queue, struct topic *topic)
{
    if (topic->dirty)
        return;
    topic->dirty = true;
    topic->dirty_next = queue->dirty;
    queue->dirty = topic;
}

void queue_signal(struct queue *queue, struct topic *topic)
{
    if (topic->signalled)
        return;
    topic->signalled = true;
    topic->signal_next = NULL;
    *queue->last_signal = topic;
    queue->last_signal = &topic->signal_next;
}

static void arm(struct queue *queue, struct topic *topic)
{
    if (topic->next_event == DUEQ_NEVER)
        wheel_cancel(&queue->wheel, &topic->timer);
    else if (!wheel_arm(&queue->wheel, &topic->timer, topic->next_event) &&
             queue->unarmed_until == DUEQ_NEVER)
        queue->unarmed_until = wheel_horizon(&queue->wheel) - 1;
}

void queue_event_at(struct queue *queue, struct topic *topic, int64_t at)
{
    if (at >= topic->next_event)
        return;
    topic->next_event = at;
    arm(queue, topic);
}

enum dueq_status queue_find_topic(struct queue *queue, struct dueq_slice name,
                                  struct topic **ret_topic)
{
    struct topic *topic;

    HASH_FIND(hh, queue->topics, name.data, name.size, topic);
    if (topic == NULL)
        return DUEQ_NOTFOUND;
    *ret_topic = topic;
    return DUEQ_OK;
}

static void adopt_topic(struct queue *queue, struct topic *topic)
{
    HASH_ADD_KEYPTR(hh, queue->topics, topic->name, topic->name_size, topic);
}

enum dueq_status queue_open_topic(struct queue *queue, struct dueq_slice name,
                                  struct topic **ret_topic)
{
    struct topic *topic;
    struct kv_key key = meta_key();
    uint8_t next[8];

    if (queue_find_topic(queue, name, ret_topic) == DUEQ_OK)
        return DUEQ_OK;
    topic = topic_new(name, queue->next_topic);
    if (topic == NULL)
        return DUEQ_NOMEM;
    kv_write_u64(next, ++queue->next_topic);
    kv_put(queue->kv, kv_key_slice(&key), dueq_slice(next, sizeof(next)), false);
    adopt_topic(queue, topic);
    queue_dirty(queue, topic);
    *ret_topic = topic;
    return DUEQ_OK;
}

/* ---- saving */

static void save_topic(struct queue *queue, struct topic *topic)
{
    struct kv_key key = topic_key(topic_name(topic));
    uint8_t *bytes = NULL;
    size_t size;

    topic_drop_empty_lanes(topic);
    size = topic_write(topic, &bytes);
    if (size == 0)
        return; /* still dirty: the next commit tries again */
    kv_put(queue->kv, kv_key_slice(&key), dueq_slice(bytes, size), false);
    free(bytes);
}

void queue_save(struct queue *queue)
{
    while (queue->dirty != NULL) {
        struct topic *topic = queue->dirty;

        save_topic(queue, topic);
        queue->dirty = topic->dirty_next;
        topic->dirty = false;
    }
}

/* ---- life */

/* Every topic is looked at once, by the first tick. */
static enum dueq_status load_topic(struct queue *queue)
{
    struct dueq_slice key = kv_cursor_key(queue->cursor);
    struct dueq_slice name = dueq_slice((const uint8_t *)key.data + 1, key.size - 1);
    struct topic *topic = topic_read(name, kv_cursor_value(queue->cursor));

    if (topic == NULL)
        return DUEQ_CORRUPT;
    adopt_topic(queue, topic);
    queue_event_at(queue, topic, INT64_MIN);
    return DUEQ_OK;
}

static enum dueq_status load_topics(struct queue *queue)
{
    static const uint8_t table[] = {TABLE_TOPIC};
    enum dueq_status status = kv_cursor_seek(queue->cursor, dueq_slice(table, 1));

    while (status == DUEQ_OK &&
           *(const uint8_t *)kv_cursor_key(queue->cursor).data == TABLE_TOPIC) {
        status = load_topic(queue);
        if (status == DUEQ_OK)
            status = kv_cursor_next(queue->cursor);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static enum dueq_status load_meta(struct queue *queue)
{
    struct kv_key key = meta_key();
    struct dueq_slice value;
    enum dueq_status status = kv_get(queue->kv, kv_key_slice(&key), &value);

    queue->next_topic = 1;
    if (status == DUEQ_NOTFOUND)
        return DUEQ_OK;
    if (status == DUEQ_OK && value.size != 8)
        return DUEQ_CORRUPT;
    if (status == DUEQ_OK)
        queue->next_topic = kv_read_u64(value.data);
    return status;
}

enum dueq_status queue_new(struct kv *kv, struct dueq_time time, struct queue **ret_queue)
{
    struct queue *queue = calloc(1, sizeof(*queue));
    enum dueq_status status;

    if (queue == NULL)
        return DUEQ_NOMEM;
    queue->kv = kv;
    queue->cursor = kv_cursor_new(kv);
    queue->last_signal = &queue->first_signal;
    queue->now = time.now;
    queue->offset = time.wall - time.now;
    queue->unarmed_until = DUEQ_NEVER;
    queue->garbage = true;
    queue->defaults = (struct dueq_defaults){
        .lease = 60000, .retries = 20, .backoff = 1000, .backoff_max = 3600000};
    wheel_init(&queue->wheel, time.now);
    status = queue->cursor == NULL ? DUEQ_NOMEM : load_meta(queue);
    if (status == DUEQ_OK)
        status = load_topics(queue);
    if (status != DUEQ_OK) {
        queue_free(queue);
        return status;
    }
    *ret_queue = queue;
    return DUEQ_OK;
}

static void drop_topics(struct queue *queue)
{
    struct topic *topic, *next;

    HASH_ITER(hh, queue->topics, topic, next)
    {
        HASH_DEL(queue->topics, topic);
        wheel_cancel(&queue->wheel, &topic->timer);
        topic_free(topic);
    }
    queue->dirty = NULL;
    queue->first_signal = NULL;
    queue->last_signal = &queue->first_signal;
}

void queue_free(struct queue *queue)
{
    if (queue == NULL)
        return;
    drop_topics(queue);
    kv_cursor_free(queue->cursor);
    free(queue);
}

/* The names are gone at once; what hangs on the ids is reclaimed by ticks. */
void queue_flush(struct queue *queue)
{
    struct topic *topic, *next;

    HASH_ITER(hh, queue->topics, topic, next)
    {
        struct kv_key name = topic_key(topic_name(topic)), garbage;

        kv_key_start(&garbage, TABLE_GARBAGE);
        kv_key_u64(&garbage, topic->id);
        kv_del(queue->kv, kv_key_slice(&name));
        kv_put(queue->kv, kv_key_slice(&garbage), dueq_slice(NULL, 0), true);
        queue->garbage = true;
    }
    drop_topics(queue);
}

struct dueq_time queue_time(struct queue *queue, struct dueq_time time)
{
    if (time.now > queue->now)
        queue->now = time.now;
    time.now = queue->now;
    return time;
}
