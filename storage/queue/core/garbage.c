/* What flushed topics leave behind is given back a little at a time: memory, then the records
 * of all topics with ids below the first that lives; then those of topics that were dropped one
 * by one. A mark stays until the last of them is gone, so a restart goes on. */
#include "storage/bytes.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "storage/queue/core/queue_state.h"

#include <stdlib.h>

/* Those of edges come before what lies behind them: a search behind the last edge would pass
 * over all that was erased there. */
static const uint8_t tables[] = {TABLE_TOPIC,  TABLE_AWAITED,  TABLE_DEPENDENT, TABLE_BODY,
                                 TABLE_STATE,  TABLE_SCHEDULE, TABLE_ID,        TABLE_FOLLOW,
                                 TABLE_RESULT, TABLE_GROUP,    TABLE_TURN,      TABLE_EVENT};
enum { TABLE_BEGIN_EDGES = 1, TABLE_BEHIND_EDGES = 3 };

static struct kv_key mark_key(void)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_GARBAGE);
    return key;
}

static void begin_table(struct garbage *garbage, size_t table)
{
    garbage->table = table;
    kv_key_start(&garbage->at, tables[table]);
}

bool garbage_any(const struct queue *queue)
{
    return queue->garbage.any || queue->garbage.dropped || queue->flushed != NULL;
}

/* Marks of dropped topics are looked for by the first tick. */
enum dueq_status garbage_load(struct queue *queue)
{
    struct kv_key key = mark_key();
    struct dueq_slice value;
    enum dueq_status status = kv_get(queue->kv, kv_key_slice(&key), &value);

    if (status != DUEQ_OK && status != DUEQ_NOTFOUND && status != DUEQ_CORRUPT)
        return status;
    /* A damaged job beside the mark hides whether it is there: the search finds out. */
    queue->garbage.any = status != DUEQ_NOTFOUND;
    queue->garbage.dropped = true;
    begin_table(&queue->garbage, 0);
    return DUEQ_OK;
}

void garbage_begin(struct queue *queue)
{
    struct kv_key key = mark_key();

    kv_put(queue->kv, kv_key_slice(&key), dueq_slice(NULL, 0), false);
    queue->garbage.any = true;
    begin_table(&queue->garbage, 0);
}

static void end(struct queue *queue)
{
    struct kv_key key = mark_key();

    kv_del(queue->kv, kv_key_slice(&key));
    queue->garbage.any = false;
}

void garbage_free(struct queue *queue, unsigned *budget)
{
    while (queue->flushed != NULL && *budget > 0) {
        struct topic_table *table = queue->flushed;

        if (topics_free(table, budget)) {
            queue->flushed = table->next;
            free(table);
        }
    }
}

/* The topic of the record at the cursor: those of names say it in the value. 0: damaged, which
 * stays. */
static uint64_t topic_of_record(const struct kv_cursor *cursor)
{
    struct dueq_slice key = kv_cursor_key(cursor);
    const uint8_t *bytes = key.data;
    uint64_t topic;

    if (*bytes == TABLE_TOPIC)
        return topic_read_id(kv_cursor_value(cursor));
    return bytes_read_number(bytes + 1, bytes + key.size, &topic) == NULL ? 0 : topic;
}

/* Those who wait for a job that is gone are told: then its edges go, all of them. */
static void leave_edges(struct queue *queue, struct kv_key *key)
{
    struct after_edge edge;

    if (!afters_read_dependent(kv_key_slice(key), &edge)) {
        kv_del(queue->kv, kv_key_slice(key));
        return;
    }
    afters_end_gone(queue, edge.topic, edge.seq);
    queue_key_edge(key, TABLE_DEPENDENT, edge.topic, edge.seq, UINT64_MAX, UINT64_MAX);
}

static void erase(struct queue *queue, struct kv_key *key)
{
    if (AFTERS_KNOWN && key->bytes[0] == TABLE_DEPENDENT)
        leave_edges(queue, key);
    else
        kv_del(queue->kv, kv_key_slice(key));
}

/* Deletes the record at the cursor if its topic is flushed. False: all behind are of others. */
static bool empty_here(struct queue *queue)
{
    struct garbage *garbage = &queue->garbage;
    uint64_t topic = topic_of_record(queue->cursor);

    kv_key_copy(&garbage->at, kv_cursor_key(queue->cursor));
    if (topic > 0 && topic < queue->counters.first_topic)
        erase(queue, &garbage->at);
    else if (topic > 0 && tables[garbage->table] != TABLE_TOPIC)
        return false;
    kv_key_follow(&garbage->at);
    return true;
}

/* The search costs a step, which is paid after it: one that has no step left does not find out
 * that nothing is behind `at`. DUEQ_BUSY: the budget is spent before that is known. */
static enum dueq_status seek(struct queue *queue, const struct kv_key *at, unsigned *budget)
{
    enum dueq_status status = kv_cursor_seek_within(queue->cursor, kv_key_slice(at), budget);

    if (*budget == 0)
        return status == DUEQ_NOTFOUND ? DUEQ_BUSY : status;
    --*budget;
    return status;
}

/* False when the budget is used up before the table is known to hold nothing more. */
static bool empty_table(struct queue *queue, unsigned *budget)
{
    struct garbage *garbage = &queue->garbage;

    while (*budget > 0) {
        enum dueq_status status = seek(queue, &garbage->at, budget);

        if (status == DUEQ_NOTFOUND)
            return true;
        if (status != DUEQ_OK) {
            garbage->any = status == DUEQ_BUSY; /* or it stays for the next opening */
            return false;
        }
        if (*(const uint8_t *)kv_cursor_key(queue->cursor).data != tables[garbage->table] ||
            !empty_here(queue))
            return true;
    }
    return false;
}

/* ---- topics that were dropped one by one */

/* What the mark of a topic with edges says. */
static const uint8_t edges_mark = 1;

void garbage_add(struct queue *queue, uint64_t topic, bool has_edges)
{
    struct kv_key key;

    kv_put(queue->kv, queue_key_topic(&key, TABLE_GARBAGE, topic),
           dueq_slice(&edges_mark, has_edges ? 1 : 0), true);
    queue->garbage.dropped = true;
    if (topic < queue->garbage.next)
        queue->garbage.next = topic;
}

static void begin_drop_table(struct garbage *garbage, size_t table)
{
    garbage->drop_table = table;
    queue_key_topic(&garbage->drop_at, tables[table], garbage->topic);
}

/* The first mark; false: there is none, or it was not found within the budget. */
static bool next_dropped(struct queue *queue, unsigned *budget)
{
    struct garbage *garbage = &queue->garbage;
    struct kv_key mark = mark_key(), from;
    enum dueq_status status = kv_cursor_seek_within(
        queue->cursor, queue_key_topic(&from, TABLE_GARBAGE, garbage->next), budget);
    struct dueq_slice key;
    const uint8_t *bytes;

    if (status == DUEQ_NOTFOUND && *budget == 0)
        return false;
    garbage->dropped = false;
    if (status != DUEQ_OK)
        return false; /* damaged: it stays for the next opening */
    key = kv_cursor_key(queue->cursor);
    bytes = key.data;
    if (!kv_key_begins(key, &mark) ||
        bytes_read_number(bytes + 1, bytes + key.size, &garbage->topic) == NULL)
        return false;
    garbage->dropped = true;
    garbage->next = garbage->topic;
    begin_drop_table(garbage, kv_cursor_value(queue->cursor).size > 0
                                  ? TABLE_BEGIN_EDGES
                                  : TABLE_BEHIND_EDGES); /* its name is gone */
    return true;
}

/* Deletes records of the topic in one table. False: the budget is used up, or they cannot be
 * read. */
static bool empty_dropped(struct queue *queue, unsigned *budget)
{
    struct garbage *garbage = &queue->garbage;
    struct kv_key prefix;

    queue_key_topic(&prefix, tables[garbage->drop_table], garbage->topic);
    while (*budget > 0) {
        enum dueq_status status = seek(queue, &garbage->drop_at, budget);

        if (status == DUEQ_NOTFOUND)
            return true;
        if (status != DUEQ_OK) {
            garbage->dropped = status == DUEQ_BUSY;
            return false;
        }
        if (!kv_key_begins(kv_cursor_key(queue->cursor), &prefix))
            return true;
        kv_key_copy(&garbage->drop_at, kv_cursor_key(queue->cursor));
        erase(queue, &garbage->drop_at);
        kv_key_follow(&garbage->drop_at);
    }
    return false;
}

static void collect_dropped(struct queue *queue, unsigned *budget)
{
    struct garbage *garbage = &queue->garbage;
    struct kv_key mark;

    while (*budget > 0 && garbage->dropped) {
        if (garbage->topic == 0 && !next_dropped(queue, budget))
            return;
        if (!empty_dropped(queue, budget))
            return;
        if (garbage->drop_table + 1 < sizeof(tables)) {
            begin_drop_table(garbage, garbage->drop_table + 1);
            continue;
        }
        kv_del(queue->kv, queue_key_topic(&mark, TABLE_GARBAGE, garbage->topic));
        garbage->topic = 0;
    }
}

/* ---- all */

void garbage_collect(struct queue *queue, unsigned *budget)
{
    struct garbage *garbage = &queue->garbage;

    garbage_free(queue, budget);
    while (*budget > 0 && garbage->any && empty_table(queue, budget)) {
        if (garbage->table + 1 < sizeof(tables))
            begin_table(garbage, garbage->table + 1);
        else
            end(queue);
    }
    if (*budget > 0 && !garbage->any)
        collect_dropped(queue, budget);
}
