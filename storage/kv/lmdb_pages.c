#include "storage/kv/lmdb_pages.h"

#include "storage/kv/key.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* LMDB 0.9's format, data version 1, of machines with 64 bits; numbers are the machine's. */
#define META_MAGIC 0xBEEFC0DEu
enum {
    META_VERSION = 1,
    META_SIZE = 136,
    NUMBER_KEYS = 0x08, /* flag of a tree: keys are numbers */
    TREE_FLAGS = 0x7f,  /* those that change what a tree is; other flags do not matter */
    PAGE_HEADER = 16,
    PAGE_BRANCH = 1,
    PAGE_LEAF = 2,
    PAGE_OVERFLOW = 4,
    PAGE_SIZE_LEAST = 512,
    PAGE_SIZE_MOST = 65536,
    NODE_HEADER = 8,
    NODE_BIG = 1, /* the value lies on pages of its own */
    READ_STEP = 65536,
    CHECKED_MOST = 1024,   /* sliced values that are known to be sound */
    LOST_SHARE = 4,        /* of all pages, one in so many may be lost */
    LOST_MOST = 1024,      /* pages, besides */
    UNWRITTEN_MOST = 65536 /* pages that may be after the end of the file */
};
#define NO_ROOT UINT64_MAX

struct tree {
    uint64_t root, branches, leaves, large, records;
    unsigned depth, flags;
};

struct meta {
    uint32_t magic, version, page_size;
    uint64_t address, last_page, txnid;
    struct tree free, main;
};

/* A value of more than PAGES_SLICED: its first page, of which key, its size with the checksum.
 * Nothing else covers the number of the page, which the disk may have changed; so a page that
 * was checked is right for that key only. */
struct checked {
    uint64_t page, key_hash;
    size_t size;
};

struct pages {
    const struct dueq_io *io;
    int fd;
    const uint8_t *map;
    uint64_t map_bytes;
    size_t page_size;
    bool for_writer;
    struct meta meta;        /* of the transaction that is shown; txnid 0: none yet */
    uint8_t *sound, *unused; /* a bit for each page: checked; on the list of free pages */
    size_t bits;             /* in each */
    bool unused_exact;       /* else pages may have been used again since */
    uint8_t *scratch;        /* a page, or a step of a large value */
    uint64_t marks[PAGE_SIZE_MOST / 2 / 64]; /* where nodes begin */
    /* the leaf that was allowed last, and the keys that lie in it */
    bool allowed, allowed_last;
    struct kv_key allowed_from, allowed_to;
    bool was_busy;     /* the allowance was used up */
    size_t *allowance; /* bytes of sliced values that may be checked; NULL: no limit */
    struct checked checked[CHECKED_MOST]; /* a ring; void without the bit in `sound` */
    unsigned next_checked;
    struct checked under_check; /* page 0: none */
    size_t done;                /* bytes of it */
    XXH3_state_t *sum;          /* of these bytes */
    char damage[256];
};

/* A node, as the page says. */
struct node {
    const uint8_t *key;
    size_t key_size;
    unsigned flags;
    uint64_t child; /* of a branch */
    size_t size;    /* of a leaf's value */
    const uint8_t *value;
};

/* What leads to a page: its keys are at or above `from` and below `to`. */
struct range {
    struct dueq_slice from, to;
    bool has_from, has_to;
};

static void write_sum(uint8_t *sum, uint64_t hash)
{
    for (int i = 0; i < PAGES_SUM_SIZE; i++)
        sum[i] = (uint8_t)(hash >> (24 - 8 * i));
}

void pages_write_sum(uint8_t *sum, struct dueq_slice key, struct dueq_slice value)
{
    write_sum(sum,
              XXH3_64bits_withSeed(value.data, value.size, XXH3_64bits(key.data, key.size)));
}

/* ---- failing */

static enum dueq_status damaged(struct pages *pages, uint64_t page, const char *what)
{
    snprintf(pages->damage, sizeof(pages->damage), "page %" PRIu64 " is damaged: %s", page,
             what);
    return DUEQ_CORRUPT;
}

/* error: of read_file. */
static enum dueq_status unreadable(struct pages *pages, uint64_t page, int error)
{
    snprintf(pages->damage, sizeof(pages->damage), "cannot read page %" PRIu64 ": %s", page,
             strerror(error));
    return DUEQ_IO;
}

const char *pages_damage(const struct pages *pages)
{
    return pages->damage;
}

void pages_forget_damage(struct pages *pages)
{
    pages->damage[0] = '\0';
}

/* ---- numbers */

static uint16_t get_u16(const uint8_t *bytes)
{
    uint16_t number;

    memcpy(&number, bytes, sizeof(number));
    return number;
}

static uint32_t get_u32(const uint8_t *bytes)
{
    uint32_t number;

    memcpy(&number, bytes, sizeof(number));
    return number;
}

static uint64_t get_u64(const uint8_t *bytes)
{
    uint64_t number;

    memcpy(&number, bytes, sizeof(number));
    return number;
}

static bool has_bit(const uint8_t *bits, uint64_t at)
{
    return bits[at / 8] >> at % 8 & 1;
}

static void set_bit(uint8_t *bits, uint64_t at)
{
    bits[at / 8] |= (uint8_t)(1 << at % 8);
}

static void clear_bit(uint8_t *bits, uint64_t at)
{
    bits[at / 8] &= (uint8_t) ~(1 << at % 8);
}

/* ---- metas */

static struct tree read_tree(const uint8_t *bytes)
{
    return (struct tree){.flags = get_u16(bytes + 4),
                         .depth = get_u16(bytes + 6),
                         .branches = get_u64(bytes + 8),
                         .leaves = get_u64(bytes + 16),
                         .large = get_u64(bytes + 24),
                         .records = get_u64(bytes + 32),
                         .root = get_u64(bytes + 40)};
}

static struct meta read_meta(const uint8_t *bytes)
{
    return (struct meta){.magic = get_u32(bytes),
                         .version = get_u32(bytes + 4),
                         .address = get_u64(bytes + 8),
                         .page_size = get_u32(bytes + 24),
                         .free = read_tree(bytes + 24),
                         .main = read_tree(bytes + 72),
                         .last_page = get_u64(bytes + 120),
                         .txnid = get_u64(bytes + 128)};
}

static bool tree_possible(const struct tree *tree, uint64_t last_page, unsigned flags)
{
    if ((tree->flags & TREE_FLAGS) != flags || tree->depth > PAGES_LEVELS)
        return false;
    if (tree->root == NO_ROOT)
        return tree->depth == 0;
    return tree->depth > 0 && tree->root > 1 && tree->root <= last_page;
}

static bool meta_possible(const struct meta *meta)
{
    return meta->magic == META_MAGIC && meta->version == META_VERSION && meta->address == 0 &&
           meta->page_size >= PAGE_SIZE_LEAST && meta->page_size <= PAGE_SIZE_MOST &&
           (meta->page_size & (meta->page_size - 1)) == 0 && meta->last_page > 0 &&
           meta->last_page < UINT64_MAX / PAGE_SIZE_MOST &&
           tree_possible(&meta->free, meta->last_page, NUMBER_KEYS) &&
           tree_possible(&meta->main, meta->last_page, 0);
}

/* 0, or errno; EILSEQ: the file is shorter. */
static int read_file(const struct dueq_io *io, int fd, uint64_t offset, uint8_t *bytes,
                     size_t size)
{
    while (size > 0) {
        ssize_t got = io->pread(io->arg, fd, bytes, size, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : EILSEQ;
        bytes += got;
        offset += (size_t)got;
        size -= (size_t)got;
    }
    return 0;
}

/* A page that is given back in the transaction that took it is never written. */
static bool fits_file(const struct meta *meta, int fd)
{
    struct stat stats;

    return fstat(fd, &stats) == 0 &&
           meta->last_page < (uint64_t)stats.st_size / meta->page_size + UNWRITTEN_MOST;
}

static enum dueq_status load_meta(const struct dueq_io *io, int fd, uint64_t offset,
                                  struct meta *ret_meta)
{
    uint8_t bytes[META_SIZE];
    int error = read_file(io, fd, offset + PAGE_HEADER, bytes, sizeof(bytes));

    if (error != 0)
        return error == EILSEQ ? DUEQ_CORRUPT : DUEQ_IO;
    *ret_meta = read_meta(bytes);
    return meta_possible(ret_meta) && fits_file(ret_meta, fd) ? DUEQ_OK : DUEQ_CORRUPT;
}

enum dueq_status pages_check_metas(const struct dueq_io *io, int fd, struct dueq_error *error)
{
    struct meta metas[2];
    enum dueq_status status = load_meta(io, fd, 0, &metas[0]);

    if (status == DUEQ_OK)
        status = load_meta(io, fd, metas[0].page_size, &metas[1]);
    if (status == DUEQ_OK &&
        (metas[0].page_size != metas[1].page_size || metas[0].txnid % 2 != 0 ||
         metas[1].txnid % 2 != 1 ||
         (metas[0].txnid + 1 != metas[1].txnid && metas[1].txnid + 1 != metas[0].txnid)))
        status = DUEQ_CORRUPT;
    if (status != DUEQ_OK)
        dueq_fail(error, status,
                  status == DUEQ_CORRUPT
                      ? "a meta page of data.mdb is damaged. Restore a backup"
                      : "cannot read data.mdb");
    return status;
}

/* ---- life */

struct pages *pages_new(const struct dueq_io *io, int fd, uint64_t map_bytes, bool for_writer)
{
    struct pages *pages = calloc(1, sizeof(*pages));
    void *map;

    if (pages == NULL)
        return NULL;
    map = mmap(NULL, map_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    pages->scratch = malloc(READ_STEP);
    pages->sum = XXH3_createState();
    if (map == MAP_FAILED || pages->scratch == NULL || pages->sum == NULL) {
        if (map != MAP_FAILED)
            munmap(map, map_bytes);
        XXH3_freeState(pages->sum);
        free(pages->scratch);
        free(pages);
        return NULL;
    }
    madvise(map, map_bytes, MADV_RANDOM);
    pages->io = io;
    pages->fd = fd;
    pages->map = map;
    pages->map_bytes = map_bytes;
    pages->for_writer = for_writer;
    return pages;
}

void pages_free(struct pages *pages)
{
    if (pages == NULL)
        return;
    munmap((void *)(uintptr_t)pages->map, pages->map_bytes);
    free(pages->sound);
    free(pages->unused);
    free(pages->scratch);
    XXH3_freeState(pages->sum);
    free(pages);
}

bool pages_limit_checks(struct pages *pages, size_t *allowance)
{
    bool was_busy = pages->was_busy;

    pages->allowance = allowance;
    pages->was_busy = false;
    return was_busy;
}

bool pages_contain(const struct pages *pages, const void *byte)
{
    return (uintptr_t)byte - (uintptr_t)pages->map < pages->map_bytes;
}

/* ---- one page */

static const uint8_t *page_at(const struct pages *pages, uint64_t page)
{
    return pages->map + page * pages->page_size;
}

static unsigned count_of(const uint8_t *bytes)
{
    return (get_u16(bytes + 12) - PAGE_HEADER) / 2u;
}

static bool is_leaf(const uint8_t *bytes)
{
    return get_u16(bytes + 10) == PAGE_LEAF;
}

static struct node node_at(const uint8_t *bytes, unsigned index)
{
    const uint8_t *at = bytes + get_u16(bytes + PAGE_HEADER + 2 * index);
    uint64_t low = get_u16(at), high = get_u16(at + 2), flags = get_u16(at + 4);
    struct node node = {.key = at + NODE_HEADER, .key_size = get_u16(at + 6)};

    node.value = node.key + node.key_size;
    node.flags = (unsigned)flags;
    node.size = (size_t)(low | high << 16);
    node.child = low | high << 16 | flags << 32;
    return node;
}

static struct dueq_slice key_of(const uint8_t *bytes, unsigned index)
{
    struct node node = node_at(bytes, index);

    return dueq_slice(node.key, node.key_size);
}

static size_t space_of(const struct node *node, bool leaf)
{
    size_t size = NODE_HEADER + node->key_size;

    if (leaf)
        size += node->flags & NODE_BIG ? sizeof(uint64_t) : node->size;
    return size + size % 2;
}

/* Nodes fill all that is after the free space, each byte once. */
static bool nodes_tile(struct pages *pages, const uint8_t *bytes, bool leaf)
{
    size_t upper = get_u16(bytes + 14), sum = 0;
    unsigned count = count_of(bytes);

    memset(pages->marks, 0, pages->page_size / 2 / 8);
    for (unsigned i = 0; i < count; i++) {
        size_t at = get_u16(bytes + PAGE_HEADER + 2 * i);
        uint64_t mark = (uint64_t)1 << at / 2 % 64;
        struct node node;

        if (at % 2 != 0 || at < upper || at + NODE_HEADER > pages->page_size ||
            pages->marks[at / 128] & mark)
            return false;
        pages->marks[at / 128] |= mark;
        node = node_at(bytes, i);
        if (node.key_size > KV_KEY_MAX || (leaf && (node.flags & ~(unsigned)NODE_BIG)) ||
            space_of(&node, leaf) > pages->page_size - at)
            return false;
        sum += space_of(&node, leaf);
    }
    return sum == pages->page_size - upper;
}

/* Each node ends where another begins, or with the page. */
static bool nodes_meet(const struct pages *pages, const uint8_t *bytes, bool leaf)
{
    unsigned count = count_of(bytes);

    for (unsigned i = 0; i < count; i++) {
        struct node node = node_at(bytes, i);
        size_t end = get_u16(bytes + PAGE_HEADER + 2 * i) + space_of(&node, leaf);

        if (end != pages->page_size && !(pages->marks[end / 128] >> end / 2 % 64 & 1))
            return false;
    }
    return true;
}

static int compare(const struct tree *tree, struct dueq_slice a, struct dueq_slice b)
{
    uint64_t x, y;

    if (!(tree->flags & NUMBER_KEYS))
        return dueq_slice_compare(a, b);
    x = get_u64(a.data);
    y = get_u64(b.data);
    return (x > y) - (x < y);
}

/* The first key of a branch has no meaning. */
static bool keys_ascend(const struct tree *tree, const uint8_t *bytes, bool leaf)
{
    unsigned count = count_of(bytes), first = leaf ? 0 : 1;

    for (unsigned i = first; i < count; i++) {
        struct dueq_slice key = key_of(bytes, i);

        if (key.size == 0 || (tree->flags & NUMBER_KEYS && key.size != sizeof(uint64_t)))
            return false;
        if (i > first && compare(tree, key_of(bytes, i - 1), key) >= 0)
            return false;
    }
    return true;
}

/* Pages that a large value takes, its header included. */
static uint64_t pages_of(const struct pages *pages, size_t size)
{
    return (PAGE_HEADER - 1 + size) / pages->page_size + 1;
}

/* The header of a large value's first page: how many pages it has, which are those that it
 * needs, or more. */
static enum dueq_status look_at_head(struct pages *pages, uint64_t page, size_t size,
                                     uint64_t *ret_count)
{
    uint8_t head[PAGE_HEADER];
    uint64_t last = pages->meta.last_page;
    int error;

    if (page < 2 || page > last || pages_of(pages, size) > last - page + 1)
        return damaged(pages, page, "a large value lies outside of the file");
    error = read_file(pages->io, pages->fd, page * pages->page_size, head, sizeof(head));
    if (error != 0 && error != EILSEQ)
        return unreadable(pages, page, error);
    *ret_count = get_u32(head + 12);
    if (error != 0 || get_u64(head) != page || get_u16(head + 10) != PAGE_OVERFLOW ||
        *ret_count < pages_of(pages, size) || *ret_count > last - page + 1)
        return damaged(pages, page, "it is not the beginning of a large value");
    return DUEQ_OK;
}

static enum dueq_status look_at_large(struct pages *pages, uint64_t page, size_t size)
{
    uint64_t count;
    enum dueq_status status = look_at_head(pages, page, size, &count);

    if (status == DUEQ_OK && count != pages_of(pages, size))
        return damaged(pages, page, "it is the beginning of another large value");
    return status;
}

static enum dueq_status look_at_record(struct pages *pages, const struct tree *tree,
                                       uint64_t page, const struct node *node)
{
    uint8_t sum[PAGES_SUM_SIZE];

    if (tree->flags & NUMBER_KEYS)
        return DUEQ_OK;
    if (node->size < PAGES_SUM_SIZE)
        return damaged(pages, page, "a value has no checksum");
    if (node->flags & NODE_BIG)
        return pages->for_writer ? look_at_large(pages, get_u64(node->value), node->size)
                                 : DUEQ_OK;
    pages_write_sum(sum, dueq_slice(node->key, node->key_size),
                    dueq_slice(node->value, node->size - PAGES_SUM_SIZE));
    if (memcmp(sum, node->value + node->size - PAGES_SUM_SIZE, PAGES_SUM_SIZE) != 0)
        return damaged(pages, page, "a record does not check");
    return DUEQ_OK;
}

static enum dueq_status look_at_nodes(struct pages *pages, const struct tree *tree,
                                      uint64_t page, const uint8_t *bytes)
{
    bool leaf = is_leaf(bytes);
    unsigned count = count_of(bytes);

    if (!nodes_tile(pages, bytes, leaf) || !nodes_meet(pages, bytes, leaf))
        return damaged(pages, page, "its nodes do not fit it");
    if (!keys_ascend(tree, bytes, leaf))
        return damaged(pages, page, "its keys are not in order");
    for (unsigned i = 0; i < count; i++) {
        struct node node = node_at(bytes, i);
        enum dueq_status status = DUEQ_OK;

        if (leaf)
            status = look_at_record(pages, tree, page, &node);
        else if (node.child < 2 || node.child > pages->meta.last_page)
            status = damaged(pages, page, "it leads out of the file");
        if (status != DUEQ_OK)
            return status;
    }
    return DUEQ_OK;
}

static enum dueq_status look_at_bytes(struct pages *pages, const struct tree *tree,
                                      uint64_t page, const uint8_t *bytes)
{
    unsigned flags = get_u16(bytes + 10), lower = get_u16(bytes + 12),
             upper = get_u16(bytes + 14);

    if (get_u64(bytes) != page)
        return damaged(pages, page, "it says that it is another one");
    if (flags != PAGE_LEAF && flags != PAGE_BRANCH)
        return damaged(pages, page, "it is of no kind that could be here");
    if (lower <= PAGE_HEADER || lower % 2 != 0 || lower > upper || upper > pages->page_size)
        return damaged(pages, page, "its header is impossible");
    return look_at_nodes(pages, tree, page, bytes);
}

static enum dueq_status list_unused(struct pages *pages, uint64_t after, bool first);

/* Leaves out pages that were free and are in use again. */
static enum dueq_status list_anew(struct pages *pages, bool first)
{
    enum dueq_status status;

    memset(pages->unused, 0, pages->bits / 8);
    status = list_unused(pages, 0, first);
    pages->unused_exact = status == DUEQ_OK;
    return status;
}

/* Reads the list again: pages that were free may be in use now. */
static enum dueq_status look_whether_used(struct pages *pages, uint64_t page)
{
    enum dueq_status status;

    if (!has_bit(pages->unused, page))
        return DUEQ_OK;
    if (!pages->unused_exact) {
        status = list_anew(pages, false);
        if (status != DUEQ_OK)
            return status;
    }
    return has_bit(pages->unused, page)
               ? damaged(pages, page, "it is in use and on the list of free pages")
               : DUEQ_OK;
}

static enum dueq_status look_at(struct pages *pages, const struct tree *tree, uint64_t page)
{
    int error = read_file(pages->io, pages->fd, page * pages->page_size, pages->scratch,
                          pages->page_size);
    enum dueq_status status;

    if (error != 0 && error != EILSEQ)
        return unreadable(pages, page, error);
    if (error != 0)
        return damaged(pages, page, "the file ends before it");
    status = look_at_bytes(pages, tree, page, pages->scratch);
    if (status == DUEQ_OK && tree == &pages->meta.main)
        status = look_whether_used(pages, page);
    if (status == DUEQ_OK)
        set_bit(pages->sound, page);
    return status;
}

/* A page that is used at that level of the tree. */
static enum dueq_status visit(struct pages *pages, const struct tree *tree, uint64_t page,
                              unsigned level, const uint8_t **ret_bytes)
{
    enum dueq_status status = DUEQ_OK;

    if (page < 2 || page > pages->meta.last_page)
        return damaged(pages, page, "there is no such page");
    if (!has_bit(pages->sound, page))
        status = look_at(pages, tree, page);
    if (status != DUEQ_OK)
        return status;
    *ret_bytes = page_at(pages, page);
    return get_u16(*ret_bytes + 10) == (level + 1 == tree->depth ? PAGE_LEAF : PAGE_BRANCH)
               ? DUEQ_OK
               : damaged(pages, page, "it is not where its kind belongs");
}

/* ---- the way down */

static enum dueq_status look_at_range(struct pages *pages, const struct tree *tree,
                                      uint64_t page, const uint8_t *bytes,
                                      const struct range *range)
{
    unsigned count = count_of(bytes), first = is_leaf(bytes) ? 0 : 1;

    if (first == count)
        return DUEQ_OK;
    if ((range->has_from && compare(tree, key_of(bytes, first), range->from) < 0) ||
        (range->has_to && compare(tree, key_of(bytes, count - 1), range->to) >= 0))
        return damaged(pages, page, "its keys are not those that its parent leads to");
    return DUEQ_OK;
}

static void narrow(struct range *range, const uint8_t *branch, unsigned index)
{
    if (index > 0) {
        range->from = key_of(branch, index);
        range->has_from = true;
    }
    if (index + 1 < count_of(branch)) {
        range->to = key_of(branch, index + 1);
        range->has_to = true;
    }
}

/* The child that the key belongs to. */
static unsigned child_for(const struct tree *tree, const uint8_t *branch, struct dueq_slice key)
{
    unsigned low = 1, high = count_of(branch);

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (compare(tree, key_of(branch, middle), key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

/* The first key at or above; the count when there is none. */
static unsigned first_from(const struct tree *tree, const uint8_t *leaf, struct dueq_slice key,
                           bool *ret_exact)
{
    unsigned low = 0, high = count_of(leaf);

    *ret_exact = false;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        int order = compare(tree, key_of(leaf, middle), key);

        if (order == 0) {
            *ret_exact = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct tree *tree_of(const struct pages_cursor *cursor)
{
    return &cursor->pages->meta.main;
}

/* Goes down from that level: towards the key, or (NULL) to the first or the last leaf. */
static enum dueq_status descend(struct pages_cursor *cursor, const struct tree *tree,
                                unsigned level, const struct dueq_slice *key, bool last,
                                struct range *range)
{
    struct pages *pages = cursor->pages;

    for (;; level++) {
        const uint8_t *bytes;
        enum dueq_status status = visit(pages, tree, cursor->page[level], level, &bytes);

        if (status == DUEQ_OK)
            status = look_at_range(pages, tree, cursor->page[level], bytes, range);
        if (status != DUEQ_OK)
            return status;
        if (level + 1 == tree->depth) {
            cursor->index[level] = last ? count_of(bytes) - 1 : 0;
            cursor->depth = tree->depth;
            return DUEQ_OK;
        }
        if (key != NULL)
            cursor->index[level] = child_for(tree, bytes, *key);
        else
            cursor->index[level] = last ? count_of(bytes) - 1 : 0;
        cursor->page[level + 1] = node_at(bytes, cursor->index[level]).child;
        narrow(range, bytes, cursor->index[level]);
    }
}

static enum dueq_status enter(struct pages_cursor *cursor, const struct tree *tree,
                              const struct dueq_slice *key, bool last)
{
    struct range range = {.has_from = false};

    cursor->depth = 0;
    cursor->txnid = cursor->pages->meta.txnid;
    if (tree->root == NO_ROOT)
        return DUEQ_NOTFOUND;
    cursor->page[0] = tree->root;
    return descend(cursor, tree, 0, key, last, &range);
}

/* Moves to the leaf beside. DUEQ_NOTFOUND: there is none, and the cursor stays. */
static enum dueq_status cross(struct pages_cursor *cursor, const struct tree *tree, bool onward)
{
    struct range range = {.has_from = false};
    unsigned level = cursor->depth - 1;
    const uint8_t *bytes;

    do {
        if (level-- == 0)
            return DUEQ_NOTFOUND;
        bytes = page_at(cursor->pages, cursor->page[level]);
    } while (onward ? cursor->index[level] + 1 >= count_of(bytes) : cursor->index[level] == 0);
    cursor->index[level] += onward ? 1 : -1u;
    for (unsigned above = 0; above <= level; above++)
        narrow(&range, page_at(cursor->pages, cursor->page[above]), cursor->index[above]);
    cursor->page[level + 1] = node_at(bytes, cursor->index[level]).child;
    return descend(cursor, tree, level + 1, NULL, !onward, &range);
}

static const uint8_t *leaf_of(const struct pages_cursor *cursor)
{
    return page_at(cursor->pages, cursor->page[cursor->depth - 1]);
}

static enum dueq_status move_on(struct pages_cursor *cursor, const struct tree *tree)
{
    if (cursor->depth == 0)
        return DUEQ_NOTFOUND;
    if (++cursor->index[cursor->depth - 1] < count_of(leaf_of(cursor)))
        return DUEQ_OK;
    return cross(cursor, tree, true);
}

static enum dueq_status move_back(struct pages_cursor *cursor, const struct tree *tree)
{
    if (cursor->depth == 0)
        return DUEQ_NOTFOUND;
    if (cursor->index[cursor->depth - 1]-- > 0)
        return DUEQ_OK;
    return cross(cursor, tree, false);
}

/* For a search that found nothing at the edge of a leaf. If the disk has changed a key of a
 * parent, the record is in the leaf beside, which then does not fit its parents either. */
static enum dueq_status look_beside(const struct pages_cursor *cursor, bool onward)
{
    struct pages_cursor beside = *cursor;
    enum dueq_status status = cross(&beside, tree_of(cursor), onward);

    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static bool is_old(const struct pages_cursor *cursor)
{
    return cursor->txnid != cursor->pages->meta.txnid;
}

/* ---- reading */

static bool is_same(const struct checked *a, const struct checked *b)
{
    return a->page == b->page && a->key_hash == b->key_hash && a->size == b->size;
}

static bool was_checked(const struct pages *pages, const struct checked *value)
{
    if (value->size <= PAGES_SLICED || !has_bit(pages->sound, value->page))
        return false;
    for (size_t i = 0; i < CHECKED_MOST; i++)
        if (is_same(&pages->checked[i], value))
            return true;
    return false;
}

static void note_checked(struct pages *pages, const struct checked *value)
{
    set_bit(pages->sound, value->page);
    if (value->size <= PAGES_SLICED)
        return;
    for (size_t i = 0; i < CHECKED_MOST; i++)
        if (pages->checked[i].page == value->page)
            pages->checked[i].page = 0;
    pages->checked[pages->next_checked] = *value;
    pages->next_checked = (pages->next_checked + 1) % CHECKED_MOST;
}

static enum dueq_status failed_read(struct pages *pages, uint64_t page, int error)
{
    return error == EILSEQ ? damaged(pages, page, "the file ends within a value")
                           : unreadable(pages, page, error);
}

/* Adds up to `most` bytes of the value under check to its checksum, by pread. */
static enum dueq_status sum_some(struct pages *pages, size_t most)
{
    const struct checked *value = &pages->under_check;
    size_t size = value->size - PAGES_SUM_SIZE;

    while (most > 0 && pages->done < size) {
        uint64_t offset = value->page * pages->page_size + PAGE_HEADER + pages->done;
        size_t left = size - pages->done, step = left < most ? left : most;
        int error;

        step = step < READ_STEP ? step : READ_STEP;
        error = read_file(pages->io, pages->fd, offset, pages->scratch, step);
        if (error != 0)
            return failed_read(pages, value->page, error);
        XXH3_64bits_update(pages->sum, pages->scratch, step);
        pages->done += step;
        most -= step;
    }
    return DUEQ_OK;
}

static enum dueq_status compare_sum(struct pages *pages)
{
    const struct checked *value = &pages->under_check;
    uint64_t offset = value->page * pages->page_size + PAGE_HEADER + pages->done;
    uint8_t sum[PAGES_SUM_SIZE], stored[PAGES_SUM_SIZE];
    int error = read_file(pages->io, pages->fd, offset, stored, sizeof(stored));

    if (error != 0)
        return failed_read(pages, value->page, error);
    write_sum(sum, XXH3_64bits_digest(pages->sum));
    if (memcmp(sum, stored, sizeof(sum)) != 0)
        return damaged(pages, value->page, "a value does not check");
    note_checked(pages, value);
    return DUEQ_OK;
}

/* How much of the value under check may be checked now, which is taken from the allowance. */
static size_t take_allowance(struct pages *pages)
{
    size_t left = pages->under_check.size - pages->done, most;

    if (pages->allowance == NULL || pages->under_check.size <= PAGES_SLICED)
        return left;
    most = left < *pages->allowance ? left : *pages->allowance;
    *pages->allowance -= most;
    return most;
}

/* DUEQ_BUSY: the allowance is used up. Any other status: the check is over. */
static enum dueq_status check_on(struct pages *pages)
{
    enum dueq_status status = sum_some(pages, take_allowance(pages));

    if (status == DUEQ_OK && pages->done + PAGES_SUM_SIZE < pages->under_check.size) {
        pages->was_busy = true;
        return DUEQ_BUSY;
    }
    if (status == DUEQ_OK)
        status = compare_sum(pages);
    pages->under_check.page = 0;
    return status;
}

/* Goes on with another value's check. What is wrong with it shows when that value is read. */
static enum dueq_status help(struct pages *pages)
{
    bool was_sound = pages->damage[0] == '\0';
    enum dueq_status status = check_on(pages);

    if (was_sound && status != DUEQ_BUSY)
        pages_forget_damage(pages);
    return status;
}

/* One value is checked at a time. Who comes with another one helps with the first, so that
 * those who take turns do not make each other begin again. Without a limit there are no turns,
 * and the first one begins again. */
static enum dueq_status check(struct pages *pages, const struct checked *value)
{
    struct checked *now = &pages->under_check;

    if (now->page != 0 && !is_same(now, value) && pages->allowance != NULL &&
        value->size > PAGES_SLICED && help(pages) == DUEQ_BUSY)
        return DUEQ_BUSY;
    if (!is_same(now, value)) {
        *now = *value;
        pages->done = 0;
        XXH3_64bits_reset_withSeed(pages->sum, value->key_hash);
    }
    return check_on(pages);
}

/* One that was read from the disk before is in the map. */
static enum dueq_status check_mapped(struct pages *pages, const struct node *node,
                                     uint64_t page)
{
    struct dueq_slice value =
        dueq_slice(page_at(pages, page) + PAGE_HEADER, node->size - PAGES_SUM_SIZE);
    uint8_t sum[PAGES_SUM_SIZE];

    pages_write_sum(sum, dueq_slice(node->key, node->key_size), value);
    return memcmp(sum, (const uint8_t *)value.data + value.size, PAGES_SUM_SIZE) == 0
               ? DUEQ_OK
               : damaged(pages, page, "a value does not check");
}

static enum dueq_status large_value(struct pages *pages, const struct node *node,
                                    struct dueq_slice *ret_value)
{
    struct checked value = {get_u64(node->value), XXH3_64bits(node->key, node->key_size),
                            node->size};
    enum dueq_status status = look_at_large(pages, value.page, node->size);

    if (status == DUEQ_OK && !was_checked(pages, &value))
        status = node->size <= PAGES_SLICED && has_bit(pages->sound, value.page)
                     ? check_mapped(pages, node, value.page)
                     : check(pages, &value);
    if (status == DUEQ_OK)
        *ret_value =
            dueq_slice(page_at(pages, value.page) + PAGE_HEADER, node->size - PAGES_SUM_SIZE);
    return status;
}

static enum dueq_status value_of(struct pages *pages, const struct node *node,
                                 struct dueq_slice *ret_value)
{
    if (node->flags & NODE_BIG)
        return large_value(pages, node, ret_value);
    *ret_value = dueq_slice(node->value, node->size - PAGES_SUM_SIZE);
    return DUEQ_OK;
}

/* The checksum of a large value is on the pages of the value, and covers the key. Once it was
 * checked, the key is right. */
static enum dueq_status look_at_key(struct pages *pages, const uint8_t *leaf, unsigned index)
{
    struct dueq_slice value;
    struct node node;

    if (index >= count_of(leaf))
        return DUEQ_OK;
    node = node_at(leaf, index);
    if (!(node.flags & NODE_BIG) || (get_u64(node.value) <= pages->meta.last_page &&
                                     has_bit(pages->sound, get_u64(node.value))))
        return DUEQ_OK;
    return large_value(pages, &node, &value);
}

/* For a key that is not in its leaf: checks the two records between which it would be. If a
 * changed key has misled the search, it is one of these two. So beside a large value that is
 * damaged no key is known to be absent: the sum that does not check is of key and value, and
 * may fail because the key is the one that is looked for. */
static enum dueq_status look_at_absence(const struct pages_cursor *cursor)
{
    unsigned index = cursor->index[cursor->depth - 1];
    const uint8_t *leaf = leaf_of(cursor);
    enum dueq_status status = look_at_key(cursor->pages, leaf, index);

    if (status == DUEQ_OK && index > 0)
        status = look_at_key(cursor->pages, leaf, index - 1);
    if (status == DUEQ_OK && index == 0)
        status = look_beside(cursor, false);
    return status;
}

/* Finds the leaf, and in it the first key at or above; the index may be after the last. */
static enum dueq_status find(struct pages_cursor *cursor, struct dueq_slice key,
                             bool *ret_exact)
{
    const struct tree *tree = tree_of(cursor);
    enum dueq_status status = enter(cursor, tree, &key, false);

    if (status != DUEQ_OK)
        return status;
    cursor->index[cursor->depth - 1] = first_from(tree, leaf_of(cursor), key, ret_exact);
    return *ret_exact ? DUEQ_OK : look_at_absence(cursor);
}

enum dueq_status pages_get(struct pages *pages, struct dueq_slice key,
                           struct dueq_slice *ret_value)
{
    struct pages_cursor cursor = {.pages = pages};
    bool exact;
    enum dueq_status status = find(&cursor, key, &exact);
    struct node node;

    if (status != DUEQ_OK)
        return status;
    if (!exact) {
        if (cursor.index[cursor.depth - 1] == count_of(leaf_of(&cursor)))
            status = look_beside(&cursor, true);
        return status == DUEQ_OK ? DUEQ_NOTFOUND : status;
    }
    node = node_at(leaf_of(&cursor), cursor.index[cursor.depth - 1]);
    return value_of(pages, &node, ret_value);
}

enum dueq_status pages_seek(struct pages_cursor *cursor, struct dueq_slice key)
{
    bool exact;
    enum dueq_status status = find(cursor, key, &exact);

    if (status == DUEQ_OK && cursor->index[cursor->depth - 1] == count_of(leaf_of(cursor)))
        status = cross(cursor, tree_of(cursor), true);
    if (status != DUEQ_OK)
        cursor->depth = 0;
    return status;
}

enum dueq_status pages_last(struct pages_cursor *cursor)
{
    return enter(cursor, tree_of(cursor), NULL, true);
}

static enum dueq_status step(struct pages_cursor *cursor, bool onward)
{
    enum dueq_status status = DUEQ_NOTFOUND;

    if (!is_old(cursor))
        status = onward ? move_on(cursor, tree_of(cursor)) : move_back(cursor, tree_of(cursor));
    if (status != DUEQ_OK)
        cursor->depth = 0;
    return status;
}

enum dueq_status pages_next(struct pages_cursor *cursor)
{
    return step(cursor, true);
}

enum dueq_status pages_prev(struct pages_cursor *cursor)
{
    return step(cursor, false);
}

enum dueq_status pages_skip(struct pages_cursor *cursor, struct dueq_slice end,
                            uint64_t *ret_count)
{
    const struct tree *tree = tree_of(cursor);
    unsigned *index = &cursor->index[cursor->depth - 1], from = *index;
    const uint8_t *leaf = leaf_of(cursor);
    unsigned to = count_of(leaf);
    bool exact;

    if (compare(tree, key_of(leaf, to - 1), end) >= 0)
        to = first_from(tree, leaf, end, &exact);
    *ret_count = to - from;
    *index = to - 1;
    return step(cursor, true);
}

enum dueq_status pages_record(struct pages_cursor *cursor, struct dueq_slice *ret_key,
                              struct dueq_slice *ret_value)
{
    struct node node = node_at(leaf_of(cursor), cursor->index[cursor->depth - 1]);

    *ret_key = dueq_slice(node.key, node.key_size);
    return value_of(cursor->pages, &node, ret_value);
}

/* ---- the list of free pages */

/* A large record of the list: checks that all of it can be read. LMDB writes it before it knows
 * its length, shortens it in place, and leaves it its pages. */
static enum dueq_status list_large(struct pages *pages, uint64_t page, size_t size)
{
    uint64_t offset = page * pages->page_size + PAGE_HEADER, count;
    enum dueq_status status = look_at_head(pages, page, size, &count);
    int error = 0;

    if (status != DUEQ_OK || has_bit(pages->sound, page))
        return status;
    while (error == 0 && size > 0) {
        size_t step = size < READ_STEP ? size : READ_STEP;

        error = read_file(pages->io, pages->fd, offset, pages->scratch, step);
        offset += step;
        size -= step;
    }
    if (error != 0)
        return error == EILSEQ ? damaged(pages, page, "the file ends within a list")
                               : unreadable(pages, page, error);
    set_bit(pages->sound, page);
    return DUEQ_OK;
}

/* A record of the list: how many pages, and their numbers, falling. It may have spare room. */
static enum dueq_status list_record(struct pages *pages, const struct pages_cursor *cursor,
                                    bool first, uint64_t *total)
{
    struct node node = node_at(leaf_of(cursor), cursor->index[cursor->depth - 1]);
    uint64_t page = cursor->page[cursor->depth - 1], before = UINT64_MAX, count;
    const uint8_t *numbers = node.value;
    enum dueq_status status = DUEQ_OK;

    if (node.flags & NODE_BIG) {
        uint64_t large = get_u64(node.value);

        status = list_large(pages, large, node.size);
        numbers = page_at(pages, large) + PAGE_HEADER;
    }
    if (status != DUEQ_OK)
        return status;
    if (node.size < sizeof(count) || node.size % sizeof(count) != 0)
        return damaged(pages, page, "a list of free pages has no such size");
    count = get_u64(numbers);
    if (count > node.size / sizeof(count) - 1)
        return damaged(pages, page, "a list of free pages does not say its size");
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t number = get_u64(numbers + i * sizeof(number));

        if (number < 2 || number > pages->meta.last_page || number >= before ||
            (first && has_bit(pages->unused, number)))
            return damaged(pages, page, "a list of free pages names one that cannot be free");
        before = number;
        set_bit(pages->unused, number);
        clear_bit(pages->sound, number);
        if (number == pages->under_check.page)
            pages->under_check.page = 0;
    }
    *total += count;
    return DUEQ_OK;
}

/* Every page is a meta page, in use, or free. A few that are none of these are lost room
 * only. */
static enum dueq_status look_at_sums(struct pages *pages, uint64_t unused)
{
    const struct meta *meta = &pages->meta;
    uint64_t sum = 2 + unused + meta->free.branches + meta->free.leaves + meta->free.large +
                   meta->main.branches + meta->main.leaves + meta->main.large;

    return sum <= meta->last_page + 1 &&
                   meta->last_page + 1 - sum <= LOST_MOST + meta->last_page / LOST_SHARE
               ? DUEQ_OK
               : damaged(pages, meta->txnid % 2, "it does not count the pages that there are");
}

/* What was freed after that transaction. The first time, each page may be named once. */
static enum dueq_status list_unused(struct pages *pages, uint64_t after, bool first)
{
    const struct tree *tree = &pages->meta.free;
    struct pages_cursor cursor = {.pages = pages};
    enum dueq_status status = enter(&cursor, tree, NULL, true);
    uint64_t total = 0;

    while (status == DUEQ_OK) {
        uint64_t txnid = get_u64(node_at(leaf_of(&cursor), cursor.index[cursor.depth - 1]).key);

        if (txnid <= after)
            break;
        if (txnid > pages->meta.txnid)
            return damaged(pages, cursor.page[cursor.depth - 1],
                           "a list of free pages comes from the future");
        status = list_record(pages, &cursor, first, &total);
        if (status == DUEQ_OK)
            status = move_back(&cursor, tree);
    }
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        return status;
    return first ? look_at_sums(pages, total) : DUEQ_OK;
}

static uint8_t *grown(uint8_t *bits, size_t from, size_t to)
{
    uint8_t *larger = realloc(bits, to / 8);

    if (larger != NULL)
        memset(larger + from / 8, 0, (to - from) / 8);
    return larger;
}

static bool grow_bits(struct pages *pages)
{
    size_t wanted = (pages->meta.last_page / 65536 + 1) * 65536;
    uint8_t *bits;

    if (wanted <= pages->bits)
        return true;
    bits = grown(pages->sound, pages->bits, wanted);
    if (bits == NULL)
        return false;
    pages->sound = bits;
    bits = grown(pages->unused, pages->bits, wanted);
    if (bits == NULL)
        return false;
    pages->unused = bits;
    pages->bits = wanted;
    return true;
}

/* LMDB writes a meta page when the one that it replaces is two transactions old. */
static bool take_meta(struct pages *pages, uint64_t txnid)
{
    const uint8_t *bytes;
    struct meta meta;

    if (pages->page_size == 0)
        pages->page_size = get_u32(pages->map + PAGE_HEADER + 24);
    bytes = page_at(pages, txnid % 2) + PAGE_HEADER;
    meta = read_meta(bytes);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (meta.txnid != txnid || get_u64(bytes + 128) != txnid)
        return false;
    pages->meta = meta;
    return true;
}

/* What pages->meta says now; `after`: what was shown before it, 0: nothing. */
static enum dueq_status take_over(struct pages *pages, uint64_t after)
{
    const struct meta *meta = &pages->meta;

    if (!meta_possible(meta) || meta->page_size != pages->page_size ||
        meta->main.root == NO_ROOT || meta->last_page >= pages->map_bytes / pages->page_size)
        return damaged(pages, meta->txnid % 2, "it is no meta page");
    if (!grow_bits(pages))
        return DUEQ_NOMEM;
    if (after == 0)
        return list_anew(pages, true);
    pages->unused_exact = false;
    return list_unused(pages, after, false);
}

/* On failure the view stays as it was, and so do the bits. */
enum dueq_status pages_show(struct pages *pages, uint64_t txnid)
{
    struct meta before = pages->meta;
    enum dueq_status status;

    if (before.txnid == txnid && pages->sound != NULL)
        return DUEQ_OK;
    if (!take_meta(pages, txnid)) {
        damaged(pages, txnid % 2, "it is not what the last transaction has written");
        return DUEQ_NOTFOUND;
    }
    pages->allowed = false;
    status = take_over(pages, before.txnid);
    if (status != DUEQ_OK)
        pages->meta = before;
    return status;
}

/* ---- writing */

/* LMDB fills a page that has become too empty from the pages beside it, so they are checked. */
static enum dueq_status look_around(const struct pages_cursor *cursor)
{
    struct pages *pages = cursor->pages;
    const struct tree *tree = tree_of(cursor);

    for (unsigned level = 0; level + 1 < cursor->depth; level++) {
        const uint8_t *branch = page_at(pages, cursor->page[level]), *bytes;
        unsigned index = cursor->index[level];
        enum dueq_status status = DUEQ_OK;

        if (index > 0)
            status = visit(pages, tree, node_at(branch, index - 1).child, level + 1, &bytes);
        if (status == DUEQ_OK && index + 1 < count_of(branch))
            status = visit(pages, tree, node_at(branch, index + 1).child, level + 1, &bytes);
        if (status != DUEQ_OK)
            return status;
    }
    return look_beside(cursor, true);
}

static void remember_allowed(struct pages *pages, const struct pages_cursor *cursor,
                             struct dueq_slice key)
{
    struct range range = {.has_from = false};

    for (unsigned level = 0; level + 1 < cursor->depth; level++)
        narrow(&range, page_at(pages, cursor->page[level]), cursor->index[level]);
    kv_key_copy(&pages->allowed_from, key);
    pages->allowed_last = !range.has_to;
    if (range.has_to)
        kv_key_copy(&pages->allowed_to, range.to);
    pages->allowed = true;
}

enum dueq_status pages_allow(struct pages *pages, struct dueq_slice key)
{
    struct pages_cursor cursor = {.pages = pages};
    bool exact;
    enum dueq_status status;

    if (pages->allowed && dueq_slice_compare(key, kv_key_slice(&pages->allowed_from)) >= 0 &&
        (pages->allowed_last || dueq_slice_compare(key, kv_key_slice(&pages->allowed_to)) < 0))
        return DUEQ_OK;
    status = find(&cursor, key, &exact);
    if (status == DUEQ_OK)
        status = look_around(&cursor);
    if (status == DUEQ_OK)
        remember_allowed(pages, &cursor, key);
    return status;
}

/* ---- the whole */

struct census {
    struct pages *pages;
    uint8_t *seen;
    struct pages_census counted;
    struct tree found;
};

static enum dueq_status see(struct census *census, uint64_t page, uint64_t count)
{
    struct pages *pages = census->pages;

    for (uint64_t at = page; at < page + count; at++) {
        if (has_bit(census->seen, at))
            return damaged(pages, at, "it is used twice");
        if (has_bit(pages->unused, at))
            return damaged(pages, at, "it is in use and on the list of free pages");
        set_bit(census->seen, at);
        census->counted.pages++;
    }
    return DUEQ_OK;
}

static enum dueq_status see_leaf(struct census *census, const struct tree *tree,
                                 const uint8_t *bytes)
{
    struct pages *pages = census->pages;
    enum dueq_status status = DUEQ_OK;

    for (unsigned i = 0; status == DUEQ_OK && i < count_of(bytes); i++) {
        struct node node = node_at(bytes, i);
        uint64_t large, count = pages_of(pages, node.size);
        struct dueq_slice value;

        census->found.records++;
        if (!(node.flags & NODE_BIG))
            continue;
        large = get_u64(node.value);
        status = tree == &pages->meta.main ? large_value(pages, &node, &value)
                                           : look_at_head(pages, large, node.size, &count);
        if (status == DUEQ_OK)
            status = see(census, large, count);
        census->found.large += count;
    }
    return status;
}

static enum dueq_status see_page(struct census *census, const struct tree *tree, uint64_t page,
                                 unsigned level, struct range range)
{
    struct pages *pages = census->pages;
    const uint8_t *bytes;
    enum dueq_status status = visit(pages, tree, page, level, &bytes);

    if (status == DUEQ_OK)
        status = look_at_range(pages, tree, page, bytes, &range);
    if (status == DUEQ_OK)
        status = see(census, page, 1);
    if (status != DUEQ_OK)
        return status;
    if (is_leaf(bytes)) {
        census->found.leaves++;
        return see_leaf(census, tree, bytes);
    }
    census->found.branches++;
    for (unsigned i = 0; status == DUEQ_OK && i < count_of(bytes); i++) {
        struct range narrower = range;

        narrow(&narrower, bytes, i);
        status = see_page(census, tree, node_at(bytes, i).child, level + 1, narrower);
    }
    return status;
}

static enum dueq_status see_tree(struct census *census, const struct tree *tree)
{
    struct range all = {.has_from = false};
    enum dueq_status status = DUEQ_OK;
    const struct tree *found = &census->found;

    census->found = (struct tree){.records = 0};
    if (tree->root != NO_ROOT)
        status = see_page(census, tree, tree->root, 0, all);
    if (status == DUEQ_OK &&
        (found->branches != tree->branches || found->leaves != tree->leaves ||
         found->large != tree->large || found->records != tree->records))
        status = damaged(census->pages, census->pages->meta.txnid % 2,
                         "what it counts is not what there is");
    return status;
}

static void count_free_and_lost(struct census *census)
{
    for (uint64_t page = 2; page <= census->pages->meta.last_page; page++) {
        bool unused = has_bit(census->pages->unused, page);

        census->counted.free_pages += unused;
        census->counted.lost_pages += !unused && !has_bit(census->seen, page);
    }
}

enum dueq_status pages_check(struct pages *pages, struct pages_census *ret_census)
{
    struct census census = {.pages = pages, .seen = calloc(1, pages->bits / 8)};
    enum dueq_status status;

    if (census.seen == NULL)
        return DUEQ_NOMEM;
    status = list_anew(pages, true);
    if (status == DUEQ_OK)
        status = see_tree(&census, &pages->meta.free);
    if (status == DUEQ_OK)
        status = see_tree(&census, &pages->meta.main);
    census.counted.records = census.found.records;
    if (status == DUEQ_OK)
        count_free_and_lost(&census);
    free(census.seen);
    if (status == DUEQ_OK)
        *ret_census = census.counted;
    return status;
}
