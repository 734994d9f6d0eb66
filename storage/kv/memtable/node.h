/* A node's sorted run of keys: shared by leaves and inner nodes of the memtable. Private to
 * storage/kv.
 *
 * All keys of a node share their first `prefix` bytes (at least). The first of them, and of
 * every key the eight bytes behind them as an integer, are kept inline, so that most searches
 * touch no key at all. */
#ifndef DUEQ_NODE_H
#define DUEQ_NODE_H

#include "storage/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum { NODE_KEYS = 32, NODE_HEAD = 28 };

/* An entry of the table, or the separator of an inner node. The value follows the key, or a
 * pointer to it when it is large. */
struct entry {
    uint32_t key_size;
    uint32_t value_size;
    bool tombstone;
    bool fresh; /* no lower level has the key: a del may remove the entry */
    bool large;
    uint8_t bytes[];
};

struct run {
    uint16_t count;
    uint16_t prefix;
    uint8_t head[NODE_HEAD]; /* the prefix, as much of it as has room */
    uint64_t hints[NODE_KEYS];
    struct entry *entries[NODE_KEYS];
};

static inline struct dueq_slice entry_key(const struct entry *entry)
{
    return dueq_slice(entry->bytes, entry->key_size);
}

/* The first slot whose key is >= key; *ret_equal: it is the key. count: there is none. */
unsigned node_find(const struct run *run, struct dueq_slice key, bool *ret_equal);

void node_insert(struct run *run, unsigned slot, struct entry *entry);
void node_remove(struct run *run, unsigned slot);

/* Moves the keys from `slot` on to the end of another run. */
void node_move_tail(struct run *from, unsigned slot, struct run *to);

#endif
