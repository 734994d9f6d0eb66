#include "storage/queue/core/id_index.h"

#include "storage/bytes.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "storage/xxh3.h"

enum {
    STEPS_AT_ONCE = 1000, /* some 200 us */
    ROOM_TO_GROW = 4,     /* a full filter is followed by one four times as large */
    LEAST_SHARE = 16      /* of what a filter may take, it takes so much from the start */
};

static uint64_t hash_of(const struct id_index *index, struct dueq_slice key)
{
    return XXH3_64bits_withSeed(key.data, key.size, kv_seed(index->kv));
}

/* ---- the index */

void id_index_key(const struct id_index *index, uint64_t topic, struct dueq_slice id,
                  struct id_index_key *ret_id)
{
    ret_id->hash = hash_of(index, queue_key_id(&ret_id->key, topic, id, kv_seed(index->kv)));
    if (!KV_EXPECTS)
        return;
    id_filter_expect(&index->filter, ret_id->hash);
    id_filter_expect(&index->next, ret_id->hash);
}

static bool read_seq(struct dueq_slice value, uint64_t *ret_seq)
{
    const uint8_t *at = value.data, *end = at + value.size;

    return bytes_read_number(at, end, ret_seq) == end;
}

enum dueq_status id_index_find(const struct id_index *index, const struct id_index_key *id,
                               uint64_t *ret_seq)
{
    struct dueq_slice value;
    enum dueq_status status;

    if (!id_filter_may_have(&index->filter, id->hash))
        return DUEQ_NOTFOUND;
    status = kv_get(index->kv, kv_key_slice(&id->key), &value);
    if (status == DUEQ_OK && !read_seq(value, ret_seq))
        return DUEQ_CORRUPT;
    return status;
}

void id_index_expect(const struct id_index *index, const struct id_index_key *id)
{
    kv_expect(index->kv, kv_key_slice(&id->key));
}

void id_index_put(struct id_index *index, const struct id_index_key *id, uint64_t seq)
{
    uint8_t value[BYTES_NUMBER_MAX];

    kv_put(index->kv, kv_key_slice(&id->key), dueq_slice(value, bytes_write_number(value, seq)),
           true);
    id_filter_add(&index->filter, id->hash);
    id_filter_add(&index->next, id->hash);
}

void id_index_del(struct id_index *index, uint64_t topic, struct dueq_slice id)
{
    struct kv_key key;

    kv_del(index->kv, queue_key_id(&key, topic, id, kv_seed(index->kv)));
}

/* ---- the filter. It forgets no id that is gone, so another takes its place now and then. */

/* What the filter leaves is for those of runs: the larger it is, the less they are asked. */
static void share_memory(struct id_index *index)
{
    uint64_t lines =
        index->filter.lines > index->next.lines ? index->filter.lines : index->next.lines;

    kv_keep_filters(index->kv, index->filter_bytes - id_filter_bytes(lines));
}

bool id_index_wants_filter(const struct id_index *index)
{
    return index->next.words == NULL && index->filter.ids >= index->renew_at;
}

static void end_filter(struct id_index *index)
{
    id_filter_release(&index->filter);
    index->filter = index->next;
    index->next = (struct id_filter){0};
    index->renew_at = index->filter.capacity;
    if (index->renew_at < 2 * index->filter.ids)
        index->renew_at = 2 * index->filter.ids;
}

/* Would the next one answer "maybe" as often? It is no larger, and most ids are of jobs. */
static bool gains_nothing(const struct id_index *index, uint64_t jobs)
{
    return index->filter.words != NULL && index->next.lines <= index->filter.lines &&
           jobs > index->filter.ids / 2;
}

/* While a filter is filled, the old one and it have half as much again as one can have. */
static size_t next_most(const struct id_index *index)
{
    size_t left = index->filter_bytes / 2 * 3 - id_filter_bytes(index->filter.lines);

    return left < index->filter_bytes ? left : index->filter_bytes;
}

void id_index_begin_filter(struct id_index *index, uint64_t jobs)
{
    kv_key_start(&index->at, TABLE_ID);
    if (!id_filter_init(&index->next, ROOM_TO_GROW * jobs, index->filter_bytes / LEAST_SHARE,
                        next_most(index))) {
        index->renew_at = UINT64_MAX; /* does without */
    } else if (gains_nothing(index, jobs)) {
        id_filter_release(&index->next);
        index->renew_at = index->filter.ids / 2 * 3;
    } else if (jobs == 0) {
        end_filter(index);
    }
    share_memory(index);
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
static enum dueq_status fill_some(struct id_index *index, struct kv_cursor *cursor,
                                  unsigned steps)
{
    enum dueq_status status =
        at_id(kv_cursor_seek_within(cursor, kv_key_slice(&index->at), &steps), cursor);

    while (status == DUEQ_OK && steps > 0) {
        struct dueq_slice key = kv_cursor_key(cursor);

        steps--;
        id_filter_add(&index->next, hash_of(index, key));
        kv_key_copy(&index->at, key);
        kv_key_follow(&index->at);
        status = at_id(kv_cursor_next_within(cursor, &steps), cursor);
    }
    return status == DUEQ_NOTFOUND && steps == 0 ? DUEQ_OK : status;
}

/* A filter that may lack an id would let a duplicate in: what cannot be read ends it. */
void id_index_fill_filter(struct id_index *index, struct kv_cursor *cursor, unsigned *budget)
{
    unsigned steps = *budget < STEPS_AT_ONCE ? *budget : STEPS_AT_ONCE;
    enum dueq_status status;

    if (index->next.words == NULL)
        return;
    *budget -= steps;
    status = fill_some(index, cursor, steps);
    if (status == DUEQ_NOTFOUND) {
        end_filter(index);
    } else if (status != DUEQ_OK) {
        id_filter_release(&index->next);
        index->renew_at = UINT64_MAX;
    }
    share_memory(index);
}

/* ---- life */

void id_index_init(struct id_index *index, struct kv *kv, size_t filter_bytes)
{
    *index = (struct id_index){.kv = kv, .filter_bytes = filter_bytes};
    share_memory(index);
}

void id_index_release(struct id_index *index)
{
    id_filter_release(&index->filter);
    id_filter_release(&index->next);
}
