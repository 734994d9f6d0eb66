/* The index of callers' ids: id -> seq of the job. Most pushes have a new id; a filter in RAM
 * answers so without a search. After an opening, ticks fill the filter from the index, a few
 * ids at a time; until it is complete every id is searched. Private to storage/queue. */
#ifndef DUEQ_ID_INDEX_H
#define DUEQ_ID_INDEX_H

#include "storage/kv/cursor.h"
#include "storage/queue/core/id_filter.h"
#include "storage/queue/record/queue_key.h"

struct topic;

struct id_index {
    struct kv *kv;
    size_t filter_bytes;     /* the most that one filter can have, those of runs included */
    struct id_filter filter; /* complete, or none */
    struct id_filter next;   /* being filled, or none */
    uint64_t renew_at;       /* a filter with so many ids is replaced by a new one */
    struct kv_key at;        /* all ids of the index before this key are in `next` */
};

/* An id in a topic, as the index knows it. */
struct id_index_key {
    struct kv_key key;
    uint64_t hash;
};

void id_index_init(struct id_index *index, struct kv *kv, size_t filter_bytes);
void id_index_release(struct id_index *index);

void id_index_key(const struct id_index *index, uint64_t topic, struct dueq_slice id,
                  struct id_index_key *ret_id);

/* DUEQ_NOTFOUND: no job has the id. The index has only the hash of a long id: the caller
 * compares the id in the job's body. */
enum dueq_status id_index_find(const struct id_index *index, const struct id_index_key *id,
                               uint64_t *ret_seq);
/* The id will be put soon (kv_expect). */
void id_index_expect(const struct id_index *index, const struct id_index_key *id);
/* The id must not be in the index. */
void id_index_put(struct id_index *index, const struct id_index_key *id, uint64_t seq);
void id_index_del(struct id_index *index, uint64_t topic, struct dueq_slice id);

/* True: there is no filter, or it has too many ids. */
bool id_index_wants_filter(const struct id_index *index);
/* jobs: their number in all topics; the size of the filter depends on it. Puts it off when
 * another filter would be no better: to fill one reads the whole index. */
void id_index_begin_filter(struct id_index *index, uint64_t jobs);
/* Goes on filling the filter, in at most *budget steps and a bounded number per call. */
void id_index_fill_filter(struct id_index *index, struct kv_cursor *cursor, unsigned *budget);

/* True: id_index_begin_filter or id_index_fill_filter has something to do. */
static inline bool id_index_busy(const struct id_index *index)
{
    return index->next.words != NULL || id_index_wants_filter(index);
}

#endif
