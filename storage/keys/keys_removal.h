/* Many elements removed from a large list, set or sorted set, in slices.
 *
 * The steps only look for the elements, bounded work each, and change nothing; the last call
 * removes them all at once, in O(log n), and ticks erase their records. Other commands and
 * commits may come between the steps. Not for packed values, which are one record. */
#ifndef DUEQ_KEYS_REMOVAL_H
#define DUEQ_KEYS_REMOVAL_H

#include "storage/keys/zset/zset.h"

struct keys_removal;

/* Which elements. */
struct keys_removal_part {
    enum {
        KEYS_REMOVAL_END,   /* from one end of a list or sorted set */
        KEYS_REMOVAL_RANGE, /* of a sorted set: the range that each step gets */
        KEYS_REMOVAL_RANKS, /* of a sorted set: from rank `first` on; found in any order */
        KEYS_REMOVAL_RUN    /* of a set: consecutive members in the order of hashes, from a
                             * random one on, and after the last one from the first */
    } kind;
    bool reverse;    /* KEYS_REMOVAL_END: from the tail, or from the greatest score */
    uint64_t first;  /* KEYS_REMOVAL_RANKS */
    uint64_t most;   /* elements, at least 1 */
    uint64_t random; /* KEYS_REMOVAL_RUN; from the caller */
};
/* Receives an element that will be removed; the score is that of a sorted set. False stops the
 * step. */
typedef bool (*keys_removal_fn)(void *arg, const struct zset_entry *entry);

/* DUEQ_INVALID: the value is packed, or it has no such rank. */
enum dueq_status keys_removal_new(const struct keys_view *view, struct dueq_slice name,
                                  enum keys_type type, const struct keys_removal_part *part,
                                  struct keys_removal **ret_removal);
/* Finds about `budget` elements and calls fn for each. Without fn (NULL) it visits only as many
 * of KEYS_REMOVAL_RANKS as it needs. Up to 4,096 members that agree in their first 478 bytes
 * are handled in one step. DUEQ_NOTFOUND: the key has changed, or does not exist any more:
 * begin again. DUEQ_INVALID: the part begins or ends among such members, or is not one range of
 * the order: remove it in another way. */
enum dueq_status keys_removal_step(struct keys_removal *removal, const struct keys_view *view,
                                   const struct zset_range *range, unsigned budget,
                                   keys_removal_fn fn, void *arg, bool *ret_finished);
/* The number of elements found so far. */
uint64_t keys_removal_found(const struct keys_removal *removal);
/* After the last step: removes them. */
enum dueq_status keys_removal_finish(struct keys_removal *removal,
                                     const struct keys_view *view);
/* Removes nothing. May come after the store was closed. NULL is fine. */
void keys_removal_free(struct keys_removal *removal);

#endif
