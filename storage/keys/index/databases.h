/* The sixteen databases, each with its physical id and its counts, and the counters from which
 * new ids come. Private to storage/keys. */
#ifndef DUEQ_DATABASES_H
#define DUEQ_DATABASES_H

#include "storage/keys/state/keys_internal.h"

/* Reads databases and counters; those of a new store are empty. */
enum dueq_status databases_load(struct keys *keys);
/* The key of a database's record. */
struct kv_key databases_key(unsigned number);
/* Writes what has changed. */
void databases_save(struct keys *keys);
/* NULL: the database was flushed; then none of its entries is open. */
struct keys_database *databases_find(struct keys *keys, uint64_t physical);

#endif
