#include "storage/kv/pages/pages_salvage.h"

#include "storage/kv/pages/free_pages.h"
#include "storage/kv/pages/page_check.h"
#include "storage/kv/pages/page_path.h"
#include "storage/kv/pages/page_value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAGE_SIZE_LEAST = 512,
    GUESSED_PAGES = 256,    /* by which the size of a page is guessed */
    STAMP_MOST = 4096,      /* bytes of a stamp's value */
    BEYOND_MOST = 16 << 20, /* pages that may be missing at the end of the file */
    EQUALS_MOST = 8         /* roots with one stamp of which the trees are compared */
};

/* Keys from `from` to before `to`: of a part of the tree that does not read. */
struct gap {
    struct pages_bound from, to;
    bool has_to;
};

struct root {
    uint64_t page;
    unsigned depth;
};

struct stamp {
    size_t size;
    uint8_t bytes[STAMP_MOST];
};

struct pages_salvage {
    struct pages_salvage_sink sink;
    struct dueq_slice stamp;
    struct pages *pages;
    uint8_t *seen; /* a bit for each page that is in use */
    uint8_t *page; /* one page, as it is in the file */
    struct gap *gaps;
    size_t gap_count;
    bool has_root;
    bool has_metas;     /* both are sound */
    struct stamp found; /* while roots are searched */
    struct stamp best;  /* the greatest */
};

static void report(struct pages_salvage *salvage, const char *what)
{
    char text[512];

    snprintf(text, sizeof(text), "data.mdb: %s", what);
    salvage->sink.on_damage(salvage->sink.arg, text);
}

static void set_bound(struct pages_bound *bound, struct dueq_slice bytes)
{
    bound->size = bytes.size < sizeof(bound->bytes) ? bytes.size : sizeof(bound->bytes);
    if (bound->size > 0)
        memcpy(bound->bytes, bytes.data, bound->size);
}

static struct dueq_slice bound_slice(const struct pages_bound *bound)
{
    return dueq_slice(bound->bytes, bound->size);
}

static void set_stamp(struct stamp *stamp, struct dueq_slice bytes)
{
    stamp->size = bytes.size <= sizeof(stamp->bytes) ? bytes.size : 0;
    if (stamp->size > 0)
        memcpy(stamp->bytes, bytes.data, stamp->size);
}

static struct dueq_slice stamp_slice(const struct stamp *stamp)
{
    return dueq_slice(stamp->bytes, stamp->size);
}

/* False: it cannot be read as a whole. */
static bool read_page(struct pages_salvage *salvage, uint64_t page)
{
    struct pages *pages = salvage->pages;

    return pages_read_file(pages->io, pages->fd, page * pages->page_size, salvage->page,
                           pages->page_size) == 0;
}

/* ---- the meta pages, and the size of a page */

static bool read_meta(const struct dueq_io *io, int fd, uint64_t offset,
                      struct page_meta *ret_meta)
{
    uint8_t bytes[META_SIZE];

    if (pages_read_file(io, fd, offset + PAGE_HEADER, bytes, sizeof(bytes)) != 0)
        return false;
    *ret_meta = page_meta_read(bytes);
    return page_meta_possible(ret_meta, PAGES_LEVELS) &&
           (offset == 0 || ret_meta->page_size == offset);
}

/* How many of the first pages have their number, if pages have that size. */
static unsigned numbered(const struct dueq_io *io, int fd, size_t size)
{
    unsigned count = 0;

    for (uint64_t page = 2; page < GUESSED_PAGES; page++) {
        uint8_t head[PAGE_HEADER];

        if (pages_read_file(io, fd, page * size, head, sizeof(head)) != 0)
            break;
        count += page_word(head) == page;
    }
    return count;
}

static size_t guess_page_size(const struct dueq_io *io, int fd)
{
    size_t best = 4096;
    unsigned most = numbered(io, fd, best);

    for (size_t size = PAGE_SIZE_LEAST; size <= PAGE_SIZE_MOST; size *= 2)
        if (numbered(io, fd, size) > most) {
            best = size;
            most = numbered(io, fd, size);
        }
    return best;
}

/* Returns how many of the two are sound; *ret_meta: the younger. */
static int find_metas(const struct dueq_io *io, int fd, struct page_meta *ret_meta)
{
    struct page_meta first, second;
    bool has_first = read_meta(io, fd, 0, &first), has_second = false;

    if (has_first)
        has_second = read_meta(io, fd, first.page_size, &second);
    for (size_t size = PAGE_SIZE_LEAST; !has_first && !has_second && size <= PAGE_SIZE_MOST;
         size *= 2)
        has_second = read_meta(io, fd, size, &second);
    if (has_second && (!has_first || second.txnid > first.txnid))
        *ret_meta = second;
    else if (has_first)
        *ret_meta = first;
    if (has_first && has_second && first.txnid + 1 != second.txnid &&
        second.txnid + 1 != first.txnid)
        return 1;
    return (int)has_first + (int)has_second;
}

/* ---- roots */

static enum dueq_status visit(struct pages_salvage *salvage, uint64_t page, bool leaf,
                              const uint8_t **ret_bytes)
{
    const struct page_tree tree = {.depth = leaf ? 1 : 2};

    return page_check_visit(salvage->pages, &tree, page, 0, ret_bytes);
}

/* Goes down to the first leaf of the tree under that page, and reads the stamp there. Returns
 * the levels; 0: there is no such tree. */
static unsigned find_stamp(struct pages_salvage *salvage, uint64_t page)
{
    const uint8_t *bytes;

    for (unsigned depth = 1; depth <= PAGES_LEVELS; depth++) {
        struct page_node node;
        struct dueq_slice value;

        if (visit(salvage, page, false, &bytes) == DUEQ_OK) {
            page = page_node_at(bytes, 0).child;
            continue;
        }
        if (visit(salvage, page, true, &bytes) != DUEQ_OK)
            return 0;
        node = page_node_at(bytes, 0);
        if (!dueq_slice_equal(dueq_slice(node.key, node.key_size), salvage->stamp) ||
            page_value_get(salvage->pages, &node, &value) != DUEQ_OK)
            return 0;
        set_stamp(&salvage->found, value);
        return depth;
    }
    return 0;
}

static uint64_t count_under(struct pages_salvage *salvage, uint64_t page, unsigned depth,
                            uint64_t *sound)
{
    const uint8_t *bytes;
    uint64_t bad = 0;

    if (visit(salvage, page, depth <= 1, &bytes) != DUEQ_OK ||
        pages_has_bit(salvage->seen, page))
        return 1;
    pages_set_bit(salvage->seen, page);
    ++*sound;
    for (unsigned i = 0; depth > 1 && i < page_count(bytes); i++)
        bad += count_under(salvage, page_node_at(bytes, i).child, depth - 1, sound);
    return bad;
}

/* Returns how many pages of the tree do not read, and adds the others to *sound. Where a page
 * is met again, it counts as one that does not read: a damaged branch may lead to itself, and
 * from each such place the way would be as long again. */
static uint64_t count_bad(struct pages_salvage *salvage, uint64_t page, unsigned depth,
                          uint64_t *sound)
{
    uint64_t bad = count_under(salvage, page, depth, sound);

    memset(salvage->seen, 0, salvage->pages->meta.last_page / 8 + 1);
    return bad;
}

static void take_root(struct pages_salvage *salvage, struct root root)
{
    struct page_tree *tree = &salvage->pages->meta.main;

    tree->root = root.page;
    tree->depth = root.depth;
    salvage->has_root = true;
}

/* Each page that leads to a stamp may be a root; of several with the greatest stamp it is a
 * deepest one. */
static void search_root(struct pages_salvage *salvage)
{
    struct root equals[EQUALS_MOST];
    unsigned depth = 0, count = 0;
    uint64_t least = UINT64_MAX;

    for (uint64_t page = 2; page <= salvage->pages->meta.last_page; page++) {
        unsigned levels = find_stamp(salvage, page);
        int order = levels == 0 ? -1
                                : dueq_slice_compare(stamp_slice(&salvage->found),
                                                     stamp_slice(&salvage->best));

        if (order < 0 || (order == 0 && levels < depth))
            continue;
        if (order > 0 || levels > depth)
            count = 0;
        salvage->best = salvage->found;
        depth = levels;
        if (count < EQUALS_MOST)
            equals[count++] = (struct root){page, levels};
    }
    for (unsigned i = 0; i < count && least > 0; i++) {
        uint64_t sound = 0, bad = count_bad(salvage, equals[i].page, equals[i].depth, &sound);

        if (bad >= least)
            continue;
        least = bad;
        take_root(salvage, equals[i]);
    }
}

/* ---- the beginning */

/* Some pages may be named that are after the end of the file, which was cut. */
static bool make_view(struct pages_salvage *salvage, const struct dueq_io *io, int fd,
                      const struct page_meta *meta, bool is_whole, size_t page_size,
                      uint64_t file)
{
    uint64_t last = file / page_size < 2 ? 2 : file / page_size;

    if (meta->last_page > 1 && (is_whole || meta->last_page > last) &&
        meta->last_page < last + BEYOND_MOST)
        last = meta->last_page;
    salvage->pages = pages_new(io, fd, (last + 1) * page_size, false);
    if (salvage->pages == NULL)
        return false;
    salvage->pages->page_size = page_size;
    salvage->pages->meta = *meta;
    salvage->pages->meta.last_page = last;
    salvage->pages->unused_exact = true;
    salvage->seen = calloc(1, last / 8 + 1);
    salvage->page = malloc(page_size);
    return salvage->seen != NULL && salvage->page != NULL && pages_make_bits(salvage->pages);
}

/* Is the root that the meta pages name that of the whole tree? One of a part of it would be as
 * sound. A root that does not read is left to the strays: what leads to nothing and is not free
 * is then the whole tree. */
static bool is_whole_tree(struct pages_salvage *salvage)
{
    struct page_tree *tree = &salvage->pages->meta.main;
    unsigned depth;
    uint64_t sound = 0;

    if (tree->root == NO_ROOT || tree->depth == 0)
        return false;
    depth = find_stamp(salvage, tree->root);
    if (depth > 0)
        tree->depth = depth;
    return count_bad(salvage, tree->root, tree->depth, &sound) > 0 ||
           (depth > 0 && sound == tree->branches + tree->leaves);
}

static void find_root(struct pages_salvage *salvage, int metas)
{
    salvage->has_metas = salvage->has_root = metas == 2 && is_whole_tree(salvage);
    if (salvage->has_metas)
        return;
    report(salvage, metas == 1 ? "a meta page is damaged" : "the meta pages are damaged");
    salvage->pages->meta.free.root = NO_ROOT;
    search_root(salvage);
    if (!salvage->has_root)
        report(salvage, "no tree is found in it");
}

enum dueq_status pages_salvage_new(const struct dueq_io *io, int fd, struct dueq_slice stamp,
                                   const struct pages_salvage_sink *sink,
                                   struct pages_salvage **ret_salvage)
{
    struct pages_salvage *salvage = calloc(1, sizeof(*salvage));
    struct page_meta meta = {.magic = 0};
    struct stat stats;
    int metas;

    if (salvage == NULL)
        return DUEQ_NOMEM;
    salvage->sink = *sink;
    salvage->stamp = stamp;
    metas = find_metas(io, fd, &meta);
    if (fstat(fd, &stats) != 0 ||
        !make_view(salvage, io, fd, &meta, metas == 2,
                   metas > 0 ? meta.page_size : guess_page_size(io, fd),
                   (uint64_t)stats.st_size)) {
        pages_salvage_free(salvage);
        return DUEQ_NOMEM;
    }
    find_root(salvage, metas);
    *ret_salvage = salvage;
    return DUEQ_OK;
}

void pages_salvage_free(struct pages_salvage *salvage)
{
    if (salvage == NULL)
        return;
    pages_free(salvage->pages);
    free(salvage->seen);
    free(salvage->page);
    free(salvage->gaps);
    free(salvage);
}

/* ---- single records of a page that does not check as a whole */

/* The node at that place of salvage->page. False: there is none, or it goes beyond the page. */
static bool read_node(const struct pages_salvage *salvage, unsigned index,
                      struct page_node *ret_node)
{
    size_t size = salvage->pages->page_size, slot = PAGE_HEADER + 2 * (size_t)index, at;

    if (slot + 2 > size)
        return false;
    at = page_u16(salvage->page + slot);
    if (at < PAGE_HEADER || at < page_u16(salvage->page + PAGE_UPPER) || at % 2 != 0 ||
        at + NODE_HEADER > size)
        return false;
    *ret_node = page_node_at(salvage->page, index);
    return ret_node->key_size > 0 && ret_node->key_size <= PAGE_KEY_MAX &&
           (ret_node->flags & ~(unsigned)NODE_BIG) == 0 && ret_node->size >= PAGES_SUM_SIZE &&
           page_node_space(ret_node, true) <= size - at;
}

/* False: it does not check. */
static bool check_node(struct pages_salvage *salvage, const struct page_node *node,
                       struct dueq_slice *ret_value)
{
    uint8_t sum[PAGES_SUM_SIZE];

    if (node->flags & NODE_BIG)
        return page_value_large(salvage->pages, node, ret_value) == DUEQ_OK;
    *ret_value = dueq_slice(node->value, node->size - PAGES_SUM_SIZE);
    pages_write_sum(sum, dueq_slice(node->key, node->key_size), *ret_value);
    return memcmp(sum, node->value + node->size - PAGES_SUM_SIZE, PAGES_SUM_SIZE) == 0;
}

typedef bool (*wanted_fn)(const struct pages_salvage *salvage, struct dueq_slice key,
                          const void *arg);

/* Gives the records of the page that check and are wanted to the sink. `all`: its header may be
 * wrong, so all that could be places of nodes are looked at; before `upper` there are none, but
 * perhaps what is left of deleted ones. */
static enum dueq_status pick(struct pages_salvage *salvage, bool all, bool stray,
                             wanted_fn wanted, const void *arg)
{
    unsigned most = (unsigned)(salvage->pages->page_size - PAGE_HEADER) / 2,
             count = (unsigned)(page_u16(salvage->page + PAGE_LOWER) - PAGE_HEADER) / 2u;
    enum dueq_status status = DUEQ_OK;

    for (unsigned i = 0; i < (all || count > most ? most : count) && status == DUEQ_OK; i++) {
        struct page_node node;
        struct dueq_slice value;

        if (read_node(salvage, i, &node) &&
            wanted(salvage, dueq_slice(node.key, node.key_size), arg) &&
            check_node(salvage, &node, &value))
            status = salvage->sink.on_record(salvage->sink.arg,
                                             dueq_slice(node.key, node.key_size), value, stray);
    }
    return status;
}

static bool in_range(const struct pages_salvage *salvage, struct dueq_slice key,
                     const void *arg)
{
    const struct page_range *range = arg;

    (void)salvage;
    return (!range->has_from || dueq_slice_compare(key, range->from) >= 0) &&
           (!range->has_to || dueq_slice_compare(key, range->to) < 0);
}

/* ---- the tree */

static void end_gap(struct gap *gap, const struct page_range *range)
{
    gap->has_to = range->has_to;
    if (range->has_to)
        set_bound(&gap->to, range->to);
}

/* Gaps come in the order of keys. Where a disk has lost a whole region they lie side by side,
 * and there may be millions. */
static bool lengthen_gap(struct pages_salvage *salvage, const struct page_range *range)
{
    struct gap *last = salvage->gap_count == 0 ? NULL : &salvage->gaps[salvage->gap_count - 1];

    if (last == NULL || !last->has_to || !range->has_from ||
        !dueq_slice_equal(bound_slice(&last->to), range->from))
        return false;
    end_gap(last, range);
    return true;
}

static bool add_gap(struct pages_salvage *salvage, const struct page_range *range)
{
    struct gap *gap;

    if (lengthen_gap(salvage, range))
        return true;
    if ((salvage->gap_count & (salvage->gap_count + 1)) == 0) { /* at 0, 1, 3, 7, ... */
        gap = realloc(salvage->gaps, (salvage->gap_count * 2 + 2) * sizeof(*gap));
        if (gap == NULL)
            return false;
        salvage->gaps = gap;
    }
    gap = &salvage->gaps[salvage->gap_count++];
    *gap = (struct gap){.has_to = false};
    if (range->has_from)
        set_bound(&gap->from, range->from);
    end_gap(gap, range);
    return true;
}

/* A page that the tree leads to does not read. Of a leaf single records may. */
static enum dueq_status lose(struct pages_salvage *salvage, uint64_t page, bool leaf,
                             const struct page_range *range)
{
    report(salvage, pages_damage(salvage->pages));
    if (!add_gap(salvage, range))
        return DUEQ_NOMEM;
    if (!leaf || page < 2 || page > salvage->pages->meta.last_page || !read_page(salvage, page))
        return DUEQ_OK;
    return pick(salvage, true, page_word(salvage->page) != page, in_range, range);
}

static enum dueq_status give_record(struct pages_salvage *salvage, const struct page_node *node)
{
    struct dueq_slice key = dueq_slice(node->key, node->key_size), value;
    enum dueq_status status = page_value_get(salvage->pages, node, &value);
    uint8_t after[PAGE_KEY_MAX + 1] = {0};
    struct page_range only = {key, dueq_slice(after, key.size + 1), true, true};

    if (status == DUEQ_CORRUPT || status == DUEQ_IO) {
        memcpy(after, key.data, key.size);
        report(salvage, pages_damage(salvage->pages));
        return add_gap(salvage, &only) ? DUEQ_OK : DUEQ_NOMEM;
    }
    if (node->flags & NODE_BIG)
        for (uint64_t i = 0; i < page_value_pages(salvage->pages, node->size); i++)
            pages_set_bit(salvage->seen, page_word(node->value) + i);
    return status == DUEQ_OK ? salvage->sink.on_record(salvage->sink.arg, key, value, false)
                             : status;
}

static enum dueq_status walk(struct pages_salvage *salvage, uint64_t page, unsigned level,
                             struct page_range range)
{
    struct pages *pages = salvage->pages;
    const struct page_tree *tree = &pages->meta.main;
    const uint8_t *bytes;
    enum dueq_status status = page_check_visit(pages, tree, page, level, &bytes);

    if (status == DUEQ_OK && pages_has_bit(salvage->seen, page))
        status = pages_damaged(pages, page, "it is used twice");
    if (status == DUEQ_OK)
        status = page_path_check_range(pages, tree, page, bytes, &range);
    if (status == DUEQ_CORRUPT || status == DUEQ_IO)
        return lose(salvage, page, level + 1 == tree->depth, &range);
    if (status != DUEQ_OK)
        return status;
    pages_set_bit(salvage->seen, page);
    for (unsigned i = 0; status == DUEQ_OK && i < page_count(bytes); i++) {
        struct page_node node = page_node_at(bytes, i);
        struct page_range narrower = range;

        if (page_is_leaf(bytes)) {
            status = give_record(salvage, &node);
            continue;
        }
        page_path_narrow(&narrower, bytes, i);
        status = walk(salvage, node.child, level + 1, narrower);
    }
    return status;
}

/* ---- strays: pages that nothing leads to, because what led to them is lost */

bool pages_salvage_lost(const struct pages_salvage *salvage, struct dueq_slice key)
{
    size_t low = 0, high = salvage->gap_count;

    while (low < high) { /* the first gap after the key */
        size_t middle = (low + high) / 2;

        if (dueq_slice_compare(bound_slice(&salvage->gaps[middle].from), key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && (!salvage->gaps[low - 1].has_to ||
                       dueq_slice_compare(key, bound_slice(&salvage->gaps[low - 1].to)) < 0);
}

static bool was_lost(const struct pages_salvage *salvage, struct dueq_slice key,
                     const void *arg)
{
    (void)arg;
    return pages_salvage_lost(salvage, key);
}

/* What is on the list of free pages was replaced or deleted: it would come back. */
static void list_free(struct pages_salvage *salvage)
{
    if (!salvage->has_metas || free_pages_list_anew(salvage->pages, true) != DUEQ_OK)
        report(salvage, "which pages are free is not known: what is found on those that "
                        "nothing leads to may be older than what is lost");
}

static enum dueq_status read_strays(struct pages_salvage *salvage)
{
    enum dueq_status status = DUEQ_OK;

    if (salvage->gap_count == 0)
        return DUEQ_OK;
    list_free(salvage);
    for (uint64_t page = 2; page <= salvage->pages->meta.last_page && status == DUEQ_OK; page++)
        if (!pages_has_bit(salvage->seen, page) &&
            !pages_has_bit(salvage->pages->unused, page) && read_page(salvage, page) &&
            page_word(salvage->page) == page && page_is_leaf(salvage->page))
            status = pick(salvage, false, true, was_lost, NULL);
    return status;
}

enum dueq_status pages_salvage_read(struct pages_salvage *salvage)
{
    struct page_range all = {.has_from = false};
    enum dueq_status status = DUEQ_OK;

    if (salvage->has_root)
        status = walk(salvage, salvage->pages->meta.main.root, 0, all);
    else if (!add_gap(salvage, &all))
        status = DUEQ_NOMEM;
    return status == DUEQ_OK ? read_strays(salvage) : status;
}

/* ---- the stamp */

static bool is_stamp(const struct pages_salvage *salvage, struct dueq_slice key,
                     const void *arg)
{
    (void)arg;
    return dueq_slice_equal(key, salvage->stamp);
}

static enum dueq_status keep_stamp(void *arg, struct dueq_slice key, struct dueq_slice value,
                                   bool stray)
{
    struct pages_salvage *salvage = arg;

    (void)key;
    (void)stray;
    if (dueq_slice_compare(value, stamp_slice(&salvage->best)) > 0)
        set_stamp(&salvage->best, value);
    return DUEQ_OK;
}

/* The greatest of all pages, free ones as well. */
static void search_stamp(struct pages_salvage *salvage)
{
    struct pages_salvage_sink sink = salvage->sink;

    salvage->sink.on_record = keep_stamp;
    salvage->sink.arg = salvage;
    salvage->best.size = 0;
    for (uint64_t page = 2; page <= salvage->pages->meta.last_page; page++)
        if (read_page(salvage, page) && page_word(salvage->page) == page &&
            page_is_leaf(salvage->page))
            pick(salvage, false, true, is_stamp, NULL);
    salvage->sink = sink;
}

enum dueq_status pages_salvage_stamp(struct pages_salvage *salvage,
                                     struct dueq_slice *ret_value, bool *ret_sure)
{
    *ret_sure = salvage->has_root && find_stamp(salvage, salvage->pages->meta.main.root) > 0;
    if (*ret_sure)
        salvage->best = salvage->found;
    else
        search_stamp(salvage);
    *ret_value = stamp_slice(&salvage->best);
    return salvage->best.size > 0 ? DUEQ_OK : DUEQ_NOTFOUND;
}
