#include "storage/keys/record/garbage_record.h"

#include "storage/keys/state/keys_internal.h"
#include "storage/keys/record/object_key.h"
#include "storage/kv/kv.h"

struct kv_key garbage_record_key(uint64_t id, uint8_t kind)
{
    struct kv_key key = object_key_prefix(TABLE_RECLAIM, id);

    kv_key_u8(&key, kind);
    return key;
}

bool garbage_record_reads(struct dueq_slice key)
{
    const uint8_t *bytes = key.data;

    return key.size == 1 + 8 + 1 && bytes[9] != KEYS_NONE &&
           (bytes[9] <= KEYS_HASH || bytes[9] >= GARBAGE_CUTS);
}

enum dueq_status garbage_record_get(struct keys *keys, const struct kv_key *record,
                                    struct dueq_slice *ret_value)
{
    if (!keys->garbage && !keys->garbage_stays)
        return DUEQ_NOTFOUND;
    return kv_get(keys->kv, kv_key_slice(record), ret_value);
}

/* Ticks look at the record, or at one before it. */
static void show(struct keys *keys, const struct kv_key *record)
{
    keys_lower_bound(&keys->garbage_first, record);
    keys->garbage = true;
}

void garbage_record_put(struct keys *keys, const struct kv_key *record, struct dueq_slice value,
                        bool absent)
{
    kv_put(keys->kv, kv_key_slice(record), value, absent);
    show(keys, record);
}

void garbage_record_add(struct keys *keys, uint64_t id, uint8_t kind)
{
    struct kv_key record = garbage_record_key(id, kind);

    garbage_record_put(keys, &record, dueq_slice(NULL, 0), true);
}

void garbage_record_release(struct keys *keys, uint64_t object, enum keys_type type)
{
    struct kv_key record = garbage_record_key(object, (uint8_t)type);

    show(keys, &record);
}
