/* Erasing in slices: what was deleted, and keys whose expiry has passed. */
#ifndef DUEQ_RECLAIM_H
#define DUEQ_RECLAIM_H

#include "storage/keys/state/keys_types.h"

/* Deletes keys whose expiry has passed and erases what was deleted, in at most *budget steps.
 * *budget 0 afterwards: there may be more. */
void reclaim_tick(struct keys *keys, struct dueq_time time, unsigned *budget);
/* ms until the next tick that has something to do; 0: now; DUEQ_NEVER: none has. */
int64_t reclaim_next_tick(const struct keys *keys, struct dueq_time time);

#endif
