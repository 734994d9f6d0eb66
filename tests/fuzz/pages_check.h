/* Bytes that no LMDB has written, in data.mdb (store_check.h).
 *
 * Input: changes: which page (2 bytes), a position in it (2 bytes), the number of bytes (1
 * byte), the bytes. */
#ifndef DUEQ_PAGES_CHECK_H
#define DUEQ_PAGES_CHECK_H

#include "tests/fuzz/store_check.h"
#include "tests/support/temp_dir.h"

enum { PAGES_PAGE = 4096, PAGES_CHANGE_HEAD = 5 };

static inline void pages_change(uint8_t *file, size_t pages, const uint8_t *at,
                                const uint8_t *end)
{
    while (end - at >= PAGES_CHANGE_HEAD) {
        size_t page = (size_t)(at[0] << 8 | at[1]) % pages;
        size_t position = (size_t)(at[2] << 8 | at[3]) % PAGES_PAGE,
               most = PAGES_PAGE - position;
        size_t size = at[4] < most ? at[4] : most;

        at += PAGES_CHANGE_HEAD;
        if (size > (size_t)(end - at))
            size = (size_t)(end - at);
        memcpy(file + page * PAGES_PAGE + position, at, size);
        at += size;
    }
}

static inline bool pages_hold_up(const uint8_t *data, size_t size)
{
    const struct store_pattern *pattern = store_pattern();
    char *dir = temp_dir_new();
    uint8_t *file = malloc(pattern->data_size);

    if (file == NULL)
        abort();
    memcpy(file, pattern->data, pattern->data_size);
    pages_change(file, pattern->data_size / PAGES_PAGE, data, data + size);
    store_save(dir, "FORMAT", pattern->format, pattern->format_size);
    store_save(dir, "data.mdb", file, pattern->data_size);
    free(file);
    return store_runs(dir); /* which removes it */
}

#endif
