#include "storage/keys/zset/zset_walk.h"

#include "storage/bytes.h"
#include "storage/keys/record/object_key.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

/* ---- moving */

static enum dueq_status seek_tie(struct zset_walk *walk)
{
    struct dueq_slice key = kv_key_slice(&walk->ties.members[walk->ties.at].key);
    enum dueq_status status = kv_cursor_seek(walk->at, key);

    if (status == DUEQ_OK && !dueq_slice_equal(kv_cursor_key(walk->at), key))
        status = DUEQ_NOTFOUND;
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
    zset_order_read(walk->at, &walk->here);
    return DUEQ_OK;
}

/* The present member is so long that it may have ties. */
static enum dueq_status enter_ties(struct zset_walk *walk)
{
    enum dueq_status status = zset_ties_gather(&walk->ties, walk->at, &walk->cuts);

    if (status != DUEQ_OK || walk->ties.count == 0)
        return status;
    walk->ties.at = walk->reverse ? walk->ties.count - 1 : 0;
    return seek_tie(walk);
}

/* Moves over cuts, to the next record that is not deleted. */
static enum dueq_status pass_cuts(struct zset_walk *walk)
{
    const struct cuts *cuts = &walk->cuts;
    enum dueq_status status = cuts_check(&walk->cuts, kv_cursor_key(walk->at));

    while (status == DUEQ_OK && cuts->gone) {
        status = walk->reverse ? kv_cursor_seek_last(walk->at, kv_key_slice(&cuts->from))
                               : kv_cursor_seek(walk->at, kv_key_slice(&cuts->to));
        if (status == DUEQ_OK && !zset_order_holds(walk->owner, walk->at))
            status = DUEQ_NOTFOUND;
        if (status == DUEQ_OK)
            status = cuts_check(&walk->cuts, kv_cursor_key(walk->at));
    }
    return status;
}

static enum dueq_status arrive(struct zset_walk *walk, enum dueq_status status)
{
    if (status == DUEQ_OK && !zset_order_holds(walk->owner, walk->at))
        status = DUEQ_NOTFOUND;
    if (status == DUEQ_OK && walk->cuts.any)
        status = pass_cuts(walk);
    if (status != DUEQ_OK)
        return status;
    zset_order_read(walk->at, &walk->here);
    return walk->here.member.size < ZSET_ORDER_MEMBER_SURE ? DUEQ_OK : enter_ties(walk);
}

/* Moves to the first record at `left` or after it; in reverse, to the last before it. */
static enum dueq_status seek(struct zset_walk *walk, const struct kv_key *left)
{
    walk->ties.count = 0;
    return arrive(walk, walk->reverse ? kv_cursor_seek_last(walk->at, kv_key_slice(left))
                                      : kv_cursor_seek(walk->at, kv_key_slice(left)));
}

/* Makes it the greatest key that has it as a prefix. */
static void pad_key(struct kv_key *key)
{
    memset(key->bytes + key->size, UINT8_MAX, (size_t)(KV_KEY_MAX - key->size));
    key->size = KV_KEY_MAX;
}

static enum dueq_status step_in_ties(struct zset_walk *walk)
{
    struct zset_ties *ties = &walk->ties;
    struct kv_key left = ties->prefix;

    if (walk->reverse ? ties->at > 0 : ties->at + 1 < ties->count) {
        ties->at = walk->reverse ? ties->at - 1 : ties->at + 1;
        return seek_tie(walk);
    }
    if (!walk->reverse) {
        pad_key(&left);
        kv_key_follow(&left);
    }
    return seek(walk, &left);
}

/* ---- packed */

static enum dueq_status begin_packed(struct zset_walk *walk)
{
    struct zset_packed *packed = &walk->packed;
    enum dueq_status status = zset_packed_read(packed, walk->keys, walk->owner);

    if (status != DUEQ_OK)
        return status;
    if (packed->count == 0)
        return DUEQ_NOTFOUND;
    packed->at = walk->reverse ? packed->count - 1 : 0;
    walk->here = zset_packed_here(packed);
    return DUEQ_OK;
}

static enum dueq_status step_packed(struct zset_walk *walk)
{
    struct zset_packed *packed = &walk->packed;

    if (walk->reverse ? packed->at == 0 : packed->at + 1 == packed->count)
        return DUEQ_NOTFOUND;
    packed->at = walk->reverse ? packed->at - 1 : packed->at + 1;
    walk->here = zset_packed_here(packed);
    return DUEQ_OK;
}

static enum dueq_status step(struct zset_walk *walk)
{
    if (walk->at == NULL)
        return step_packed(walk);
    if (walk->ties.count > 0)
        return step_in_ties(walk);
    return arrive(walk, walk->reverse ? kv_cursor_prev(walk->at) : kv_cursor_next(walk->at));
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
    return dueq_slice(member.data, member.size < ZSET_ORDER_MEMBER_SURE
                                       ? member.size
                                       : ZSET_ORDER_MEMBER_SURE);
}

/* The present entry and all after it are beyond the range. Among too many ties members are not
 * in order, and this is not known. */
static bool past(const struct zset_walk *walk)
{
    const struct zset_bound *bound = far_bound(walk);

    if (within(bound, walk->reverse ? 0 : 1, &walk->here))
        return false;
    return bound->kind != ZSET_LEX || bound->member.size < ZSET_ORDER_MEMBER_SURE ||
           dueq_slice_compare(sure_part(walk->here.member), sure_part(bound->member)) != 0;
}

/* Records of scores were sought from that bound on. */
static bool has_begun(const struct zset_walk *walk)
{
    const struct zset_bound *bound = near_bound(walk);

    return (bound->kind == ZSET_SCORE && walk->at != NULL) ||
           within(bound, walk->reverse ? 1 : 0, &walk->here);
}

/* Moves on to the next entry within the range. */
static enum dueq_status enter(struct zset_walk *walk, enum dueq_status status)
{
    for (; status == DUEQ_OK; status = step(walk)) {
        if (has_begun(walk) && within(far_bound(walk), walk->reverse ? 0 : 1, &walk->here))
            return DUEQ_OK;
        if (past(walk))
            return DUEQ_NOTFOUND;
    }
    return status;
}

/* Seeks by member. All scores are taken to be equal, so the score of the first entry is
 * used. */
static enum dueq_status seek_member(struct zset_walk *walk, const struct zset_bound *bound)
{
    bool reverse = walk->reverse;
    struct kv_key key = zset_order_first(walk->owner);
    enum dueq_status status;

    walk->reverse = false;
    status = seek(walk, &key);
    walk->reverse = reverse;
    if (status != DUEQ_OK)
        return status;
    key = zset_order_key(walk->keys, walk->owner, walk->here.score, sure_part(bound->member));
    if (reverse && bound->member.size >= ZSET_ORDER_MEMBER_SURE)
        pad_key(&key);
    if (reverse)
        kv_key_follow(&key);
    return seek(walk, &key);
}

/* A walk is some KB, most of which few walks use. False: out of memory. */
static bool prepare(struct zset_walk *walk, struct keys *keys, struct keys_entry *owner,
                    const struct zset_range *range)
{
    walk->keys = keys;
    walk->owner = owner;
    walk->at = owner->packed ? NULL : keys_take_cursor(keys);
    walk->range = range;
    walk->reverse = range->reverse;
    zset_ties_init(&walk->ties);
    cuts_begin(&walk->cuts, keys, owner);
    return walk->at != NULL || owner->packed;
}

enum dueq_status zset_walk_begin(struct zset_walk *walk, struct keys *keys,
                                 struct keys_entry *owner, const struct zset_range *range)
{
    const struct zset_bound *bound;
    struct kv_key edge;

    if (!prepare(walk, keys, owner, range))
        return DUEQ_NOMEM;
    if (range->least.kind == ZSET_LAST || range->most.kind == ZSET_FIRST)
        return DUEQ_NOTFOUND;
    if (owner->packed)
        return enter(walk, begin_packed(walk));
    bound = near_bound(walk);
    if (bound->kind == ZSET_LEX)
        return enter(walk, seek_member(walk, bound));
    if (bound->kind == ZSET_SCORE)
        edge = zset_order_edge(owner, bound->score, bound->exclusive != walk->reverse);
    else
        edge = walk->reverse ? zset_order_end(owner) : zset_order_first(owner);
    return enter(walk, seek(walk, &edge));
}

enum dueq_status zset_walk_resume(struct zset_walk *walk, struct keys *keys,
                                  struct keys_entry *owner, const struct zset_range *range,
                                  const struct kv_key *edge)
{
    if (!prepare(walk, keys, owner, range))
        return DUEQ_NOMEM;
    return enter(walk, seek(walk, edge));
}

/* The first key after all ties. */
static struct kv_key ties_end(const struct zset_walk *walk)
{
    struct kv_key end = walk->ties.prefix;

    pad_key(&end);
    kv_key_follow(&end);
    return end;
}

bool zset_walk_edge(const struct zset_walk *walk, bool passed, struct kv_key *ret_edge)
{
    bool above = passed != walk->reverse;
    const struct zset_ties *ties = &walk->ties;

    if (ties->count > 1 && ties->at != (above ? ties->count - 1 : 0))
        return false;
    if (ties->count > 1) {
        *ret_edge = above ? ties_end(walk) : ties->prefix;
        return true;
    }
    kv_key_copy(ret_edge, kv_cursor_key(walk->at));
    if (above)
        kv_key_follow(ret_edge);
    return true;
}

/* Finds the key among the collected ties. */
static enum dueq_status find_in_ties(struct zset_walk *walk, const struct kv_key *key)
{
    struct zset_ties *ties = &walk->ties;

    for (ties->at = 0; ties->at < ties->count; ties->at++)
        if (dueq_slice_equal(kv_key_slice(&ties->members[ties->at].key), kv_key_slice(key)))
            return seek_tie(walk);
    return DUEQ_NOTFOUND;
}

/* The key of a packed entry (zset_walk_mark) is its index. */
static enum dueq_status resume_packed(struct zset_walk *walk, const struct kv_key *key)
{
    enum dueq_status status = begin_packed(walk);
    uint64_t index = bytes_read_u64(key->bytes + 1);

    if (status == DUEQ_OK && index >= walk->packed.count)
        status = DUEQ_NOTFOUND;
    if (status != DUEQ_OK)
        return status;
    walk->packed.at = (size_t)index;
    walk->here = zset_packed_here(&walk->packed);
    return DUEQ_OK;
}

enum dueq_status zset_walk_return(struct zset_walk *walk, struct keys *keys,
                                  struct keys_entry *owner, const struct zset_range *range,
                                  const struct kv_key *key)
{
    enum dueq_status status;

    if (!prepare(walk, keys, owner, range))
        return DUEQ_NOMEM;
    if (owner->packed)
        return resume_packed(walk, key);
    status = kv_cursor_seek(walk->at, kv_key_slice(key));
    if (status == DUEQ_OK && !dueq_slice_equal(kv_cursor_key(walk->at), kv_key_slice(key)))
        status = DUEQ_NOTFOUND;
    status = arrive(walk, status);
    return status == DUEQ_OK && walk->ties.count > 0 ? find_in_ties(walk, key) : status;
}

void zset_walk_mark(const struct zset_walk *walk, struct kv_key *ret_key)
{
    if (walk->at != NULL) {
        kv_key_copy(ret_key, kv_cursor_key(walk->at));
        return;
    }
    kv_key_start(ret_key, TABLE_ORDER);
    kv_key_u64(ret_key, walk->packed.at);
}

enum dueq_status zset_walk_step(struct zset_walk *walk)
{
    return enter(walk, step(walk));
}

void zset_walk_end(struct zset_walk *walk)
{
    if (walk->at != NULL)
        keys_give_cursor(walk->keys);
    zset_ties_release(&walk->ties);
    walk->at = NULL;
}
