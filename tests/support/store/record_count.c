#include "storage/store.h"
#include "tests/support/store/record_count.h"

#include "storage/kv/cursor.h"

#include "tests/support/cmocka.h"

static uint64_t count_table(struct kv_cursor *at, uint8_t table)
{
    enum dueq_status status = kv_cursor_seek(at, dueq_slice(&table, 1));
    uint64_t count = 0;

    for (; status == DUEQ_OK && *(const uint8_t *)kv_cursor_key(at).data == table; count++)
        status = kv_cursor_next(at);
    assert_true(status == DUEQ_OK || status == DUEQ_NOTFOUND);
    return count;
}

uint64_t record_count(struct dueq *store, const char *tables)
{
    struct kv_cursor *at = kv_cursor_new(store->kv);
    uint64_t count = 0;

    assert_non_null(at);
    for (; *tables != '\0'; tables++)
        count += count_table(at, (uint8_t)*tables);
    kv_cursor_free(at);
    return count;
}
