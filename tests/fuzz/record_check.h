/* What is true for any bytes as a record: a decoder takes or refuses them, reads nothing beyond
 * their end, and what it took reads the same when it is encoded again. The fuzzer and the test
 * that replays the corpus share this.
 *
 * Input: which decoder (1 byte), bytes of the key (1 byte), key, record. */
#ifndef DUEQ_RECORD_CHECK_H
#define DUEQ_RECORD_CHECK_H

#include "storage/keys/record/entry_record.h"
#include "storage/keys/record/zset_order.h"
#include "storage/keys/state/packed.h"
#include "storage/kv/batch.h"
#include "storage/queue/record/given_id.h"
#include "storage/queue/record/job_record.h"
#include "storage/queue/record/queue_key.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD_PIECE = 64 * 1024 };

/* In memory of exactly that size, so that a sanitizer sees a read past the end. */
static inline struct dueq_slice record_copy(const void *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);

    if (copy == NULL)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    return dueq_slice(copy, size);
}

/* ---- jobs */

static inline bool record_has_same_body(const struct job_body *one, const struct job_body *two)
{
    return dueq_slice_equal(one->id, two->id) && dueq_slice_equal(one->body, two->body) &&
           one->priority == two->priority && one->clock == two->clock &&
           one->throttle == two->throttle && one->stripped == two->stripped &&
           one->due == two->due && one->lease == two->lease && one->retries == two->retries &&
           one->crashes == two->crashes && one->backoff == two->backoff &&
           one->backoff_max == two->backoff_max && one->jitter == two->jitter &&
           one->ttl == two->ttl && one->window == two->window && one->pushed == two->pushed &&
           one->stamp == two->stamp && one->step_count == two->step_count &&
           memcmp(one->steps, two->steps, one->step_count * sizeof(one->steps[0])) == 0;
}

static inline bool record_check_body(struct dueq_slice record)
{
    struct job_body body, again;
    uint8_t *bytes;
    size_t head;
    bool same;

    if (!job_record_read_body(record, &body))
        return true;
    bytes = malloc(JOB_RECORD_HEAD_MAX + body.id.size + body.body.size);
    if (bytes == NULL)
        abort();
    head = job_record_write_head(bytes, &body);
    if (body.id.size > 0)
        memcpy(bytes + head, body.id.data, body.id.size);
    if (body.body.size > 0)
        memcpy(bytes + head + body.id.size, body.body.data, body.body.size);
    same =
        job_record_read_body(dueq_slice(bytes, head + body.id.size + body.body.size), &again) &&
        record_has_same_body(&body, &again);
    free(bytes);
    return same;
}

/* A history that does not read counts its attempts up to there. */
static inline bool record_check_history(struct dueq_slice history)
{
    struct dueq_job job = {.history = history};
    struct dueq_attempt attempts[DUEQ_ATTEMPTS_KEPT];
    size_t count = dueq_job_attempts(&job, attempts), bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += attempts[i].worker.size;
    return count <= DUEQ_ATTEMPTS_KEPT && bytes <= history.size &&
           job_record_forget_crash(history).size <= history.size;
}

static inline bool record_has_same_state(const struct job_state *one,
                                         const struct job_state *two)
{
    return one->state == two->state && one->token_valid == two->token_valid &&
           one->cancelled == two->cancelled && one->followed == two->followed &&
           one->windowed == two->windowed && one->priority == two->priority &&
           one->clock == two->clock && one->due == two->due && one->since == two->since &&
           one->attempt == two->attempt && one->token == two->token &&
           one->failures == two->failures && one->crashes == two->crashes &&
           one->expires == two->expires && one->size == two->size &&
           dueq_slice_equal(one->worker, two->worker) &&
           dueq_slice_equal(one->progress, two->progress) &&
           dueq_slice_equal(one->history, two->history) &&
           dueq_slice_equal(one->error, two->error);
}

static inline bool record_check_state(struct dueq_slice record)
{
    struct job_state state, again;
    uint8_t *bytes;
    size_t size;
    bool same;

    if (!job_record_read_state(record, &state))
        return true;
    if (!record_check_history(state.history) || state.worker.size > DUEQ_WORKER_MAX ||
        state.progress.size > DUEQ_PROGRESS_MAX || state.error.size > DUEQ_ERROR_MAX ||
        state.history.size > JOB_RECORD_HISTORY_MAX)
        return false;
    bytes = malloc(JOB_RECORD_STATE_MAX);
    if (bytes == NULL)
        abort();
    size = job_record_write_state(bytes, &state);
    same = job_record_read_state(dueq_slice(bytes, size), &again) &&
           record_has_same_state(&state, &again);
    free(bytes);
    return same;
}

static inline bool record_check_queue_key(struct dueq_slice key, struct dueq_slice record)
{
    int64_t due;
    uint64_t seq;
    size_t head = record.size;

    if (queue_key_read_position(key, head, &due, &seq) && key.size < head)
        return false;
    if (given_id_read(record, &seq))
        return record.size == GIVEN_ID_SIZE;
    return true;
}

/* ---- keys */

static inline bool record_check_entry(struct dueq_slice key, struct dueq_slice record)
{
    struct entry_record entry;

    if (!entry_record_read(key, record, &entry))
        return true;
    return entry.value.size <= record.size && entry.name.size <= record.size + key.size;
}

static inline bool record_check_packed(struct dueq_slice record)
{
    struct packed packed = {NULL, 0, 0};
    struct dueq_slice content = dueq_slice(NULL, 0);
    size_t at = 0, bytes = 0;
    bool good;

    while (packed_next(record, &at, &content))
        bytes += packed_cell_size(content.size);
    good = bytes <= record.size && packed_load(&packed, record) &&
           dueq_slice_equal(packed_slice(&packed), record);
    packed_release(&packed);
    return good;
}

static inline bool record_check_score(struct dueq_slice record)
{
    uint8_t bytes[8];
    double score;

    if (record.size != sizeof(bytes))
        return true;
    score = zset_order_read_score(record);
    zset_order_write_score(bytes, score);
    return isnan(score) || memcmp(bytes, record.data, sizeof(bytes)) == 0;
}

static inline bool record_check_batch(struct dueq_slice record)
{
    const uint8_t *at = record.data, *end = at + record.size;
    struct batch_operation operation;

    while (at < end && batch_read(&at, end, &operation))
        if (operation.key.size + operation.value.size > record.size)
            return false;
    return true;
}

/* ---- any bytes */

static inline bool record_check(unsigned decoder, struct dueq_slice key,
                                struct dueq_slice record)
{
    switch (decoder) {
    case 0:
        return record_check_body(record);
    case 1:
        return record_check_state(record);
    case 2:
        return record_check_history(record);
    case 3:
        return record_check_queue_key(key, record);
    case 4:
        return record_check_entry(key, record);
    case 5:
        return record_check_packed(record);
    case 6:
        return record_check_score(record);
    default:
        return record_check_batch(record);
    }
}

static inline bool record_holds_up(const uint8_t *data, size_t size)
{
    struct dueq_slice key, record;
    bool good;

    if (size < 2 || size > RECORD_PIECE || data[1] > size - 2)
        return true;
    key = record_copy(data + 2, data[1]);
    record = record_copy(data + 2 + data[1], size - 2 - data[1]);
    good = record_check(data[0] % 8, key, record);
    free((void *)(uintptr_t)key.data);
    free((void *)(uintptr_t)record.data);
    return good;
}

#endif
