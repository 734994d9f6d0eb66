#include "storage/kv/journal/record.h"

#include "storage/bytes.h"
#include "storage/options.h"
#include "storage/xxh3.h"

#include <string.h>

static const uint8_t record_magic[4] = {'D', 'Q', 'R', '1'};

enum {
    PAYLOAD_SUM = 32,                       /* where the checksum of the payload is */
    RECORD_CHECKED = RECORD_HEADER_SIZE - 8 /* where the checksum of the header is */
};

size_t record_space(size_t payload)
{
    return (RECORD_HEADER_SIZE + payload + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
}

static uint64_t payload_sum(const struct iovec *parts, int count, uint64_t salt)
{
    XXH3_state_t state;

    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, salt);
    for (int i = 0; i < count; i++)
        XXH3_64bits_update(&state, parts[i].iov_base, parts[i].iov_len);
    return XXH3_64bits_digest(&state);
}

static void write_u32(uint8_t *bytes, uint32_t number)
{
    for (int i = 3; i >= 0; i--, number >>= 8)
        bytes[i] = (uint8_t)number;
}

static uint32_t read_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
           bytes[3];
}

void record_write_header(uint8_t *bytes, const struct record_header *header,
                         const struct iovec *parts, int count, uint64_t salt)
{
    memcpy(bytes, record_magic, sizeof(record_magic));
    write_u32(bytes + 4, header->size);
    bytes_write_u64(bytes + 8, header->lsn);
    bytes_write_u64(bytes + 16, header->durable);
    bytes_write_u64(bytes + 24, (uint64_t)header->time);
    bytes_write_u64(bytes + PAYLOAD_SUM, payload_sum(parts, count, salt));
    bytes_write_u64(bytes + RECORD_CHECKED, XXH3_64bits_withSeed(bytes, RECORD_CHECKED, salt));
}

bool record_begins(const uint8_t *bytes, size_t room)
{
    return room >= RECORD_HEADER_SIZE && memcmp(bytes, record_magic, sizeof(record_magic)) == 0;
}

bool record_begins_as(const uint8_t *bytes, size_t room, uint64_t lsn)
{
    return record_begins(bytes, room) && bytes_read_u64(bytes + 8) == lsn;
}

static void read_header(const uint8_t *bytes, struct record_header *header)
{
    header->size = read_u32(bytes + 4);
    header->lsn = bytes_read_u64(bytes + 8);
    header->durable = bytes_read_u64(bytes + 16);
    header->time = (int64_t)bytes_read_u64(bytes + 24);
}

bool record_claims(const uint8_t *bytes, size_t room, struct record_header *ret_header)
{
    if (!record_begins(bytes, room) || read_u32(bytes + 4) > room - RECORD_HEADER_SIZE)
        return false;
    read_header(bytes, ret_header);
    return true;
}

bool record_read_header(const uint8_t *bytes, size_t room, uint64_t salt,
                        struct record_header *ret_header)
{
    if (!record_begins(bytes, room) || read_u32(bytes + 4) > DUEQ_RECORD_MAX ||
        bytes_read_u64(bytes + RECORD_CHECKED) !=
            XXH3_64bits_withSeed(bytes, RECORD_CHECKED, salt))
        return false;
    read_header(bytes, ret_header);
    return true;
}

bool record_read(const uint8_t *bytes, size_t room, uint64_t salt,
                 struct record_header *ret_header)
{
    struct record_header header;

    if (!record_read_header(bytes, room, salt, &header) ||
        header.size > room - RECORD_HEADER_SIZE ||
        bytes_read_u64(bytes + PAYLOAD_SUM) !=
            XXH3_64bits_withSeed(bytes + RECORD_HEADER_SIZE, header.size, salt))
        return false;
    *ret_header = header;
    return true;
}
