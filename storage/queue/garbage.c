/* The records of flushed topics are removed a few at a time. A topic's garbage record stays
 * until the last of them is gone, so a restart goes on. */
#include "storage/queue/queue.h"

static const uint8_t tables[] = {TABLE_BODY, TABLE_STATE, TABLE_SCHEDULE, TABLE_UNIQUE};

static struct kv_key garbage_key(uint64_t topic)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_GARBAGE);
    kv_key_u64(&key, topic);
    return key;
}

static void begin_table(struct garbage *garbage, size_t table)
{
    garbage->table = table;
    garbage->at = topic_key(tables[table], garbage->topic);
}

/* Takes up the next flushed topic; false when there is none, or the budget is spent. */
static bool begin_topic(struct dueq *store, unsigned *budget)
{
    struct kv_key first = garbage_key(0);
    struct dueq_slice key;

    if (kv_cursor_seek_within(store->cursor, kv_key_slice(&first), budget) != DUEQ_OK)
        return false;
    key = kv_cursor_key(store->cursor);
    if (key.size != first.size || *(const uint8_t *)key.data != TABLE_GARBAGE)
        return false;
    store->garbage.topic = kv_read_u64((const uint8_t *)key.data + 1);
    begin_table(&store->garbage, 0);
    return true;
}

static void end_topic(struct dueq *store)
{
    struct kv_key key = garbage_key(store->garbage.topic);

    kv_del(store->kv, kv_key_slice(&key));
    store->garbage.topic = 0;
}

/* False when the budget is used up before the table is known to be empty. */
static bool empty_table(struct dueq *store, unsigned *budget)
{
    struct kv_key head = topic_key(tables[store->garbage.table], store->garbage.topic);
    struct kv_key *at = &store->garbage.at;

    while (*budget > 0) {
        struct dueq_slice key;
        enum dueq_status status;

        --*budget;
        status = kv_cursor_seek_within(store->cursor, kv_key_slice(at), budget);
        if (status == DUEQ_NOTFOUND)
            return *budget > 0;
        if (status != DUEQ_OK) {
            store->garbage.any = false; /* it stays for the next opening */
            return false;
        }
        key = kv_cursor_key(store->cursor);
        if (!kv_key_begins(key, &head))
            return true;
        kv_key_copy(at, key);
        kv_del(store->kv, key);
        kv_key_follow(at);
    }
    return false;
}

void garbage_collect(struct dueq *store, unsigned *budget)
{
    struct garbage *garbage = &store->garbage;

    while (*budget > 0 && garbage->any) {
        if (garbage->topic == 0 && !begin_topic(store, budget)) {
            garbage->any = *budget == 0;
            return;
        }
        if (!empty_table(store, budget))
            return;
        if (garbage->table + 1 < sizeof(tables))
            begin_table(garbage, garbage->table + 1);
        else
            end_topic(store);
    }
}
