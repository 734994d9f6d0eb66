/* An ordered map in RAM of the changes since a checkpoint, tombstones included. It lives in an
 * arena and is freed as a whole. One thread uses it until it is frozen.
 *
 * It is a B+-tree whose nodes keep eight bytes of each key inline (node.h). A search first
 * tries the leaf where one for a key like it ended: neighbours are found in O(1). Memory of
 * replaced and removed entries is reused by size class, so the table stays small when millions
 * of short-lived keys pass through it. */
#ifndef DUEQ_MEMTABLE_H
#define DUEQ_MEMTABLE_H

#include "storage/slice.h"
#include "storage/status.h"

#include <stdbool.h>
#include <stdint.h>

struct chunk_pool;
struct memtable;
struct large_value;

/* One entry, owned by the table. Pointers live until the entry is replaced or removed. */
struct memtable_entry {
    const uint8_t *key;
    const uint8_t *value;
    uint32_t key_size;
    uint32_t value_size; /* values are below 4 GiB */
    bool tombstone;      /* the key is deleted, also in lower levels */
    bool fresh;          /* it was put as absent: no lower level shows the key */
};

/* pool: for its memory; it must live longer. NULL: the system. Returns NULL when out of memory.
 */
struct memtable *memtable_new(struct chunk_pool *pool);
void memtable_free(struct memtable *table);

/* From now on it does not change, and several threads may read it. Until then one thread uses
 * it: a search remembers where it ended. */
void memtable_freeze(struct memtable *table);

/* Sets the value of the key to the parts, one after the other; key and parts are copied.
 * `absent`: neither the table nor a lower level has the key. If the table has no entry for it
 * either, a later memtable_del removes the entry and leaves no tombstone. *ret_value (may be
 * NULL): the table's own copy of the value, which lives until the key changes again. DUEQ_OK or
 * DUEQ_NOMEM (nothing has changed). O(log n). */
enum dueq_status memtable_put(struct memtable *table, struct dueq_slice key,
                              const struct dueq_slice *parts, size_t count, bool absent,
                              const uint8_t **ret_value);
/* The same for a large value: the table holds it until the key changes or the table is freed. A
 * value may be in one table only. */
enum dueq_status memtable_put_large(struct memtable *table, struct dueq_slice key,
                                    struct large_value *value, bool absent);
/* Leaves a tombstone, or removes the entry (see `absent`). DUEQ_OK or DUEQ_NOMEM. O(log n). */
enum dueq_status memtable_del(struct memtable *table, struct dueq_slice key);

/* False: the table has no entry for the key. A tombstone is an entry. O(log n). */
bool memtable_get(const struct memtable *table, struct dueq_slice key,
                  struct memtable_entry *ret_entry);
/* The next memtable_get, put or del of these keys waits less for memory: their searches wait
 * for it together. At most MEMTABLE_PREFETCH_MOST keys. O(log n) for each. */
enum { MEMTABLE_PREFETCH_MOST = 32 };
void memtable_prefetch(const struct memtable *table, const struct dueq_slice *keys,
                       size_t count);

/* The key will be put soon: the place where it belongs is fetched meanwhile, unless it is the
 * neighbour of the last one, which is at hand. Changes nothing else. O(log n), and that much
 * less for the put. */
void memtable_expect(struct memtable *table, struct dueq_slice key);

/* Holds the large value that contains the byte: large_value_release lets it go. NULL: none
 * does. O(large values of the table). */
struct large_value *memtable_hold(const struct memtable *table, const void *byte);

/* Bytes of entries and large values, without free pieces: about what a checkpoint has to
 * write. */
size_t memtable_bytes(const struct memtable *table);
/* Bytes taken from the system: the measure of when a table is full. It may be more than
 * memtable_bytes, because a free piece is used for its own size class only. */
size_t memtable_reserved(const struct memtable *table);
/* The same without the part of the newest chunk that is still unused: how far it is from being
 * full, in small steps. *ret_large: of these, the bytes of large values. */
size_t memtable_taken(const struct memtable *table, size_t *ret_large);
size_t memtable_mapped(const struct memtable *table); /* of those, the bytes of mapped chunks */
size_t memtable_entries(const struct memtable *table); /* tombstones included */

/* Grows with every put and del: a cursor of another version must seek again. */
uint64_t memtable_version(const struct memtable *table);

/* A position in a table. Plain memory, nothing to free. Valid only while memtable_version()
 * does not change. A step is O(1) amortised. */
struct memtable_cursor {
    const struct memtable *table;
    void *leaf;
    unsigned slot;
};

/* False: past the end. */
bool memtable_seek(struct memtable_cursor *cursor, const struct memtable *table,
                   struct dueq_slice key); /* first entry >= key */
bool memtable_seek_last(struct memtable_cursor *cursor, const struct memtable *table,
                        struct dueq_slice key); /* last entry < key */
bool memtable_next(struct memtable_cursor *cursor);
bool memtable_prev(struct memtable_cursor *cursor);
struct memtable_entry memtable_at(const struct memtable_cursor *cursor);

/* How many entries are at or above `from` and below `end`. O(log n), and a step for each leaf
 * between. */
size_t memtable_count(const struct memtable *table, struct dueq_slice from,
                      struct dueq_slice end);

/* Checks order, links, counts and byte totals of the whole table. NULL: sound; else what is
 * wrong (static text). For tests. O(n). */
const char *memtable_check(const struct memtable *table);

#endif
