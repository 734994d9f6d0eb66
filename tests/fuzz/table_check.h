/* Records that no dueq has written, in a sound data.mdb (store_check.h).
 *
 * Input: flags (1 byte; 1: the changes are in data.mdb, else in the journal), then changes:
 * which record (2 bytes), what (1 byte), a position (1 byte), the number of bytes (1 byte), the
 * bytes. Records are numbered in the order of their keys. */
#ifndef DUEQ_TABLE_CHECK_H
#define DUEQ_TABLE_CHECK_H

#include "tests/fuzz/store_check.h"
#include "tests/support/temp_dir.h"

enum { TABLE_CHANGES = 32, TABLE_CHANGE_HEAD = 5, TABLE_PIECE = KV_KEY_MAX + 4096 };
enum {
    TABLE_OVERWRITE,
    TABLE_CUT,
    TABLE_REPLACE,
    TABLE_DELETE,
    TABLE_KEY,
    TABLE_EXTEND,
    TABLE_WHATS
};

struct table_change {
    const struct store_record *record;
    unsigned what, position;
    struct dueq_slice bytes;
};

/* Returns where the next begins; NULL: there is none. */
static inline const uint8_t *table_read_change(const uint8_t *at, const uint8_t *end,
                                               struct table_change *ret_change)
{
    const struct store_pattern *pattern = store_pattern();
    size_t size;

    if (end - at < TABLE_CHANGE_HEAD)
        return NULL;
    size = (size_t)(end - at) - TABLE_CHANGE_HEAD;
    ret_change->record = &pattern->records[(at[0] << 8 | at[1]) % pattern->count];
    ret_change->what = at[2] % TABLE_WHATS;
    ret_change->position = at[3];
    ret_change->bytes = dueq_slice(at + TABLE_CHANGE_HEAD, at[4] < size ? at[4] : size);
    return at + TABLE_CHANGE_HEAD + ret_change->bytes.size;
}

/* The bytes with others at that position. piece: TABLE_PIECE bytes. */
static inline struct dueq_slice table_overwrite(uint8_t *piece, struct dueq_slice old,
                                                const struct table_change *change, bool extend)
{
    size_t size = old.size < TABLE_PIECE - UINT8_MAX ? old.size : TABLE_PIECE - UINT8_MAX;
    size_t at = size == 0 ? 0 : change->position % size, end;

    if (extend)
        at = size;
    end = at + change->bytes.size;
    if (size > 0)
        memcpy(piece, old.data, size);
    if (change->bytes.size > 0)
        memcpy(piece + at, change->bytes.data, change->bytes.size);
    return dueq_slice(piece, end > size ? end : size);
}

static inline void table_put(struct kv *kv, struct dueq_slice key, struct dueq_slice value)
{
    const uint8_t *first = key.data;

    if (key.size > 0 && key.size <= KV_KEY_MAX && *first != 0 && *first != UINT8_MAX)
        kv_put(kv, key, value, false);
}

static inline void table_apply(struct kv *kv, const struct table_change *change)
{
    static uint8_t piece[TABLE_PIECE];
    struct dueq_slice key = change->record->key, value = change->record->value;

    switch (change->what) {
    case TABLE_OVERWRITE:
    case TABLE_EXTEND:
        table_put(kv, key, table_overwrite(piece, value, change, change->what == TABLE_EXTEND));
        break;
    case TABLE_CUT:
        table_put(kv, key,
                  dueq_slice(value.data, value.size == 0 ? 0 : change->position % value.size));
        break;
    case TABLE_REPLACE:
        table_put(kv, key, change->bytes);
        break;
    case TABLE_DELETE:
        kv_del(kv, key);
        break;
    default: /* another record of that value; position: where its key begins to differ */
        key = table_overwrite(piece, key, change, false);
        table_put(kv, key.size > 1 ? key : change->record->key, value);
    }
}

static inline void table_change(const char *dir, const uint8_t *data, size_t size)
{
    struct dueq_options options = command_options();
    const uint8_t *at = data + 1, *end = data + size;
    struct table_change change;
    struct dueq_error error;
    struct kv *kv;
    uint64_t lsn;

    if (kv_open(dir, &options, &kv, &error) != DUEQ_OK)
        abort();
    for (int i = 0; i < TABLE_CHANGES && (at = table_read_change(at, end, &change)) != NULL;
         i++)
        table_apply(kv, &change);
    if (kv_commit(kv, kv_time_floor(kv), &lsn) != DUEQ_OK)
        abort();
    if (data[0] & 1)
        kv_close(kv);
    else
        kv_abandon(kv);
}

static inline bool table_holds_up(const uint8_t *data, size_t size)
{
    const struct store_pattern *pattern = store_pattern();
    char *dir;
    bool good;

    if (size < 1 + TABLE_CHANGE_HEAD)
        return true;
    dir = temp_dir_new();
    store_save(dir, "FORMAT", pattern->format, pattern->format_size);
    store_save(dir, "data.mdb", pattern->data, pattern->data_size);
    table_change(dir, data, size);
    good = store_runs(dir); /* which removes it */
    return good;
}

#endif
