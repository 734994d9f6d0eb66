/* A sorted set has two records for each member: member -> score (member.h), and its place in
 * the order: score, member -> nothing (zset_order.h). */
#include "storage/keys/zset/zset.h"

#include "storage/keys/index/key_index.h"
#include "storage/keys/index/member.h"
#include "storage/keys/zset/zset_member.h"
#include "storage/keys/zset/zset_walk.h"

#include <math.h>

enum dueq_status zset_score(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice member, double *ret_score)
{
    struct dueq_slice value;
    enum dueq_status status = member_find(view, name, KEYS_ZSET, member, &value);

    if (status == DUEQ_OK)
        *ret_score = zset_order_read_score(value);
    return status;
}

/* ---- writing */

static enum zset_effect choose_effect(const struct zset_rule *rule, bool present,
                                      double current, double *score)
{
    if (present ? rule->if_absent : rule->if_present)
        return ZSET_NOT_MET;
    if (!present)
        return ZSET_ADDED;
    if (rule->increment)
        *score += current;
    if (isnan(*score))
        return ZSET_NAN;
    if ((rule->if_less && *score >= current) || (rule->if_greater && *score <= current))
        return ZSET_NOT_MET;
    return *score == current ? ZSET_SAME : ZSET_MOVED;
}

enum dueq_status zset_add(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice member, const struct zset_rule *rule, double *score,
                          enum zset_effect *ret_effect)
{
    struct keys *keys = view->keys;
    struct keys_entry *entry;
    struct dueq_slice old;
    enum dueq_status status = rule->if_present ? key_index_find(view, name, KEYS_ZSET, &entry)
                                               : key_index_open(view, name, KEYS_ZSET, &entry);
    double current = 0;

    if (status == DUEQ_OK && !rule->increment)
        zset_order_expect(keys, entry, *score, member);
    if (status == DUEQ_OK && entry->count > 0)
        status = member_get(keys, entry, member, &old);
    else if (status == DUEQ_OK)
        status = DUEQ_NOTFOUND;
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        return status;
    if (status == DUEQ_OK)
        current = zset_order_read_score(old);
    *ret_effect = choose_effect(rule, status == DUEQ_OK, current, score);
    status = DUEQ_OK;
    if (*ret_effect == ZSET_ADDED)
        status = zset_member_put(keys, entry, member, *score, NULL);
    else if (*ret_effect == ZSET_MOVED)
        status = zset_member_put(keys, entry, member, *score, &current);
    if (status != DUEQ_OK)
        key_index_drop_empty(keys, entry);
    else if (*ret_effect == ZSET_ADDED)
        key_index_changed(view, entry);
    else if (*ret_effect == ZSET_MOVED)
        key_index_touched(view, entry);
    return status;
}

enum dueq_status zset_replace(const struct keys_view *view, struct dueq_slice name,
                              const struct zset_entry *entries, size_t count, bool grown)
{
    struct keys_entry *entry;
    enum dueq_status status = key_index_make_way(view, name);

    if (status == DUEQ_OK || status == DUEQ_NOTFOUND)
        status = key_index_open(view, name, KEYS_ZSET, &entry);
    if (status != DUEQ_OK)
        return status;
    for (size_t i = 0; i < count && !grown; i++)
        zset_member_update_encoding(view->keys, entry, count, entries[i].member);
    for (size_t i = 0; i < count && status == DUEQ_OK; i++)
        status = zset_member_put(view->keys, entry, entries[i].member, entries[i].score, NULL);
    key_index_changed(view, entry);
    return status;
}

enum dueq_status zset_put(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice member, double score, bool *ret_added)
{
    enum zset_effect effect;
    enum dueq_status status =
        zset_add(view, name, member, &(struct zset_rule){0}, &score, &effect);

    if (status == DUEQ_OK)
        *ret_added = effect == ZSET_ADDED;
    return status;
}

/* The caller calls key_index_changed. */
static enum dueq_status take_out(struct keys *keys, struct keys_entry *entry,
                                 struct dueq_slice member, double score)
{
    enum dueq_status status = member_del(keys, entry, member);

    if (status != DUEQ_OK)
        return status;
    if (!entry->packed)
        zset_order_del(keys, entry, score, member);
    entry->count--;
    return DUEQ_OK;
}

enum dueq_status zset_remove(const struct keys_view *view, struct dueq_slice name,
                             struct dueq_slice member)
{
    struct keys_entry *entry;
    struct dueq_slice value;
    enum dueq_status status = key_index_find(view, name, KEYS_ZSET, &entry);

    if (status == DUEQ_OK)
        status = member_get(view->keys, entry, member, &value);
    if (status != DUEQ_OK)
        return status;
    status = take_out(view->keys, entry, member, zset_order_read_score(value));
    if (status == DUEQ_OK)
        key_index_changed(view, entry);
    return status;
}

/* ---- in the order of hashes */

static const struct zset_range from_least = {{.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, false};
static const struct zset_range from_most = {{.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, true};

enum { RANDOM_BY_RANK = 4096 }; /* members */

struct random_call {
    struct keys *keys;
    struct zset_entry entry;
};

struct scan_call {
    zset_fn fn;
    void *arg;
};

static bool hand_out(void *arg, struct dueq_slice member, struct dueq_slice value)
{
    struct scan_call *call = arg;
    struct zset_entry entry = {member, zset_order_read_score(value)};

    return call->fn(call->arg, &entry);
}

/* Does the set have cuts and few members? Then a search by hash might pass many cut records,
 * and the order is used. */
static bool is_sparse(const struct keys_view *view, struct dueq_slice name, uint64_t few,
                      struct keys_entry **ret_entry)
{
    return key_index_find(view, name, KEYS_ZSET, ret_entry) == DUEQ_OK &&
           (*ret_entry)->count <= few && cuts_exist(view->keys, *ret_entry);
}

enum dueq_status zset_scan(const struct keys_view *view, struct dueq_slice name,
                           uint64_t cursor, uint64_t count, zset_fn fn, void *arg,
                           uint64_t *ret_cursor)
{
    struct scan_call call = {fn, arg};
    struct keys_entry *entry;

    *ret_cursor = 0;
    if (is_sparse(view, name, MEMBER_SCAN_WHOLE, &entry))
        return zset_each(view, name, &from_least, fn, arg);
    return member_scan_key(view, name, KEYS_ZSET, cursor, count, hand_out, &call, ret_cursor);
}

/* Keeps the entry until the next change. */
static bool keep_entry(void *arg, const struct zset_entry *entry)
{
    struct random_call *call = arg;

    call->entry = (struct zset_entry){keys_keep(call->keys, entry->member), entry->score};
    return false;
}

static enum dueq_status random_by_rank(const struct keys_view *view, struct dueq_slice name,
                                       uint64_t rank, struct zset_entry *ret_entry)
{
    struct random_call call = {.keys = view->keys};
    enum dueq_status status = zset_each_from(view, name, rank, false, keep_entry, &call);

    if (status == DUEQ_OK && call.entry.member.data == NULL)
        return DUEQ_NOMEM;
    *ret_entry = call.entry;
    return status;
}

enum dueq_status zset_random(const struct keys_view *view, struct dueq_slice name,
                             uint64_t random, struct zset_entry *ret_entry)
{
    struct dueq_slice member, value;
    struct keys_entry *entry;
    enum dueq_status status;

    if (is_sparse(view, name, RANDOM_BY_RANK, &entry))
        return entry->count == 0 ? DUEQ_CORRUPT
                                 : random_by_rank(view, name, random % entry->count, ret_entry);
    status = member_random_key(view, name, KEYS_ZSET, random, &member, &value);
    if (status == DUEQ_OK)
        *ret_entry = (struct zset_entry){member, zset_order_read_score(value)};
    return status;
}

/* ---- in order */

static const struct zset_range *everything(bool reverse)
{
    return reverse ? &from_most : &from_least;
}

/* The end of a range is no error. */
static enum dueq_status end_walk(struct zset_walk *walk, enum dueq_status status)
{
    zset_walk_end(walk);
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static enum dueq_status hand_out_all(struct zset_walk *walk, enum dueq_status status,
                                     zset_fn fn, void *arg)
{
    while (status == DUEQ_OK && fn(arg, &walk->here))
        status = zset_walk_step(walk);
    return end_walk(walk, status);
}

enum dueq_status zset_each(const struct keys_view *view, struct dueq_slice name,
                           const struct zset_range *range, zset_fn fn, void *arg)
{
    struct keys_entry *entry;
    struct zset_walk walk;
    enum dueq_status status = key_index_find(view, name, KEYS_ZSET, &entry);

    if (status != DUEQ_OK)
        return status;
    status = zset_walk_begin(&walk, view->keys, entry, range);
    return hand_out_all(&walk, status, fn, arg);
}

/* Begins at the first entry that fn is to get. */
static enum dueq_status begin_at_position(struct zset_walk *walk, struct keys *keys,
                                          struct keys_entry *entry,
                                          const struct zset_range *range,
                                          const struct zset_position *position)
{
    enum dueq_status status;

    if (position->key.size == 0)
        return zset_walk_begin(walk, keys, entry, range);
    status = zset_walk_return(walk, keys, entry, range, &position->key);
    if (status == DUEQ_NOTFOUND)
        return DUEQ_STALE;
    return status == DUEQ_OK && !position->again ? zset_walk_step(walk) : status;
}

enum dueq_status zset_each_on(const struct keys_view *view, struct dueq_slice name,
                              const struct zset_range *range, struct zset_position *position,
                              zset_fn fn, void *arg)
{
    struct keys_entry *entry;
    struct zset_walk walk;
    enum dueq_status status = key_index_find(view, name, KEYS_ZSET, &entry);

    if (status != DUEQ_OK)
        return status;
    status = begin_at_position(&walk, view->keys, entry, range, position);
    position->again = false;
    while (status == DUEQ_OK && fn(arg, &walk.here))
        status = zset_walk_step(&walk);
    if (status == DUEQ_OK)
        zset_walk_mark(&walk, &position->key);
    return end_walk(&walk, status);
}

/* Begins at a rank, counted from the nearer end. */
static enum dueq_status begin_at_rank(struct zset_walk *walk, const struct keys_view *view,
                                      struct keys_entry *entry, uint64_t rank, bool reverse)
{
    bool far = rank > entry->count / 2;
    uint64_t skip = far ? entry->count - 1 - rank : rank;
    enum dueq_status status =
        zset_walk_begin(walk, view->keys, entry, everything(reverse != far));

    while (status == DUEQ_OK && skip-- > 0)
        status = zset_walk_step(walk);
    walk->reverse = reverse;
    return status;
}

enum dueq_status zset_each_from(const struct keys_view *view, struct dueq_slice name,
                                uint64_t rank, bool reverse, zset_fn fn, void *arg)
{
    struct keys_entry *entry;
    struct zset_walk walk;
    enum dueq_status status = key_index_find(view, name, KEYS_ZSET, &entry);

    if (status != DUEQ_OK || rank >= entry->count)
        return status;
    status = begin_at_rank(&walk, view, entry, rank, reverse);
    return hand_out_all(&walk, status, fn, arg);
}

enum dueq_status zset_rank(const struct keys_view *view, struct dueq_slice name,
                           struct dueq_slice member, bool reverse, uint64_t *ret_rank)
{
    struct keys_entry *entry;
    struct dueq_slice value;
    struct zset_walk walk;
    uint64_t rank = 0;
    enum dueq_status status = key_index_find(view, name, KEYS_ZSET, &entry);

    if (status == DUEQ_OK)
        status = member_get(view->keys, entry, member, &value);
    if (status != DUEQ_OK)
        return status;
    status = zset_walk_begin(&walk, view->keys, entry, everything(reverse));
    for (; status == DUEQ_OK && !dueq_slice_equal(walk.here.member, member); rank++)
        status = zset_walk_step(&walk);
    zset_walk_end(&walk);
    if (status == DUEQ_OK)
        *ret_rank = rank;
    return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
}

/* ---- removing */

/* Removes the present entry of the walk; *ret_entry is in the scratch space. */
static enum dueq_status take_out_here(struct zset_walk *walk, struct zset_entry *ret_entry)
{
    struct zset_entry kept = {keys_keep(walk->keys, walk->here.member), walk->here.score};
    enum dueq_status status;

    if (kept.member.data == NULL)
        return DUEQ_NOMEM;
    status = take_out(walk->keys, walk->owner, kept.member, kept.score);
    if (status == DUEQ_OK)
        *ret_entry = kept;
    return status;
}

/* Removes the present entry and those after it, up to `most`. Ends the walk. */
static enum dueq_status take_out_all(const struct keys_view *view, struct zset_walk *walk,
                                     enum dueq_status status, uint64_t most,
                                     uint64_t *ret_removed)
{
    struct keys_entry *entry = walk->owner;
    struct zset_entry gone;
    uint64_t removed = 0;

    while (status == DUEQ_OK && removed < most) {
        status = take_out_here(walk, &gone);
        removed += status == DUEQ_OK;
        if (status == DUEQ_OK && removed < most)
            status = zset_walk_step(walk);
    }
    *ret_removed = removed;
    status = end_walk(walk, status);
    if (removed > 0)
        key_index_changed(view, entry);
    return status;
}

enum dueq_status zset_remove_range(const struct keys_view *view, struct dueq_slice name,
                                   const struct zset_range *range, uint64_t *ret_removed)
{
    struct keys_entry *entry;
    struct zset_walk walk;
    enum dueq_status status = key_index_find(view, name, KEYS_ZSET, &entry);

    if (status != DUEQ_OK)
        return status;
    status = zset_walk_begin(&walk, view->keys, entry, range);
    return take_out_all(view, &walk, status, UINT64_MAX, ret_removed);
}

enum dueq_status zset_remove_from(const struct keys_view *view, struct dueq_slice name,
                                  uint64_t rank, uint64_t count, uint64_t *ret_removed)
{
    struct keys_entry *entry;
    struct zset_walk walk;
    enum dueq_status status = key_index_find(view, name, KEYS_ZSET, &entry);

    if (status != DUEQ_OK)
        return status;
    *ret_removed = 0;
    if (rank >= entry->count)
        return DUEQ_OK;
    status = begin_at_rank(&walk, view, entry, rank, false);
    return take_out_all(view, &walk, status, count, ret_removed);
}

enum dueq_status zset_pop(const struct keys_view *view, struct dueq_slice name, bool reverse,
                          struct zset_entry *ret_entry)
{
    struct keys_entry *entry;
    struct zset_walk walk;
    enum dueq_status status = key_index_find(view, name, KEYS_ZSET, &entry);

    if (status != DUEQ_OK)
        return status;
    status = zset_walk_begin(&walk, view->keys, entry, everything(reverse));
    if (status == DUEQ_OK)
        status = take_out_here(&walk, ret_entry);
    zset_walk_end(&walk);
    if (status == DUEQ_OK)
        key_index_changed(view, entry);
    return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
}
