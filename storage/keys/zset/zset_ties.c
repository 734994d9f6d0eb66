#include "storage/keys/zset/zset_ties.h"

#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

#include <stdlib.h>

void zset_ties_init(struct zset_ties *ties)
{
    ties->members = NULL;
    ties->count = ties->capacity = ties->at = 0;
    ties->too_large = false;
}

void zset_ties_release(struct zset_ties *ties)
{
    free(ties->members);
    zset_ties_init(ties);
}

static bool belongs(const struct zset_ties *ties, struct dueq_slice key)
{
    return key.size >= ZSET_ORDER_KEY_SURE && ties->prefix.size == ZSET_ORDER_KEY_SURE &&
           memcmp(key.data, ties->prefix.bytes, ZSET_ORDER_KEY_SURE) == 0;
}

static struct dueq_slice member_of(const struct zset_tie *tie)
{
    if (tie->key.folded)
        return tie->member;
    return dueq_slice(tie->key.bytes + ZSET_ORDER_KEY_FIXED,
                      (size_t)(tie->key.size - ZSET_ORDER_KEY_FIXED));
}

static int compare(const void *a, const void *b)
{
    return dueq_slice_compare(member_of(a), member_of(b));
}

static enum dueq_status add_tie(struct zset_ties *ties, const struct kv_cursor *at)
{
    struct zset_tie *tie;
    struct zset_entry entry;

    if (ties->count == ties->capacity) {
        size_t capacity = ties->capacity == 0 ? 4 : ties->capacity * 2;
        struct zset_tie *grown = realloc(ties->members, capacity * sizeof(*grown));

        if (grown == NULL)
            return DUEQ_NOMEM;
        ties->members = grown;
        ties->capacity = capacity;
    }
    tie = &ties->members[ties->count++];
    kv_key_copy(&tie->key, kv_cursor_key(at));
    zset_order_read(at, &entry);
    tie->member = entry.member;
    return DUEQ_OK;
}

/* Adds every record with the prefix, but at most ZSET_TIES_MAX + 1. */
static enum dueq_status add_all(struct zset_ties *ties, struct kv_cursor *at, struct cuts *cuts)
{
    enum dueq_status status = kv_cursor_seek(at, kv_key_slice(&ties->prefix));

    while (status == DUEQ_OK && belongs(ties, kv_cursor_key(at)) &&
           ties->count <= ZSET_TIES_MAX) {
        status = cuts_check(cuts, kv_cursor_key(at));
        if (status == DUEQ_OK && cuts->gone) {
            status = kv_cursor_seek(at, kv_key_slice(&cuts->to));
            continue;
        }
        if (status == DUEQ_OK)
            status = add_tie(ties, at);
        if (status == DUEQ_OK)
            status = kv_cursor_next(at);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status zset_ties_gather(struct zset_ties *ties, struct kv_cursor *at,
                                  struct cuts *cuts)
{
    struct kv_key here;
    enum dueq_status status;

    if (ties->too_large && belongs(ties, kv_cursor_key(at)))
        return DUEQ_OK;
    kv_key_copy(&here, kv_cursor_key(at));
    kv_key_copy(&ties->prefix, dueq_slice(here.bytes, ZSET_ORDER_KEY_SURE));
    ties->count = 0;
    status = add_all(ties, at, cuts);
    ties->too_large = ties->count > ZSET_TIES_MAX;
    if (status != DUEQ_OK || !ties->too_large) {
        qsort(ties->members, ties->count, sizeof(*ties->members), compare);
        return status;
    }
    ties->count = 0;
    return kv_cursor_seek(at, kv_key_slice(&here));
}
