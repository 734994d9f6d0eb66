/* A store without keys, for `make libdueq-small`: in place of storage/keys. A directory in
 * which a server has kept keys is refused. */
#include "storage/bytes.h"
#include "storage/keys/keys.h"
#include "storage/keys/reclaim/reclaim.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "storage/none.h"

/* DUEQ_FORMAT: the table has a record. */
static enum dueq_status expect_none(struct kv_cursor *cursor, uint8_t table)
{
    struct kv_key prefix;
    enum dueq_status status;

    kv_key_start(&prefix, table);
    status = kv_cursor_seek(cursor, kv_key_slice(&prefix));
    if (status == DUEQ_OK && kv_key_begins(kv_cursor_key(cursor), &prefix))
        return DUEQ_FORMAT;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status none_expect_empty(struct kv *kv, const char *tables)
{
    struct kv_cursor *cursor = kv_cursor_new(kv);
    enum dueq_status status = cursor == NULL ? DUEQ_NOMEM : DUEQ_OK;

    for (size_t i = 0; tables[i] != 0 && status == DUEQ_OK; i++)
        status = expect_none(cursor, (uint8_t)tables[i]);
    kv_cursor_free(cursor);
    return status;
}

/* Counters of a server that has no keys any more are sound, and stay as they are. Erased keys
 * whose records are still there count as keys. */
enum dueq_status keys_new(struct kv *kv, struct keys **ret_keys)
{
    *ret_keys = NULL;
    return none_expect_empty(kv,
                             "eghklvyz"); /* storage/keys/record/object_key.h, but c and d */
}

void keys_free(struct keys *keys)
{
    (void)keys;
}

void keys_save(struct keys *keys)
{
    (void)keys;
}

void keys_flush_all(struct keys *keys)
{
    (void)keys;
}

void keys_verify(struct keys *keys, struct findings *findings)
{
    (void)keys;
    (void)findings;
}

void reclaim_tick(struct keys *keys, struct dueq_time time, unsigned *budget)
{
    (void)keys;
    (void)time;
    (void)budget;
}

int64_t reclaim_next_tick(const struct keys *keys, struct dueq_time time)
{
    (void)keys;
    (void)time;
    return DUEQ_NEVER;
}
