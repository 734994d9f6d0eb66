#include "storage/keys/zset_order.h"

#include "storage/keys/zset_gap.h"

#include <math.h>

enum { ORDER_KEY_FIXED = 1 + 8 + 8, ORDER_PREFIX = 1 + 8 };
/* Bytes of a member that are in its key, however long it is. */
enum { ORDER_MEMBER_SURE = KV_KEY_MAX - ORDER_KEY_FIXED - 16 };
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

/* What all keys of the set begin with, and the first key behind them. */
static struct kv_key first_key(const struct keys_entry *entry)
{
    return keys_object_key(TABLE_ORDER, entry->object);
}

static struct kv_key end_key(const struct keys_entry *entry)
{
    return keys_object_key(TABLE_ORDER, entry->object + 1);
}

static struct kv_key order_key(const struct keys *keys, const struct keys_entry *entry,
                               double score, struct dueq_slice member)
{
    struct kv_key key = first_key(entry);

    kv_key_u64(&key, sortable(score));
    if (member.size > 0)
        kv_key_name(&key, member, keys->seed);
    return key;
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
    zset_gap_put(entry, &key);
}

void zset_order_del(struct keys *keys, struct keys_entry *entry, double score,
                    struct dueq_slice member)
{
    struct kv_key key = order_key(keys, entry, score, member);

    kv_del(keys->kv, kv_key_slice(&key));
    zset_gap_del(entry, &key);
}

/* ---- records */

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

static bool in_zset(const struct kv_cursor *at, const struct keys_entry *entry)
{
    struct dueq_slice key = kv_cursor_key(at);
    const uint8_t *bytes = key.data;

    return key.size >= ORDER_KEY_FIXED && bytes[0] == TABLE_ORDER &&
           kv_read_u64(bytes + 1) == entry->object;
}

/* ---- moving */

/* The cursor has moved away from `left`: what it stepped over began there (backward: ended). */
static void note_passed(const struct zset_walk *walk, const struct kv_key *left, bool inside)
{
    struct kv_key reached = walk->reverse ? first_key(walk->owner) : end_key(walk->owner);

    if (inside) {
        reached.size = (uint16_t)kv_cursor_key(walk->at).size;
        memcpy(reached.bytes, kv_cursor_key(walk->at).data, reached.size);
    }
    if (inside && walk->reverse)
        zset_key_follow(&reached);
    if (walk->reverse)
        zset_gap_note(walk->owner, &reached, left);
    else
        zset_gap_note(walk->owner, left, &reached);
}

static enum dueq_status arrive(struct zset_walk *walk, enum dueq_status status,
                               const struct kv_key *left)
{
    bool inside = status == DUEQ_OK && in_zset(walk->at, walk->owner);

    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        return status;
    if (kv_cursor_passed(walk->at) >= ZSET_GAP_WORTH)
        note_passed(walk, left, inside);
    if (!inside)
        return DUEQ_NOTFOUND;
    walk->here = read_record(kv_cursor_key(walk->at), kv_cursor_value(walk->at));
    return DUEQ_OK;
}

static bool at_edge(const struct zset_walk *walk, const struct kv_key *key)
{
    struct kv_key edge = walk->reverse ? first_key(walk->owner) : end_key(walk->owner);

    return dueq_slice_equal(kv_key_slice(key), kv_key_slice(&edge));
}

/* To the first record at or behind `left`, around a gap; backward: to the last before it. */
static enum dueq_status seek(struct zset_walk *walk, const struct kv_key *left)
{
    const struct zset_gap *gap = zset_gap_ahead(walk->owner, left, walk->reverse);
    const struct kv_key *goal = left;

    if (gap != NULL)
        goal = walk->reverse ? &gap->from : &gap->to;
    if (at_edge(walk, goal))
        return DUEQ_NOTFOUND;
    return arrive(walk,
                  walk->reverse ? kv_cursor_seek_last(walk->at, kv_key_slice(goal))
                                : kv_cursor_seek(walk->at, kv_key_slice(goal)),
                  left);
}

static enum dueq_status step(struct zset_walk *walk)
{
    struct dueq_slice key = kv_cursor_key(walk->at);
    struct kv_key left;

    memcpy(left.bytes, key.data, key.size);
    left.size = (uint16_t)key.size;
    if (!walk->reverse)
        zset_key_follow(&left);
    if (zset_gap_ahead(walk->owner, &left, walk->reverse) != NULL)
        return seek(walk, &left);
    return arrive(walk, walk->reverse ? kv_cursor_prev(walk->at) : kv_cursor_next(walk->at),
                  &left);
}

/* ---- ranges */

static const struct zset_bound *near_bound(const struct zset_walk *walk)
{
    return walk->reverse ? &walk->range->most : &walk->range->least;
}

static const struct zset_bound *far_bound(const struct zset_walk *walk)
{
    return walk->reverse ? &walk->range->least : &walk->range->most;
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

static struct dueq_slice sure_part(struct dueq_slice member)
{
    return dueq_slice(member.data,
                      member.size < ORDER_MEMBER_SURE ? member.size : ORDER_MEMBER_SURE);
}

/* Nothing in the range is to come. Beyond the bytes that are sure to be in the key, members lie
 * in no order. */
static bool past(const struct zset_walk *walk)
{
    const struct zset_bound *bound = far_bound(walk);
    int order;

    if (within(bound, walk->reverse ? 0 : 1, &walk->here))
        return false;
    if (bound->kind != ZSET_LEX)
        return true;
    order = dueq_slice_compare(sure_part(walk->here.member), sure_part(bound->member));
    return order != 0 || bound->member.size < ORDER_MEMBER_SURE;
}

/* Goes on to what is within the range. */
static enum dueq_status enter(struct zset_walk *walk, enum dueq_status status)
{
    for (; status == DUEQ_OK; status = step(walk)) {
        if (past(walk))
            return DUEQ_NOTFOUND;
        if (within(near_bound(walk), walk->reverse ? 1 : 0, &walk->here))
            return DUEQ_OK;
    }
    return status;
}

static struct kv_key score_edge(const struct zset_walk *walk, const struct zset_bound *bound)
{
    struct kv_key key = first_key(walk->owner);

    kv_key_u64(&key, sortable(bound->score) + (bound->exclusive != walk->reverse));
    return key;
}

/* The last key of all that begin with it. */
static void pad_key(struct kv_key *key)
{
    memset(key->bytes + key->size, UINT8_MAX, (size_t)(KV_KEY_MAX - key->size));
    key->size = KV_KEY_MAX;
}

/* By member: scores are taken to be equal, so that of any entry will do. */
static enum dueq_status seek_member(struct zset_walk *walk, const struct zset_bound *bound)
{
    bool reverse = walk->reverse;
    struct kv_key key = first_key(walk->owner);
    enum dueq_status status;

    walk->reverse = false;
    status = seek(walk, &key);
    walk->reverse = reverse;
    if (status != DUEQ_OK)
        return status;
    key = order_key(walk->keys, walk->owner, walk->here.score, sure_part(bound->member));
    if (reverse && bound->member.size >= ORDER_MEMBER_SURE)
        pad_key(&key);
    if (reverse)
        zset_key_follow(&key);
    return seek(walk, &key);
}

enum dueq_status zset_walk_begin(struct zset_walk *walk, struct keys *keys,
                                 struct keys_entry *owner, const struct zset_range *range)
{
    const struct zset_bound *bound;
    struct kv_key edge;

    *walk = (struct zset_walk){.keys = keys,
                               .owner = owner,
                               .at = keys_take_cursor(keys),
                               .range = range,
                               .reverse = range->reverse};
    if (walk->at == NULL)
        return DUEQ_NOMEM;
    if (range->least.kind == ZSET_LAST || range->most.kind == ZSET_FIRST)
        return DUEQ_NOTFOUND;
    bound = near_bound(walk);
    if (bound->kind == ZSET_LEX)
        return enter(walk, seek_member(walk, bound));
    if (bound->kind == ZSET_SCORE)
        edge = score_edge(walk, bound);
    else
        edge = walk->reverse ? end_key(owner) : first_key(owner);
    return enter(walk, seek(walk, &edge));
}

enum dueq_status zset_walk_step(struct zset_walk *walk)
{
    return enter(walk, step(walk));
}

void zset_walk_end(struct zset_walk *walk)
{
    if (walk->at != NULL)
        keys_give_cursor(walk->keys);
    walk->at = NULL;
}
