#include "storage/kv/pages/page_layout.h"

#define META_MAGIC 0xBEEFC0DEu
enum {
    META_VERSION = 1,
    TREE_FLAGS = 0x7f, /* those that change what a tree is; other flags do not matter */
    PAGE_SIZE_LEAST = 512
};

static struct page_tree read_tree(const uint8_t *bytes)
{
    return (struct page_tree){.flags = page_u16(bytes + 4),
                              .depth = page_u16(bytes + 6),
                              .branches = page_u64(bytes + 8),
                              .leaves = page_u64(bytes + 16),
                              .large = page_u64(bytes + 24),
                              .records = page_u64(bytes + 32),
                              .root = page_u64(bytes + 40)};
}

struct page_meta page_meta_read(const uint8_t *bytes)
{
    return (struct page_meta){.magic = page_u32(bytes),
                              .version = page_u32(bytes + 4),
                              .address = page_u64(bytes + 8),
                              .page_size = page_u32(bytes + 24),
                              .free = read_tree(bytes + 24),
                              .main = read_tree(bytes + 72),
                              .last_page = page_u64(bytes + 120),
                              .txnid = page_u64(bytes + 128)};
}

static bool tree_possible(const struct page_tree *tree, uint64_t last_page, unsigned flags,
                          unsigned levels)
{
    if ((tree->flags & TREE_FLAGS) != flags || tree->depth > levels)
        return false;
    if (tree->root == NO_ROOT)
        return tree->depth == 0;
    return tree->depth > 0 && tree->root > 1 && tree->root <= last_page;
}

bool page_meta_possible(const struct page_meta *meta, unsigned levels)
{
    return meta->magic == META_MAGIC && meta->version == META_VERSION && meta->address == 0 &&
           meta->page_size >= PAGE_SIZE_LEAST && meta->page_size <= PAGE_SIZE_MOST &&
           (meta->page_size & (meta->page_size - 1)) == 0 && meta->last_page > 0 &&
           meta->last_page < UINT64_MAX / PAGE_SIZE_MOST &&
           tree_possible(&meta->free, meta->last_page, NUMBER_KEYS, levels) &&
           tree_possible(&meta->main, meta->last_page, 0, levels);
}
