#include "storage/queue/core/afters.h"

#include "storage/bytes.h"
#include "storage/kv/cursor.h"
#include "storage/queue/core/queue_state.h"

enum { ENDED_HEAD = 2, DIED_SIZE = 8, ENDED_MAX = ENDED_HEAD + DIED_SIZE + 2 * DUEQ_NAME_MAX };
enum { ENDED_DIED = 128 }; /* with how it ended: the time of the death follows */

/* ---- keys and values */

static bool read_numbers(struct dueq_slice key, uint64_t *numbers, size_t count)
{
    const uint8_t *at = (const uint8_t *)key.data + 1,
                  *end = (const uint8_t *)key.data + key.size;

    for (size_t i = 0; i < count; i++) {
        at = bytes_read_number(at, end, &numbers[i]);
        if (at == NULL)
            return false;
    }
    return at == end;
}

bool afters_read_awaited(struct dueq_slice key, struct after_edge *ret_edge)
{
    uint64_t numbers[4];

    if (!read_numbers(key, numbers, 4))
        return false;
    *ret_edge = (struct after_edge){numbers[2], numbers[3], numbers[0], numbers[1]};
    return true;
}

bool afters_read_dependent(struct dueq_slice key, struct after_edge *ret_edge)
{
    uint64_t numbers[4];

    if (!read_numbers(key, numbers, 4))
        return false;
    *ret_edge = (struct after_edge){numbers[0], numbers[1], numbers[2], numbers[3]};
    return true;
}

static struct dueq_slice awaited_key(struct kv_key *key, const struct after_edge *edge)
{
    return queue_key_edge(key, TABLE_AWAITED, edge->waiter_topic, edge->waiter_seq, edge->topic,
                          edge->seq);
}

static struct dueq_slice dependent_key(struct kv_key *key, const struct after_edge *edge)
{
    return queue_key_edge(key, TABLE_DEPENDENT, edge->topic, edge->seq, edge->waiter_topic,
                          edge->waiter_seq);
}

/* How it ended, the size of the topic's name, of a death its time, that name, the id. */
static size_t write_ended(uint8_t *bytes, enum dueq_end end, int64_t died,
                          struct dueq_slice topic, struct dueq_slice id)
{
    uint8_t *at = bytes + ENDED_HEAD;

    bytes[0] = (uint8_t)end;
    bytes[1] = (uint8_t)topic.size;
    if (end == DUEQ_END_DEAD) {
        bytes[0] |= ENDED_DIED;
        bytes_write_u64(at, (uint64_t)died);
        at += DIED_SIZE;
    }
    memcpy(at, topic.data, topic.size);
    if (id.size > 0)
        memcpy(at + topic.size, id.data, id.size);
    return (size_t)(at - bytes) + topic.size + id.size;
}

bool afters_read_ended(struct dueq_slice key, struct dueq_slice value,
                       struct after_ended *ret_ended)
{
    const uint8_t *bytes = value.data;
    bool is_timed = value.size > 0 && (bytes[0] & ENDED_DIED) != 0;
    size_t head = ENDED_HEAD + (is_timed ? DIED_SIZE : 0);
    uint64_t numbers[2];
    uint8_t end;

    if (!read_numbers(key, numbers, 2) || value.size < head || value.size < head + bytes[1] ||
        value.size > head + bytes[1] + DUEQ_NAME_MAX)
        return false;
    end = bytes[0] & (uint8_t)~ENDED_DIED;
    if (end < DUEQ_END_DONE || end > DUEQ_END_GONE)
        return false;
    *ret_ended = (struct after_ended){
        .topic = numbers[0],
        .seq = numbers[1],
        .end = (enum dueq_end)end,
        .died = is_timed ? (int64_t)bytes_read_u64(bytes + ENDED_HEAD) : INT64_MAX,
        .topic_name = dueq_slice(bytes + head, bytes[1]),
        .id = dueq_slice(bytes + head + bytes[1], value.size - head - bytes[1])};
    return true;
}

/* ---- edges */

enum dueq_status afters_load(struct queue *queue)
{
    queue->afters.any = true; /* the first tick finds out */
    queue->afters.ended.size = queue->afters.edge.size = 0;
    return DUEQ_OK;
}

static bool exists(struct queue *queue, struct dueq_slice key)
{
    struct dueq_slice value;

    return kv_get(queue->kv, key, &value) == DUEQ_OK;
}

bool afters_has(struct queue *queue, const struct after_edge *edge)
{
    struct kv_key key;

    return exists(queue, awaited_key(&key, edge));
}

void afters_add(struct queue *queue, struct topic *of, uint64_t seq, struct topic *waiter,
                uint64_t waiter_seq)
{
    struct after_edge edge = {of->id, seq, waiter->id, waiter_seq};
    struct kv_key key;

    kv_put(queue->kv, awaited_key(&key, &edge), topic_name(of), true);
    kv_put(queue->kv, dependent_key(&key, &edge), topic_name(waiter), true);
    of->awaited++;
    queue_mark_dirty(queue, of);
}

void afters_del_end(struct queue *queue, const struct after_edge *edge, struct dueq_slice of)
{
    struct topic *topic;
    struct kv_key key;

    if (!exists(queue, dependent_key(&key, edge)))
        return;
    kv_del(queue->kv, kv_key_slice(&key));
    if (of.size == 0 || topics_find(queue, of, &topic) != DUEQ_OK || topic->id != edge->topic)
        return; /* it was dropped, and nobody counts */
    topic->awaited -= topic->awaited > 0;
    queue_mark_dirty(queue, topic);
}

void afters_del(struct queue *queue, const struct after_edge *edge, struct dueq_slice of)
{
    struct kv_key key;

    afters_del_end(queue, edge, of);
    kv_del(queue->kv, awaited_key(&key, edge));
}

void afters_drop(struct queue *queue, const struct topic *topic, uint64_t seq)
{
    struct kv_key prefix;

    queue_key_job(&prefix, TABLE_AWAITED, topic->id, seq);
    while (kv_cursor_seek(queue->cursor, kv_key_slice(&prefix)) == DUEQ_OK &&
           kv_key_begins(kv_cursor_key(queue->cursor), &prefix)) {
        struct dueq_slice value = kv_cursor_value(queue->cursor);
        uint8_t name[DUEQ_NAME_MAX];
        struct after_edge edge;

        if (!afters_read_awaited(kv_cursor_key(queue->cursor), &edge) ||
            value.size > sizeof(name))
            return; /* damaged: the rest stays */
        memcpy(name, value.data, value.size);
        afters_del(queue, &edge, dueq_slice(name, value.size));
    }
}

/* ---- ends */

static bool has_edges(struct queue *queue, const struct topic *topic, uint64_t seq)
{
    struct kv_key prefix;

    queue_key_job(&prefix, TABLE_DEPENDENT, topic->id, seq);
    return kv_cursor_seek(queue->cursor, kv_key_slice(&prefix)) == DUEQ_OK &&
           kv_key_begins(kv_cursor_key(queue->cursor), &prefix);
}

/* A job that is dead may still be done, or removed. Any other end is the last one. */
static bool has_ended_already(struct queue *queue, struct dueq_slice key)
{
    struct after_ended ended;
    struct dueq_slice value;

    return kv_get(queue->kv, key, &value) == DUEQ_OK && afters_read_ended(key, value, &ended) &&
           ended.end != DUEQ_END_DEAD;
}

static void note(struct queue *queue, const struct kv_key *key)
{
    struct afters *afters = &queue->afters;

    if (!afters->any ||
        (afters->ended.size > 0 &&
         dueq_slice_compare(kv_key_slice(key), kv_key_slice(&afters->ended)) <= 0)) {
        afters->ended = *key;
        afters->edge.size = 0;
    }
    afters->any = true;
}

void afters_end(struct queue *queue, struct topic *topic, uint64_t seq, enum dueq_end end)
{
    uint8_t bytes[ENDED_MAX];
    struct job job = {.seq = seq};
    char text[GIVEN_ID_SIZE];
    struct dueq_slice id = {NULL, 0};
    struct kv_key key;

    if (!has_edges(queue, topic, seq) ||
        has_ended_already(queue, queue_key_job(&key, TABLE_ENDED, topic->id, seq)))
        return;
    if (job_load_body(queue, topic, seq, &job.body) == DUEQ_OK)
        id = job_id(&job, text);
    kv_put(queue->kv, kv_key_slice(&key),
           dueq_slice(bytes, write_ended(bytes, end, queue->now, topic_name(topic), id)),
           false);
    note(queue, &key);
}

bool afters_has_end(struct queue *queue, uint64_t topic, uint64_t seq)
{
    struct kv_key key;

    return exists(queue, queue_key_job(&key, TABLE_ENDED, topic, seq));
}

/* What it was called is not known any more. */
void afters_end_gone(struct queue *queue, uint64_t topic, uint64_t seq)
{
    static const struct dueq_slice none = {"", 0};
    uint8_t bytes[2];
    struct kv_key key;

    if (has_ended_already(queue, queue_key_job(&key, TABLE_ENDED, topic, seq)))
        return;
    kv_put(queue->kv, kv_key_slice(&key),
           dueq_slice(bytes, write_ended(bytes, DUEQ_END_GONE, 0, none, none)), false);
    note(queue, &key);
}
