/* Deletes keys whose expiry has passed. Private to storage/keys. */
#ifndef DUEQ_EXPIRED_H
#define DUEQ_EXPIRED_H

#include "storage/keys/state/keys_types.h"

/* Deletes those that are due, in at most *budget steps. */
void expired_remove(struct keys *keys, struct dueq_time time, unsigned *budget);
/* ms until the next key is due; 0: now; DUEQ_NEVER: none has an expiry. */
int64_t expired_next(const struct keys *keys, struct dueq_time time);

#endif
