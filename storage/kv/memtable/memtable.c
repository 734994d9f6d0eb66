#include "storage/kv/memtable/memtable.h"

#include "storage/kv/memtable/arena.h"
#include "storage/kv/memtable/large_value.h"
#include "storage/kv/memtable/node.h"

#include <assert.h>
#include <stdlib.h>

enum {
    MAX_DEPTH = 24,
    MERGE_BELOW = NODE_KEYS / 4,
    MERGE_FILL = NODE_KEYS * 3 / 4,
    RECENT_KINDS = 16,
    MISSES_MOST = 8, /* then only each TRY_EACH searches look there first */
    TRY_EACH = 32
};

struct leaf {
    struct node_keys keys;
    struct leaf *prev, *next;
    const struct node_entry *low, *high; /* the separators around it; NULL: none */
    unsigned last;                       /* the slot of its last insert */
};

/* children[i] contains the keys below keys.entries[i], children[count] all others. */
struct inner {
    struct node_keys keys;
    void *children[NODE_KEYS + 1];
};

/* Where searches for keys of one kind ended. NULL: nowhere yet. */
struct recent {
    struct leaf *found;
    struct leaf *removed; /* those of removals */
    unsigned misses;      /* searches since the last one that ended in one of the two */
};

struct memtable {
    struct arena arena;
    void *root; /* a leaf at depth 0, else an inner node */
    unsigned depth;
    size_t entries;
    uint64_t version;
    struct recent recent[RECENT_KINDS];
    bool frozen;
    struct large_value *large;
    size_t large_bytes;
};

/* The path from the root to a leaf. */
struct path {
    struct inner *nodes[MAX_DEPTH];
    unsigned slots[MAX_DEPTH]; /* the child taken */
    struct leaf *leaf;
};

/* ---- life */

static struct leaf *new_leaf(struct memtable *table)
{
    struct leaf *leaf = arena_alloc(&table->arena, sizeof(*leaf));

    if (leaf != NULL) {
        leaf->keys.count = leaf->keys.prefix = 0;
        leaf->prev = leaf->next = NULL;
        leaf->low = leaf->high = NULL;
        leaf->last = 0;
    }
    return leaf;
}

struct memtable *memtable_new(struct chunk_pool *pool)
{
    struct memtable *table = calloc(1, sizeof(*table));

    if (table == NULL)
        return NULL;
    arena_init(&table->arena, pool);
    table->root = new_leaf(table);
    if (table->root == NULL) {
        memtable_free(table);
        return NULL;
    }
    return table;
}

void memtable_free(struct memtable *table)
{
    if (table == NULL)
        return;
    while (table->large != NULL) {
        struct large_value *value = table->large;

        table->large = value->next;
        large_value_release(value);
    }
    arena_release(&table->arena);
    free(table);
}

void memtable_freeze(struct memtable *table)
{
    table->frozen = true;
}

size_t memtable_bytes(const struct memtable *table)
{
    return table->arena.used + table->large_bytes;
}

size_t memtable_reserved(const struct memtable *table)
{
    return table->arena.reserved + table->large_bytes;
}

size_t memtable_taken(const struct memtable *table, size_t *ret_large)
{
    *ret_large = table->large_bytes;
    return arena_taken(&table->arena) + table->large_bytes;
}

size_t memtable_mapped(const struct memtable *table)
{
    return table->arena.mapped;
}

size_t memtable_entries(const struct memtable *table)
{
    return table->entries;
}

uint64_t memtable_version(const struct memtable *table)
{
    return table->version;
}

/* ---- large values */

static struct large_value *large_of(const struct node_entry *entry)
{
    struct large_value *value;

    memcpy(&value, entry->bytes + entry->key_size, sizeof(value));
    return value;
}

/* Bytes of the value in the entry itself. */
static size_t stored_size(const struct node_entry *entry)
{
    return entry->large ? sizeof(struct large_value *) : entry->value_size;
}

static const uint8_t *value_of(const struct node_entry *entry)
{
    return entry->large ? large_of(entry)->bytes : entry->bytes + entry->key_size;
}

static void hang_large(struct memtable *table, struct node_entry *entry,
                       struct large_value *value)
{
    assert(!entry->large && value->next == NULL && value->prev == NULL);
    memcpy(entry->bytes + entry->key_size, &value, sizeof(value));
    entry->large = true;
    entry->value_size = (uint32_t)value->size;
    value->prev = NULL;
    value->next = table->large;
    if (value->next != NULL)
        value->next->prev = value;
    table->large = value;
    table->large_bytes += value->size;
    large_value_hold(value);
}

struct large_value *memtable_hold(const struct memtable *table, const void *byte)
{
    uintptr_t at = (uintptr_t)byte;

    for (struct large_value *value = table->large; value != NULL; value = value->next)
        if (at - (uintptr_t)value->bytes < value->size) {
            large_value_hold(value);
            return value;
        }
    return NULL;
}

static void drop_large(struct memtable *table, struct node_entry *entry)
{
    struct large_value *value;

    if (!entry->large)
        return;
    value = large_of(entry);
    if (value->prev != NULL)
        value->prev->next = value->next;
    else
        table->large = value->next;
    if (value->next != NULL)
        value->next->prev = value->prev;
    value->prev = value->next = NULL;
    assert(table->large_bytes >= value->size);
    table->large_bytes -= value->size;
    entry->large = false;
    large_value_release(value);
}

/* ---- search */

static unsigned child_slot(const struct inner *inner, struct dueq_slice key)
{
    bool equal;
    unsigned slot = node_find(&inner->keys, key, &equal);

    return equal ? slot + 1 : slot;
}

static struct leaf *find_leaf(const struct memtable *table, struct dueq_slice key)
{
    void *node = table->root;

    for (unsigned depth = table->depth; depth > 0; depth--) {
        struct inner *inner = node;

        node = inner->children[child_slot(inner, key)];
        node_expect(node);
    }
    return node;
}

static void find_path(const struct memtable *table, struct dueq_slice key, struct path *path)
{
    void *node = table->root;

    for (unsigned i = 0; i < table->depth; i++) {
        path->nodes[i] = node;
        path->slots[i] = child_slot(path->nodes[i], key);
        node = path->nodes[i]->children[path->slots[i]];
    }
    path->leaf = node;
}

struct place {
    struct leaf *leaf;
    unsigned slot;
    bool equal;
};

/* Keys of one kind begin with the same byte and have much the same size, and one is often the
 * neighbour of the one before. Removals have a place of their own: a queue's jobs are acked
 * elsewhere than they are claimed. */
static struct recent *recent_of(const struct memtable *table, struct dueq_slice key)
{
    size_t kind = key.size == 0 ? 0 : *(const uint8_t *)key.data * 5U + key.size;

    return &((struct memtable *)(uintptr_t)table)->recent[kind % RECENT_KINDS];
}

/* Whether the key, of which the place in the leaf is `slot`, belongs to that leaf. */
static bool is_within(const struct leaf *leaf, unsigned slot, struct dueq_slice key)
{
    if (slot == 0 && leaf->low != NULL &&
        dueq_slice_compare(key, node_entry_key(leaf->low)) < 0)
        return false;
    return slot < leaf->keys.count || leaf->high == NULL ||
           dueq_slice_compare(key, node_entry_key(leaf->high)) < 0;
}

static struct place place_in(struct leaf *leaf, struct dueq_slice key)
{
    struct place place = {.leaf = leaf};

    place.slot = node_find(&leaf->keys, key, &place.equal);
    return place;
}

static bool is_in(struct leaf *leaf, struct dueq_slice key, struct place *ret_place)
{
    if (leaf == NULL)
        return false;
    *ret_place = place_in(leaf, key);
    return ret_place->equal || is_within(leaf, ret_place->slot, key);
}

/* Keys without any order, as random ids, are hardly ever where the last one was. */
static bool is_scattered(const struct recent *recent)
{
    return recent->misses >= MISSES_MOST && recent->misses % TRY_EACH != 0;
}

/* Tries the leaves where searches for keys of this kind ended before. What is found among the
 * removals leaves the other place as it is: a queue's claims and acks take turns. */
static struct place find(const struct memtable *table, struct dueq_slice key)
{
    struct recent *recent = recent_of(table, key);
    struct place place;

    if (!is_scattered(recent) &&
        (is_in(recent->found, key, &place) || is_in(recent->removed, key, &place))) {
        if (!table->frozen)
            recent->misses = 0;
        return place;
    }
    place = place_in(find_leaf(table, key), key);
    if (!table->frozen) {
        recent->found = place.leaf;
        recent->misses++;
    }
    return place;
}

/* To put or (`removes`) to remove it: a scattered key was mostly searched or expected right
 * before. */
static struct place find_to_write(struct memtable *table, struct dueq_slice key, bool removes)
{
    struct recent *recent = recent_of(table, key);
    struct place place;

    if (removes && !is_scattered(recent) && is_in(recent->removed, key, &place))
        return place;
    if ((removes || is_scattered(recent)) && is_in(recent->found, key, &place))
        return place;
    if (!removes)
        return find(table, key);
    place = place_in(find_leaf(table, key), key);
    recent->removed = place.leaf;
    return place;
}

static struct memtable_entry show(const struct node_entry *entry)
{
    return (struct memtable_entry){entry->bytes,      value_of(entry),  entry->key_size,
                                   entry->value_size, entry->tombstone, entry->fresh};
}

bool memtable_get(const struct memtable *table, struct dueq_slice key,
                  struct memtable_entry *ret_entry)
{
    struct place place = find(table, key);

    if (place.equal)
        *ret_entry = show(place.leaf->keys.entries[place.slot]);
    return place.equal;
}

void memtable_expect(struct memtable *table, struct dueq_slice key)
{
    struct recent *recent = recent_of(table, key);

    assert(!table->frozen);
    if (!is_scattered(recent))
        return;
    recent->found = find_leaf(table, key);
    recent->misses++;
}

/* All leaves are at the same depth, so the searches take each step together. */
void memtable_prefetch(const struct memtable *table, const struct dueq_slice *keys,
                       size_t count)
{
    void *nodes[MEMTABLE_PREFETCH_MOST];

    assert(count <= MEMTABLE_PREFETCH_MOST);
    for (size_t i = 0; i < count; i++)
        nodes[i] = table->root;
    for (unsigned depth = table->depth; depth > 0; depth--)
        for (size_t i = 0; i < count; i++) {
            struct inner *inner = nodes[i];

            nodes[i] = inner->children[child_slot(inner, keys[i])];
            node_expect(nodes[i]);
        }
    for (size_t i = 0; i < count; i++) {
        struct place place = place_in(nodes[i], keys[i]);

        if (place.equal)
            prefetch(place.leaf->keys.entries[place.slot]);
    }
}

/* ---- entries */

static size_t entry_size(size_t key_size, size_t value_size)
{
    return sizeof(struct node_entry) + key_size + value_size;
}

static size_t parts_size(const struct dueq_slice *parts, size_t count)
{
    size_t size = 0;

    for (size_t i = 0; i < count; i++)
        size += parts[i].size;
    return size;
}

static void write_value(struct node_entry *entry, const struct dueq_slice *parts, size_t count)
{
    uint8_t *at = entry->bytes + entry->key_size;

    for (size_t i = 0; i < count; i++) {
        if (parts[i].size > 0)
            memcpy(at, parts[i].data, parts[i].size);
        at += parts[i].size;
    }
    entry->value_size = (uint32_t)(at - entry->bytes - entry->key_size);
}

static struct node_entry *new_entry(struct memtable *table, struct dueq_slice key,
                                    size_t value_size)
{
    struct node_entry *entry = arena_alloc(&table->arena, entry_size(key.size, value_size));

    assert(key.size <= UINT16_MAX && value_size <= UINT32_MAX);
    if (entry == NULL)
        return NULL;
    entry->key_size = (uint32_t)key.size;
    entry->value_size = (uint32_t)value_size;
    entry->tombstone = entry->fresh = entry->large = false;
    memcpy(entry->bytes, key.data, key.size);
    return entry;
}

static void free_entry(struct memtable *table, struct node_entry *entry)
{
    size_t size = entry_size(entry->key_size, stored_size(entry));

    drop_large(table, entry);
    arena_free(&table->arena, entry, size);
}

/* Gives the entry room for another value of that size; the key stays. In place if the size
 * class does not change. */
static struct node_entry *resize_entry(struct memtable *table, struct leaf *leaf, unsigned slot,
                                       size_t value_size)
{
    struct node_entry *old = leaf->keys.entries[slot], *entry;
    size_t before = entry_size(old->key_size, stored_size(old));
    size_t after = entry_size(old->key_size, value_size);

    if (arena_room(before) == arena_room(after)) {
        drop_large(table, old);
        return old;
    }
    entry = new_entry(table, node_entry_key(old), value_size);
    if (entry == NULL)
        return NULL;
    entry->fresh = old->fresh;
    leaf->keys.entries[slot] = entry;
    free_entry(table, old);
    return entry;
}

/* ---- splitting */

/* A separator: the shortest key that is above `left` and not above `right`. */
static struct node_entry *new_separator(struct memtable *table, struct dueq_slice left,
                                        struct dueq_slice right)
{
    const uint8_t *a = left.data, *b = right.data;
    size_t size = 0;

    while (size < left.size && size < right.size && a[size] == b[size])
        size++;
    return new_entry(table, dueq_slice(right.data, size + 1), 0);
}

static bool insert_child(struct memtable *table, struct path *path, unsigned level,
                         struct node_entry *separator, void *child);

static bool grow_root(struct memtable *table, struct node_entry *separator, void *child)
{
    struct inner *root = arena_alloc(&table->arena, sizeof(*root));

    if (root == NULL)
        return false;
    root->keys.count = root->keys.prefix = 0;
    node_insert(&root->keys, 0, separator);
    root->children[0] = table->root;
    root->children[1] = child;
    table->root = root;
    table->depth++;
    return true;
}

static void place_child(struct inner *inner, unsigned slot, struct node_entry *separator,
                        void *child)
{
    memmove(inner->children + slot + 2, inner->children + slot + 1,
            (inner->keys.count - slot) * sizeof(inner->children[0]));
    inner->children[slot + 1] = child;
    node_insert(&inner->keys, slot, separator);
}

/* Splits a full inner node; the middle separator moves up. */
static bool split_inner(struct memtable *table, struct path *path, unsigned level,
                        unsigned slot, struct node_entry *separator, void *child)
{
    struct inner *left = path->nodes[level], *right;
    unsigned middle = slot == NODE_KEYS ? NODE_KEYS - 1 : NODE_KEYS / 2;
    struct node_entry *up = left->keys.entries[middle];

    right = arena_alloc(&table->arena, sizeof(*right));
    if (right == NULL)
        return false;
    right->keys.count = right->keys.prefix = 0;
    memcpy(right->children, left->children + middle + 1,
           (NODE_KEYS - middle) * sizeof(left->children[0]));
    if (middle + 1 < NODE_KEYS)
        node_move_tail(&left->keys, middle + 1, &right->keys);
    left->keys.count = (uint16_t)middle;
    if (slot <= middle)
        place_child(left, slot, separator, child);
    else
        place_child(right, slot - middle - 1, separator, child);
    return insert_child(table, path, level, up, right);
}

/* Inserts `child` to the right of the child taken at `level - 1`. Level 0: makes a new root. */
static bool insert_child(struct memtable *table, struct path *path, unsigned level,
                         struct node_entry *separator, void *child)
{
    struct inner *parent;
    unsigned slot;

    if (level == 0)
        return grow_root(table, separator, child);
    parent = path->nodes[level - 1];
    slot = path->slots[level - 1];
    if (parent->keys.count < NODE_KEYS) {
        place_child(parent, slot, separator, child);
        return true;
    }
    return split_inner(table, path, level - 1, slot, separator, child);
}

/* The first slot that moves to the new leaf. An insert at the end only adds a leaf, and one
 * right after the insert before it leaves what follows to the new leaf: so ascending keys fill
 * their leaves, also when other keys come after them. */
static unsigned split_at(const struct leaf *leaf, unsigned slot)
{
    return slot == NODE_KEYS || slot == leaf->last + 1 ? slot : NODE_KEYS / 2;
}

static void insert_into(struct leaf *leaf, unsigned slot, struct node_entry *entry)
{
    node_insert(&leaf->keys, slot, entry);
    leaf->last = slot;
}

/* Splits a full leaf and inserts the entry `coming` at `slot`. */
static bool split_leaf(struct memtable *table, struct path *path, struct node_entry *coming,
                       unsigned slot)
{
    struct leaf *left = path->leaf, *right = new_leaf(table);
    unsigned middle = split_at(left, slot);
    bool appended = middle == NODE_KEYS;
    struct dueq_slice first = node_entry_key(appended ? coming : left->keys.entries[middle]);
    struct dueq_slice last =
        node_entry_key(slot == middle && !appended ? coming : left->keys.entries[middle - 1]);
    struct node_entry *separator;

    if (right == NULL)
        return false;
    separator = new_separator(table, last, first);
    if (separator == NULL)
        return false;
    right->low = separator;
    right->high = left->high;
    left->high = separator;
    right->next = left->next;
    right->prev = left;
    if (right->next != NULL)
        right->next->prev = right;
    left->next = right;
    if (!appended)
        node_move_tail(&left->keys, middle, &right->keys);
    if (slot > middle || appended)
        insert_into(right, slot - middle, coming);
    else
        insert_into(left, slot, coming);
    return insert_child(table, path, table->depth, separator, right);
}

static bool insert_entry(struct memtable *table, struct dueq_slice key,
                         const struct place *place, struct node_entry *entry)
{
    struct path path;

    if (place->leaf->keys.count < NODE_KEYS) {
        insert_into(place->leaf, place->slot, entry);
    } else {
        find_path(table, key, &path);
        if (!split_leaf(table, &path, entry, place->slot))
            return false;
    }
    table->entries++;
    return true;
}

/* ---- removing */

/* Removes the child at `slot` and the separator on its left (for the first: on its right). */
static void drop_child(struct memtable *table, struct inner *inner, unsigned slot)
{
    unsigned separator = slot == 0 ? 0 : slot - 1;

    free_entry(table, inner->keys.entries[separator]);
    node_remove(&inner->keys, separator);
    memmove(inner->children + slot, inner->children + slot + 1,
            (inner->keys.count + 1 - slot) * sizeof(inner->children[0]));
}

static void shrink_root(struct memtable *table)
{
    while (table->depth > 0) {
        struct inner *root = table->root;

        if (root->keys.count > 0)
            return;
        table->root = root->children[0];
        table->depth--;
        arena_free(&table->arena, root, sizeof(*root));
    }
}

/* The leaf goes, and the separator on its left or right with it. */
static void widen_neighbour(struct leaf *leaf, bool left)
{
    if (left)
        leaf->prev->high = leaf->high;
    else
        leaf->next->low = leaf->low;
}

/* Removes an empty child, and each parent above it that has no other child. */
static void unhang(struct memtable *table, struct path *path)
{
    unsigned level = table->depth;

    while (level > 0 && path->nodes[level - 1]->keys.count == 0) {
        arena_free(&table->arena, path->nodes[level - 1], sizeof(struct inner));
        level--;
    }
    if (level > 0) {
        widen_neighbour(path->leaf, path->slots[level - 1] > 0);
        drop_child(table, path->nodes[level - 1], path->slots[level - 1]);
    }
    shrink_root(table);
}

static void free_leaf(struct memtable *table, struct leaf *leaf)
{
    for (unsigned i = 0; i < RECENT_KINDS; i++) {
        struct recent *recent = &table->recent[i];

        if (recent->found == leaf)
            recent->found = NULL;
        if (recent->removed == leaf)
            recent->removed = NULL;
    }
    if (leaf->prev != NULL)
        leaf->prev->next = leaf->next;
    if (leaf->next != NULL)
        leaf->next->prev = leaf->prev;
    arena_free(&table->arena, leaf, sizeof(*leaf));
}

/* Moves the entries of the right neighbour, if it has the same parent, into this leaf when both
 * are sparse. */
static void merge_right(struct memtable *table, struct path *path)
{
    struct inner *parent = path->nodes[table->depth - 1];
    unsigned slot = path->slots[table->depth - 1];
    struct leaf *left = path->leaf, *right;

    if (slot == parent->keys.count)
        return;
    right = parent->children[slot + 1];
    if (left->keys.count + right->keys.count > MERGE_FILL)
        return;
    node_move_tail(&right->keys, 0, &left->keys);
    left->high = right->high;
    free_leaf(table, right);
    drop_child(table, parent, slot + 1);
    shrink_root(table);
}

/* Whether the leaf, when it has `left` entries, is to be removed, or may be merged with its
 * right neighbour. */
static bool is_sparse(const struct leaf *leaf, unsigned left)
{
    return left == 0 || (left < MERGE_BELOW && leaf->next != NULL &&
                         left + leaf->next->keys.count <= MERGE_FILL);
}

/* A leaf that does not become sparse needs no change above it. The key may lie in the entry. */
static void remove_entry(struct memtable *table, const struct place *place,
                         struct dueq_slice key)
{
    struct leaf *leaf = place->leaf;
    bool sparse = table->depth > 0 && is_sparse(leaf, leaf->keys.count - 1U);
    struct path path;

    assert(table->entries > 0);
    if (sparse)
        find_path(table, key, &path);
    free_entry(table, leaf->keys.entries[place->slot]);
    node_remove(&leaf->keys, place->slot);
    table->entries--;
    if (!sparse)
        return;
    if (leaf->keys.count > 0) {
        merge_right(table, &path);
    } else if (leaf->prev != NULL || leaf->next != NULL) {
        unhang(table, &path);
        free_leaf(table, leaf);
    }
}

/* ---- put and del */

/* Returns the key's entry with room for a value of that size, which the caller writes. NULL:
 * out of memory, nothing has changed. */
static struct node_entry *open_entry(struct memtable *table, struct dueq_slice key, size_t size,
                                     bool absent)
{
    struct place place = find_to_write(table, key, false);
    struct node_entry *entry = place.equal ? resize_entry(table, place.leaf, place.slot, size)
                                           : new_entry(table, key, size);

    assert(!table->frozen);
    if (entry == NULL)
        return NULL;
    entry->tombstone = false;
    table->version++;
    if (place.equal)
        return entry;
    entry->fresh = absent;
    return insert_entry(table, key, &place, entry) ? entry : NULL;
}

enum dueq_status memtable_put(struct memtable *table, struct dueq_slice key,
                              const struct dueq_slice *parts, size_t count, bool absent,
                              const uint8_t **ret_value)
{
    struct node_entry *entry = open_entry(table, key, parts_size(parts, count), absent);

    if (entry == NULL)
        return DUEQ_NOMEM;
    write_value(entry, parts, count);
    if (ret_value != NULL)
        *ret_value = entry->bytes + entry->key_size;
    return DUEQ_OK;
}

enum dueq_status memtable_put_large(struct memtable *table, struct dueq_slice key,
                                    struct large_value *value, bool absent)
{
    struct node_entry *entry = open_entry(table, key, sizeof(value), absent);

    if (entry == NULL)
        return DUEQ_NOMEM;
    hang_large(table, entry, value);
    return DUEQ_OK;
}

enum dueq_status memtable_del(struct memtable *table, struct dueq_slice key)
{
    struct place place = find_to_write(table, key, true);
    struct node_entry *entry;

    assert(!table->frozen);
    table->version++;
    if (place.equal && place.leaf->keys.entries[place.slot]->fresh) {
        remove_entry(table, &place, key);
        return DUEQ_OK;
    }
    entry =
        place.equal ? resize_entry(table, place.leaf, place.slot, 0) : new_entry(table, key, 0);
    if (entry == NULL)
        return DUEQ_NOMEM;
    entry->tombstone = true;
    entry->value_size = 0;
    if (place.equal)
        return DUEQ_OK;
    return insert_entry(table, key, &place, entry) ? DUEQ_OK : DUEQ_NOMEM;
}

/* ---- cursors */

static struct leaf *first_leaf(const struct memtable *table)
{
    void *node = table->root;

    for (unsigned depth = table->depth; depth > 0; depth--)
        node = ((struct inner *)node)->children[0];
    return node;
}

bool memtable_seek(struct memtable_cursor *cursor, const struct memtable *table,
                   struct dueq_slice key)
{
    struct place place = find(table, key);

    *cursor = (struct memtable_cursor){table, place.leaf, place.slot};
    if (place.slot < place.leaf->keys.count)
        return true;
    cursor->leaf = place.leaf->next;
    cursor->slot = 0;
    return cursor->leaf != NULL;
}

bool memtable_seek_last(struct memtable_cursor *cursor, const struct memtable *table,
                        struct dueq_slice key)
{
    struct place place = find(table, key);

    *cursor = (struct memtable_cursor){table, place.leaf, place.slot};
    return memtable_prev(cursor);
}

/* Leaves and entries are scattered over the arena, so a walk prefetches what it will need: at
 * each step an entry, and a line of the next leaf. A processor waits when it is asked for many
 * at once. */
static void look_ahead(const struct leaf *leaf, unsigned slot)
{
    enum { AHEAD = 8, LINE = 64 };
    const struct leaf *next = leaf->next;
    unsigned ahead = slot + AHEAD;

    if (ahead < leaf->keys.count)
        prefetch(leaf->keys.entries[ahead]);
    if (next == NULL)
        return;
    if (ahead >= leaf->keys.count && ahead - leaf->keys.count < next->keys.count)
        prefetch(next->keys.entries[ahead - leaf->keys.count]);
    if (slot * LINE < sizeof(*next))
        prefetch((const char *)next + (size_t)slot * LINE);
}

bool memtable_next(struct memtable_cursor *cursor)
{
    assert(cursor->leaf != NULL);
    if (++cursor->slot == ((struct leaf *)cursor->leaf)->keys.count) {
        cursor->leaf = ((struct leaf *)cursor->leaf)->next;
        cursor->slot = 0;
    }
    if (cursor->leaf == NULL)
        return false;
    look_ahead(cursor->leaf, cursor->slot);
    return true;
}

bool memtable_prev(struct memtable_cursor *cursor)
{
    struct leaf *leaf = cursor->leaf;

    if (cursor->slot > 0) {
        cursor->slot--;
        return true;
    }
    leaf = leaf->prev;
    cursor->leaf = leaf;
    if (leaf == NULL)
        return false;
    cursor->slot = leaf->keys.count - 1U;
    return true;
}

struct memtable_entry memtable_at(const struct memtable_cursor *cursor)
{
    const struct leaf *leaf = cursor->leaf;

    assert(leaf != NULL && cursor->slot < leaf->keys.count);
    return show(leaf->keys.entries[cursor->slot]);
}

size_t memtable_count(const struct memtable *table, struct dueq_slice from,
                      struct dueq_slice end)
{
    struct place first = find(table, from), last = find(table, end);
    size_t count = last.slot;

    for (const struct leaf *leaf = first.leaf; leaf != last.leaf; leaf = leaf->next)
        count += leaf->keys.count;
    return count - first.slot;
}

/* ---- self-check */

struct audit {
    size_t entries, bytes;
    const struct leaf *last;
    const char *wrong;
};

static void audit_run(struct audit *audit, const struct node_keys *keys, size_t node_size)
{
    if (keys->count > NODE_KEYS)
        audit->wrong = "a node is overfull";
    for (unsigned i = 0; i < keys->count; i++) {
        bool equal;

        if (node_find(keys, node_entry_key(keys->entries[i]), &equal) != i || !equal)
            audit->wrong = "a node does not find its own key";
        if (i > 0 && dueq_slice_compare(node_entry_key(keys->entries[i - 1]),
                                        node_entry_key(keys->entries[i])) >= 0)
            audit->wrong = "keys are out of order";
        audit->bytes +=
            arena_room(entry_size(keys->entries[i]->key_size, stored_size(keys->entries[i])));
        audit->bytes += keys->entries[i]->large ? keys->entries[i]->value_size : 0;
    }
    audit->bytes += arena_room(node_size);
}

static void audit_leaf(struct audit *audit, const struct leaf *leaf)
{
    audit_run(audit, &leaf->keys, sizeof(*leaf));
    if (leaf->low != (audit->last == NULL ? NULL : audit->last->high) ||
        (leaf->next == NULL && leaf->high != NULL))
        audit->wrong = "two leaves have different separators between them";
    if (leaf->keys.count > 0 &&
        (!is_within(leaf, 0, node_entry_key(leaf->keys.entries[0])) ||
         !is_within(leaf, leaf->keys.count,
                    node_entry_key(leaf->keys.entries[leaf->keys.count - 1]))))
        audit->wrong = "a key is not between the separators of its leaf";
    if (leaf->prev != audit->last)
        audit->wrong = "leaves are linked wrongly";
    if (audit->last != NULL &&
        (audit->last->next != leaf ||
         dueq_slice_compare(
             node_entry_key(audit->last->keys.entries[audit->last->keys.count - 1]),
             node_entry_key(leaf->keys.entries[0])) >= 0))
        audit->wrong = "leaves are out of order";
    audit->last = leaf;
    audit->entries += leaf->keys.count;
}

/* Every key of the subtree must be between the separators that lead to it. */
static void audit_node(struct audit *audit, const struct memtable *table, const void *node,
                       unsigned depth)
{
    const struct inner *inner = node;

    if (audit->wrong != NULL)
        return;
    if (depth == 0) {
        const struct leaf *leaf = node;

        if (leaf->keys.count == 0 && table->depth > 0) {
            audit->wrong = "a leaf is empty";
            return;
        }
        audit_leaf(audit, leaf);
        for (unsigned i = 0; i < leaf->keys.count; i++)
            if (find_leaf(table, node_entry_key(leaf->keys.entries[i])) != leaf)
                audit->wrong = "separators lead to another leaf";
        return;
    }
    audit_run(audit, &inner->keys, sizeof(*inner));
    for (unsigned i = 0; i <= inner->keys.count; i++)
        audit_node(audit, table, inner->children[i], depth - 1);
}

const char *memtable_check(const struct memtable *table)
{
    struct audit audit = {0};

    audit_node(&audit, table, table->root, table->depth);
    if (audit.wrong != NULL)
        return audit.wrong;
    if (audit.last->next != NULL || first_leaf(table)->prev != NULL)
        return "the chain of leaves has loose ends";
    if (audit.entries != table->entries)
        return "the number of entries is wrong";
    return audit.bytes == memtable_bytes(table) ? NULL : "the byte count is wrong";
}
