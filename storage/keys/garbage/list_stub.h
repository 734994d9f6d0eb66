/* Elements that were cut off the ends of a list that stays. Private to storage/keys.
 *
 * Many are erased later: a garbage record for each end contains their indexes. */
#ifndef DUEQ_LIST_STUB_H
#define DUEQ_LIST_STUB_H

#include "storage/keys/state/keys_types.h"
#include "storage/kv/key.h"

/* Erases `count` elements, from index `first` on, at once when they are few. */
void list_stub_drop(struct keys *keys, uint64_t object, enum list_end end, int64_t first,
                    uint64_t count);
/* The list grows at that end to the index. *ret_taken: an element that was cut off may still
 * exist there; it must be overwritten and will not be erased. */
enum dueq_status list_stub_take_back(struct keys *keys, uint64_t object, enum list_end end,
                                     int64_t index, bool *ret_taken);
/* Call it when the whole list is deleted. True: it has more records than elements. */
bool list_stub_forget(struct keys *keys, uint64_t object);

/* Erases what that garbage record names. DUEQ_OK: nothing is left; DUEQ_BUSY: the budget,
 * steps, is spent. */
enum dueq_status list_stub_erase(struct keys *keys, const struct kv_key *record,
                                 unsigned *budget);

#endif
