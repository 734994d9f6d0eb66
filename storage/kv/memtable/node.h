/* The sorted keys of one node of the memtable's tree: leaves and inner nodes share it. Private
 * to storage/kv/memtable.
 *
 * All keys of a node begin with the same `prefix` bytes (they may share more). Kept inline are
 * the first NODE_HEAD of these bytes and, as an integer, the eight bytes of each key that
 * follow the prefix (its hint), so that most searches read no key. The entries belong to the
 * memtable. Every function is O(NODE_KEYS) or less. */
#ifndef DUEQ_NODE_H
#define DUEQ_NODE_H

#include "storage/prefetch.h"
#include "storage/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum { NODE_KEYS = 32, NODE_HEAD = 28 };

/* An entry of the table, or the separator of an inner node. `bytes` are the key and then the
 * value, or a pointer to its large_value. */
struct node_entry {
    uint32_t key_size;
    uint32_t value_size;
    bool tombstone;
    bool fresh; /* no lower level has the key, so a del may remove the entry */
    bool large;
    uint8_t bytes[];
};

struct node_keys {
    uint16_t count;
    uint16_t prefix;
    uint8_t head[NODE_HEAD]; /* the first bytes of the prefix */
    uint64_t hints[NODE_KEYS];
    struct node_entry *entries[NODE_KEYS];
};

static inline struct dueq_slice node_entry_key(const struct node_entry *entry)
{
    return dueq_slice(entry->bytes, entry->key_size);
}

/* The node is about to be searched: a processor can load its lines at once, while the binary
 * search asks for one after the other. */
static inline void node_expect(const struct node_keys *keys)
{
    const char *bytes = (const char *)keys;

    for (size_t at = 0; at < sizeof(*keys); at += 64)
        prefetch(bytes + at);
}

/* The first slot of which the key is >= key; keys->count: there is none. *ret_equal: it is
 * equal. O(log NODE_KEYS). */
unsigned node_find(const struct node_keys *keys, struct dueq_slice key, bool *ret_equal);

/* slot: 0 to keys->count; the node has less than NODE_KEYS keys and the order is kept. */
void node_insert(struct node_keys *keys, unsigned slot, struct node_entry *entry);
void node_remove(struct node_keys *keys, unsigned slot);

/* Moves the keys from `slot` on to the end of `to`, which has room for them. */
void node_move_tail(struct node_keys *from, unsigned slot, struct node_keys *to);

#endif
