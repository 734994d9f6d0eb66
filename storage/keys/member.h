/* Members of hashes, sets and sorted sets. Private to storage/keys.
 *
 * Those of a small collection are packed: cells of name and value (of a set: names alone), of a
 * hash in the order in which they came, of a sorted set by score and name, of a set of integers
 * by number. Those of a large one have records: object, hash of the name, name -> a flag byte,
 * the whole name when the key is folded, the value. */
#ifndef DUEQ_MEMBER_H
#define DUEQ_MEMBER_H

#include "storage/keys/cuts.h"

enum {
    MEMBER_KEY_FIXED = 1 + 8 + NAME_HASH_BYTES,
    MEMBER_SCAN_WHOLE = 128 /* collections up to this size are scanned in one call */
};

enum dueq_status member_get(struct keys *keys, struct keys_entry *entry, struct dueq_slice name,
                            struct dueq_slice *ret_value);
/* Name and value do not lie in the collection. `absent`: member_get has just said so. What
 * grows too large to be packed gets records first. On failure nothing has changed. */
enum dueq_status member_put(struct keys *keys, struct keys_entry *entry, struct dueq_slice name,
                            struct dueq_slice value, bool absent);
enum dueq_status member_del(struct keys *keys, struct keys_entry *entry,
                            struct dueq_slice name);

/* Of a member that has a record, gone (cuts.h) or not. */
enum dueq_status member_get_record(struct keys *keys, const struct keys_entry *entry,
                                   struct dueq_slice name, struct dueq_slice *ret_value);
/* Is a record of the collection gone, of a member or of the order? cuts->gone says. */
enum dueq_status member_look_for_cut(struct cuts *cuts, const struct keys_entry *entry,
                                     struct dueq_slice key, struct dueq_slice record);
/* Takes the whole name and the value out of a record. */
void member_read(struct dueq_slice key, struct dueq_slice record, struct dueq_slice *ret_name,
                 struct dueq_slice *ret_value);

/* Hands out members from the hash `cursor` on; count UINT64_MAX: to the end. Packed ones all,
 * in their order. */
enum dueq_status member_scan(struct keys *keys, struct keys_entry *entry, uint64_t cursor,
                             uint64_t count, keys_element_fn fn, void *arg,
                             uint64_t *ret_cursor);
/* One member, by chance: uniform in small collections, by gaps between hashes in large ones.
 * The slices are kept (keys_keep) until the next change. */
enum dueq_status member_random(struct keys *keys, struct keys_entry *entry, uint64_t random,
                               struct dueq_slice *ret_name, struct dueq_slice *ret_value);

/* The next member of packed ones; *at moves on. False: there is none. */
bool member_next_packed(enum keys_type type, struct dueq_slice cells, size_t *at,
                        struct dueq_slice *ret_name, struct dueq_slice *ret_value);

/* The calls of hash.c and set.c: find the entry, then the above. */
enum dueq_status member_find(const struct keys_view *view, struct dueq_slice name,
                             enum keys_type type, struct dueq_slice member,
                             struct dueq_slice *ret_value);
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
