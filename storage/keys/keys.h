/* Redis' data types on the key space: a directory of named keys in sixteen databases, and the
 * elements of each key under its object id. Values are returned, never rendered.
 *
 * Every call names the database and the moment through a view. A key whose expiry has passed is
 * absent for every call at once; dueq_tick reclaims it. A key that becomes empty is removed. A
 * call on a key of another type is DUEQ_WRONGTYPE and changes nothing. Slices returned live
 * until the next call that changes the store. Calls that grow the store do not check kv_room:
 * the server refuses whole commands before they begin. */
#ifndef DUEQ_KEYS_H
#define DUEQ_KEYS_H

#include "storage/status.h"
#include "storage/types.h"
#include "storage/keys/expiry.h"
#include "storage/kv/key.h"

struct keys;

enum { KEYS_DATABASES_MAX = 16 };

enum keys_type { KEYS_NONE, KEYS_STRING, KEYS_LIST, KEYS_SET, KEYS_ZSET, KEYS_HASH };
const char *keys_type_name(enum keys_type type); /* "none", "string", ... */

/* How Redis would keep the value. It shows in the order of hashes and sets, in places, and in
 * OBJECT ENCODING. A value only ever goes from the compact one of its type to the other. The
 * numbers are those on disk. */
enum keys_encoding {
    KEYS_RAW,    /* strings */
    KEYS_INT,    /* of a 64-bit integer as it is printed */
    KEYS_EMBSTR, /* short, and never edited */
    KEYS_QUICKLIST,
    KEYS_INTSET,    /* of integers alone, ascending */
    KEYS_LISTPACK,  /* small: a hash in the order in which fields came */
    KEYS_HASHTABLE, /* in no order */
    KEYS_SKIPLIST
};
const char *keys_encoding_name(enum keys_encoding encoding); /* "raw", "int", ... */

/* Where the compact encodings end; looked at when something is added. Nothing that has passed
 * one comes back when it is raised. Hashes and sets also pass them beyond 8 KiB. */
struct keys_limits {
    uint64_t hash_entries, hash_value; /* fields; bytes of a field or value */
    uint64_t intset_entries;
    uint64_t zset_entries, zset_value; /* members; bytes of one */
    uint64_t list_entries; /* of a list in one piece; shows in what it takes on disk alone */
};
/* The store begins with those of Redis: 512, 64, 512, 128, 64, UINT64_MAX. */
void keys_set_limits(struct keys *keys, const struct keys_limits *limits);

struct keys_view {
    struct keys *keys;
    unsigned database;
    struct dueq_time time;
};

struct keys_info {
    enum keys_type type;
    uint64_t count;  /* elements; bytes of a string */
    int64_t expires; /* expiry.h; DUEQ_NEVER: does not */
    enum keys_encoding encoding;
    bool packed; /* the value is in one piece, not in records of its own */
};

/* ---- the keys as a whole: what storage/store.c calls */

struct kv;

enum dueq_status keys_new(struct kv *kv, struct keys **ret_keys);
void keys_free(struct keys *keys); /* saves nothing; NULL is fine */
void keys_save(struct keys *keys); /* before each kv_commit: puts what changed */

/* Reclaims what has expired or was deleted, in at most *budget steps; 0 afterwards: there may
 * be more. */
void reclaim_tick(struct keys *keys, struct dueq_time time, unsigned *budget);
/* ms until there is something to do; DUEQ_NEVER: nothing is. */
int64_t reclaim_next_tick(const struct keys *keys, struct dueq_time time);

void keys_flush_all(struct keys *keys);

/* ---- keys of any type */

enum dueq_status keys_info(const struct keys_view *view, struct dueq_slice name,
                           struct keys_info *ret_info);
/* The elements of a large key are reclaimed in slices by dueq_tick. O(1), small keys O(n). */
enum dueq_status keys_del(const struct keys_view *view, struct dueq_slice name);
/* The same, before another value is put there at once: that is no new key to those who watch.
 */
enum dueq_status keys_make_way(const struct keys_view *view, struct dueq_slice name);
/* DUEQ_NEVER: persists. A moment that has come deletes. DUEQ_NOTFOUND: no such key. */
enum dueq_status keys_expire(const struct keys_view *view, struct dueq_slice name,
                             int64_t expiry);
/* The value and expiry of `from` under the name `to` (whatever was there is deleted). O(1), the
 * elements stay where they are. */
enum dueq_status keys_rename(const struct keys_view *view, struct dueq_slice from,
                             struct dueq_slice to);
enum dueq_status keys_move(const struct keys_view *view, struct dueq_slice name,
                           unsigned to_database); /* DUEQ_DUPLICATE: the name is taken there */
enum dueq_status keys_copy(const struct keys_view *view, struct dueq_slice from,
                           unsigned to_database, struct dueq_slice to); /* replaces. O(n) */

/* ---- large keys in slices: a copy, a list that is changed in the middle, or a value made from
 * others. It grows under
 * the hood, bounded work a step, while everything else goes on; nobody sees it until the last
 * step puts it in its place, all at once. A crash leaves the old state, and what was built is
 * reclaimed. Commits may come between the steps. Not for strings,
 * nor for small values, which are one record (keys_build_possible). */
enum list_end { LIST_HEAD, LIST_TAIL };

struct keys_build;

struct list_edit {
    enum { LIST_INSERTED, LIST_REMOVED } kind;
    enum list_end towards;   /* in which direction it is looked through; LIST_TAIL to insert */
    struct dueq_slice value; /* what is inserted, or removed; copied */
    uint64_t index, limit;   /* inserted before the index; at most so many removed */
};

bool keys_build_possible(const struct keys_view *view, struct dueq_slice name);
/* edit NULL: a copy. One edit of a list that is there. */
enum dueq_status keys_build_new(const struct keys_view *view, struct dueq_slice name,
                                const struct list_edit *edit, struct keys_build **ret_build);
/* About `budget` elements. DUEQ_NOTFOUND: the key has changed since, or is gone: build anew. */
enum dueq_status keys_build_step(struct keys_build *build, const struct keys_view *view,
                                 unsigned budget, bool *ret_finished);
/* Has what it is built from stayed as it was? From nothing: is its store still there? */
bool keys_build_is_sound(const struct keys_build *build, const struct keys_view *view);
/* Before the first step, for an insertion whose place was not known yet. */
void keys_build_insert_at(struct keys_build *build, uint64_t index);
/* When it is finished: under a name, in place of whatever is there; */
enum dueq_status keys_build_copy(struct keys_build *build, const struct keys_view *view,
                                 unsigned to_database, struct dueq_slice to);
/* or in the place of the list itself. *ret_count: its elements now. */
enum dueq_status keys_build_replace(struct keys_build *build, const struct keys_view *view,
                                    uint64_t *ret_count);
void keys_build_free(struct keys_build *build); /* NULL is fine */

/* Or from nothing: a list, set or sorted set, which the caller fills. For what would not be
 * packed anyway: it gets the encodings of large ones. least: so many elements it will have, as
 * far as is known; 0: a sorted set is as if it had grown, which shows in -0. */
enum dueq_status keys_build_empty(const struct keys_view *view, enum keys_type type,
                                  uint64_t least, struct keys_build **ret_build);
/* O(log n). Of a set the score is 1. DUEQ_NOTFOUND: no such member. */
enum dueq_status keys_build_find(const struct keys_build *build, struct dueq_slice member,
                                 double *ret_score);
/* A member with its score; old: what keys_build_find has told of it, NULL: it is not there yet.
 * Members and values may lie in another key that is being walked through. */
enum dueq_status keys_build_put(struct keys_build *build, struct dueq_slice member,
                                double score, const double *old);
enum dueq_status keys_build_push(struct keys_build *build, struct dueq_slice value); /* tail */
/* The end of these: in place of whatever is there, at once. Not when it is empty. */
enum dueq_status keys_build_place(struct keys_build *build, const struct keys_view *view,
                                  struct dueq_slice name, uint64_t *ret_count);

uint64_t keys_count(const struct keys *keys, unsigned database);
uint64_t keys_expiring(const struct keys *keys, unsigned database); /* keys with an expiry */
enum dueq_status keys_flush(struct keys *keys, unsigned database);  /* O(1), reclaimed later */
enum dueq_status keys_swap(struct keys *keys, unsigned a, unsigned b);

/* What an iteration hands out. False stops it. */
typedef bool (*keys_fn)(void *arg, struct dueq_slice name, const struct keys_info *info);
typedef bool (*keys_element_fn)(void *arg, struct dueq_slice element, struct dueq_slice value);

/* Keys lie in the order of a 48-bit hash of their names, which is the cursor: no state is kept
 * and every key present during the whole scan is handed out. About `count` keys a call;
 * *ret_cursor 0: finished. fn must not change the store. */
enum dueq_status keys_scan(const struct keys_view *view, uint64_t cursor, uint64_t count,
                           keys_fn fn, void *arg, uint64_t *ret_cursor);
/* The first key at or after a random place; `random` comes from the caller. */
enum dueq_status keys_random(const struct keys_view *view, uint64_t random,
                             struct dueq_slice *ret_name);

/* Keys changed since the last call, in order (a key may come several times), for
 * WATCH, blocked clients and notifications. DUEQ_NOTFOUND: none left. Kept only while somebody
 * asks: changes_enable(store, true). */
struct keys_change {
    unsigned database;
    struct dueq_slice name; /* size 0 with `flushed` */
    bool expired;           /* reclaimed because its time had passed */
    bool created;           /* nothing was there before, or it came under another name */
    bool flushed;           /* the whole database */
};
void changes_enable(struct keys *keys, bool on);
enum dueq_status changes_next(struct keys *keys, struct keys_change *ret_change);
/* Looks ahead for those that expired or were created, among what changes_next has yet to
 * give: each once. For who must speak of them before he speaks of what happened to them next.
 */
enum dueq_status changes_peek(struct keys *keys, struct keys_change *ret_change);

/* ---- use: when a key was last used, and whether what was looked for was there
 *
 * Between begin and end, finding a key is using it. What is known is in RAM: of keys that are
 * not among the open entries only that they were not used since they were closed, or since the
 * store was opened. */

enum access_effect { ACCESS_TOUCH = 1 << 0, ACCESS_COUNT = 1 << 1 };
/* use: enum access_effect, or 0 for one that leaves no trace. now: the queue's clock. */
void access_begin(struct keys *keys, unsigned use, int64_t now);
void access_end(struct keys *keys);
/* The moment of the last use; for a key that is not open, the latest it can be. */
enum dueq_status access_last(const struct keys_view *view, struct dueq_slice name,
                             int64_t *ret_moment);
/* Since the opening or the reset: names that were looked for and found, and not found; each
 * once between begin and end. */
struct access_lookups {
    uint64_t hits, misses;
};
struct access_lookups access_get_lookups(const struct keys *keys);
void access_reset_lookups(struct keys *keys);

/* ---- strings */

enum dueq_status string_get(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice *ret_value);
/* Where the text of a string comes from decides its encoding. */
enum string_origin {
    STRING_GIVEN, /* by a client, whole: what looks like an integer is one */
    STRING_MADE,  /* by the server, whole */
    STRING_EDITED /* in part */
};
/* Replaces whatever is there, of any type. expires: as keys_expire takes it, or
 * KEYS_KEEP_EXPIRY. */
enum dueq_status string_set(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice value, int64_t expires,
                            enum string_origin origin);
/* It was opened to be edited, but nothing was: no change to those who watch. */
enum dueq_status string_make_raw(const struct keys_view *view, struct dueq_slice name);

/* ---- hashes. O(log n) a field. Order of iteration: of KEYS_LISTPACK that in which the fields
 * came, else any. */

enum dueq_status hash_get(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice field, struct dueq_slice *ret_value);
enum dueq_status hash_set(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice field, struct dueq_slice value, bool *ret_added);
enum dueq_status hash_del(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice field);
enum dueq_status hash_each(const struct keys_view *view, struct dueq_slice name,
                           keys_element_fn fn, void *arg);
enum dueq_status hash_scan(const struct keys_view *view, struct dueq_slice name,
                           uint64_t cursor, uint64_t count, keys_element_fn fn, void *arg,
                           uint64_t *ret_cursor);
enum dueq_status hash_random(const struct keys_view *view, struct dueq_slice name,
                             uint64_t random, struct dueq_slice *ret_field,
                             struct dueq_slice *ret_value);

/* ---- sets. Order of iteration: of KEYS_INTSET that of the numbers, else any. */

enum dueq_status set_add(const struct keys_view *view, struct dueq_slice name,
                         struct dueq_slice member, bool *ret_added);
enum dueq_status set_remove(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice member);
enum dueq_status set_has(const struct keys_view *view, struct dueq_slice name,
                         struct dueq_slice member); /* DUEQ_OK: yes */
enum dueq_status set_each(const struct keys_view *view, struct dueq_slice name,
                          keys_element_fn fn, void *arg); /* value: empty */
enum dueq_status set_scan(const struct keys_view *view, struct dueq_slice name, uint64_t cursor,
                          uint64_t count, keys_element_fn fn, void *arg, uint64_t *ret_cursor);
enum dueq_status set_random(const struct keys_view *view, struct dueq_slice name,
                            uint64_t random, struct dueq_slice *ret_member);
/* Gives it the encoding that it would have if its members had just been added to a new one: of
 * a KEYS_HASHTABLE in which only integers are left, few enough, a KEYS_INTSET. */
enum dueq_status set_remake(const struct keys_view *view, struct dueq_slice name);

/* ---- lists. Indexes 0 .. count - 1 from the head. Ends and index O(log n), nothing rewritten;
 * insert moves the shorter side, remove what is not between the two of the removed that are
 * farthest apart. */

enum dueq_status list_push(const struct keys_view *view, struct dueq_slice name,
                           enum list_end end, struct dueq_slice value);
/* *ret_value lives until the next change. */
enum dueq_status list_pop(const struct keys_view *view, struct dueq_slice name,
                          enum list_end end, struct dueq_slice *ret_value);
/* Takes the element from one end of a list and puts it to an end of another, or of the same.
 * DUEQ_WRONGTYPE: of either. *ret_value lives until the next change. */
enum dueq_status list_move(const struct keys_view *view, struct dueq_slice from,
                           enum list_end from_end, struct dueq_slice to, enum list_end to_end,
                           struct dueq_slice *ret_value);
enum dueq_status list_at(const struct keys_view *view, struct dueq_slice name, uint64_t index,
                         struct dueq_slice *ret_value);
enum dueq_status list_put(const struct keys_view *view, struct dueq_slice name, uint64_t index,
                          struct dueq_slice value);
enum dueq_status list_insert(const struct keys_view *view, struct dueq_slice name,
                             uint64_t index, struct dueq_slice value); /* before index */
/* Removes the first `limit` elements that equal the value, looking towards the given end. */
enum dueq_status list_remove_equal(const struct keys_view *view, struct dueq_slice name,
                                   struct dueq_slice value, enum list_end towards,
                                   uint64_t limit, uint64_t *ret_removed);
/* Removes the elements at these indexes, in ascending order, each once, not all of the list. */
enum dueq_status list_remove_at(const struct keys_view *view, struct dueq_slice name,
                                const uint64_t *indexes, size_t count);
/* How many elements that moves, of a list of `size`. */
uint64_t list_removal_moves(const uint64_t *indexes, size_t count, uint64_t size);
enum dueq_status list_trim(const struct keys_view *view, struct dueq_slice name, uint64_t first,
                           uint64_t count); /* keeps count elements from first; 0: deletes */
/* Hands out elements from `index` on, towards the tail or the head. value: the element. */
enum dueq_status list_each(const struct keys_view *view, struct dueq_slice name, uint64_t index,
                           enum list_end towards, keys_element_fn fn, void *arg);

/* ---- sorted sets. Ordered by score, then by bytes of the member (more than 4,096 of one score
 * that have 478 bytes in common: by hash behind those). */

struct zset_entry {
    struct dueq_slice member;
    double score;
};

enum dueq_status zset_score(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice member, double *ret_score);
/* Sets the score; *ret_added: was not there. score is not NaN. */
enum dueq_status zset_put(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice member, double score, bool *ret_added);

/* Replaces whatever is there, of any type, by these entries: at least one, no member twice.
 * They may not lie in the store. `grown`: as if added one after the other, which shows in -0.
 */
enum dueq_status zset_replace(const struct keys_view *view, struct dueq_slice name,
                              const struct zset_entry *entries, size_t count, bool grown);

/* When a score is set and to what: ZADD's options. */
struct zset_rule {
    bool if_absent, if_present;
    bool if_greater, if_less; /* than the score it has; absent ones are added */
    bool increment;           /* the score is added to the one it has */
};
enum zset_effect {
    ZSET_NOT_MET, /* by the rule */
    ZSET_SAME,    /* it has that score already */
    ZSET_ADDED,
    ZSET_MOVED,
    ZSET_NAN /* of an increment: inf and -inf; nothing is changed */
};
/* *score: what is wanted; becomes what the member has now (ZSET_SAME, _ADDED, _MOVED). */
enum dueq_status zset_add(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice member, const struct zset_rule *rule, double *score,
                          enum zset_effect *ret_effect);
enum dueq_status zset_remove(const struct keys_view *view, struct dueq_slice name,
                             struct dueq_slice member);
enum dueq_status zset_scan(const struct keys_view *view, struct dueq_slice name,
                           uint64_t cursor, uint64_t count,
                           bool (*fn)(void *arg, const struct zset_entry *entry), void *arg,
                           uint64_t *ret_cursor);
enum dueq_status zset_random(const struct keys_view *view, struct dueq_slice name,
                             uint64_t random, struct zset_entry *ret_entry);

/* Where a walk begins or ends. */
struct zset_bound {
    enum { ZSET_FIRST, ZSET_LAST, ZSET_SCORE, ZSET_LEX } kind;
    double score;             /* ZSET_SCORE */
    struct dueq_slice member; /* ZSET_LEX: all scores are taken to be equal */
    bool exclusive;
};
struct zset_range {
    struct zset_bound least, most;
    bool reverse;
};
/* Hands out the entries of the range in order (reverse: from the most). What was removed is
 * stepped over once, not by every call (kv/dead_ranges.h). fn must not change the store. O(log
 * n + entries). */
enum dueq_status zset_each(const struct keys_view *view, struct dueq_slice name,
                           const struct zset_range *range,
                           bool (*fn)(void *arg, const struct zset_entry *entry), void *arg);
/* The entries from a rank on (from the most with reverse): O(distance to the nearer end). */
enum dueq_status zset_each_from(const struct keys_view *view, struct dueq_slice name,
                                uint64_t rank, bool reverse,
                                bool (*fn)(void *arg, const struct zset_entry *entry),
                                void *arg);
enum dueq_status zset_rank(const struct keys_view *view, struct dueq_slice name,
                           struct dueq_slice member, bool reverse,
                           uint64_t *ret_rank); /* O(rank) */

/* Where a walk in order has stopped. A zeroed one is where it begins. */
struct zset_place {
    struct kv_key key; /* of the entry that was handed out last; size 0: none was */
    bool again;        /* that one is to be handed out again */
};
/* As zset_each, from the place on, which follows the walk: one that fn has stopped is gone on
 * with by another call, in the same direction, or with `again` in the other. Of a set that has
 * not changed in between; DUEQ_STALE: it has, so far as that shows. */
enum dueq_status zset_each_on(const struct keys_view *view, struct dueq_slice name,
                              const struct zset_range *range, struct zset_place *place,
                              bool (*fn)(void *arg, const struct zset_entry *entry), void *arg);

/* Takes out the entries of a range, or `count` from a rank on. *ret_removed: how many. */
enum dueq_status zset_remove_range(const struct keys_view *view, struct dueq_slice name,
                                   const struct zset_range *range, uint64_t *ret_removed);
enum dueq_status zset_remove_from(const struct keys_view *view, struct dueq_slice name,
                                  uint64_t rank, uint64_t count, uint64_t *ret_removed);
/* Takes out the first (reverse: last) entry; the member lives until the next change. */
enum dueq_status zset_pop(const struct keys_view *view, struct dueq_slice name, bool reverse,
                          struct zset_entry *ret_entry);

/* ---- many elements taken out of a large list, set or sorted set, in slices. First they are
 * looked at, bounded work a step, while everything else goes on and nothing changes; then one
 * step takes them out, all at once and in O(log n), and ticks erase them. Commits may come
 * between the steps. Not for small values, which are one record. */
struct keys_removal;

struct keys_part {
    enum {
        KEYS_PART_END,   /* of a list or sorted set */
        KEYS_PART_RANGE, /* of a sorted set: the range that each step is given */
        KEYS_PART_RANKS, /* of a sorted set: from `first` on; handed out in any order */
        KEYS_PART_RUN    /* of a set: members that follow each other in the order of hashes,
                          * from a place by chance on, beyond the last from the first */
    } kind;
    bool reverse;         /* from the tail, from the greatest */
    uint64_t first, most; /* most: elements, at least 1 */
    uint64_t random;      /* KEYS_PART_RUN; from the caller */
};
/* What goes; score: of a sorted set. False stops the step. */
typedef bool (*keys_taken_fn)(void *arg, const struct zset_entry *entry);

/* DUEQ_INVALID: the value is a small one, or there is no such rank. */
enum dueq_status keys_removal_new(const struct keys_view *view, struct dueq_slice name,
                                  enum keys_type type, const struct keys_part *part,
                                  struct keys_removal **ret_removal);
/* About `budget` elements, handed to fn, unless that is NULL: then of ranks only as many are
 * looked at as have to be. Of members that agree in 478 bytes up to 4,096 come in one step.
 * DUEQ_NOTFOUND: the key has changed since, or is gone: begin anew. DUEQ_INVALID: the part
 * begins or ends among such members, or lies in pieces: take it out in another way. */
enum dueq_status keys_removal_step(struct keys_removal *removal, const struct keys_view *view,
                                   const struct zset_range *range, unsigned budget,
                                   keys_taken_fn fn, void *arg, bool *ret_finished);
/* So far. */
uint64_t keys_removal_found(const struct keys_removal *removal);
/* When all are found: takes them out. */
enum dueq_status keys_removal_finish(struct keys_removal *removal,
                                     const struct keys_view *view);
void keys_removal_free(struct keys_removal *removal); /* NULL is fine */

#endif
