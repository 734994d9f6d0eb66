/* The entries of a packed sorted set, as they are at one moment. Private to storage/keys. */
#ifndef DUEQ_ZSET_PACKED_H
#define DUEQ_ZSET_PACKED_H

#include "storage/keys/key_index.h"

enum {
    ZSET_PACKED_LEAST = 10, /* bytes of an entry: of the member, which may be empty, one */
    ZSET_PACKED_MOST = KEYS_PACKED_LOOSE / ZSET_PACKED_LEAST
};

struct zset_packed {
    size_t count, at; /* entries; which one a walk stands on */
    uint16_t starts[ZSET_PACKED_MOST];
    size_t size;
    uint8_t cells[KEYS_PACKED_LOOSE];
};

enum dueq_status zset_packed_read(struct zset_packed *packed, struct keys *keys,
                                  const struct keys_entry *entry);
struct zset_entry zset_packed_here(const struct zset_packed *packed);

#endif
