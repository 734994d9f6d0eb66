/* The server's hash tables: uthash with a hash that nobody outside can foresee, since clients
 * choose what stands in the tables; and with memory that may end. Include this, not uthash.h.
 *
 * After HASH_ADD, a NULL `hh.tbl` of the new item says that there was no memory: it is not in
 * the table (seeded_table_holds). */
#ifndef DUEQ_SEEDED_TABLE_H
#define DUEQ_SEEDED_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* XXH3 with a seed that each process draws when it needs its first. */
uint64_t seeded_table_hash(const void *key, size_t size);

/* Where the tables' memory comes from; tests put one there that refuses. */
extern void *(*seeded_table_allocate)(size_t size);

#define HASH_FUNCTION(key, size, hash) ((hash) = (unsigned)seeded_table_hash((key), (size)))
#define HASH_NONFATAL_OOM              1
#define uthash_malloc(size)            seeded_table_allocate(size)
#include <uthash.h>

#define seeded_table_holds(item) ((item)->hh.tbl != NULL)

#endif
