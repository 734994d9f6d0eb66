#include "storage/keys/zset_order.h"

#include <math.h>
#include <stdlib.h>

enum { ORDER_KEY_FIXED = 1 + 8 + 8, ORDER_PREFIX = 1 + 8 };
enum { ORDER_FOLDED = 1, ORDER_NEGATIVE_ZERO = 2 }; /* flags: -0 sorts as 0 */
#define SIGN_BIT ((uint64_t)1 << 63)

/* ---- scores as bytes */

static uint64_t bits_of(double score)
{
    uint64_t bits;

    memcpy(&bits, &score, sizeof(bits));
    return bits;
}

void zset_write_score(uint8_t *bytes, double score)
{
    kv_write_u64(bytes, bits_of(score));
}

double zset_read_score(struct dueq_slice value)
{
    uint64_t bits = kv_read_u64(value.data);
    double score;

    memcpy(&score, &bits, sizeof(score));
    return score;
}

/* Integers in the order of the doubles; -0 and 0 are the same. */
static uint64_t sortable(double score)
{
    uint64_t bits = score == 0 ? 0 : bits_of(score);

    return bits & SIGN_BIT ? ~bits : bits | SIGN_BIT;
}

static double unsortable(uint64_t order)
{
    uint8_t bytes[8];

    kv_write_u64(bytes, order & SIGN_BIT ? order & ~SIGN_BIT : ~order);
    return zset_read_score(dueq_slice(bytes, sizeof(bytes)));
}

/* ---- keys */

static void start_key(struct kv_key *key, const struct keys_entry *entry)
{
    kv_key_start(key, TABLE_ORDER);
    kv_key_u64(key, entry->object);
}

static struct kv_key order_key(const struct keys *keys, const struct keys_entry *entry,
                               double score, struct dueq_slice member)
{
    struct kv_key key;

    start_key(&key, entry);
    kv_key_u64(&key, sortable(score));
    if (member.size > 0)
        kv_key_name(&key, member, keys->seed);
    return key;
}

/* ---- bounds: [0] nothing lives below, [1] nothing lives above */

static int compare_keys(const struct kv_key *a, struct dueq_slice b)
{
    return dueq_slice_compare(kv_key_slice(a), b);
}

static void set_bound(struct keys_entry *entry, int side, struct dueq_slice key)
{
    if (entry->bounds == NULL)
        entry->bounds = malloc(2 * sizeof(*entry->bounds));
    if (entry->bounds == NULL)
        return; /* only slower */
    memcpy(entry->bounds[side].bytes, key.data, key.size);
    entry->bounds[side].size = (uint16_t)key.size;
    entry->bound_set[side] = true;
}

static void widen_bounds(struct keys_entry *entry, const struct kv_key *key)
{
    if (entry->bound_set[0] && compare_keys(&entry->bounds[0], kv_key_slice(key)) > 0)
        set_bound(entry, 0, kv_key_slice(key));
    if (entry->bound_set[1] && compare_keys(&entry->bounds[1], kv_key_slice(key)) < 0)
        set_bound(entry, 1, kv_key_slice(key));
}

/* An entry whose key tells all has no value. */
void zset_order_put(struct keys *keys, struct keys_entry *entry, double score,
                    struct dueq_slice member)
{
    struct kv_key key = order_key(keys, entry, score, member);
    uint8_t flags = (key.folded ? ORDER_FOLDED : 0) |
                    (score == 0 && signbit(score) ? ORDER_NEGATIVE_ZERO : 0);
    struct dueq_slice parts[2] = {dueq_slice(&flags, 1), member};

    kv_putv(keys->kv, kv_key_slice(&key), parts, flags == 0 ? 0 : 1 + key.folded, true);
    widen_bounds(entry, &key);
}

void zset_order_del(struct keys *keys, struct keys_entry *entry, double score,
                    struct dueq_slice member)
{
    struct kv_key key = order_key(keys, entry, score, member);

    kv_del(keys->kv, kv_key_slice(&key));
}

/* ---- walking */

static struct zset_entry read_record(struct dueq_slice key, struct dueq_slice value)
{
    const uint8_t *bytes = key.data, *flags = value.data;
    struct zset_entry entry = {dueq_slice(bytes + ORDER_KEY_FIXED, key.size - ORDER_KEY_FIXED),
                               unsortable(kv_read_u64(bytes + ORDER_PREFIX))};

    if (value.size == 0)
        return entry;
    if (*flags & ORDER_NEGATIVE_ZERO)
        entry.score = -0.0;
    if (*flags & ORDER_FOLDED)
        entry.member = dueq_slice(flags + 1, value.size - 1);
    return entry;
}

/* Is the entry on the inner side of the bound? side 0: a least bound, 1: a most bound. */
static bool within(const struct zset_bound *bound, int side, const struct zset_entry *entry)
{
    int order;

    switch (bound->kind) {
    case ZSET_FIRST:
        return side == 0;
    case ZSET_LAST:
        return side == 1;
    case ZSET_SCORE:
        order = (entry->score > bound->score) - (entry->score < bound->score);
        break;
    case ZSET_LEX:
        order = dueq_slice_compare(entry->member, bound->member);
        break;
    default:
        return false;
    }
    if (order == 0)
        return !bound->exclusive;
    return side == 0 ? order > 0 : order < 0;
}

static bool in_zset(const struct kv_cursor *at, const struct keys_entry *entry)
{
    struct dueq_slice key = kv_cursor_key(at);
    const uint8_t *bytes = key.data;

    return key.size >= ORDER_KEY_FIXED && bytes[0] == TABLE_ORDER &&
           kv_read_u64(bytes + 1) == entry->object;
}

static enum dueq_status seek_forward(struct kv_cursor *at, const struct keys_entry *entry,
                                     const struct zset_bound *least)
{
    struct kv_key key;

    start_key(&key, entry);
    if (least->kind == ZSET_SCORE)
        kv_key_u64(&key, sortable(least->score) + least->exclusive);
    if (entry->bound_set[0] && compare_keys(&key, kv_key_slice(&entry->bounds[0])) < 0)
        return kv_cursor_seek(at, kv_key_slice(&entry->bounds[0]));
    return kv_cursor_seek(at, kv_key_slice(&key));
}

/* By member: scores are taken to be equal, so that of any entry will do. */
static enum dueq_status seek_member(struct keys *keys, struct kv_cursor *at,
                                    const struct keys_entry *entry,
                                    const struct zset_range *range)
{
    const struct zset_bound *from = range->reverse ? &range->most : &range->least;
    enum dueq_status status = seek_forward(at, entry, &(struct zset_bound){.kind = ZSET_FIRST});
    struct zset_entry first;
    struct kv_key key;

    if (status != DUEQ_OK || !in_zset(at, entry))
        return DUEQ_NOTFOUND;
    first = read_record(kv_cursor_key(at), kv_cursor_value(at));
    key = order_key(keys, entry, first.score, from->member);
    if (!range->reverse)
        return kv_cursor_seek(at, kv_key_slice(&key));
    status = kv_cursor_seek(at, kv_key_slice(&key));
    if (status == DUEQ_OK && dueq_slice_compare(kv_key_slice(&key), kv_cursor_key(at)) == 0)
        return DUEQ_OK;
    return kv_cursor_seek_last(at, kv_key_slice(&key));
}

/* The last record at or below. */
static enum dueq_status seek_backward(struct kv_cursor *at, const struct keys_entry *entry,
                                      const struct zset_bound *most)
{
    struct kv_key key;
    uint64_t order;

    kv_key_start(&key, TABLE_ORDER);
    if (most->kind == ZSET_SCORE) {
        order = sortable(most->score);
        kv_key_u64(&key, entry->object);
        kv_key_u64(&key, most->exclusive ? order : order + 1);
    } else {
        kv_key_u64(&key, entry->object + 1);
    }
    if (entry->bound_set[1] && compare_keys(&key, kv_key_slice(&entry->bounds[1])) > 0) {
        key = entry->bounds[1];
        if (key.size < KV_KEY_MAX)
            key.bytes[key.size++] = 0; /* the bound itself may live */
        else
            return kv_cursor_seek(at, kv_key_slice(&key)) == DUEQ_OK && in_zset(at, entry)
                       ? DUEQ_OK
                       : kv_cursor_seek_last(at, kv_key_slice(&key));
    }
    return kv_cursor_seek_last(at, kv_key_slice(&key));
}

/* A walk that began at an end has found where life begins. */
static void note_end(struct keys_entry *entry, const struct kv_cursor *at,
                     const struct zset_range *range)
{
    const struct zset_bound *from = range->reverse ? &range->most : &range->least;

    if (from->kind == ZSET_FIRST || from->kind == ZSET_LAST ||
        (!from->exclusive && from->score == (range->reverse ? HUGE_VAL : -HUGE_VAL)))
        set_bound(entry, range->reverse, kv_cursor_key(at));
}

static enum dueq_status seek_start(struct keys *keys, struct kv_cursor *at,
                                   const struct keys_entry *entry,
                                   const struct zset_range *range)
{
    const struct zset_bound *from = range->reverse ? &range->most : &range->least;

    if (from->kind == ZSET_LEX)
        return seek_member(keys, at, entry, range);
    return range->reverse ? seek_backward(at, entry, from) : seek_forward(at, entry, from);
}

enum dueq_status zset_order_walk(struct keys *keys, struct keys_entry *entry,
                                 const struct zset_range *range,
                                 bool (*fn)(void *arg, const struct zset_entry *entry),
                                 void *arg)
{
    struct kv_cursor *at = keys_take_cursor(keys);
    bool first = true;
    enum dueq_status status;

    if (at == NULL)
        return DUEQ_NOMEM;
    status = seek_start(keys, at, entry, range);
    for (; status == DUEQ_OK && in_zset(at, entry);
         status = range->reverse ? kv_cursor_prev(at) : kv_cursor_next(at)) {
        struct zset_entry here = read_record(kv_cursor_key(at), kv_cursor_value(at));

        if (first)
            note_end(entry, at, range);
        first = false;
        if (!within(range->reverse ? &range->least : &range->most, range->reverse ? 0 : 1,
                    &here))
            break;
        if (!within(range->reverse ? &range->most : &range->least, range->reverse ? 1 : 0,
                    &here))
            continue;
        if (!fn(arg, &here))
            break;
    }
    keys_give_cursor(keys);
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}
