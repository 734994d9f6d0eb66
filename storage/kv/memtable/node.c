#include "storage/kv/memtable/node.h"

#include "storage/key_hint.h"

#include <assert.h>

static void set_prefix(struct node_keys *keys, size_t prefix)
{
    keys->prefix = (uint16_t)prefix;
    memcpy(keys->head, keys->entries[0]->bytes, prefix < NODE_HEAD ? prefix : NODE_HEAD);
    for (unsigned i = 0; i < keys->count; i++)
        keys->hints[i] = key_hint(node_entry_key(keys->entries[i]), prefix);
}

/* The common prefix of all keys is that of the first and the last one. */
static void renew_prefix(struct node_keys *keys)
{
    struct dueq_slice first, last;

    if (keys->count == 0)
        return;
    first = node_entry_key(keys->entries[0]);
    last = node_entry_key(keys->entries[keys->count - 1]);
    set_prefix(keys, keys->count == 1 ? (first.size > 8 ? first.size - 8 : 0)
                                      : key_common_prefix(first, last, first.size));
}

/* Whether the key begins with the first `count` bytes of the head. */
static inline bool begins_with(struct dueq_slice key, const uint8_t *head, size_t count)
{
    const uint8_t *bytes = key.data;
    size_t at = 0;

    for (; at + 8 <= count; at += 8)
        if (key_eight_bytes(bytes + at) != key_eight_bytes(head + at))
            return false;
    if (at > 0 && at < count)
        return key_eight_bytes(bytes + count - 8) == key_eight_bytes(head + count - 8);
    while (at < count && bytes[at] == head[at])
        at++;
    return at == count;
}

/* Compares the key with the node's prefix; 0: it begins with it. */
static int compare_prefix(const struct node_keys *keys, struct dueq_slice key)
{
    size_t shared = key.size < keys->prefix ? key.size : keys->prefix;
    size_t head = shared < NODE_HEAD ? shared : NODE_HEAD;
    const uint8_t *bytes = key.data;
    int order = begins_with(key, keys->head, head) ? 0 : memcmp(bytes, keys->head, head);

    if (order == 0 && shared > head)
        order = memcmp(bytes + head, keys->entries[0]->bytes + head, shared - head);
    return order == 0 && key.size < keys->prefix ? -1 : order;
}

/* Compares two keys with the same hint, which says all when no byte comes after it. */
static int compare_alike(const struct node_keys *keys, unsigned slot, struct dueq_slice key)
{
    struct dueq_slice other = node_entry_key(keys->entries[slot]);
    size_t most = (size_t)keys->prefix + KEY_HINT;

    if (key.size <= most && other.size <= most)
        return (other.size > key.size) - (other.size < key.size);
    return dueq_slice_compare(other, key);
}

/* The first slot of which the hint is >= hint. Which half comes next is computed, not jumped
 * to: a processor cannot guess the way of a random key. */
static unsigned find_hint(const struct node_keys *keys, uint64_t hint)
{
    const uint64_t *at = keys->hints;
    unsigned left = keys->count;

    while (left > 1) {
        unsigned half = left / 2;

        at += at[half - 1] < hint ? half : 0;
        left -= half;
    }
    return (unsigned)(at - keys->hints) + (*at < hint);
}

/* The same among the keys from `low` on that have this hint. */
static unsigned find_alike(const struct node_keys *keys, unsigned low, uint64_t hint,
                           struct dueq_slice key, bool *ret_equal)
{
    unsigned high = low;

    while (high < keys->count && keys->hints[high] == hint)
        high++;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        int order = compare_alike(keys, middle, key);

        if (order == 0) {
            *ret_equal = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

unsigned node_find(const struct node_keys *keys, struct dueq_slice key, bool *ret_equal)
{
    uint64_t hint;
    unsigned low;
    int order;

    *ret_equal = false;
    if (keys->count == 0)
        return 0;
    order = compare_prefix(keys, key);
    if (order != 0)
        return order < 0 ? 0 : keys->count;
    hint = key_hint(key, keys->prefix);
    low = find_hint(keys, hint);
    if (low == keys->count || keys->hints[low] != hint)
        return low;
    return find_alike(keys, low, hint, key, ret_equal);
}

/* How much of the node's prefix the key begins with. The head says it mostly, without a look at
 * another key, which lies elsewhere. */
static size_t shared_prefix(const struct node_keys *keys, struct dueq_slice key)
{
    struct dueq_slice prefix = dueq_slice(keys->head, keys->prefix);

    if (keys->prefix > NODE_HEAD)
        prefix.data = keys->entries[0]->bytes;
    return key_common_prefix(key, prefix, keys->prefix);
}

void node_insert(struct node_keys *keys, unsigned slot, struct node_entry *entry)
{
    size_t tail = keys->count - slot;
    bool begins =
        keys->count >= 2 && shared_prefix(keys, node_entry_key(entry)) == keys->prefix;

    assert(keys->count < NODE_KEYS && slot <= keys->count);
    memmove(keys->hints + slot + 1, keys->hints + slot, tail * sizeof(keys->hints[0]));
    memmove(keys->entries + slot + 1, keys->entries + slot, tail * sizeof(keys->entries[0]));
    keys->entries[slot] = entry;
    keys->count++;
    if (begins)
        keys->hints[slot] = key_hint(node_entry_key(entry), keys->prefix);
    else
        renew_prefix(keys);
}

void node_remove(struct node_keys *keys, unsigned slot)
{
    size_t tail = (size_t)keys->count - slot - 1;

    assert(slot < keys->count);
    memmove(keys->hints + slot, keys->hints + slot + 1, tail * sizeof(keys->hints[0]));
    memmove(keys->entries + slot, keys->entries + slot + 1, tail * sizeof(keys->entries[0]));
    keys->count--;
}

void node_move_tail(struct node_keys *from, unsigned slot, struct node_keys *to)
{
    unsigned moved = from->count - slot;

    assert(slot <= from->count && to->count + moved <= NODE_KEYS);
    memcpy(to->entries + to->count, from->entries + slot, moved * sizeof(to->entries[0]));
    to->count = (uint16_t)(to->count + moved);
    from->count = (uint16_t)slot;
    renew_prefix(to);
    renew_prefix(from);
}
