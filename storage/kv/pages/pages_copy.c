#include "storage/kv/pages/pages_copy.h"

#include "storage/kv/pages/page_check.h"
#include "storage/kv/pages/page_path.h"
#include "storage/kv/pages/page_value.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

enum {
    WRITE_SIZE = 1024 * 1024,
    SYNC_STEP = 32 * 1024 * 1024, /* bytes that one sync writes: the journal's waits less */
    METAS = 2
};

struct copying {
    const struct pages_copy *copy;
    struct pages *pages;
    uint64_t next;    /* number of the next page of the copy */
    uint64_t written; /* bytes of the file */
    uint64_t synced;
    size_t filled;   /* bytes in `out`, which follow those written */
    uint8_t *out;    /* WRITE_SIZE */
    uint8_t *levels; /* a page for each level of the tree */
    int error;
};

uint64_t pages_copy_size(const struct pages *pages)
{
    const struct page_tree *tree = &pages->meta.main;

    return (METAS + tree->branches + tree->leaves + tree->large) * pages->page_size;
}

/* ---- numbers of pages */

static void put_word(uint8_t *bytes, uint64_t number)
{
    size_t word = (size_t)number;

    memcpy(bytes, &word, sizeof(word));
}

static void put_u16(uint8_t *bytes, uint64_t number)
{
    uint16_t part = (uint16_t)number;

    memcpy(bytes, &part, sizeof(part));
}

static uint8_t *node_in(uint8_t *page, unsigned index)
{
    return page + page_u16(page + PAGE_HEADER + 2 * index);
}

static void set_child(uint8_t *branch, unsigned index, uint64_t child)
{
    uint8_t *node = node_in(branch, index);

    put_u16(node + NODE_LOW, child);
    put_u16(node + NODE_HIGH, child >> 16);
    if (PAGE_WORD == 8)
        put_u16(node + NODE_FLAGS, child >> 32);
}

/* ---- writing */

static enum dueq_status write_failed(struct copying *copying)
{
    copying->error = errno;
    return errno == ENOSPC || errno == EDQUOT ? DUEQ_FULL : DUEQ_IO;
}

static enum dueq_status sync_copy(struct copying *copying)
{
    const struct dueq_io *io = copying->pages->io;

    if (io->fdatasync(io->arg, copying->copy->fd) != 0)
        return write_failed(copying);
    copying->synced = copying->written;
    return DUEQ_OK;
}

static enum dueq_status write_at(struct copying *copying, const uint8_t *bytes, size_t size,
                                 uint64_t offset)
{
    return io_write(copying->pages->io, copying->copy->fd, bytes, size, offset) == 0
               ? DUEQ_OK
               : write_failed(copying);
}

static enum dueq_status flush(struct copying *copying)
{
    const struct pages_copy *copy = copying->copy;
    enum dueq_status status =
        write_at(copying, copying->out, copying->filled, copying->written);

    if (status != DUEQ_OK)
        return status;
    copying->written += copying->filled;
    copying->filled = 0;
    if (!copy->goes_on(copy->arg, copying->written))
        return DUEQ_BUSY;
    return copying->written - copying->synced < SYNC_STEP ? DUEQ_OK : sync_copy(copying);
}

/* Appends one page, which gets that number. */
static enum dueq_status append(struct copying *copying, const uint8_t *page, uint64_t *number)
{
    size_t size = copying->pages->page_size;
    uint8_t *at = copying->out + copying->filled;

    memcpy(at, page, size);
    if (number != NULL)
        put_word(at, *number = copying->next);
    copying->next++;
    copying->filled += size;
    return copying->filled < WRITE_SIZE ? DUEQ_OK : flush(copying);
}

/* ---- pages */

static enum dueq_status copy_large(struct copying *copying, const struct page_node *node,
                                   uint64_t *ret_number)
{
    struct pages *pages = copying->pages;
    uint64_t from = page_word(node->value), count = page_value_pages(pages, node->size);
    struct dueq_slice value;
    enum dueq_status status = page_value_large(pages, node, &value);

    for (uint64_t i = 0; status == DUEQ_OK && i < count; i++)
        status = append(copying, pages_at(pages, from + i), i == 0 ? ret_number : NULL);
    return status;
}

static enum dueq_status copy_large_ones(struct copying *copying, uint8_t *leaf)
{
    enum dueq_status status = DUEQ_OK;

    for (unsigned i = 0; status == DUEQ_OK && i < page_count(leaf); i++) {
        struct page_node node = page_node_at(leaf, i);
        uint64_t number = 0;

        if (!(node.flags & NODE_BIG))
            continue;
        status = copy_large(copying, &node, &number);
        put_word(node_in(leaf, i) + NODE_HEADER + node.key_size, number);
    }
    return status;
}

/* A page comes after the pages that it leads to, whose numbers it must know. */
static enum dueq_status copy_page(struct copying *copying, uint64_t page, unsigned level,
                                  struct page_range range, uint64_t *ret_number)
{
    struct pages *pages = copying->pages;
    const struct page_tree *tree = &pages->meta.main;
    uint8_t *mine = copying->levels + level * pages->page_size;
    const uint8_t *bytes;
    enum dueq_status status = page_check_visit(pages, tree, page, level, &bytes);

    if (status == DUEQ_OK)
        status = page_path_check_range(pages, tree, page, bytes, &range);
    if (status != DUEQ_OK)
        return status;
    memcpy(mine, bytes, pages->page_size);
    if (page_is_leaf(bytes))
        status = copy_large_ones(copying, mine);
    for (unsigned i = 0; !page_is_leaf(bytes) && status == DUEQ_OK && i < page_count(bytes);
         i++) {
        struct page_range narrower = range;
        uint64_t child = 0;

        page_path_narrow(&narrower, bytes, i);
        status = copy_page(copying, page_node_at(bytes, i).child, level + 1, narrower, &child);
        set_child(mine, i, child);
    }
    return status == DUEQ_OK ? append(copying, mine, ret_number) : status;
}

/* ---- meta pages */

static void empty_tree(uint8_t *tree)
{
    put_u16(tree + TREE_DEPTH, 0);
    memset(tree + TREE_COUNTS, 0, TREE_ROOT - TREE_COUNTS);
    put_word(tree + TREE_ROOT, NO_ROOT);
}

/* Both say the same, so a copy does not depend on one of them. */
static enum dueq_status write_metas(struct copying *copying, uint64_t root)
{
    const struct pages *pages = copying->pages;
    uint64_t txnid = pages->meta.txnid;
    size_t size = pages->page_size;
    const uint8_t *shown = pages_at(pages, txnid % METAS) + PAGE_HEADER;
    uint8_t *out = copying->out;

    memset(out, 0, METAS * size);
    for (uint64_t i = 0; i < METAS; i++) {
        uint8_t *meta = out + i * size + PAGE_HEADER;

        put_word(out + i * size, i);
        put_u16(out + i * size + PAGE_KIND, PAGE_META);
        memcpy(meta, shown, META_SIZE);
        empty_tree(meta + META_FREE);
        put_word(meta + META_MAIN + TREE_ROOT, root);
        put_word(meta + META_LAST_PAGE, copying->next - 1);
        put_word(meta + META_TXNID, i == txnid % METAS ? txnid : txnid - 1);
    }
    return write_at(copying, out, METAS * size, 0);
}

static enum dueq_status copy_all(struct copying *copying)
{
    struct pages *pages = copying->pages;
    struct page_range all = {.has_from = false};
    uint64_t root;
    enum dueq_status status = copy_page(copying, pages->meta.main.root, 0, all, &root);

    if (status == DUEQ_OK)
        status = flush(copying);
    if (status == DUEQ_OK && copying->next * pages->page_size != pages_copy_size(pages))
        status = pages_damaged(pages, pages->meta.txnid % METAS,
                               "what it counts is not what there is");
    if (status == DUEQ_OK)
        status = write_metas(copying, root);
    return status == DUEQ_OK ? sync_copy(copying) : status;
}

enum dueq_status pages_copy(const struct pages_copy *copy, int *ret_error)
{
    struct pages *pages = copy->pages;
    struct copying copying = {
        .copy = copy, .pages = pages, .next = METAS, .written = METAS * pages->page_size};
    uint8_t *out = malloc(WRITE_SIZE),
            *levels = malloc(pages->meta.main.depth * pages->page_size);
    enum dueq_status status = DUEQ_NOMEM;

    memset(pages->sound, 0, pages->bits / 8); /* the disk may have lost what it had before */
    if (out != NULL && levels != NULL) {
        copying.out = out;
        copying.levels = levels;
        status = copy_all(&copying);
    }
    free(out);
    free(levels);
    *ret_error = copying.error;
    return status;
}
