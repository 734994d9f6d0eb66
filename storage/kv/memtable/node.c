#include "storage/kv/memtable/node.h"

#include <endian.h>

/* Eight bytes from `offset`, zeros behind the end: integers then order as the bytes do, and
 * equal integers decide nothing. */
static uint64_t hint_of(struct dueq_slice key, size_t offset)
{
    const uint8_t *bytes = key.data;
    uint64_t hint = 0;
    size_t left = key.size > offset ? key.size - offset : 0;

    if (left >= sizeof(hint))
        memcpy(&hint, bytes + offset, sizeof(hint));
    else if (left > 0)
        memcpy(&hint, bytes + offset, left);
    return be64toh(hint);
}

static size_t common_prefix(struct dueq_slice a, struct dueq_slice b, size_t limit)
{
    const uint8_t *x = a.data, *y = b.data;
    size_t at = 0;

    if (a.size < limit)
        limit = a.size;
    if (b.size < limit)
        limit = b.size;
    while (at < limit && x[at] == y[at])
        at++;
    return at;
}

static void set_prefix(struct run *run, size_t prefix)
{
    run->prefix = (uint16_t)prefix;
    memcpy(run->head, run->entries[0]->bytes, prefix < NODE_HEAD ? prefix : NODE_HEAD);
    for (unsigned i = 0; i < run->count; i++)
        run->hints[i] = hint_of(entry_key(run->entries[i]), prefix);
}

/* The longest prefix is that of the first and the last key. */
static void renew_prefix(struct run *run)
{
    struct dueq_slice first, last;

    if (run->count == 0)
        return;
    first = entry_key(run->entries[0]);
    last = entry_key(run->entries[run->count - 1]);
    set_prefix(run, run->count == 1 ? (first.size > 8 ? first.size - 8 : 0)
                                    : common_prefix(first, last, first.size));
}

/* How the key compares to the node's prefix; 0: it begins with it. */
static int compare_prefix(const struct run *run, struct dueq_slice key)
{
    size_t shared = key.size < run->prefix ? key.size : run->prefix;
    size_t head = shared < NODE_HEAD ? shared : NODE_HEAD;
    const uint8_t *bytes = key.data;
    int order = memcmp(bytes, run->head, head);

    if (order == 0 && shared > head)
        order = memcmp(bytes + head, run->entries[0]->bytes + head, shared - head);
    return order == 0 && key.size < run->prefix ? -1 : order;
}

unsigned node_find(const struct run *run, struct dueq_slice key, bool *ret_equal)
{
    unsigned low = 0, high = run->count;
    uint64_t hint;
    int order;

    *ret_equal = false;
    if (run->count == 0)
        return 0;
    order = compare_prefix(run, key);
    if (order != 0)
        return order < 0 ? 0 : run->count;
    hint = hint_of(key, run->prefix);
    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (run->hints[middle] != hint)
            order = run->hints[middle] < hint ? -1 : 1;
        else
            order = dueq_slice_compare(entry_key(run->entries[middle]), key);
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

void node_insert(struct run *run, unsigned slot, struct entry *entry)
{
    size_t tail = run->count - slot, shared = run->prefix;

    memmove(run->hints + slot + 1, run->hints + slot, tail * sizeof(run->hints[0]));
    memmove(run->entries + slot + 1, run->entries + slot, tail * sizeof(run->entries[0]));
    run->entries[slot] = entry;
    run->count++;
    if (run->count <= 2 ||
        common_prefix(entry_key(entry), entry_key(run->entries[slot == 0 ? 1 : 0]), shared) <
            shared)
        renew_prefix(run);
    else
        run->hints[slot] = hint_of(entry_key(entry), run->prefix);
}

void node_remove(struct run *run, unsigned slot)
{
    size_t tail = (size_t)run->count - slot - 1;

    memmove(run->hints + slot, run->hints + slot + 1, tail * sizeof(run->hints[0]));
    memmove(run->entries + slot, run->entries + slot + 1, tail * sizeof(run->entries[0]));
    run->count--;
}

void node_move_tail(struct run *from, unsigned slot, struct run *to)
{
    unsigned moved = from->count - slot;

    memcpy(to->entries + to->count, from->entries + slot, moved * sizeof(to->entries[0]));
    to->count = (uint16_t)(to->count + moved);
    from->count = (uint16_t)slot;
    renew_prefix(to);
    renew_prefix(from);
}
