/* How the store holds the Redis types: what store.c calls. */
#ifndef DUEQ_STORAGE_STORE_KEYS_H
#define DUEQ_STORAGE_STORE_KEYS_H

#include "storage/dueq.h"

struct keys;

enum dueq_status keys_new(struct kv *kv, struct keys **ret_keys);
void keys_free(struct keys *keys); /* saves nothing; NULL is fine */
void keys_save(struct keys *keys); /* before each kv_commit: puts what changed */

/* Reclaims what has expired or was deleted, in at most *budget steps; 0 afterwards: there may
 * be more. */
void keys_tick(struct dueq *store, struct dueq_time time, unsigned *budget);
/* ms until there is something to do; DUEQ_NEVER: nothing is. */
int64_t keys_next_tick(const struct keys *keys, struct dueq_time time);

void keys_flush_all(struct keys *keys);

/* store.c */
struct keys *store_keys(const struct dueq *store);

#endif
