#include "storage/kv/journal/history.h"

#include "storage/bytes.h"

void history_write(uint8_t *bytes, const struct history *history)
{
    bytes_write_u64(bytes, history->id);
    bytes_write_u64(bytes + 8, history->parent);
    bytes_write_u64(bytes + 16, history->first_lsn);
}

struct history history_read(const uint8_t *bytes)
{
    return (struct history){.id = bytes_read_u64(bytes),
                            .parent = bytes_read_u64(bytes + 8),
                            .first_lsn = bytes_read_u64(bytes + 16)};
}
