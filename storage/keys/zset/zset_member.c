#include "storage/keys/zset/zset_member.h"

#include "storage/keys/index/member.h"
#include "storage/keys/record/zset_order.h"

void zset_member_update_encoding(const struct keys *keys, struct keys_entry *entry,
                                 uint64_t count, struct dueq_slice member)
{
    if (count > keys->limits.zset_entries || member.size > keys->limits.zset_value)
        entry->encoding = KEYS_SKIPLIST;
}

/* The record of the order may be inside a cut, which is split. */
static enum dueq_status split_cut(struct keys *keys, struct keys_entry *entry, double score,
                                  struct dueq_slice member, bool *ret_absent)
{
    struct kv_key key;

    *ret_absent = true;
    if (!cuts_exist(keys, entry))
        return DUEQ_OK;
    key = zset_order_key(keys, entry, score, member);
    return cuts_split(keys, entry, &key, ret_absent);
}

/* A packed set has no records of the order: its cells are in order. */
enum dueq_status zset_member_put(struct keys *keys, struct keys_entry *entry,
                                 struct dueq_slice member, double score, const double *old)
{
    enum dueq_status status;
    uint8_t bits[8];
    bool absent;

    if (old == NULL)
        zset_member_update_encoding(keys, entry, entry->count + 1, member);
    if (score == 0 && entry->encoding == KEYS_LISTPACK)
        score = 0;
    zset_order_write_score(bits, score);
    status = split_cut(keys, entry, score, member, &absent);
    if (status == DUEQ_OK)
        status = member_put(keys, entry, member, dueq_slice(bits, sizeof(bits)), old == NULL);
    if (status != DUEQ_OK)
        return status;
    entry->count += old == NULL;
    if (entry->packed)
        return DUEQ_OK;
    if (old != NULL)
        zset_order_del(keys, entry, *old, member);
    zset_order_put(keys, entry, score, member, absent);
    return DUEQ_OK;
}
