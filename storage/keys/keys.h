/* Redis' data types on the key space: named keys in sixteen databases, and the elements of each
 * key. Values are returned as bytes; nothing is formatted for a protocol.
 *
 * Every call names the database and the time by a view. A key whose expiry has passed is absent
 * for every call at once; dueq_tick deletes it later. A key that becomes empty is removed. A
 * call on a key of another type returns DUEQ_WRONGTYPE and changes nothing. Slices returned
 * live until the next call that changes the store. Calls do not refuse growth with DUEQ_FULL:
 * the server refuses whole commands before they begin. Edits of packed values return
 * DUEQ_TOOBIG when one journal record cannot hold all unsaved values. */
#ifndef DUEQ_KEYS_H
#define DUEQ_KEYS_H

#include "storage/keys/state/keys_types.h"

struct kv;

const char *keys_type_name(enum keys_type type);             /* "none", "string", ... */
const char *keys_encoding_name(enum keys_encoding encoding); /* "raw", "int", ... */

/* ---- the keys of one store, for storage/store.c */

/* `kv` must outlive *ret_keys. DUEQ_NOMEM, DUEQ_CORRUPT, or a failure of the store.
 * DUEQ_FORMAT: there are keys, and this build knows none (storage/keys_none.c). */
enum dueq_status keys_new(struct kv *kv, struct keys **ret_keys);
void keys_free(struct keys *keys); /* saves nothing; NULL is fine */
void keys_save(struct keys *keys); /* before each kv_commit: writes changed entries */
/* The limits of a new store are Redis' defaults: 512, 64, 512, 128, 64, UINT64_MAX. */
void keys_set_limits(struct keys *keys, const struct keys_limits *limits);
void keys_flush_all(struct keys *keys); /* keys_flush of every database */
/* For dueq_verify: reports every record of keys that disagrees with another one. All changes
 * are committed. (keys_check.c) */
struct findings;
void keys_verify(struct keys *keys, struct findings *findings);

/* ---- keys of any type */

enum dueq_status keys_info(const struct keys_view *view, struct dueq_slice name,
                           struct keys_info *ret_info);
/* The same, but a string is not looked at, which may take long (kv_begin_slices): its count is
 * 1. */
enum dueq_status keys_find(const struct keys_view *view, struct dueq_slice name,
                           struct keys_info *ret_info);
/* For who will look for several keys of that database: those that lie in data.mdb are fetched
 * into the processor's caches at the same time, which changes no result. At most
 * KEYS_PREFETCH_MOST names. False: no two of them are to be looked for there. O(log n) for
 * each. */
bool keys_prefetch(const struct keys_view *view, const struct dueq_slice *names, size_t count);
/* Deletes the key. O(n) for small values; O(1) for large ones, whose elements dueq_tick erases
 * later, in slices. */
enum dueq_status keys_del(const struct keys_view *view, struct dueq_slice name);
/* As keys_del, when the caller puts another value under the name at once: no change of kind
 * `created` is recorded for that value. */
enum dueq_status keys_make_way(const struct keys_view *view, struct dueq_slice name);
/* The time of the last use (access.h), ms of the queue's clock; for a key that is not open, the
 * latest possible one. */
enum dueq_status keys_last_used(const struct keys_view *view, struct dueq_slice name,
                                int64_t *ret_time);
/* Sets the expiry; DUEQ_NEVER removes it. An expiry that is not in the future deletes the key.
 * DUEQ_NOTFOUND: no such key. */
enum dueq_status keys_expire(const struct keys_view *view, struct dueq_slice name,
                             int64_t expiry);
/* Gives the value and expiry of `from` to the name `to`, whose old value is deleted. O(1): the
 * elements are not moved. */
enum dueq_status keys_rename(const struct keys_view *view, struct dueq_slice from,
                             struct dueq_slice to);
/* DUEQ_DUPLICATE: the name exists in the other database. O(1). */
enum dueq_status keys_move(const struct keys_view *view, struct dueq_slice name,
                           unsigned to_database);
/* Copies value and expiry and replaces what `to` has. O(n). */
enum dueq_status keys_copy(const struct keys_view *view, struct dueq_slice from,
                           unsigned to_database, struct dueq_slice to);

/* ---- databases */

uint64_t keys_count(const struct keys *keys, unsigned database);
uint64_t keys_expiring(const struct keys *keys, unsigned database); /* keys with an expiry */
/* Empties the database. O(1): dueq_tick erases the records later. */
enum dueq_status keys_flush(struct keys *keys, unsigned database);
enum dueq_status keys_swap(struct keys *keys, unsigned a, unsigned b); /* O(1) */

/* Calls fn for about `count` keys. Keys are in order of a 48-bit hash of their names, and the
 * cursor is the hash to continue from: the store keeps no state, and each key that exists
 * during the whole scan is found. *ret_cursor 0: finished. fn must not change the store. */
enum dueq_status keys_scan(const struct keys_view *view, uint64_t cursor, uint64_t count,
                           keys_fn fn, void *arg, uint64_t *ret_cursor);
/* The first key at or after a random hash; `random` comes from the caller. DUEQ_NOTFOUND: the
 * database has no keys. */
enum dueq_status keys_random(const struct keys_view *view, uint64_t random,
                             struct dueq_slice *ret_name);

#endif
