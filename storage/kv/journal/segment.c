#include "storage/kv/journal/segment.h"

#include "storage/bytes.h"
#include "storage/xxh3.h"

#include <string.h>

static const uint8_t segment_magic[8] = {'D', 'U', 'E', 'Q', 'S', 'E', 'G', '1'};
static const uint8_t note_magic[8] = {'D', 'U', 'E', 'Q', 'N', 'O', 'T', 'E'};

/* How many bytes a checksum covers; the checksum follows them. */
enum { HEADER_CHECKED = SEGMENT_FIXED_SIZE - 8, NOTE_CHECKED = 16 };

uint64_t segment_salt(uint64_t store_salt, uint64_t number)
{
    return XXH3_64bits_withSeed(&number, sizeof(number), store_salt);
}

void segment_write_header(uint8_t *bytes, const struct segment_header *header, uint64_t salt)
{
    memset(bytes, 0, SEGMENT_HEADER_SIZE);
    memcpy(bytes, segment_magic, sizeof(segment_magic));
    bytes_write_u64(bytes + 8, header->number);
    bytes_write_u64(bytes + 16, header->first_lsn);
    bytes_write_u64(bytes + 24, header->durable);
    history_write(bytes + 32, &header->history);
    bytes_write_u64(bytes + HEADER_CHECKED, XXH3_64bits_withSeed(bytes, HEADER_CHECKED, salt));
}

bool segment_read_header(const uint8_t *bytes, uint64_t salt, struct segment_header *ret_header)
{
    return bytes_read_u64(bytes + HEADER_CHECKED) ==
               XXH3_64bits_withSeed(bytes, HEADER_CHECKED, salt) &&
           segment_claims(bytes, ret_header);
}

bool segment_claims(const uint8_t *bytes, struct segment_header *ret_header)
{
    if (memcmp(bytes, segment_magic, sizeof(segment_magic)) != 0)
        return false;
    ret_header->number = bytes_read_u64(bytes + 8);
    ret_header->first_lsn = bytes_read_u64(bytes + 16);
    ret_header->durable = bytes_read_u64(bytes + 24);
    ret_header->history = history_read(bytes + 32);
    return true;
}

void segment_write_note(uint8_t *bytes, uint64_t durable, uint64_t salt)
{
    memset(bytes, 0, SEGMENT_NOTE_SIZE);
    memcpy(bytes, note_magic, sizeof(note_magic));
    bytes_write_u64(bytes + 8, durable);
    bytes_write_u64(bytes + NOTE_CHECKED, XXH3_64bits_withSeed(bytes, NOTE_CHECKED, salt));
}

uint64_t segment_read_note(const uint8_t *bytes, uint64_t salt)
{
    if (memcmp(bytes, note_magic, sizeof(note_magic)) != 0 ||
        bytes_read_u64(bytes + NOTE_CHECKED) != XXH3_64bits_withSeed(bytes, NOTE_CHECKED, salt))
        return 0;
    return bytes_read_u64(bytes + 8);
}
