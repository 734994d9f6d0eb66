/* The index of keys: finds, creates, changes and removes entries. Private to storage/keys.
 *
 * An entry says what a key is: type, object id, count, expiry. It lives until key_index_save,
 * or until it is removed. */
#ifndef DUEQ_KEY_INDEX_H
#define DUEQ_KEY_INDEX_H

#include "storage/keys/state/keys_internal.h"

/* ---- finding. O(log n), O(1) for an open entry */

/* Finds the key; one whose expiry has passed is DUEQ_NOTFOUND. wanted KEYS_NONE: of any type;
 * DUEQ_WRONGTYPE: it has another one. */
enum dueq_status key_index_find(const struct keys_view *view, struct dueq_slice name,
                                enum keys_type wanted, struct keys_entry **ret_entry);
/* As key_index_find, and gets the value of a packed key, which is valid until the next change.
 */
enum dueq_status key_index_read(const struct keys_view *view, struct dueq_slice name,
                                enum keys_type wanted, struct keys_entry **ret_entry,
                                struct dueq_slice *ret_value);
/* As keys_prefetch. */
bool key_index_prefetch(const struct keys_view *view, const struct dueq_slice *names,
                        size_t count);
/* As key_index_find; an absent key is created, empty. */
enum dueq_status key_index_open(const struct keys_view *view, struct dueq_slice name,
                                enum keys_type type, struct keys_entry **ret_entry);

/* ---- changing */

/* The encoding of a value of that type that has just got records of its own. A sorted set may
 * still have the small encoding. */
enum keys_encoding key_index_large_encoding(enum keys_type type);
/* The entry will be saved, and the change is recorded. Removes and frees an entry that has no
 * elements and is not a string. */
void key_index_changed(const struct keys_view *view, struct keys_entry *entry);
/* Records a change of the value that left the entry as it is. */
void key_index_touched(const struct keys_view *view, const struct keys_entry *entry);
/* Removes the key and erases its elements (discard.h). Frees the entry. */
void key_index_remove(struct keys *keys, struct keys_entry *entry, bool expired);
/* After a failure: removes an entry that was opened for elements that were not added. */
void key_index_drop_empty(struct keys *keys, struct keys_entry *entry);
/* Removes the key when the caller puts another value under the name at once: no change of kind
 * `created` is recorded for that value. */
enum dueq_status key_index_make_way(const struct keys_view *view, struct dueq_slice name);
/* Removes what has that name, expired or not. DUEQ_OK also when there was nothing. */
enum dueq_status key_index_make_free(const struct keys_view *view, struct dueq_slice name);
/* Sets the expiry and its record. DUEQ_NEVER: none. */
void key_index_set_expiry(struct keys *keys, struct keys_entry *entry, int64_t at);
/* Gives the value of `from` to a new name, which must be free, and frees `from`. On failure
 * nothing has changed. */
enum dueq_status key_index_relink(struct keys *keys, struct keys_entry *from, unsigned database,
                                  struct dueq_slice name);

/* ---- saving */

/* Writes changed entries, databases and counters, and closes the oldest entries. */
void key_index_save(struct keys *keys);

#endif
