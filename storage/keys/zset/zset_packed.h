/* The entries of a packed sorted set, copied at one moment. Private to storage/keys. */
#ifndef DUEQ_ZSET_PACKED_H
#define DUEQ_ZSET_PACKED_H

#include "storage/keys/index/entry_value.h"

enum {
    ZSET_PACKED_LEAST = 10, /* bytes of an entry: 1 for an empty member, 9 for its score */
    ZSET_PACKED_MOST = KEYS_PACKED_LOOSE / ZSET_PACKED_LEAST
};

struct zset_packed {
    size_t count;
    size_t at; /* index of the entry that zset_packed_here returns */
    uint16_t starts[ZSET_PACKED_MOST];
    size_t size; /* bytes of cells */
    uint8_t cells[KEYS_PACKED_LOOSE];
};

/* Copies the entries; `at` is 0. DUEQ_CORRUPT: the value is damaged. */
enum dueq_status zset_packed_read(struct zset_packed *packed, struct keys *keys,
                                  const struct keys_entry *entry);
/* The entry at `at`, which is below count. The member points into *packed. */
struct zset_entry zset_packed_here(const struct zset_packed *packed);

#endif
