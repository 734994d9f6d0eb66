/* The index of callers' ids: which job has one. Most pushes bring an id that nobody has; a
 * filter in RAM says so without a search. After an opening it is filled from the index a few
 * ids at a time; until that is done every id is searched for. Private to storage/queue. */
#ifndef DUEQ_ID_INDEX_H
#define DUEQ_ID_INDEX_H

#include "storage/queue/id_filter.h"
#include "storage/queue/job_record.h"

struct topic;

struct unique {
    struct kv *kv;
    size_t filter_bytes;     /* that one filter may take */
    struct id_filter filter; /* whole, or none */
    struct id_filter next;   /* being filled, or none */
    uint64_t renew_at;       /* ids in the filter that make it worth another */
    struct kv_key at;        /* all ids of the index before this are in `next` */
};

/* An id in a topic, as the index knows it. */
struct id_index_key {
    struct kv_key key;
    uint64_t hash;
};

void id_index_init(struct unique *unique, struct kv *kv, size_t filter_bytes);
void id_index_release(struct unique *unique);

void id_index_key(const struct unique *unique, uint64_t topic, struct dueq_slice id,
                  struct id_index_key *ret_id);

/* DUEQ_NOTFOUND. Whose id it is the job's body says: long ones are known by their hash. */
enum dueq_status id_index_find(const struct unique *unique, const struct id_index_key *id,
                               uint64_t *ret_seq);
/* The index does not have it. */
void id_index_put(struct unique *unique, const struct id_index_key *id, uint64_t seq);
void id_index_del(struct unique *unique, uint64_t topic, struct dueq_slice id);

/* Is there no filter, or a better one to be had? */
bool id_index_wants_filter(const struct unique *unique);
/* jobs: in all topics. */
void id_index_begin_filter(struct unique *unique, uint64_t jobs);
/* Goes on with the one begun, in at most *budget steps and not many at once. */
void id_index_fill_filter(struct unique *unique, struct kv_cursor *cursor, unsigned *budget);

/* Has either of them something to do? */
static inline bool id_index_busy(const struct unique *unique)
{
    return unique->next.words != NULL || id_index_wants_filter(unique);
}

#endif
