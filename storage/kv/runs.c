#include "storage/kv/runs.h"

#include <assert.h>

/* In order. Part of the format. */
static const uint8_t tables[] = {'Q', 'U'};

bool runs_take_table(uint8_t table)
{
    return table == 'Q' || table == 'U';
}

bool runs_take(struct dueq_slice key)
{
    return runs_take_table(*(const uint8_t *)key.data) && key.size <= RUNS_KEY_MAX;
}

bool runs_delete_at_once(uint8_t table)
{
    return table == 'Q';
}

/* The table, the topic's id as a short number, class, priority and clock. */
size_t runs_lane_size(struct dueq_slice key)
{
    const uint8_t *bytes = key.data, *end = bytes + key.size;
    uint64_t topic;
    const uint8_t *at = bytes_read_number(bytes + 1, end, &topic);

    return at == NULL || end - at < 3 ? key.size : (size_t)(at - bytes) + 3;
}

uint8_t runs_table_after(uint8_t table)
{
    for (size_t i = 0; i < sizeof(tables); i++)
        if (tables[i] > table)
            return tables[i];
    return 0;
}

uint8_t runs_table_before(uint8_t table)
{
    for (size_t i = sizeof(tables); i-- > 0;)
        if (tables[i] < table)
            return tables[i];
    return 0;
}

struct run *run_list_add(struct run_list *list, unsigned at, unsigned level)
{
    struct run *run = &list->runs[at];

    assert(list->count < RUNS_MOST && at <= list->count);
    memmove(run + 1, run, (list->count - at) * sizeof(*run));
    *run = (struct run){.number = list->next++, .level = (uint8_t)level};
    list->count++;
    return run;
}

void run_list_remove(struct run_list *list, unsigned at, unsigned count)
{
    struct run *run = &list->runs[at];

    assert(at + count <= list->count);
    memmove(run, run + count, (list->count - at - count) * sizeof(*run));
    list->count -= count;
}

unsigned run_list_find(const struct run_list *list, uint64_t number)
{
    unsigned at = 0;

    while (at < list->count && list->runs[at].number != number)
        at++;
    return at;
}

uint64_t run_list_records(const struct run_list *list)
{
    uint64_t records = 0;

    for (unsigned i = 0; i < list->count; i++)
        records += list->runs[i].records;
    return records;
}

void run_key_start(struct run_key *key, uint64_t run)
{
    key->bytes[0] = RUNS_LEAD;
    key->head = 1 + bytes_write_number(key->bytes + 1, run);
}

struct dueq_slice run_key_of(struct run_key *run, struct dueq_slice key)
{
    assert(key.size <= KV_KEY_MAX);
    memcpy(run->bytes + run->head, key.data, key.size);
    return dueq_slice(run->bytes, run->head + key.size);
}

struct dueq_slice run_key_head(const struct run_key *run)
{
    return dueq_slice(run->bytes, run->head);
}

struct dueq_slice run_key_first(struct run_key *run)
{
    static const uint8_t least[] = {1};

    return run_key_of(run, dueq_slice(least, sizeof(least)));
}

bool run_key_has_head(const struct run_key *run, struct dueq_slice whole)
{
    return whole.size > run->head && memcmp(whole.data, run->bytes, run->head) == 0;
}

bool run_key_read(const struct run_key *run, struct dueq_slice whole,
                  struct dueq_slice *ret_key)
{
    const uint8_t *key = (const uint8_t *)whole.data + run->head;

    if (!run_key_has_head(run, whole) || *key == 0)
        return false;
    *ret_key = dueq_slice(key, whole.size - run->head);
    return true;
}

bool run_value_read(struct dueq_slice whole, bool *ret_tombstone, struct dueq_slice *ret_value)
{
    const uint8_t *bytes = whole.data;

    if (whole.size == 0 || bytes[0] > RUN_VALUE)
        return false;
    *ret_tombstone = bytes[0] == RUN_TOMBSTONE;
    *ret_value = dueq_slice(bytes + 1, whole.size - 1);
    return true;
}
