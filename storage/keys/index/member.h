/* Members of hashes, sets and sorted sets. Private to storage/keys.
 *
 * A small collection is packed: a cell for each name and, unless it is a set, one for its
 * value. The cells of a hash are in order of insertion, of a sorted set by score and name, of a
 * set of integers by number. A large collection has a record for each member: object, hash of
 * the name, name -> a flag byte, the whole name when the key is folded, the value. */
#ifndef DUEQ_MEMBER_H
#define DUEQ_MEMBER_H

#include "storage/keys/garbage/cuts.h"
#include "storage/keys/state/keys_internal.h"
#include "storage/keys/state/name_hash.h"

enum {
    MEMBER_KEY_FIXED = 1 + 8 + NAME_HASH_BYTES,
    MEMBER_SCAN_WHOLE = 128 /* collections of up to so many members are scanned in one call */
};

/* ---- of an open entry */

enum dueq_status member_get(struct keys *keys, struct keys_entry *entry, struct dueq_slice name,
                            struct dueq_slice *ret_value);
/* Name and value must not point into the collection. `absent`: member_get has just returned
 * DUEQ_NOTFOUND. A collection that becomes too large to be packed gets records first. The
 * caller updates the count and calls key_index_changed. On failure nothing has changed. */
enum dueq_status member_put(struct keys *keys, struct keys_entry *entry, struct dueq_slice name,
                            struct dueq_slice value, bool absent);
/* Likewise; nothing happens to an absent member. */
enum dueq_status member_del(struct keys *keys, struct keys_entry *entry,
                            struct dueq_slice name);

/* Reads a member's record even if a cut has deleted it. */
enum dueq_status member_get_record(struct keys *keys, const struct keys_entry *entry,
                                   struct dueq_slice name, struct dueq_slice *ret_value);
/* Sets cuts->gone: is this record, of a member or of the order, deleted by a cut? */
enum dueq_status member_check_cut(struct cuts *cuts, const struct keys_entry *entry,
                                  struct dueq_slice key, struct dueq_slice record);
/* Has the record the form of a member's, and the key that its name asks for? */
bool member_is_sound(const struct keys *keys, const struct keys_entry *entry,
                     struct dueq_slice key, struct dueq_slice record);
/* Splits a record into whole name and value, which point into key and record. False: no member
 * of a collection of that type has such a record. */
bool member_read(enum keys_type type, struct dueq_slice key, struct dueq_slice record,
                 struct dueq_slice *ret_name, struct dueq_slice *ret_value);

/* Calls fn for about `count` members, from the hash `cursor` on; UINT64_MAX: to the end. For
 * packed ones, calls fn for all, in their order. */
enum dueq_status member_scan(struct keys *keys, struct keys_entry *entry, uint64_t cursor,
                             uint64_t count, keys_element_fn fn, void *arg,
                             uint64_t *ret_cursor);
/* Returns a random member: each with the same probability in small collections; in large ones
 * the probability grows with the distance of its hash from the one before. The slices are in
 * the scratch space (keys_keep). The collection is not empty. */
enum dueq_status member_random(struct keys *keys, struct keys_entry *entry, uint64_t random,
                               struct dueq_slice *ret_name, struct dueq_slice *ret_value);

/* Reads the packed member at *at and advances *at to the next one. False: there is none. */
bool member_next_packed(enum keys_type type, struct dueq_slice cells, size_t *at,
                        struct dueq_slice *ret_name, struct dueq_slice *ret_value);

/* ---- by the name of the key: they find the entry, then do the above */

enum dueq_status member_find(const struct keys_view *view, struct dueq_slice name,
                             enum keys_type type, struct dueq_slice member,
                             struct dueq_slice *ret_value);
/* Creates the key if it is absent. */
enum dueq_status member_set(const struct keys_view *view, struct dueq_slice name,
                            enum keys_type type, struct dueq_slice member,
                            struct dueq_slice value, bool *ret_added);
enum dueq_status member_remove(const struct keys_view *view, struct dueq_slice name,
                               enum keys_type type, struct dueq_slice member);
enum dueq_status member_scan_key(const struct keys_view *view, struct dueq_slice name,
                                 enum keys_type type, uint64_t cursor, uint64_t count,
                                 keys_element_fn fn, void *arg, uint64_t *ret_cursor);
enum dueq_status member_random_key(const struct keys_view *view, struct dueq_slice name,
                                   enum keys_type type, uint64_t random,
                                   struct dueq_slice *ret_member, struct dueq_slice *ret_value);

#endif
