/* Ranges of a set's or sorted set's records that are deleted all at once and erased later.
 * Private to storage/keys.
 *
 * A cut of a set is a range of member records, in the order of their hashes; a cut of a sorted
 * set is a range of its order. Each cut is a record: the first key after it -> its first key.
 * Readers skip cuts; a member of a sorted set is deleted when its entry of the order is. A put
 * into a cut splits it in two. Ticks erase the records and then the cut. While an object has
 * cuts, a garbage record (GARBAGE_CUTS) says so. */
#ifndef DUEQ_CUTS_H
#define DUEQ_CUTS_H

#include "storage/keys/state/keys_internal.h"

/* A reader's knowledge of an object's cuts; valid until one of them changes. */
struct cuts {
    struct keys *keys;
    bool any;   /* the object has cuts */
    bool known; /* nothing is cut from `from` to before `to` */
    bool gone; /* of the last cuts_check: the record is in the cut from `from` to before `to` */
    struct kv_key from, to;
};

/* O(1) when there is no garbage at all, or when the entry is known to have no cuts. */
bool cuts_exist(struct keys *keys, struct keys_entry *entry);
void cuts_begin(struct cuts *cuts, struct keys *keys, struct keys_entry *entry);
/* Sets cuts->gone: is the record with that key deleted by a cut? O(log n). */
enum dueq_status cuts_check(struct cuts *cuts, struct dueq_slice key);

/* Deletes the records from `from` to before `to`, which both begin as the object's keys do.
 * Joins with cuts that it touches. O(log n) for each of these. */
enum dueq_status cuts_add(struct keys *keys, struct keys_entry *entry,
                          const struct kv_key *from, const struct kv_key *to);
/* Call it before a record is put with that key. *ret_absent false: a record that was cut may
 * still be on disk there. */
enum dueq_status cuts_split(struct keys *keys, struct keys_entry *entry,
                            const struct kv_key *key, bool *ret_absent);

/* For what erases the records of cuts. */
struct cut {
    struct kv_key from, to; /* from the first record to before the other */
};
/* The object's first cut. DUEQ_NOTFOUND: it has none. */
enum dueq_status cuts_first(struct keys *keys, uint64_t object, struct cut *ret_cut);
/* The cut's records are erased: deletes the record of the cut. */
void cuts_forget(struct keys *keys, const struct cut *cut);

#endif
