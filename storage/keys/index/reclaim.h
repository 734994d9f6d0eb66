/* Erasing in slices: what was deleted, and keys whose expiry has passed.
 *
 * A garbage record says what is to be erased, so that erasing continues after a restart. */
#ifndef DUEQ_RECLAIM_H
#define DUEQ_RECLAIM_H

#include "storage/keys/index/keys_types.h"
#include "storage/kv/key.h"

/* Deletes keys whose expiry has passed and erases what was deleted, in at most *budget steps.
 * *budget 0 afterwards: there may be more. */
void reclaim_tick(struct keys *keys, struct dueq_time time, unsigned *budget);
/* ms until the next tick that has something to do; 0: now; DUEQ_NEVER: none has. */
int64_t reclaim_next_tick(const struct keys *keys, struct dueq_time time);

/* ---- private to storage/keys */

enum { KEYS_SMALL = 64 }; /* values of up to so many elements are erased at once */

/* The last byte of a garbage record's key; an enum keys_type: a whole object. */
enum {
    GARBAGE_DATABASE = 255, /* a flushed database */
    GARBAGE_HEAD = 254,     /* elements cut off the head of a list; value: their indexes */
    GARBAGE_TAIL = 253,     /* the same at its tail */
    GARBAGE_CUTS = 252      /* the object has cuts (cuts.h) */
};
struct kv_key reclaim_record(uint64_t object, uint8_t kind);

/* Erases the object of a deleted key: a small one at once, others by a garbage record. */
void reclaim_object(struct keys *keys, enum keys_type type, uint64_t object, uint64_t count);
void reclaim_database(struct keys *keys, uint64_t physical);
/* Erases `count` elements, from index `first` on, which were cut off one end of a list that
 * stays; many of them by a garbage record. */
void reclaim_elements(struct keys *keys, uint64_t object, enum list_end end, int64_t first,
                      uint64_t count);
/* The list grows at that end to the index. *ret_taken: an element that was cut off may still
 * exist there; it must be overwritten and will not be erased. */
enum dueq_status reclaim_take_back(struct keys *keys, uint64_t object, enum list_end end,
                                   int64_t index, bool *ret_taken);

/* Adds the garbage record of an object that is being built. */
void reclaim_later(struct keys *keys, uint64_t object, enum keys_type type);
/* The object of that garbage record is not being built any more: ticks may erase it. */
void reclaim_passed(struct keys *keys, uint64_t object, enum keys_type type);

#endif
