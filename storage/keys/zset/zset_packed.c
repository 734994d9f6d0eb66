#include "storage/keys/zset/zset_packed.h"

#include "storage/keys/index/entry_value.h"
#include "storage/keys/index/member.h"
#include "storage/keys/record/zset_order.h"

#include <assert.h>

enum dueq_status zset_packed_read(struct zset_packed *packed, struct keys *keys,
                                  const struct keys_entry *entry)
{
    struct dueq_slice cells, member, score;
    enum dueq_status status = entry_value_get(keys, entry, &cells);
    size_t from = 0, to = 0;

    if (status != DUEQ_OK)
        return status;
    if (cells.size > sizeof(packed->cells))
        return DUEQ_CORRUPT;
    if (cells.size > 0)
        memcpy(packed->cells, cells.data, cells.size);
    packed->size = cells.size;
    packed->count = packed->at = 0;
    for (; member_next_packed(KEYS_ZSET, cells, &to, &member, &score); from = to)
        packed->starts[packed->count++] = (uint16_t)from;
    return from == cells.size ? DUEQ_OK : DUEQ_CORRUPT;
}

struct zset_entry zset_packed_here(const struct zset_packed *packed)
{
    struct dueq_slice member = {NULL, 0}, score = {NULL, 0};
    size_t at;

    assert(packed->at < packed->count);
    at = packed->starts[packed->at];
    member_next_packed(KEYS_ZSET, dueq_slice(packed->cells, packed->size), &at, &member,
                       &score);
    return (struct zset_entry){member, zset_order_read_score(score)};
}
