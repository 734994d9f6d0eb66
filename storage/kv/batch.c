#include "storage/kv/batch.h"

#include "storage/kv/memtable/large_value.h"

#include <assert.h>
#include <stdlib.h>

enum { OPERATION_PUT = 1, OPERATION_DEL = 2, VARINT_MAX = 10, KEEP_CAPACITY = 1024 * 1024 };

/* ---- life */

static void drop_references(struct batch *batch)
{
    for (size_t i = 0; i < batch->reference_count; i++)
        large_value_release(batch->references[i].value);
    batch->reference_count = 0;
    batch->referred = 0;
}

void batch_release(struct batch *batch)
{
    drop_references(batch);
    free(batch->bytes);
    free(batch->references);
    free(batch->parts);
    *batch = (struct batch){0};
}

void batch_clear(struct batch *batch)
{
    drop_references(batch);
    batch->size = 0;
    if (batch->capacity > KEEP_CAPACITY)
        batch_release(batch);
}

/* ---- writing */

static uint8_t *reserve(struct batch *batch, size_t size)
{
    size_t capacity = batch->capacity == 0 ? 4096 : batch->capacity;
    uint8_t *grown;

    if (batch->capacity - batch->size >= size)
        return batch->bytes + batch->size;
    while (capacity < batch->size + size)
        capacity *= 2;
    grown = realloc(batch->bytes, capacity);
    if (grown == NULL)
        return NULL;
    batch->bytes = grown;
    batch->capacity = capacity;
    return grown + batch->size;
}

static uint8_t *write_varint(uint8_t *at, uint64_t number)
{
    while (number >= 0x80) {
        *at++ = (uint8_t)(number | 0x80);
        number >>= 7;
    }
    *at++ = (uint8_t)number;
    return at;
}

static uint8_t *write_key(uint8_t *at, uint8_t operation, struct dueq_slice key)
{
    assert(key.size > 0);
    *at++ = operation;
    at = write_varint(at, key.size);
    memcpy(at, key.data, key.size);
    return at + key.size;
}

static bool refer(struct batch *batch, struct large_value *value)
{
    size_t capacity = batch->reference_capacity == 0 ? 8 : batch->reference_capacity * 2;
    struct batch_reference *grown;

    if (batch->reference_count == batch->reference_capacity) {
        grown = realloc(batch->references, capacity * sizeof(*grown));
        if (grown == NULL)
            return false;
        batch->references = grown;
        batch->reference_capacity = capacity;
    }
    batch->references[batch->reference_count++] =
        (struct batch_reference){.at = batch->size, .value = value};
    batch->referred += value->size;
    large_value_hold(value);
    return true;
}

bool batch_put(struct batch *batch, struct dueq_slice key, const uint8_t *value, size_t size)
{
    uint8_t *at = reserve(batch, 1 + 2 * VARINT_MAX + key.size + size);

    assert(size <= BATCH_COPY_MAX);
    if (at == NULL)
        return false;
    at = write_varint(write_key(at, OPERATION_PUT, key), size);
    if (size > 0)
        memcpy(at, value, size);
    batch->size = (size_t)(at - batch->bytes) + size;
    return true;
}

bool batch_put_large(struct batch *batch, struct dueq_slice key, struct large_value *value)
{
    uint8_t *at = reserve(batch, 1 + 2 * VARINT_MAX + key.size);

    assert(value->bytes != NULL);
    if (at == NULL)
        return false;
    at = write_varint(write_key(at, OPERATION_PUT, key), value->size);
    batch->size = (size_t)(at - batch->bytes);
    return refer(batch, value);
}

bool batch_del(struct batch *batch, struct dueq_slice key)
{
    uint8_t *at = reserve(batch, 1 + VARINT_MAX + key.size);

    if (at == NULL)
        return false;
    batch->size = (size_t)(write_key(at, OPERATION_DEL, key) - batch->bytes);
    return true;
}

struct iovec *batch_parts(struct batch *batch, int *ret_count)
{
    size_t needed = batch->reference_count * 2 + 1, from = 0;
    struct iovec *parts = realloc(batch->parts, needed * sizeof(*parts));
    int count = 0;

    if (parts == NULL)
        return NULL;
    batch->parts = parts;
    for (size_t i = 0; i < batch->reference_count; i++) {
        const struct batch_reference *reference = &batch->references[i];

        assert(from <= reference->at && reference->at <= batch->size);
        parts[count++] = (struct iovec){batch->bytes + from, reference->at - from};
        parts[count++] =
            (struct iovec){(void *)(uintptr_t)reference->value->bytes, reference->value->size};
        from = reference->at;
    }
    parts[count++] = (struct iovec){batch->bytes + from, batch->size - from};
    *ret_count = count;
    return parts;
}

/* ---- reading */

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret_number)
{
    uint64_t number = 0;

    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        uint8_t byte = *(*at)++;

        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_number = number;
            return true;
        }
    }
    return false;
}

static bool read_slice(const uint8_t **at, const uint8_t *end, struct dueq_slice *ret_slice)
{
    uint64_t size;

    if (!read_varint(at, end, &size) || size > (uint64_t)(end - *at))
        return false;
    *ret_slice = dueq_slice(*at, size);
    *at += size;
    return true;
}

bool batch_read(const uint8_t **at, const uint8_t *end, struct batch_operation *ret_operation)
{
    uint8_t operation;

    assert(*at < end);
    operation = *(*at)++;
    ret_operation->put = operation == OPERATION_PUT;
    ret_operation->value = dueq_slice(NULL, 0);
    if (operation != OPERATION_PUT && operation != OPERATION_DEL)
        return false;
    if (!read_slice(at, end, &ret_operation->key))
        return false;
    return !ret_operation->put || read_slice(at, end, &ret_operation->value);
}
