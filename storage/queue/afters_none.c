/* A store in which no job waits for others, for `make libdueq-small`: in place of
 * storage/queue/after.c and storage/queue/core/afters.c. A push may ask for none, and a
 * directory with such jobs is refused. */
#include "storage/kv/cursor.h"
#include "storage/queue/after.h"

enum dueq_status afters_load(struct queue *queue)
{
    struct kv_key table;
    enum dueq_status status;

    kv_key_start(&table, TABLE_AWAITED);
    status = kv_cursor_seek(queue->cursor, kv_key_slice(&table));
    if (status == DUEQ_OK && kv_key_begins(kv_cursor_key(queue->cursor), &table))
        return DUEQ_FORMAT;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

bool after_is_valid(const struct dueq_push *push)
{
    return push->after_count == 0;
}

enum dueq_status queue_awaited(struct queue *queue, struct dueq_slice topic,
                               struct dueq_slice id, struct dueq_time time, unsigned most,
                               struct dueq_awaited_place *place, dueq_awaited_fn fn, void *arg)
{
    (void)queue;
    (void)topic;
    (void)id;
    (void)time;
    (void)most;
    (void)place;
    (void)fn;
    (void)arg;
    return DUEQ_WRONGSTATE;
}
