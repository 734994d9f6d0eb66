#include "storage/queue/record/event_record.h"

#include <string.h>

enum { VERSION = 1, HEAD = 2 };

size_t event_record_write(uint8_t *bytes, const struct event_record *record)
{
    uint8_t *at = bytes + HEAD;

    bytes[0] = VERSION;
    bytes[1] = (uint8_t)record->type;
    at = numbers_write(at, record->at);
    at = numbers_write(at, record->attempt);
    *at++ = (uint8_t)record->id.size;
    if (record->id.size == 0) {
        at = numbers_write(at, record->stamp);
        at = numbers_write(at, (int64_t)record->seq);
    } else {
        memcpy(at, record->id.data, record->id.size);
        at += record->id.size;
    }
    return (size_t)(at - bytes);
}

/* The id, or what the store made it of: it ends the record. */
static bool read_id(const uint8_t *at, const uint8_t *end, struct event_record *record)
{
    int64_t seq = 0;

    if (at == NULL || at == end)
        return false;
    record->id = dueq_slice(at + 1, *at);
    if (record->id.size > 0)
        return (size_t)(end - at) == 1 + record->id.size;
    at = numbers_read(at + 1, end, &record->stamp);
    at = numbers_read(at, end, &seq);
    record->seq = (uint64_t)seq;
    return at == end;
}

bool event_record_read(struct dueq_slice bytes, struct event_record *ret_record)
{
    const uint8_t *at = bytes.data, *end = at + bytes.size;

    *ret_record = (struct event_record){.at = 0};
    if (bytes.size < HEAD || at[0] != VERSION || at[1] >= DUEQ_EVENT_TYPES)
        return false;
    ret_record->type = (enum dueq_event_type)at[1];
    at = numbers_read(at + HEAD, end, &ret_record->at);
    at = numbers_read(at, end, &ret_record->attempt);
    return read_id(at, end, ret_record);
}
