/* The open entries: a cache of keys in RAM, found by physical database and name, in order of
 * their last use. Private to storage/keys/index. */
#ifndef DUEQ_OPEN_ENTRIES_H
#define DUEQ_OPEN_ENTRIES_H

#include "storage/keys/state/keys_internal.h"

enum { KEYS_CACHE_MAX = 4096 }; /* open entries that remain after a commit */

/* hash: name_hash() of the name. */

/* Finds an open entry and makes it the newest. DUEQ_NOTFOUND: it is not open. DUEQ_NOMEM: not
 * known. O(1). */
enum dueq_status open_entries_find(struct keys *keys, uint64_t physical, struct dueq_slice name,
                                   uint64_t hash, struct keys_entry **ret_entry);
/* Is it open? False also when that is not known. Changes nothing. O(1). */
bool open_entries_contain(const struct keys *keys, uint64_t physical, struct dueq_slice name,
                          uint64_t hash);
/* Opens an entry, which must not be open: empty, without expiry, not stored. It lives until
 * open_entries_trim at least, unless it is closed. NULL: out of memory. */
struct keys_entry *open_entries_add(struct keys *keys, unsigned logical, uint64_t physical,
                                    struct dueq_slice name, uint64_t hash);
/* Drops unsaved changes and frees the entry. */
void open_entries_close(struct keys *keys, struct keys_entry *entry);
/* The same for all entries of a physical database. O(open entries). */
void open_entries_close_all(struct keys *keys, uint64_t physical);
/* Closes the oldest entries above KEYS_CACHE_MAX. All are saved before. */
void open_entries_trim(struct keys *keys);

#endif
