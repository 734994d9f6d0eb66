#include "storage/keys/reclaim/cut_eraser.h"

#include "storage/keys/garbage/cuts.h"
#include "storage/keys/index/member.h"
#include "storage/keys/record/object_key.h"
#include "storage/keys/record/zset_order.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

enum { MEMBER_COST = 3 }; /* steps, as its record must be searched for */

/* Erases the member of the order's record, unless the member was added again with another
 * score. */
static enum dueq_status erase_member(struct keys *keys, uint64_t object,
                                     const struct kv_cursor *at)
{
    struct keys_entry owner = {.type = KEYS_ZSET, .object = object};
    struct zset_entry here;
    struct dueq_slice value;
    struct kv_key key;
    enum dueq_status status;

    zset_order_read(at, &here);
    status = member_get_record(keys, &owner, here.member, &value);
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
    key = zset_order_key(keys, &owner, zset_order_read_score(value), here.member);
    return dueq_slice_equal(kv_key_slice(&key), kv_cursor_key(at))
               ? member_del(keys, &owner, here.member)
               : DUEQ_OK;
}

/* Erases the record at the cursor, and the member of an entry of the order. *ret_cost:
 * steps. */
static enum dueq_status erase_here(struct keys *keys, uint64_t object,
                                   const struct kv_cursor *at, unsigned *ret_cost)
{
    enum dueq_status status = DUEQ_OK;

    *ret_cost = 1;
    kv_key_copy(&keys->garbage_at, kv_cursor_key(at));
    if (keys->garbage_at.bytes[0] == TABLE_ORDER) {
        *ret_cost += MEMBER_COST;
        status = erase_member(keys, object, at);
    }
    if (status == DUEQ_OK)
        kv_del(keys->kv, kv_key_slice(&keys->garbage_at));
    return status;
}

static bool is_within(const struct cut *cut, const struct kv_key *key)
{
    struct dueq_slice at = kv_key_slice(key);

    return at.size > 0 && dueq_slice_compare(at, kv_key_slice(&cut->from)) >= 0 &&
           dueq_slice_compare(at, kv_key_slice(&cut->to)) < 0;
}

static enum dueq_status seek_cut(struct kv_cursor *at, const struct kv_key *from,
                                 const struct cut *cut, unsigned *budget)
{
    enum dueq_status status = kv_cursor_seek_within(at, kv_key_slice(from), budget);

    if (status == DUEQ_OK && dueq_slice_compare(kv_cursor_key(at), kv_key_slice(&cut->to)) >= 0)
        return DUEQ_NOTFOUND;
    return status == DUEQ_NOTFOUND && *budget == 0 ? DUEQ_BUSY : status;
}

/* Erases the records of one cut. DUEQ_BUSY: the budget is spent. */
static enum dueq_status erase_cut(struct keys *keys, uint64_t object, const struct cut *cut,
                                  unsigned *budget)
{
    struct kv_cursor *at = keys_take_cursor(keys);
    enum dueq_status status = DUEQ_OK;
    unsigned cost;

    if (at == NULL)
        return DUEQ_NOMEM;
    if (!is_within(cut, &keys->garbage_at))
        keys->garbage_at = cut->from;
    while (status == DUEQ_OK && *budget > 0) {
        status = seek_cut(at, &keys->garbage_at, cut, budget);
        if (status != DUEQ_OK)
            break;
        status = erase_here(keys, object, at, &cost);
        *budget -= cost < *budget ? cost : *budget;
    }
    keys_give_cursor(keys);
    if (status == DUEQ_OK)
        return DUEQ_BUSY;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status cut_eraser_run(struct keys *keys, uint64_t object, unsigned *budget)
{
    enum dueq_status status;
    struct cut cut;

    while ((status = cuts_first(keys, object, &cut)) == DUEQ_OK) {
        status = erase_cut(keys, object, &cut, budget);
        if (status != DUEQ_OK)
            return status;
        cuts_forget(keys, &cut);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}
