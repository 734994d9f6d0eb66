#include "storage/keys/garbage/discard.h"

#include "storage/keys/garbage/erase.h"
#include "storage/keys/record/garbage_record.h"
#include "storage/keys/state/keys_internal.h"
#include "storage/keys/garbage/list_stub.h"
#include "storage/keys/record/object_key.h"
#include "storage/kv/kv.h"

/* The cuts of a set or sorted set are erased with the object. */
static bool forget_cuts(struct keys *keys, uint64_t object)
{
    struct kv_key record = garbage_record_key(object, GARBAGE_CUTS);
    struct dueq_slice value;

    if (garbage_record_get(keys, &record, &value) == DUEQ_NOTFOUND)
        return false;
    kv_del(keys->kv, kv_key_slice(&record));
    return true;
}

static bool has_more_records(struct keys *keys, enum keys_type type, uint64_t object)
{
    if (type == KEYS_LIST)
        return list_stub_forget(keys, object);
    return (type == KEYS_SET || type == KEYS_ZSET) && forget_cuts(keys, object);
}

enum { ERASE_MOST = ERASE_SMALL * 2 + 1 }; /* a sorted set has two records an element */

void discard_object(struct keys *keys, enum keys_type type, uint64_t object, uint64_t count)
{
    struct kv_key at = {.size = 0};

    if (has_more_records(keys, type, object))
        count = UINT64_MAX;
    if (count == 0)
        return;
    if (type == KEYS_STRING) {
        at = object_key_prefix(TABLE_STRING, object);
        kv_del(keys->kv, kv_key_slice(&at));
        return;
    }
    if (count <= ERASE_SMALL) {
        unsigned left = ERASE_MOST;
        enum dueq_status status = erase_object(keys, type, object, &at, &left);

        keys->erased += ERASE_MOST - left;
        if (status == DUEQ_OK)
            return; /* else there may be more: it stopped among deleted or large records */
    }
    garbage_record_add(keys, object, (uint8_t)type);
}

unsigned discard_pay(struct keys *keys, unsigned budget)
{
    unsigned erased = keys->erased;

    keys->erased = 0;
    return erased < budget ? budget - erased : 0;
}
