#include "storage/queue/id_index.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    STEPS_AT_ONCE = 1000, /* some 200 us */
    ROOM_TO_GROW = 4,
    LEAST_SHARE = 16 /* of what a filter may take, it takes so much from the start */
};

static uint64_t hash_of(const struct unique *unique, struct dueq_slice key)
{
    return XXH3_64bits_withSeed(key.data, key.size, kv_seed(unique->kv));
}

/* ---- the index */

void id_index_key(const struct unique *unique, uint64_t topic, struct dueq_slice id,
                  struct id_index_key *ret_id)
{
    ret_id->key = queue_key_id(topic, id, kv_seed(unique->kv));
    ret_id->hash = hash_of(unique, kv_key_slice(&ret_id->key));
}

static bool read_seq(struct dueq_slice value, uint64_t *ret_seq)
{
    const uint8_t *at = value.data, *end = at + value.size;

    return bytes_read_number(at, end, ret_seq) == end;
}

enum dueq_status id_index_find(const struct unique *unique, const struct id_index_key *id,
                               uint64_t *ret_seq)
{
    struct dueq_slice value;
    enum dueq_status status;

    if (!id_filter_may_have(&unique->filter, id->hash))
        return DUEQ_NOTFOUND;
    status = kv_get(unique->kv, kv_key_slice(&id->key), &value);
    if (status == DUEQ_OK && !read_seq(value, ret_seq))
        return DUEQ_CORRUPT;
    return status;
}

void id_index_put(struct unique *unique, const struct id_index_key *id, uint64_t seq)
{
    uint8_t value[BYTES_NUMBER_MAX];

    kv_put(unique->kv, kv_key_slice(&id->key),
           dueq_slice(value, bytes_write_number(value, seq)), true);
    id_filter_add(&unique->filter, id->hash);
    id_filter_add(&unique->next, id->hash);
}

void id_index_del(struct unique *unique, uint64_t topic, struct dueq_slice id)
{
    struct kv_key key = queue_key_id(topic, id, kv_seed(unique->kv));

    kv_del(unique->kv, kv_key_slice(&key));
}

/* ---- the filter. It forgets no id that is gone, so another takes its place now and then. */

bool id_index_wants_filter(const struct unique *unique)
{
    return unique->next.words == NULL && unique->filter.ids >= unique->renew_at;
}

static void end_filter(struct unique *unique)
{
    id_filter_release(&unique->filter);
    unique->filter = unique->next;
    unique->next = (struct id_filter){0};
    unique->renew_at = unique->filter.capacity;
    if (unique->renew_at < 2 * unique->filter.ids)
        unique->renew_at = 2 * unique->filter.ids;
}

void id_index_begin_filter(struct unique *unique, uint64_t jobs)
{
    kv_key_start(&unique->at, TABLE_ID);
    if (!id_filter_init(&unique->next, ROOM_TO_GROW * jobs, unique->filter_bytes / LEAST_SHARE,
                        unique->filter_bytes))
        unique->renew_at = UINT64_MAX; /* does without */
    else if (jobs == 0)
        end_filter(unique);
}

/* DUEQ_NOTFOUND: the cursor is behind the last id. */
static enum dueq_status at_id(enum dueq_status found, const struct kv_cursor *cursor)
{
    if (found != DUEQ_OK)
        return found;
    return *(const uint8_t *)kv_cursor_key(cursor).data == TABLE_ID ? DUEQ_OK : DUEQ_NOTFOUND;
}

/* From the first id at or behind `at` on. DUEQ_NOTFOUND: that was the last; a search that has
 * spent the steps among removed ids has not found that out. */
static enum dueq_status fill_some(struct unique *unique, struct kv_cursor *cursor,
                                  unsigned steps)
{
    enum dueq_status status =
        at_id(kv_cursor_seek_within(cursor, kv_key_slice(&unique->at), &steps), cursor);

    while (status == DUEQ_OK && steps > 0) {
        struct dueq_slice key = kv_cursor_key(cursor);

        steps--;
        id_filter_add(&unique->next, hash_of(unique, key));
        kv_key_copy(&unique->at, key);
        kv_key_follow(&unique->at);
        status = at_id(kv_cursor_next_within(cursor, &steps), cursor);
    }
    return status == DUEQ_NOTFOUND && steps == 0 ? DUEQ_OK : status;
}

/* A filter that may lack an id would let a duplicate in: what cannot be read ends it. */
void id_index_fill_filter(struct unique *unique, struct kv_cursor *cursor, unsigned *budget)
{
    unsigned steps = *budget < STEPS_AT_ONCE ? *budget : STEPS_AT_ONCE;
    enum dueq_status status;

    if (unique->next.words == NULL)
        return;
    *budget -= steps;
    status = fill_some(unique, cursor, steps);
    if (status == DUEQ_NOTFOUND) {
        end_filter(unique);
    } else if (status != DUEQ_OK) {
        id_filter_release(&unique->next);
        unique->renew_at = UINT64_MAX;
    }
}

/* ---- life */

void id_index_init(struct unique *unique, struct kv *kv, size_t filter_bytes)
{
    *unique = (struct unique){.kv = kv, .filter_bytes = filter_bytes};
}

void id_index_release(struct unique *unique)
{
    id_filter_release(&unique->filter);
    id_filter_release(&unique->next);
}
