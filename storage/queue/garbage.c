/* What flushed topics leave behind is given back a little at a time: memory, then the records
 * of all topics with ids below the first that lives. A mark stays until the last of them is
 * gone, so a restart goes on. */
#include "storage/queue/queue.h"

static const uint8_t tables[] = {TABLE_TOPIC, TABLE_BODY, TABLE_STATE, TABLE_SCHEDULE,
                                 TABLE_UNIQUE};

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

void garbage_load(struct dueq *store)
{
    struct kv_key key = mark_key();
    struct dueq_slice value;

    store->garbage.any = kv_get(store->kv, kv_key_slice(&key), &value) == DUEQ_OK;
    begin_table(&store->garbage, 0);
}

void garbage_begin(struct dueq *store)
{
    struct kv_key key = mark_key();

    kv_put(store->kv, kv_key_slice(&key), dueq_slice(NULL, 0), false);
    store->garbage.any = true;
    begin_table(&store->garbage, 0);
}

static void end(struct dueq *store)
{
    struct kv_key key = mark_key();

    kv_del(store->kv, kv_key_slice(&key));
    store->garbage.any = false;
}

void garbage_free(struct dueq *store, unsigned *budget)
{
    while (store->flushed != NULL && *budget > 0) {
        struct topic *topic = store->flushed;

        --*budget;
        store->flushed = topic->hh.next;
        topic_free(topic);
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
    return kv_read_number(bytes + 1, bytes + key.size, &topic) == NULL ? 0 : topic;
}

/* Deletes the record at the cursor if its topic is flushed. False: all behind are of others. */
static bool empty_here(struct dueq *store)
{
    struct garbage *garbage = &store->garbage;
    uint64_t topic = topic_of_record(store->cursor);

    kv_key_copy(&garbage->at, kv_cursor_key(store->cursor));
    if (topic > 0 && topic < store->counters.first_topic)
        kv_del(store->kv, kv_key_slice(&garbage->at));
    else if (topic > 0 && tables[garbage->table] != TABLE_TOPIC)
        return false;
    kv_key_follow(&garbage->at);
    return true;
}

/* False when the budget is used up before the table is known to hold nothing more. */
static bool empty_table(struct dueq *store, unsigned *budget)
{
    struct garbage *garbage = &store->garbage;

    while (*budget > 0) {
        enum dueq_status status;

        --*budget;
        status = kv_cursor_seek_within(store->cursor, kv_key_slice(&garbage->at), budget);
        if (status == DUEQ_NOTFOUND)
            return *budget > 0;
        if (status != DUEQ_OK) {
            garbage->any = false; /* it stays for the next opening */
            return false;
        }
        if (*(const uint8_t *)kv_cursor_key(store->cursor).data != tables[garbage->table] ||
            !empty_here(store))
            return true;
    }
    return false;
}

void garbage_collect(struct dueq *store, unsigned *budget)
{
    struct garbage *garbage = &store->garbage;

    garbage_free(store, budget);
    while (*budget > 0 && garbage->any && empty_table(store, budget)) {
        if (garbage->table + 1 < sizeof(tables))
            begin_table(garbage, garbage->table + 1);
        else
            end(store);
    }
}
