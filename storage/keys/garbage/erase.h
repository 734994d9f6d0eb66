/* Erases the records of an object, in slices. Private to storage/keys.
 *
 * `resume` is the position among the records of an object or database, so that the next slice
 * does not pass the records that this one deleted; size 0: none yet. What erases spends one
 * step of the budget for each record, and more for a large one. DUEQ_OK: no record is left;
 * DUEQ_BUSY: the budget is spent, and there may be more. */
#ifndef DUEQ_ERASE_H
#define DUEQ_ERASE_H

#include "storage/keys/state/keys_types.h"
#include "storage/kv/key.h"

struct kv_cursor;

enum {
    ERASE_SMALL =
        64, /* values of up to so many elements are erased at once, if these are small */
    ERASE_STEP_BYTES = 32 * 1024 /* of a record */
};

/* Sets the position to the prefix, unless it is already within. */
void erase_begin(struct kv_key *resume, const struct kv_key *prefix);
/* Moves to the first record from `resume` on that has the prefix, and subtracts the cost from
 * *budget. DUEQ_NOTFOUND: there is none; DUEQ_BUSY: the budget is spent. */
enum dueq_status erase_seek(struct kv_cursor *at, const struct kv_key *resume,
                            const struct kv_key *prefix, unsigned *budget);

/* Erases the object's records of one table. An object's tables are erased in ascending order:
 * those before the position are empty. */
enum dueq_status erase_table(struct keys *keys, uint8_t table, uint64_t object,
                             struct kv_key *resume, unsigned *budget);
/* Those of all tables of that type. */
enum dueq_status erase_object(struct keys *keys, enum keys_type type, uint64_t object,
                              struct kv_key *resume, unsigned *budget);

#endif
