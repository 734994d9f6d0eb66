#include "storage/kv/pages/page_layout.h"

#define META_MAGIC 0xBEEFC0DEu
enum {
    VERSION = 1,
    FLAGS_THAT_MATTER = 0x7f, /* they change what a tree is */
    PAGE_SIZE_LEAST = 512
};

/* Which machines there are. LMDB's magic number comes after the first header. */
static const struct machine {
    size_t word;
    int order;
    const char *name;
} machines[] = {{8, LITTLE_ENDIAN, "64-bit, little-endian"},
                {8, BIG_ENDIAN, "64-bit, big-endian"},
                {4, LITTLE_ENDIAN, "32-bit, little-endian"},
                {4, BIG_ENDIAN, "32-bit, big-endian"}};

static bool is_of(const struct machine *machine, const uint8_t *bytes)
{
    uint32_t magic = page_u32(bytes + machine->word + 8);

    return (machine->order == BYTE_ORDER ? magic : __builtin_bswap32(magic)) == META_MAGIC;
}

const char *page_meta_machine(const uint8_t *bytes)
{
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
        if (is_of(&machines[i], bytes))
            return machines[i].name;
    return NULL;
}

const char *page_machine(void)
{
    size_t i = 0;

    while (machines[i].word != PAGE_WORD || machines[i].order != BYTE_ORDER)
        i++;
    return machines[i].name;
}

static struct page_tree read_tree(const uint8_t *bytes)
{
    return (struct page_tree){.flags = page_u16(bytes + TREE_FLAGS),
                              .depth = page_u16(bytes + TREE_DEPTH),
                              .branches = page_word(bytes + TREE_COUNTS),
                              .leaves = page_word(bytes + TREE_COUNTS + PAGE_WORD),
                              .large = page_word(bytes + TREE_COUNTS + 2 * PAGE_WORD),
                              .records = page_word(bytes + TREE_COUNTS + 3 * PAGE_WORD),
                              .root = page_word(bytes + TREE_ROOT)};
}

struct page_meta page_meta_read(const uint8_t *bytes)
{
    return (struct page_meta){.magic = page_u32(bytes),
                              .version = page_u32(bytes + META_VERSION),
                              .address = page_word(bytes + META_ADDRESS),
                              .page_size = page_u32(bytes + META_FREE),
                              .free = read_tree(bytes + META_FREE),
                              .main = read_tree(bytes + META_MAIN),
                              .last_page = page_word(bytes + META_LAST_PAGE),
                              .txnid = page_word(bytes + META_TXNID)};
}

static bool tree_possible(const struct page_tree *tree, uint64_t last_page, unsigned flags,
                          unsigned levels)
{
    if ((tree->flags & FLAGS_THAT_MATTER) != flags || tree->depth > levels)
        return false;
    if (tree->root == NO_ROOT)
        return tree->depth == 0;
    return tree->depth > 0 && tree->root > 1 && tree->root <= last_page;
}

bool page_meta_possible(const struct page_meta *meta, unsigned levels)
{
    return meta->magic == META_MAGIC && meta->version == VERSION && meta->address == 0 &&
           meta->page_size >= PAGE_SIZE_LEAST && meta->page_size <= PAGE_SIZE_MOST &&
           (meta->page_size & (meta->page_size - 1)) == 0 && meta->last_page > 0 &&
           meta->last_page < UINT64_MAX / PAGE_SIZE_MOST &&
           tree_possible(&meta->free, meta->last_page, NUMBER_KEYS, levels) &&
           tree_possible(&meta->main, meta->last_page, 0, levels);
}
