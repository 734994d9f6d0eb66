#include "storage/kv/pages/page_value.h"

#include <errno.h>

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

/* ---- the pages of a large value */

uint64_t page_value_pages(const struct pages *pages, size_t size)
{
    return (PAGE_HEADER - 1 + size) / pages->page_size + 1;
}

enum dueq_status page_value_check_head(struct pages *pages, uint64_t page, size_t size,
                                       uint64_t *ret_count)
{
    uint8_t head[PAGE_HEADER];
    uint64_t last = pages->meta.last_page;
    int error;

    if (page < 2 || page > last || page_value_pages(pages, size) > last - page + 1)
        return pages_damaged(pages, page, "a large value lies outside of the file");
    error = pages_read_file(pages->io, pages->fd, page * pages->page_size, head, sizeof(head));
    if (error != 0 && error != EILSEQ)
        return pages_unreadable(pages, page, error);
    *ret_count = page_u32(head + PAGE_PAGES);
    if (error != 0 || page_word(head) != page || page_u16(head + PAGE_KIND) != PAGE_OVERFLOW ||
        *ret_count < page_value_pages(pages, size) || *ret_count > last - page + 1)
        return pages_damaged(pages, page, "it is not the beginning of a large value");
    return DUEQ_OK;
}

enum dueq_status page_value_check_place(struct pages *pages, uint64_t page, size_t size)
{
    uint64_t count;
    enum dueq_status status = page_value_check_head(pages, page, size, &count);

    if (status == DUEQ_OK && count != page_value_pages(pages, size))
        return pages_damaged(pages, page, "it is the beginning of another large value");
    return status;
}

/* ---- checking */

static bool is_same(const struct pages_checked *a, const struct pages_checked *b)
{
    return a->page == b->page && a->key_hash == b->key_hash && a->size == b->size;
}

static bool was_checked(const struct pages *pages, const struct pages_checked *value)
{
    if (value->size <= PAGES_SLICED || !pages_has_bit(pages->sound, value->page))
        return false;
    for (size_t i = 0; i < PAGES_CHECKED_MOST; i++)
        if (is_same(&pages->checked[i], value))
            return true;
    return false;
}

static void note_checked(struct pages *pages, const struct pages_checked *value)
{
    pages_set_bit(pages->sound, value->page);
    if (value->size <= PAGES_SLICED)
        return;
    for (size_t i = 0; i < PAGES_CHECKED_MOST; i++)
        if (pages->checked[i].page == value->page)
            pages->checked[i].page = 0;
    pages->checked[pages->next_checked] = *value;
    pages->next_checked = (pages->next_checked + 1) % PAGES_CHECKED_MOST;
}

static enum dueq_status failed_read(struct pages *pages, uint64_t page, int error)
{
    return error == EILSEQ ? pages_damaged(pages, page, "the file ends within a value")
                           : pages_unreadable(pages, page, error);
}

/* Adds up to `most` bytes of the value under check to its checksum, by pread. */
static enum dueq_status sum_some(struct pages *pages, size_t most)
{
    const struct pages_checked *value = &pages->under_check;
    size_t size = value->size - PAGES_SUM_SIZE;

    while (most > 0 && pages->done < size) {
        uint64_t offset = value->page * pages->page_size + PAGE_HEADER + pages->done;
        size_t left = size - pages->done, step = left < most ? left : most;
        int error;

        step = step < PAGES_READ_STEP ? step : PAGES_READ_STEP;
        error = pages_read_file(pages->io, pages->fd, offset, pages->scratch, step);
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
    const struct pages_checked *value = &pages->under_check;
    uint64_t offset = value->page * pages->page_size + PAGE_HEADER + pages->done;
    uint8_t sum[PAGES_SUM_SIZE], stored[PAGES_SUM_SIZE];
    int error = pages_read_file(pages->io, pages->fd, offset, stored, sizeof(stored));

    if (error != 0)
        return failed_read(pages, value->page, error);
    write_sum(sum, XXH3_64bits_digest(pages->sum));
    if (memcmp(sum, stored, sizeof(sum)) != 0)
        return pages_damaged(pages, value->page, "a value does not check");
    note_checked(pages, value);
    return DUEQ_OK;
}

/* How much of the value under check may be checked now, which is taken from the allowance. */
static size_t take_allowance(struct pages *pages)
{
    size_t left = pages->under_check.size - pages->done, most;
    size_t *allowance = pages_allowance(pages);

    if (allowance == NULL || pages->under_check.size <= PAGES_SLICED)
        return left;
    most = left < *allowance ? left : *allowance;
    *allowance -= most;
    return most;
}

/* DUEQ_BUSY: the allowance is used up. Any other status: the check is over. */
static enum dueq_status check_on(struct pages *pages)
{
    enum dueq_status status = sum_some(pages, take_allowance(pages));

    if (status == DUEQ_OK && pages->done + PAGES_SUM_SIZE < pages->under_check.size) {
        pages->limit->was_busy = true;
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
static enum dueq_status check(struct pages *pages, const struct pages_checked *value)
{
    struct pages_checked *now = &pages->under_check;

    if (now->page != 0 && !is_same(now, value) && pages_allowance(pages) != NULL &&
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
static enum dueq_status check_mapped(struct pages *pages, const struct page_node *node,
                                     uint64_t page)
{
    struct dueq_slice value =
        dueq_slice(pages_at(pages, page) + PAGE_HEADER, node->size - PAGES_SUM_SIZE);
    uint8_t sum[PAGES_SUM_SIZE];

    pages_write_sum(sum, dueq_slice(node->key, node->key_size), value);
    return memcmp(sum, (const uint8_t *)value.data + value.size, PAGES_SUM_SIZE) == 0
               ? DUEQ_OK
               : pages_damaged(pages, page, "a value does not check");
}

/* ---- reading */

enum dueq_status page_value_large(struct pages *pages, const struct page_node *node,
                                  struct dueq_slice *ret_value)
{
    struct pages_checked value = {page_word(node->value),
                                  XXH3_64bits(node->key, node->key_size), node->size};
    enum dueq_status status = page_value_check_place(pages, value.page, node->size);

    if (status == DUEQ_OK && !was_checked(pages, &value))
        status = node->size <= PAGES_SLICED && pages_has_bit(pages->sound, value.page)
                     ? check_mapped(pages, node, value.page)
                     : check(pages, &value);
    if (status == DUEQ_OK)
        *ret_value =
            dueq_slice(pages_at(pages, value.page) + PAGE_HEADER, node->size - PAGES_SUM_SIZE);
    return status;
}

enum dueq_status page_value_get(struct pages *pages, const struct page_node *node,
                                struct dueq_slice *ret_value)
{
    if (node->flags & NODE_BIG)
        return page_value_large(pages, node, ret_value);
    *ret_value = dueq_slice(node->value, node->size - PAGES_SUM_SIZE);
    return DUEQ_OK;
}
