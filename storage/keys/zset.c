/* Sorted sets: member -> score (member.h), and score, member -> nothing, in order. */
#include "storage/keys/zset_order.h"

#include <math.h>

enum dueq_status zset_score(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice member, double *ret_score)
{
    struct dueq_slice value;
    enum dueq_status status = member_find(view, name, KEYS_ZSET, member, &value);

    if (status == DUEQ_OK)
        *ret_score = zset_read_score(value);
    return status;
}

enum dueq_status zset_put(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice member, double score, bool *ret_added)
{
    struct keys *keys = keys_of(view);
    struct keys_entry *entry;
    struct dueq_slice old;
    enum dueq_status status = directory_open(view, name, KEYS_ZSET, &entry), found;
    uint8_t bits[8];

    if (status != DUEQ_OK)
        return status;
    found = entry->count == 0 ? DUEQ_NOTFOUND : member_get(keys, entry, member, &old);
    if (found != DUEQ_OK && found != DUEQ_NOTFOUND)
        return found;
    if (found == DUEQ_OK)
        zset_order_del(keys, entry, zset_read_score(old), member);
    zset_write_score(bits, score);
    member_put(keys, entry, member, dueq_slice(bits, sizeof(bits)), found == DUEQ_NOTFOUND);
    zset_order_put(keys, entry, score, member);
    *ret_added = found == DUEQ_NOTFOUND;
    if (*ret_added) {
        entry->count++;
        directory_changed(view, entry);
    } else {
        directory_touched(view, entry);
    }
    return DUEQ_OK;
}

static void take_out(const struct keys_view *view, struct keys_entry *entry,
                     struct dueq_slice member, double score)
{
    struct keys *keys = keys_of(view);

    zset_order_del(keys, entry, score, member);
    member_del(keys, entry, member);
    entry->count--;
    directory_changed(view, entry);
}

enum dueq_status zset_remove(const struct keys_view *view, struct dueq_slice name,
                             struct dueq_slice member)
{
    struct keys_entry *entry;
    struct dueq_slice value;
    enum dueq_status status = directory_find(view, name, KEYS_ZSET, &entry);

    if (status == DUEQ_OK)
        status = member_get(keys_of(view), entry, member, &value);
    if (status == DUEQ_OK)
        take_out(view, entry, member, zset_read_score(value));
    return status;
}

/* ---- by hash of the member */

struct scan_call {
    bool (*fn)(void *arg, const struct zset_entry *entry);
    void *arg;
};

static bool hand_out(void *arg, struct dueq_slice member, struct dueq_slice value)
{
    struct scan_call *call = arg;
    struct zset_entry entry = {member, zset_read_score(value)};

    return call->fn(call->arg, &entry);
}

enum dueq_status zset_scan(const struct keys_view *view, struct dueq_slice name,
                           uint64_t cursor, uint64_t count,
                           bool (*fn)(void *arg, const struct zset_entry *entry), void *arg,
                           uint64_t *ret_cursor)
{
    struct scan_call call = {fn, arg};

    return member_scan_key(view, name, KEYS_ZSET, cursor, count, hand_out, &call, ret_cursor);
}

enum dueq_status zset_random(const struct keys_view *view, struct dueq_slice name,
                             uint64_t random, struct zset_entry *ret_entry)
{
    struct dueq_slice member, value;
    enum dueq_status status = member_random_key(view, name, KEYS_ZSET, random, &member, &value);

    if (status == DUEQ_OK)
        *ret_entry = (struct zset_entry){member, zset_read_score(value)};
    return status;
}

/* ---- in order */

enum dueq_status zset_each(const struct keys_view *view, struct dueq_slice name,
                           const struct zset_range *range,
                           bool (*fn)(void *arg, const struct zset_entry *entry), void *arg)
{
    struct keys_entry *entry;
    enum dueq_status status = directory_find(view, name, KEYS_ZSET, &entry);

    return status == DUEQ_OK ? zset_order_walk(keys_of(view), entry, range, fn, arg) : status;
}

struct ranked {
    uint64_t skip;
    struct scan_call call;
};

static bool skip_then_hand_out(void *arg, const struct zset_entry *entry)
{
    struct ranked *ranked = arg;

    if (ranked->skip > 0) {
        ranked->skip--;
        return true;
    }
    return ranked->call.fn(ranked->call.arg, entry);
}

enum dueq_status zset_each_from(const struct keys_view *view, struct dueq_slice name,
                                uint64_t rank, bool reverse,
                                bool (*fn)(void *arg, const struct zset_entry *entry),
                                void *arg)
{
    struct zset_range all = {
        .least = {.kind = ZSET_FIRST}, .most = {.kind = ZSET_LAST}, .reverse = reverse};
    struct ranked ranked = {rank, {fn, arg}};

    return zset_each(view, name, &all, skip_then_hand_out, &ranked);
}

struct rank_count {
    struct dueq_slice member;
    uint64_t before;
    bool found;
};

static bool count_before(void *arg, const struct zset_entry *entry)
{
    struct rank_count *count = arg;

    count->found = dueq_slice_equal(entry->member, count->member);
    count->before += !count->found;
    return !count->found;
}

enum dueq_status zset_rank(const struct keys_view *view, struct dueq_slice name,
                           struct dueq_slice member, bool reverse, uint64_t *ret_rank)
{
    struct rank_count count = {.member = member};
    double score;
    enum dueq_status status = zset_score(view, name, member, &score);

    if (status != DUEQ_OK)
        return status;
    status = zset_each_from(view, name, 0, reverse, count_before, &count);
    if (status == DUEQ_OK && !count.found)
        return DUEQ_CORRUPT;
    if (status == DUEQ_OK)
        *ret_rank = count.before;
    return status;
}

struct popped {
    struct keys *keys;
    struct zset_entry entry;
    bool found;
};

static bool take_first(void *arg, const struct zset_entry *entry)
{
    struct popped *popped = arg;

    popped->entry = (struct zset_entry){keys_keep(popped->keys, entry->member), entry->score};
    popped->found = true;
    return false;
}

enum dueq_status zset_pop(const struct keys_view *view, struct dueq_slice name, bool reverse,
                          struct zset_entry *ret_entry)
{
    struct zset_range all = {
        .least = {.kind = ZSET_FIRST}, .most = {.kind = ZSET_LAST}, .reverse = reverse};
    struct popped popped = {.keys = keys_of(view)};
    struct keys_entry *entry;
    enum dueq_status status = directory_find(view, name, KEYS_ZSET, &entry);

    if (status == DUEQ_OK)
        status = zset_order_walk(popped.keys, entry, &all, take_first, &popped);
    if (status != DUEQ_OK)
        return status;
    if (!popped.found)
        return DUEQ_CORRUPT;
    take_out(view, entry, popped.entry.member, popped.entry.score);
    *ret_entry = popped.entry;
    return DUEQ_OK;
}
