/* The server's hash tables: uthash with a seeded hash, because clients choose the keys and must
 * not be able to make them collide, and with handling of allocation failure. Include this, not
 * uthash.h.
 *
 * After HASH_ADD check seeded_table_holds: false means out of memory, the item is not in the
 * table. */
#ifndef DUEQ_SEEDED_TABLE_H
#define DUEQ_SEEDED_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* XXH3 with a seed that each process draws at its first call. */
uint64_t seeded_table_hash(const void *key, size_t size);

/* Allocates memory of the tables; tests replace it with one that fails. */
extern void *(*seeded_table_allocate)(size_t size);

#define HASH_FUNCTION(key, size, hash) ((hash) = (unsigned)seeded_table_hash((key), (size)))
#define HASH_NONFATAL_OOM              1
#define uthash_malloc(size)            seeded_table_allocate(size)
#include <uthash.h>

#define seeded_table_holds(item) ((item)->hh.tbl != NULL)

#endif
