/* Erases the objects of deleted keys: small ones at once, others by a garbage record. Private
 * to storage/keys. */
#ifndef DUEQ_DISCARD_H
#define DUEQ_DISCARD_H

#include "storage/keys/state/keys_types.h"

/* count: its elements. */
void discard_object(struct keys *keys, enum keys_type type, uint64_t object, uint64_t count);
/* Subtracts what discard_object has erased at once from the budget of a tick, steps. */
unsigned discard_pay(struct keys *keys, unsigned budget);

#endif
