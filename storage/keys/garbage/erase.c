#include "storage/keys/garbage/erase.h"

#include "storage/keys/state/keys_internal.h"
#include "storage/keys/record/object_key.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

void erase_begin(struct kv_key *resume, const struct kv_key *prefix)
{
    if (resume->size < prefix->size || memcmp(resume->bytes, prefix->bytes, prefix->size) != 0)
        *resume = *prefix;
}

enum dueq_status erase_seek(struct kv_cursor *at, const struct kv_key *resume,
                            const struct kv_key *prefix, unsigned *budget)
{
    enum dueq_status status = DUEQ_NOTFOUND;

    if (*budget > 0)
        status = kv_cursor_seek_within(at, kv_key_slice(resume), budget);
    if (status == DUEQ_OK && !kv_key_begins(kv_cursor_key(at), prefix))
        return DUEQ_NOTFOUND;
    return status == DUEQ_NOTFOUND && *budget == 0 ? DUEQ_BUSY : status;
}

/* A large value that comes from data.mdb is checked before its key is believed: 16 MiB take 3
 * ms. */
static void pay(unsigned *budget, size_t value_size)
{
    size_t cost = 1 + value_size / ERASE_STEP_BYTES;

    *budget -= cost < *budget ? (unsigned)cost : *budget;
}

/* Deletes the records that have the prefix. */
static enum dueq_status erase_prefix(struct keys *keys, const struct kv_key *prefix,
                                     struct kv_key *resume, unsigned *budget)
{
    struct kv_cursor *at = keys_take_cursor(keys);
    enum dueq_status status;

    if (at == NULL)
        return DUEQ_NOMEM;
    erase_begin(resume, prefix);
    while ((status = erase_seek(at, resume, prefix, budget)) == DUEQ_OK) {
        kv_key_copy(resume, kv_cursor_key(at));
        pay(budget, kv_cursor_value(at).size);
        kv_del(keys->kv, kv_key_slice(resume));
    }
    keys_give_cursor(keys);
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status erase_table(struct keys *keys, uint8_t table, uint64_t object,
                             struct kv_key *resume, unsigned *budget)
{
    struct kv_key prefix = object_key_prefix(table, object);

    if (resume->size > 0 && resume->bytes[0] > table)
        return DUEQ_OK;
    return erase_prefix(keys, &prefix, resume, budget);
}

enum dueq_status erase_object(struct keys *keys, enum keys_type type, uint64_t object,
                              struct kv_key *resume, unsigned *budget)
{
    enum dueq_status status = DUEQ_OK;

    for (const uint8_t *table = object_key_tables(type); *table != 0 && status == DUEQ_OK;
         table++)
        status = erase_table(keys, *table, object, resume, budget);
    return status;
}
