/* The layout of LMDB's pages: numbers, the header, nodes, keys; and of its meta pages. Private
 * to storage/kv/pages. LMDB 0.9's format, data version 1, of machines with 64 bits; numbers are
 * the machine's.
 *
 * Nothing here checks what it reads: page_check.h does that first. `bytes` is a whole page; a
 * branch has at least one node. */
#ifndef DUEQ_PAGE_LAYOUT_H
#define DUEQ_PAGE_LAYOUT_H

#include "storage/slice.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    META_SIZE = 136,
    NUMBER_KEYS = 0x08, /* flag of a tree: keys are numbers */
    PAGE_HEADER = 16,
    PAGE_BRANCH = 1,
    PAGE_LEAF = 2,
    PAGE_OVERFLOW = 4,
    PAGE_SIZE_MOST = 65536,
    PAGE_KEY_MAX = 511, /* bytes */
    NODE_HEADER = 8,
    NODE_BIG = 1 /* the value lies on pages of its own */
};
#define NO_ROOT UINT64_MAX

struct page_tree {
    uint64_t root, branches, leaves, large, records;
    unsigned depth, flags;
};

struct page_meta {
    uint32_t magic, version, page_size;
    uint64_t address, last_page, txnid;
    struct page_tree free, main;
};

/* A node, as the page says. */
struct page_node {
    const uint8_t *key;
    size_t key_size;
    unsigned flags;
    uint64_t child; /* of a branch */
    size_t size;    /* of a leaf's value */
    const uint8_t *value;
};

/* bytes: of a meta page, after its header. */
struct page_meta page_meta_read(const uint8_t *bytes);
/* Could LMDB have written it, into a file of any size? A tree has at most `levels`. */
bool page_meta_possible(const struct page_meta *meta, unsigned levels);

/* ---- numbers */

static inline uint16_t page_u16(const uint8_t *bytes)
{
    uint16_t number;

    memcpy(&number, bytes, sizeof(number));
    return number;
}

static inline uint32_t page_u32(const uint8_t *bytes)
{
    uint32_t number;

    memcpy(&number, bytes, sizeof(number));
    return number;
}

static inline uint64_t page_u64(const uint8_t *bytes)
{
    uint64_t number;

    memcpy(&number, bytes, sizeof(number));
    return number;
}

/* ---- a page and its nodes */

/* Its nodes. */
static inline unsigned page_count(const uint8_t *bytes)
{
    return (page_u16(bytes + 12) - PAGE_HEADER) / 2u;
}

static inline bool page_is_leaf(const uint8_t *bytes)
{
    return page_u16(bytes + 10) == PAGE_LEAF;
}

static inline struct page_node page_node_at(const uint8_t *bytes, unsigned index)
{
    const uint8_t *at = bytes + page_u16(bytes + PAGE_HEADER + 2 * index);
    uint64_t low = page_u16(at), high = page_u16(at + 2), flags = page_u16(at + 4);
    struct page_node node = {.key = at + NODE_HEADER, .key_size = page_u16(at + 6)};

    node.value = node.key + node.key_size;
    node.flags = (unsigned)flags;
    node.size = (size_t)(low | high << 16);
    node.child = low | high << 16 | flags << 32;
    return node;
}

static inline struct dueq_slice page_key_at(const uint8_t *bytes, unsigned index)
{
    struct page_node node = page_node_at(bytes, index);

    return dueq_slice(node.key, node.key_size);
}

/* Bytes that the node takes in its page. */
static inline size_t page_node_space(const struct page_node *node, bool leaf)
{
    size_t size = NODE_HEADER + node->key_size;

    if (leaf)
        size += node->flags & NODE_BIG ? sizeof(uint64_t) : node->size;
    return size + size % 2;
}

static inline int page_compare(const struct page_tree *tree, struct dueq_slice a,
                               struct dueq_slice b)
{
    uint64_t x, y;

    if (!(tree->flags & NUMBER_KEYS))
        return dueq_slice_compare(a, b);
    x = page_u64(a.data);
    y = page_u64(b.data);
    return (x > y) - (x < y);
}

#endif
