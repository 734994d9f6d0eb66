#include "storage/keys/zset/zset_ties.h"

#include <stdlib.h>

void zset_ties_release(struct zset_ties *cluster)
{
    free(cluster->spots);
    *cluster = (struct zset_ties){.spots = NULL};
}

static bool belongs(const struct zset_ties *cluster, struct dueq_slice key)
{
    return key.size >= ZSET_ORDER_KEY_SURE && cluster->prefix.size == ZSET_ORDER_KEY_SURE &&
           memcmp(key.data, cluster->prefix.bytes, ZSET_ORDER_KEY_SURE) == 0;
}

static struct dueq_slice member_of(const struct zset_tie *spot)
{
    if (spot->key.folded)
        return spot->member;
    return dueq_slice(spot->key.bytes + ZSET_ORDER_KEY_FIXED,
                      (size_t)(spot->key.size - ZSET_ORDER_KEY_FIXED));
}

static int compare(const void *a, const void *b)
{
    return dueq_slice_compare(member_of(a), member_of(b));
}

static enum dueq_status add_tie(struct zset_ties *cluster, const struct kv_cursor *at)
{
    struct zset_tie *spot;

    if (cluster->count == cluster->room) {
        size_t room = cluster->room == 0 ? 4 : cluster->room * 2;
        struct zset_tie *grown = realloc(cluster->spots, room * sizeof(*grown));

        if (grown == NULL)
            return DUEQ_NOMEM;
        cluster->spots = grown;
        cluster->room = room;
    }
    spot = &cluster->spots[cluster->count++];
    kv_key_copy(&spot->key, kv_cursor_key(at));
    spot->member = zset_order_read(at).member;
    return DUEQ_OK;
}

/* Every record with the prefix, but no more than there may be and one. */
static enum dueq_status add_all(struct zset_ties *cluster, struct kv_cursor *at,
                                struct cuts *cuts)
{
    enum dueq_status status = kv_cursor_seek(at, kv_key_slice(&cluster->prefix));

    while (status == DUEQ_OK && belongs(cluster, kv_cursor_key(at)) &&
           cluster->count <= ZSET_TIES_MAX) {
        status = cuts_look_at(cuts, kv_cursor_key(at));
        if (status == DUEQ_OK && cuts->gone) {
            status = kv_cursor_seek(at, kv_key_slice(&cuts->to));
            continue;
        }
        if (status == DUEQ_OK)
            status = add_tie(cluster, at);
        if (status == DUEQ_OK)
            status = kv_cursor_next(at);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status zset_ties_gather(struct zset_ties *cluster, struct kv_cursor *at,
                                  struct cuts *cuts)
{
    struct kv_key here;
    enum dueq_status status;

    if (cluster->too_large && belongs(cluster, kv_cursor_key(at)))
        return DUEQ_OK;
    kv_key_copy(&here, kv_cursor_key(at));
    kv_key_copy(&cluster->prefix, dueq_slice(here.bytes, ZSET_ORDER_KEY_SURE));
    cluster->count = 0;
    status = add_all(cluster, at, cuts);
    cluster->too_large = cluster->count > ZSET_TIES_MAX;
    if (status != DUEQ_OK || !cluster->too_large) {
        qsort(cluster->spots, cluster->count, sizeof(*cluster->spots), compare);
        return status;
    }
    cluster->count = 0;
    return kv_cursor_seek(at, kv_key_slice(&here));
}
