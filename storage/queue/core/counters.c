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

enum { EPOCH_BITS = 40 }; /* of a seq or token: below those of its epoch */

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

uint64_t counters_floor(const struct queue *queue)
{
    return (kv_epoch(queue->kv) << EPOCH_BITS) + 1;
}

void counters_raise(const struct queue *queue, uint64_t *next_seq, uint64_t *next_token)
{
    uint64_t floor = counters_floor(queue);

    if (*next_seq < floor)
        *next_seq = floor;
    if (*next_token < floor)
        *next_token = floor;
}

uint64_t counters_epoch(uint64_t next_seq, uint64_t next_token)
{
    return (next_seq > next_token ? next_seq : next_token) >> EPOCH_BITS;
}

bool counters_decode(struct dueq_slice record, struct counters *ret_counters)
{
    uint64_t *numbers[COUNTERS_NUMBERS];

    *ret_counters =
        (struct counters){.next_topic = 1, .first_topic = 1, .next_seq = 1, .next_token = 1};
    if (record.size != 0 && record.size != COUNTERS_SIZE &&
        record.size != COUNTERS_NUMBERS_1 * 8)
        return false;
    list_numbers(ret_counters, numbers);
    for (size_t i = 0; i < record.size / 8; i++)
        *numbers[i] = bytes_read_u64((const uint8_t *)record.data + i * 8);
    return true;
}

static enum dueq_status load(struct queue *queue)
{
    struct kv_key key = record_key();
    struct dueq_slice value = dueq_slice(NULL, 0);
    enum dueq_status status = kv_get(queue->kv, kv_key_slice(&key), &value);

    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        return status;
    return counters_decode(value, &queue->counters) &&
                   (status == DUEQ_NOTFOUND || value.size > 0)
               ? DUEQ_OK
               : DUEQ_CORRUPT;
}

enum dueq_status counters_load(struct queue *queue)
{
    enum dueq_status status = load(queue);

    counters_raise(queue, &queue->counters.next_seq, &queue->counters.next_token);
    return status;
}
