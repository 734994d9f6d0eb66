/* The 48-bit hash of names and members, which is their order on disk. Private to
 * storage/keys. */
#ifndef DUEQ_NAME_HASH_H
#define DUEQ_NAME_HASH_H

#include "storage/kv/key.h"

enum { NAME_HASH_BYTES = 6 };

struct keys;

/* Depends on the store's seed. Less than 2^48. */
uint64_t name_hash(const struct keys *keys, struct dueq_slice name);
/* Appends NAME_HASH_BYTES bytes, big-endian. */
void name_hash_append(struct kv_key *key, uint64_t hash);
uint64_t name_hash_read(const uint8_t *bytes);

#endif
