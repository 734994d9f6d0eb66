/* The layout of LMDB's pages: numbers, the header, nodes, keys; and of its meta pages. Private
 * to storage/kv/pages. LMDB 0.9's format, data version 1. Numbers are the machine's, and so is
 * the size of a word: of numbers of pages and transactions, and of counts.
 *
 * Nothing here checks what it reads: page_check.h does that first. `bytes` is a whole page; a
 * branch has at least one node. */
#ifndef DUEQ_PAGE_LAYOUT_H
#define DUEQ_PAGE_LAYOUT_H

#include "storage/slice.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    PAGE_WORD = sizeof(size_t),
    /* offsets in the header of a page, after its number */
    PAGE_KIND = PAGE_WORD + 2,
    PAGE_LOWER = PAGE_WORD + 4, /* where its free space begins */
    PAGE_UPPER = PAGE_WORD + 6, /* and ends */
    PAGE_PAGES = PAGE_WORD + 4, /* of a large value, instead of both */
    PAGE_HEADER = PAGE_WORD + 8,
    PAGE_MACHINE_BYTES = 20,
    /* kinds */
    PAGE_BRANCH = 1,
    PAGE_LEAF = 2,
    PAGE_OVERFLOW = 4,
    PAGE_META = 8,
    /* offsets in a tree of a meta page */
    TREE_FLAGS = 4,
    TREE_DEPTH = 6,
    TREE_COUNTS = 8, /* branches, leaves, large values' pages, records */
    TREE_ROOT = TREE_COUNTS + 4 * PAGE_WORD,
    TREE_SIZE = TREE_ROOT + PAGE_WORD,
    NUMBER_KEYS = 0x08, /* flag of a tree: keys are numbers */
    /* offsets in a meta page, after its header */
    META_VERSION = 4,
    META_ADDRESS = 8,
    META_FREE = META_ADDRESS + 2 * PAGE_WORD, /* the tree; it begins with the size of a page */
    META_MAIN = META_FREE + TREE_SIZE,
    META_LAST_PAGE = META_MAIN + TREE_SIZE,
    META_TXNID = META_LAST_PAGE + PAGE_WORD,
    META_SIZE = META_TXNID + PAGE_WORD,
    PAGE_SIZE_MOST = 65536,
    PAGE_KEY_MAX = 511, /* bytes */
    /* offsets in the header of a node: its size or child, from low to high bits */
    NODE_LOW = BYTE_ORDER == LITTLE_ENDIAN ? 0 : 2,
    NODE_HIGH = 2 - NODE_LOW,
    NODE_FLAGS = 4, /* of a branch with words of 64 bits: the highest bits of the child */
    NODE_KEY_SIZE = 6,
    NODE_HEADER = 8,
    NODE_BIG = 1 /* flag: the value lies on pages of its own */
};
#define NO_ROOT ((uint64_t)SIZE_MAX)

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
/* For a file that is none of this machine's: how the numbers of the machine that wrote it are,
 * such as "32-bit, little-endian"; NULL: it is of no machine's. bytes: the first
 * PAGE_MACHINE_BYTES of the file. */
const char *page_meta_machine(const uint8_t *bytes);
/* How they are here. */
const char *page_machine(void);
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

static inline uint64_t page_word(const uint8_t *bytes)
{
    size_t number;

    memcpy(&number, bytes, sizeof(number));
    return number;
}

/* ---- a page and its nodes */

/* Its nodes. */
static inline unsigned page_count(const uint8_t *bytes)
{
    return (page_u16(bytes + PAGE_LOWER) - PAGE_HEADER) / 2u;
}

static inline bool page_is_leaf(const uint8_t *bytes)
{
    return page_u16(bytes + PAGE_KIND) == PAGE_LEAF;
}

static inline struct page_node page_node_at(const uint8_t *bytes, unsigned index)
{
    const uint8_t *at = bytes + page_u16(bytes + PAGE_HEADER + 2 * index);
    uint64_t low = page_u16(at + NODE_LOW), high = page_u16(at + NODE_HIGH),
             flags = page_u16(at + NODE_FLAGS);
    struct page_node node = {.key = at + NODE_HEADER, .key_size = page_u16(at + NODE_KEY_SIZE)};

    node.value = node.key + node.key_size;
    node.flags = (unsigned)flags;
    node.size = (size_t)(low | high << 16);
    node.child = low | high << 16 | (PAGE_WORD == 8 ? flags << 32 : 0);
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
        size += node->flags & NODE_BIG ? PAGE_WORD : node->size;
    return size + size % 2;
}

static inline int page_compare(const struct page_tree *tree, struct dueq_slice a,
                               struct dueq_slice b)
{
    uint64_t x, y;

    if (!(tree->flags & NUMBER_KEYS))
        return dueq_slice_compare(a, b);
    x = page_word(a.data);
    y = page_word(b.data);
    return (x > y) - (x < y);
}

#endif
