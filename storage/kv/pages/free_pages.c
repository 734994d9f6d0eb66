#include "storage/kv/pages/free_pages.h"

#include "storage/kv/pages/page_path.h"
#include "storage/kv/pages/page_value.h"

#include <errno.h>

enum {
    LOST_SHARE = 4,  /* of all pages, one in so many may be lost */
    LOST_MOST = 1024 /* pages, besides */
};

/* A large record of the list: checks that all of it can be read. LMDB writes it before it knows
 * its length, shortens it in place, and leaves it its pages. */
static enum dueq_status list_large(struct pages *pages, uint64_t page, size_t size)
{
    uint64_t offset = page * pages->page_size + PAGE_HEADER, count;
    enum dueq_status status = page_value_check_head(pages, page, size, &count);
    int error = 0;

    if (status != DUEQ_OK || pages_has_bit(pages->sound, page))
        return status;
    while (error == 0 && size > 0) {
        size_t step = size < PAGES_READ_STEP ? size : PAGES_READ_STEP;

        error = pages_read_file(pages->io, pages->fd, offset, pages->scratch, step);
        offset += step;
        size -= step;
    }
    if (error != 0)
        return error == EILSEQ ? pages_damaged(pages, page, "the file ends within a list")
                               : pages_unreadable(pages, page, error);
    pages_set_bit(pages->sound, page);
    return DUEQ_OK;
}

/* A record of the list: how many pages, and their numbers, falling. It may have spare room. */
static enum dueq_status list_record(struct pages *pages, const struct pages_cursor *cursor,
                                    bool first, uint64_t *total)
{
    struct page_node node =
        page_node_at(page_path_leaf(cursor), cursor->index[cursor->depth - 1]);
    uint64_t page = cursor->page[cursor->depth - 1], before = UINT64_MAX, count;
    const uint8_t *numbers = node.value;
    enum dueq_status status = DUEQ_OK;

    if (node.flags & NODE_BIG) {
        uint64_t large = page_word(node.value);

        status = list_large(pages, large, node.size);
        numbers = pages_at(pages, large) + PAGE_HEADER;
    }
    if (status != DUEQ_OK)
        return status;
    if (node.size < PAGE_WORD || node.size % PAGE_WORD != 0)
        return pages_damaged(pages, page, "a list of free pages has no such size");
    count = page_word(numbers);
    if (count > node.size / PAGE_WORD - 1)
        return pages_damaged(pages, page, "a list of free pages does not say its size");
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t number = page_word(numbers + i * PAGE_WORD);

        if (number < 2 || number > pages->meta.last_page || number >= before ||
            (first && pages_has_bit(pages->unused, number)))
            return pages_damaged(pages, page,
                                 "a list of free pages names one that cannot be free");
        before = number;
        pages_set_bit(pages->unused, number);
        pages_clear_bit(pages->sound, number);
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
    const struct page_meta *meta = &pages->meta;
    uint64_t sum = 2 + unused + meta->free.branches + meta->free.leaves + meta->free.large +
                   meta->main.branches + meta->main.leaves + meta->main.large;

    return sum <= meta->last_page + 1 &&
                   meta->last_page + 1 - sum <= LOST_MOST + meta->last_page / LOST_SHARE
               ? DUEQ_OK
               : pages_damaged(pages, meta->txnid % 2,
                               "it does not count the pages that there are");
}

enum dueq_status free_pages_list(struct pages *pages, uint64_t after, bool first)
{
    const struct page_tree *tree = &pages->meta.free;
    struct pages_cursor cursor = {.pages = pages};
    enum dueq_status status = page_path_enter(&cursor, tree, NULL, true);
    uint64_t total = 0;

    while (status == DUEQ_OK) {
        uint64_t txnid = page_word(
            page_node_at(page_path_leaf(&cursor), cursor.index[cursor.depth - 1]).key);

        if (txnid <= after)
            break;
        if (txnid > pages->meta.txnid)
            return pages_damaged(pages, cursor.page[cursor.depth - 1],
                                 "a list of free pages comes from the future");
        status = list_record(pages, &cursor, first, &total);
        if (status == DUEQ_OK)
            status = page_path_prev(&cursor, tree);
    }
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        return status;
    return first ? look_at_sums(pages, total) : DUEQ_OK;
}

enum dueq_status free_pages_list_anew(struct pages *pages, bool first)
{
    enum dueq_status status;

    memset(pages->unused, 0, pages->bits / 8);
    status = free_pages_list(pages, 0, first);
    pages->unused_exact = status == DUEQ_OK;
    return status;
}

enum dueq_status free_pages_check_unused(struct pages *pages, uint64_t page)
{
    enum dueq_status status;

    if (!pages_has_bit(pages->unused, page))
        return DUEQ_OK;
    if (!pages->unused_exact) {
        status = free_pages_list_anew(pages, false);
        if (status != DUEQ_OK)
            return status;
    }
    return pages_has_bit(pages->unused, page)
               ? pages_damaged(pages, page, "it is in use and on the list of free pages")
               : DUEQ_OK;
}
