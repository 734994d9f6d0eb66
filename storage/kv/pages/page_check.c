#include "storage/kv/pages/page_check.h"

#include "storage/kv/pages/free_pages.h"
#include "storage/kv/pages/page_value.h"

#include <errno.h>

/* Nodes fill all that is after the free space, each byte once. */
static bool nodes_tile(struct pages *pages, const uint8_t *bytes, bool leaf)
{
    size_t upper = page_u16(bytes + PAGE_UPPER), sum = 0;
    unsigned count = page_count(bytes);

    memset(pages->marks, 0, pages->page_size / 2 / 8);
    for (unsigned i = 0; i < count; i++) {
        size_t at = page_u16(bytes + PAGE_HEADER + 2 * i);
        uint64_t mark = (uint64_t)1 << at / 2 % 64;
        struct page_node node;

        if (at % 2 != 0 || at < upper || at + NODE_HEADER > pages->page_size ||
            pages->marks[at / 128] & mark)
            return false;
        pages->marks[at / 128] |= mark;
        node = page_node_at(bytes, i);
        if (node.key_size > PAGE_KEY_MAX || (leaf && (node.flags & ~(unsigned)NODE_BIG)) ||
            page_node_space(&node, leaf) > pages->page_size - at)
            return false;
        sum += page_node_space(&node, leaf);
    }
    return sum == pages->page_size - upper;
}

/* Each node ends where another begins, or with the page. */
static bool nodes_meet(const struct pages *pages, const uint8_t *bytes, bool leaf)
{
    unsigned count = page_count(bytes);

    for (unsigned i = 0; i < count; i++) {
        struct page_node node = page_node_at(bytes, i);
        size_t end = page_u16(bytes + PAGE_HEADER + 2 * i) + page_node_space(&node, leaf);

        if (end != pages->page_size && !(pages->marks[end / 128] >> end / 2 % 64 & 1))
            return false;
    }
    return true;
}

/* The first key of a branch has no meaning. */
static bool keys_ascend(const struct page_tree *tree, const uint8_t *bytes, bool leaf)
{
    unsigned count = page_count(bytes), first = leaf ? 0 : 1;

    for (unsigned i = first; i < count; i++) {
        struct dueq_slice key = page_key_at(bytes, i);

        if (key.size == 0 || (tree->flags & NUMBER_KEYS && key.size != PAGE_WORD))
            return false;
        if (i > first && page_compare(tree, page_key_at(bytes, i - 1), key) >= 0)
            return false;
    }
    return true;
}

/* The mark of builds from before 0.1.0 that wrote values without checksums. No other mark was
 * ever as short. */
static bool is_of_old_build(const struct page_node *node)
{
    enum { OLD_MARK = 24 };

    return node->key_size == 1 && node->key[0] == 0 && node->size == OLD_MARK;
}

static enum dueq_status look_at_record(struct pages *pages, const struct page_tree *tree,
                                       uint64_t page, const struct page_node *node)
{
    uint8_t sum[PAGES_SUM_SIZE];

    if (tree->flags & NUMBER_KEYS)
        return DUEQ_OK;
    if (node->size < PAGES_SUM_SIZE)
        return pages_damaged(pages, page, "a value has no checksum");
    if (node->flags & NODE_BIG)
        return pages->for_writer
                   ? page_value_check_place(pages, page_word(node->value), node->size)
                   : DUEQ_OK;
    pages_write_sum(sum, dueq_slice(node->key, node->key_size),
                    dueq_slice(node->value, node->size - PAGES_SUM_SIZE));
    if (memcmp(sum, node->value + node->size - PAGES_SUM_SIZE, PAGES_SUM_SIZE) != 0)
        return pages_damaged(pages, page,
                             is_of_old_build(node)
                                 ? "its records have no checksums: a build from before 0.1.0 "
                                   "wrote them, which no release reads"
                                 : "a record does not check");
    return DUEQ_OK;
}

static enum dueq_status look_at_nodes(struct pages *pages, const struct page_tree *tree,
                                      uint64_t page, const uint8_t *bytes)
{
    bool leaf = page_is_leaf(bytes);
    unsigned count = page_count(bytes);

    if (!nodes_tile(pages, bytes, leaf) || !nodes_meet(pages, bytes, leaf))
        return pages_damaged(pages, page, "its nodes do not fit it");
    if (!keys_ascend(tree, bytes, leaf))
        return pages_damaged(pages, page, "its keys are not in order");
    for (unsigned i = 0; i < count; i++) {
        struct page_node node = page_node_at(bytes, i);
        enum dueq_status status = DUEQ_OK;

        if (leaf)
            status = look_at_record(pages, tree, page, &node);
        else if (node.child < 2 || node.child > pages->meta.last_page)
            status = pages_damaged(pages, page, "it leads out of the file");
        if (status != DUEQ_OK)
            return status;
    }
    return DUEQ_OK;
}

static enum dueq_status look_at_bytes(struct pages *pages, const struct page_tree *tree,
                                      uint64_t page, const uint8_t *bytes)
{
    unsigned kind = page_u16(bytes + PAGE_KIND), lower = page_u16(bytes + PAGE_LOWER),
             upper = page_u16(bytes + PAGE_UPPER);

    if (page_word(bytes) != page)
        return pages_damaged(pages, page, "it says that it is another one");
    if (kind != PAGE_LEAF && kind != PAGE_BRANCH)
        return pages_damaged(pages, page, "it is of no kind that could be here");
    if (lower <= PAGE_HEADER || lower % 2 != 0 || lower > upper || upper > pages->page_size)
        return pages_damaged(pages, page, "its header is impossible");
    return look_at_nodes(pages, tree, page, bytes);
}

static enum dueq_status look_at(struct pages *pages, const struct page_tree *tree,
                                uint64_t page)
{
    int error = pages_read_file(pages->io, pages->fd, page * pages->page_size, pages->scratch,
                                pages->page_size);
    enum dueq_status status;

    if (error != 0 && error != EILSEQ)
        return pages_unreadable(pages, page, error);
    if (error != 0)
        return pages_damaged(pages, page, "the file ends before it");
    status = look_at_bytes(pages, tree, page, pages->scratch);
    if (status == DUEQ_OK && tree == &pages->meta.main)
        status = free_pages_check_unused(pages, page);
    if (status == DUEQ_OK)
        pages_set_bit(pages->sound, page);
    return status;
}

enum dueq_status page_check_visit(struct pages *pages, const struct page_tree *tree,
                                  uint64_t page, unsigned level, const uint8_t **ret_bytes)
{
    enum dueq_status status = DUEQ_OK;

    if (page < 2 || page > pages->meta.last_page)
        return pages_damaged(pages, page, "there is no such page");
    if (!pages_has_bit(pages->sound, page))
        status = look_at(pages, tree, page);
    if (status != DUEQ_OK)
        return status;
    *ret_bytes = pages_at(pages, page);
    return page_u16(*ret_bytes + PAGE_KIND) ==
                   (level + 1 == tree->depth ? PAGE_LEAF : PAGE_BRANCH)
               ? DUEQ_OK
               : pages_damaged(pages, page, "it is not where its kind belongs");
}
