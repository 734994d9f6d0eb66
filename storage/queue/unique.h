/* The index of callers' ids: which job has one. Most pushes bring an id that nobody has; a
 * filter in RAM says so without a search. After an opening it is filled from the index a few
 * ids at a time; until that is done every id is searched for. Private to storage/queue. */
#ifndef DUEQ_STORAGE_UNIQUE_H
#define DUEQ_STORAGE_UNIQUE_H

#include "storage/queue/id_filter.h"
#include "storage/queue/record.h"

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
struct unique_id {
    struct kv_key key;
    uint64_t hash;
};

void unique_init(struct unique *unique, struct kv *kv, size_t filter_bytes);
void unique_release(struct unique *unique);

void unique_id(const struct unique *unique, uint64_t topic, struct dueq_slice id,
               struct unique_id *ret_id);

/* DUEQ_NOTFOUND. Whose id it is the job's body says: long ones are known by their hash. */
enum dueq_status unique_find(const struct unique *unique, const struct unique_id *id,
                             uint64_t *ret_seq);
/* The index does not have it. */
void unique_put(struct unique *unique, const struct unique_id *id, uint64_t seq);
void unique_del(struct unique *unique, uint64_t topic, struct dueq_slice id);

/* Is there no filter, or a better one to be had? */
bool unique_wants_filter(const struct unique *unique);
/* jobs: in all topics. */
void unique_begin_filter(struct unique *unique, uint64_t jobs);
/* Goes on with the one begun, in at most *budget steps and not many at once. */
void unique_fill_filter(struct unique *unique, struct kv_cursor *cursor, unsigned *budget);

/* Has either of them something to do? */
static inline bool unique_busy(const struct unique *unique)
{
    return unique->next.words != NULL || unique_wants_filter(unique);
}

#endif
