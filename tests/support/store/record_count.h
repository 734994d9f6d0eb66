/* Counts records in the key space of a store. */
#ifndef DUEQ_RECORD_COUNT_H
#define DUEQ_RECORD_COUNT_H

#include <stdint.h>

struct dueq;

/* The number of records in these tables; a table is the first byte of a key. Fails the running
 * test when a record cannot be read. O(records). */
uint64_t record_count(struct dueq *store, const char *tables);

#endif
