#include "storage/queue/core/counters.h"

#include "storage/bytes.h"
#include "storage/kv/kv.h"
#include "storage/queue/core/queue_state.h"

static struct kv_key record_key(void)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_META);
    return key;
}

/* The numbers of the counters' record, in order. */
enum { COUNTERS_NUMBERS_1 = 12, COUNTERS_NUMBERS = 15, COUNTERS_SIZE = COUNTERS_NUMBERS * 8 };

static void list_numbers(struct counters *counters, uint64_t **numbers)
{
    struct dueq_topic_stats *totals = &counters->totals;
    uint64_t *const all[COUNTERS_NUMBERS] = {
        &counters->next_topic,   &counters->first_topic, &counters->next_seq,
        &counters->next_token,   &totals->pushed,        &totals->claimed,
        &totals->acked,          &totals->nacked,        &totals->deleted,
        &totals->leases_expired, &totals->jobs_expired,  &totals->dead,
        &totals->cancelled,      &totals->dead_removed,  &totals->dropped};

    memcpy(numbers, all, sizeof(all));
}

void counters_save(struct queue *queue)
{
    struct kv_key key = record_key();
    uint64_t *numbers[COUNTERS_NUMBERS];
    uint8_t bytes[COUNTERS_SIZE];

    if (!queue->counters.dirty)
        return;
    list_numbers(&queue->counters, numbers);
    for (int i = 0; i < COUNTERS_NUMBERS; i++)
        bytes_write_u64(bytes + i * 8, *numbers[i]);
    kv_put(queue->kv, kv_key_slice(&key), dueq_slice(bytes, sizeof(bytes)), false);
    queue->counters.dirty = false;
}

enum dueq_status counters_load(struct queue *queue)
{
    struct kv_key key = record_key();
    struct counters *counters = &queue->counters;
    uint64_t *numbers[COUNTERS_NUMBERS];
    struct dueq_slice value;
    enum dueq_status status = kv_get(queue->kv, kv_key_slice(&key), &value);

    *counters =
        (struct counters){.next_topic = 1, .first_topic = 1, .next_seq = 1, .next_token = 1};
    if (status == DUEQ_NOTFOUND)
        return DUEQ_OK;
    if (status != DUEQ_OK)
        return status;
    if (value.size != COUNTERS_SIZE && value.size != COUNTERS_NUMBERS_1 * 8)
        return DUEQ_CORRUPT;
    list_numbers(counters, numbers);
    for (size_t i = 0; i < value.size / 8; i++)
        *numbers[i] = bytes_read_u64((const uint8_t *)value.data + i * 8);
    return DUEQ_OK;
}
