#include "storage/kv/pages/pages_cursor.h"

#include "storage/kv/pages/page_check.h"
#include "storage/kv/pages/page_path.h"
#include "storage/kv/pages/page_search.h"
#include "storage/kv/pages/page_value.h"

#include <assert.h>

/* ---- finding */

/* For a search that found nothing at the edge of a leaf. If the disk has changed a key of a
 * parent, the record is in the leaf beside, which then does not fit its parents either. */
static enum dueq_status look_beside(const struct pages_cursor *cursor, bool onward)
{
    struct pages_cursor beside = *cursor;
    enum dueq_status status = page_path_cross(&beside, page_path_tree(cursor), onward);

    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static bool is_old(const struct pages_cursor *cursor)
{
    return cursor->txnid != cursor->pages->meta.txnid;
}

/* The checksum of a large value is on the pages of the value, and covers the key. Once it was
 * checked, the key is right. */
static enum dueq_status look_at_key(struct pages *pages, const uint8_t *leaf, unsigned index)
{
    struct dueq_slice value;
    struct page_node node;

    if (index >= page_count(leaf))
        return DUEQ_OK;
    node = page_node_at(leaf, index);
    if (!(node.flags & NODE_BIG) || (page_word(node.value) <= pages->meta.last_page &&
                                     pages_has_bit(pages->sound, page_word(node.value))))
        return DUEQ_OK;
    return page_value_large(pages, &node, &value);
}

/* For a key that is not in its leaf: checks the two records between which it would be. If a
 * changed key has misled the search, it is one of these two. So beside a large value that is
 * damaged no key is known to be absent: the sum that does not check is of key and value, and
 * may fail because the key is the one that is looked for. */
static enum dueq_status look_at_absence(const struct pages_cursor *cursor)
{
    unsigned index = cursor->index[cursor->depth - 1];
    const uint8_t *leaf = page_path_leaf(cursor);
    enum dueq_status status = look_at_key(cursor->pages, leaf, index);

    if (status == DUEQ_OK && index > 0)
        status = look_at_key(cursor->pages, leaf, index - 1);
    if (status == DUEQ_OK && index == 0)
        status = look_beside(cursor, false);
    return status;
}

static void copy_path(struct pages_cursor *to, const struct pages_cursor *from)
{
    to->txnid = from->txnid;
    to->depth = from->depth;
    memcpy(to->page, from->page, from->depth * sizeof(to->page[0]));
    memcpy(to->index, from->index, from->depth * sizeof(to->index[0]));
}

/* A key between the first and the last one of a leaf belongs there: when the leaf was entered,
 * both were between the keys of its parents. Of keys in random order no leaf is looked at
 * twice, and none is tried. */
static bool enter_near(struct pages_cursor *cursor, const struct pages_near *near,
                       struct dueq_slice key)
{
    const uint8_t *leaf;
    unsigned count;

    if (!near->again || near->at.txnid != cursor->pages->meta.txnid)
        return false;
    leaf = pages_at(cursor->pages, near->at.page[near->at.depth - 1]);
    count = page_count(leaf);
    if (count == 0 || dueq_slice_compare(key, page_key_at(leaf, 0)) < 0 ||
        dueq_slice_compare(key, page_key_at(leaf, count - 1)) > 0)
        return false;
    copy_path(cursor, &near->at);
    return true;
}

static void note_near(struct pages_near *near, const struct pages_cursor *cursor)
{
    unsigned last = cursor->depth - 1;

    near->again = near->at.txnid == cursor->txnid && near->at.depth == cursor->depth &&
                  near->at.page[last] == cursor->page[last];
    if (!near->again)
        copy_path(&near->at, cursor);
}

static enum dueq_status enter(struct pages_cursor *cursor, struct dueq_slice key)
{
    unsigned first = key.size == 0 ? 0 : *(const uint8_t *)key.data;
    struct pages_near *near = &cursor->pages->near[first % PAGES_NEAR];
    enum dueq_status status;

    if (enter_near(cursor, near, key))
        return DUEQ_OK;
    status = page_path_enter(cursor, page_path_tree(cursor), &key, false);
    if (status == DUEQ_OK)
        note_near(near, cursor);
    return status;
}

/* Finds the leaf, and in it the first key at or above; the index may be after the last. */
static enum dueq_status find(struct pages_cursor *cursor, struct dueq_slice key,
                             bool *ret_exact)
{
    enum dueq_status status =
        PAGES_NEAR_USED ? enter(cursor, key)
                        : page_path_enter(cursor, page_path_tree(cursor), &key, false);

    if (status != DUEQ_OK)
        return status;
    cursor->index[cursor->depth - 1] = page_search(page_path_leaf(cursor), 0, key, ret_exact);
    return *ret_exact ? DUEQ_OK : look_at_absence(cursor);
}

/* ---- reading */

/* Is the key between the node and the one before it? Then no other record can have it, unless
 * one of the two is large: see look_at_absence. */
static bool is_between(const uint8_t *leaf, unsigned index, const struct page_node *node,
                       struct dueq_slice key)
{
    struct page_node before;

    if (index == 0 || node->flags & NODE_BIG)
        return false;
    before = page_node_at(leaf, index - 1);
    return !(before.flags & NODE_BIG) &&
           dueq_slice_compare(dueq_slice(before.key, before.key_size), key) < 0;
}

/* Has pages_prefetch found it (DUEQ_OK), or where it would be (DUEQ_NOTFOUND)? DUEQ_BUSY: that
 * is not known. A record with the right key and checksum is the right one, and one that would
 * be in the middle of a leaf is in no other, whatever the parents of the leaf say: the tree has
 * the leaf, as pages that are free are not sound. */
static enum dueq_status find_prefetched(const struct pages *pages, struct dueq_slice key,
                                        struct page_node *ret_node)
{
    const struct page_places *places = &pages->places;
    uint64_t tag = page_places_tag(key);

    for (unsigned i = 0; i < places->count; i++)
        if (places->tags[i] == tag) {
            const uint8_t *leaf = pages_at(pages, places->places[i].page);
            unsigned index = places->places[i].index;
            int order;

            *ret_node = page_node_at(leaf, index);
            order = dueq_slice_compare(dueq_slice(ret_node->key, ret_node->key_size), key);
            if (order == 0)
                return DUEQ_OK;
            if (order > 0 && is_between(leaf, index, ret_node, key))
                return DUEQ_NOTFOUND;
        }
    return DUEQ_BUSY;
}

static enum dueq_status search(struct pages *pages, struct dueq_slice key,
                               struct dueq_slice *ret_value)
{
    struct pages_cursor cursor = {.pages = pages};
    bool exact;
    enum dueq_status status = find(&cursor, key, &exact);
    struct page_node node;

    if (status != DUEQ_OK)
        return status;
    if (!exact) {
        if (cursor.index[cursor.depth - 1] == page_count(page_path_leaf(&cursor)))
            status = look_beside(&cursor, true);
        return status == DUEQ_OK ? DUEQ_NOTFOUND : status;
    }
    node = page_node_at(page_path_leaf(&cursor), cursor.index[cursor.depth - 1]);
    return page_value_get(pages, &node, ret_value);
}

enum dueq_status pages_get(struct pages *pages, struct dueq_slice key,
                           struct dueq_slice *ret_value)
{
    struct page_node node;
    enum dueq_status status = PAGE_PLACES_USED ? find_prefetched(pages, key, &node) : DUEQ_BUSY;

    if (status == DUEQ_BUSY)
        return search(pages, key, ret_value);
    return status == DUEQ_OK ? page_value_get(pages, &node, ret_value) : status;
}

enum dueq_status pages_seek(struct pages_cursor *cursor, struct dueq_slice key)
{
    bool exact;
    enum dueq_status status = find(cursor, key, &exact);

    if (status == DUEQ_OK &&
        cursor->index[cursor->depth - 1] == page_count(page_path_leaf(cursor)))
        status = page_path_cross(cursor, page_path_tree(cursor), true);
    if (status != DUEQ_OK)
        cursor->depth = 0;
    return status;
}

enum dueq_status pages_last(struct pages_cursor *cursor)
{
    return page_path_enter(cursor, page_path_tree(cursor), NULL, true);
}

static enum dueq_status step(struct pages_cursor *cursor, bool onward)
{
    enum dueq_status status = DUEQ_NOTFOUND;

    if (!is_old(cursor))
        status = onward ? page_path_next(cursor, page_path_tree(cursor))
                        : page_path_prev(cursor, page_path_tree(cursor));
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
    const struct page_tree *tree = page_path_tree(cursor);
    unsigned *index = &cursor->index[cursor->depth - 1], from = *index;
    const uint8_t *leaf = page_path_leaf(cursor);
    unsigned to = page_count(leaf);
    bool exact;

    if (page_compare(tree, page_key_at(leaf, to - 1), end) >= 0)
        to = page_search(leaf, 0, end, &exact);
    *ret_count = to - from;
    *index = to - 1;
    return step(cursor, true);
}

enum dueq_status pages_record(struct pages_cursor *cursor, struct dueq_slice *ret_key,
                              struct dueq_slice *ret_value)
{
    struct page_node node =
        page_node_at(page_path_leaf(cursor), cursor->index[cursor->depth - 1]);

    *ret_key = dueq_slice(node.key, node.key_size);
    return page_value_get(cursor->pages, &node, ret_value);
}

/* ---- writing */

/* LMDB fills a page that has become too empty from the pages beside it, so they are checked. */
static enum dueq_status look_around(const struct pages_cursor *cursor)
{
    struct pages *pages = cursor->pages;
    const struct page_tree *tree = page_path_tree(cursor);

    for (unsigned level = 0; level + 1 < cursor->depth; level++) {
        const uint8_t *branch = pages_at(pages, cursor->page[level]), *bytes;
        unsigned index = cursor->index[level];
        enum dueq_status status = DUEQ_OK;

        if (index > 0)
            status = page_check_visit(pages, tree, page_node_at(branch, index - 1).child,
                                      level + 1, &bytes);
        if (status == DUEQ_OK && index + 1 < page_count(branch))
            status = page_check_visit(pages, tree, page_node_at(branch, index + 1).child,
                                      level + 1, &bytes);
        if (status != DUEQ_OK)
            return status;
    }
    return look_beside(cursor, true);
}

static void set_bound(struct pages_bound *bound, struct dueq_slice key)
{
    assert(key.size > 0 && key.size <= PAGE_KEY_MAX);
    memcpy(bound->bytes, key.data, key.size);
    bound->size = key.size;
}

static struct dueq_slice bound_slice(const struct pages_bound *bound)
{
    return dueq_slice(bound->bytes, bound->size);
}

static void remember_allowed(struct pages *pages, const struct pages_cursor *cursor,
                             struct dueq_slice key)
{
    struct page_range range = {.has_from = false};

    for (unsigned level = 0; level + 1 < cursor->depth; level++)
        page_path_narrow(&range, pages_at(pages, cursor->page[level]), cursor->index[level]);
    set_bound(&pages->allowed_from, key);
    pages->allowed_last = !range.has_to;
    if (range.has_to)
        set_bound(&pages->allowed_to, range.to);
    pages->allowed = true;
    pages->allowed_leaves++;
}

static enum dueq_status allow_leaf(struct pages *pages, struct dueq_slice key)
{
    struct pages_cursor cursor = {.pages = pages};
    bool exact;
    enum dueq_status status = find(&cursor, key, &exact);

    if (status == DUEQ_OK)
        status = look_around(&cursor);
    if (status == DUEQ_OK)
        remember_allowed(pages, &cursor, key);
    return status;
}

enum dueq_status pages_allow(struct pages *pages, struct dueq_slice key)
{
    if (pages->allowed && dueq_slice_compare(key, bound_slice(&pages->allowed_from)) >= 0 &&
        (pages->allowed_last || dueq_slice_compare(key, bound_slice(&pages->allowed_to)) < 0))
        return DUEQ_OK;
    return allow_leaf(pages, key);
}

uint64_t pages_allowed_leaves(const struct pages *pages)
{
    return pages->allowed_leaves;
}

bool pages_share_leaf(struct pages *pages, struct dueq_slice first, struct dueq_slice last)
{
    struct page_range range;

    return page_path_leaf_range(pages, &pages->meta.main, first, &range) == DUEQ_OK &&
           (!range.has_to || dueq_slice_compare(last, range.to) < 0);
}

bool pages_next_in_leaf(struct pages *pages, struct dueq_slice key, struct dueq_slice *ret_key)
{
    struct pages_cursor cursor = {.pages = pages};
    const uint8_t *leaf;
    unsigned index;
    bool exact;

    if (find(&cursor, key, &exact) != DUEQ_OK)
        return false;
    leaf = page_path_leaf(&cursor);
    index = cursor.index[cursor.depth - 1] + exact;
    if (index == page_count(leaf))
        return false;
    *ret_key = page_key_at(leaf, index);
    return true;
}
