/* An ordered map in RAM of the changes since a checkpoint, tombstones included.
 * Arena-allocated, freed whole. One writer; a frozen table may be read by several threads.
 *
 * Shape: a B+-tree whose nodes keep an 8-byte key prefix inline (compare one integer, then
 * bytes). Memory of replaced and removed entries is reused by size class, so a table through
 * which millions of short-lived keys pass stays small. */
#ifndef DUEQ_MEMTABLE_H
#define DUEQ_MEMTABLE_H

#include "storage/slice.h"
#include "storage/status.h"

#include <stdbool.h>
#include <stdint.h>

struct memtable;
struct large_value;

/* One entry, owned by the table. Pointers live until the entry is replaced or removed. */
struct memtable_entry {
    const uint8_t *key;
    const uint8_t *value;
    uint32_t key_size;
    uint32_t value_size; /* values are below 4 GiB */
    bool tombstone;      /* the key is deleted: hide what lower levels have */
};

struct memtable *memtable_new(void); /* NULL: out of memory */
void memtable_free(struct memtable *table);

/* Sets the key to the concatenation of the parts (all copied). `absent`: the merged view has no
 * such key; if the table has no entry for it either, a later memtable_del removes the entry
 * instead of leaving a tombstone. *ret_value (may be NULL): the table's own copy of the value,
 * alive until the key changes again. DUEQ_OK or DUEQ_NOMEM. O(log n). */
enum dueq_status memtable_put(struct memtable *table, struct dueq_slice key,
                              const struct dueq_slice *parts, size_t count, bool absent,
                              const uint8_t **ret_value);
/* The same for a large value, which is held until the key changes or the table goes. */
enum dueq_status memtable_put_large(struct memtable *table, struct dueq_slice key,
                                    struct large_value *value, bool absent);
enum dueq_status memtable_del(struct memtable *table, struct dueq_slice key);

/* False when the table says nothing about the key; a tombstone is an entry. O(log n). */
bool memtable_get(const struct memtable *table, struct dueq_slice key,
                  struct memtable_entry *ret_entry);

/* Arena bytes in use, free lists excluded, and large values: what a checkpoint has to write. */
size_t memtable_bytes(const struct memtable *table);
/* Bytes held from the system, the measure of what the table costs: pieces of one size class are
 * not used for another, so entries that grow wave by wave leave old classes behind. */
size_t memtable_reserved(const struct memtable *table);
size_t memtable_mapped(const struct memtable *table);  /* of those, what is not malloc's */
size_t memtable_entries(const struct memtable *table); /* tombstones included */

/* Grows with every put and del: a cursor that saw another number must seek again. */
uint64_t memtable_version(const struct memtable *table);

/* Position in a table; plain memory, nothing to free. Valid only while memtable_version()
 * stands; moves then need no search: O(1) amortised. */
struct memtable_cursor {
    const struct memtable *table;
    void *leaf;
    unsigned slot;
};

/* Each answers false past the end. */
bool memtable_seek(struct memtable_cursor *cursor, const struct memtable *table,
                   struct dueq_slice key); /* first entry >= key */
bool memtable_seek_last(struct memtable_cursor *cursor, const struct memtable *table,
                        struct dueq_slice key); /* last entry < key */
bool memtable_next(struct memtable_cursor *cursor);
bool memtable_prev(struct memtable_cursor *cursor);
struct memtable_entry memtable_at(const struct memtable_cursor *cursor);

/* Walks the whole table and checks order, links, counts and byte totals: NULL when sound, else
 * what is wrong (static text). For tests, after every random step. O(n). */
const char *memtable_check(const struct memtable *table);

#endif
