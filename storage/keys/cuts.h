/* Ranges of a set's or sorted set's records that were cut out and are not erased yet: gone for
 * everybody from the moment of the cut, however many they are. Private to storage/keys.
 *
 * A set is cut by members, in the order of their hashes, a sorted set by its order. Each cut is
 * a record: the first key behind it -> its first key. Readers go around cuts; a sorted set's
 * member is gone when its place in the order is. What is put into a cut parts it in two. Ticks
 * erase the records, and then the cut. While an object has cuts, a garbage record says so. */
#ifndef DUEQ_CUTS_H
#define DUEQ_CUTS_H

#include "storage/keys/key_index.h"

/* A reader's knowledge of an object's cuts; good until the next change of them. */
struct cuts {
    struct keys *keys;
    bool any;   /* the object has cuts */
    bool known; /* nothing is cut from `from` on to before `to` */
    bool gone;  /* cuts_look_at: what was looked at lies in the cut that they bound */
    struct kv_key from, to;
};

/* O(1) when there is no garbage at all, or the object was found to have no cuts. */
bool cuts_are_there(struct keys *keys, struct keys_entry *entry);
void cuts_begin(struct cuts *cuts, struct keys *keys, struct keys_entry *entry);
/* Is the record gone? cuts->gone says. */
enum dueq_status cuts_look_at(struct cuts *cuts, struct dueq_slice key);

/* From now on the records at `from` and behind it, before `to`, are gone. Both keys begin as
 * the object's do. O(log n), and the cuts that it joins. */
enum dueq_status cuts_add(struct keys *keys, struct keys_entry *entry,
                          const struct kv_key *from, const struct kv_key *to);
/* A record is about to be put there. *ret_absent: nothing of it is left from a cut. */
enum dueq_status cuts_part(struct keys *keys, struct keys_entry *entry,
                           const struct kv_key *key, bool *ret_absent);

/* Erases records of cuts. DUEQ_OK: nothing is left; DUEQ_BUSY: the budget is spent. */
enum dueq_status cuts_erase(struct keys *keys, uint64_t object, unsigned *budget);

#endif
