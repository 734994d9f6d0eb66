/* Sorted sets, in order of score, then of the member's bytes. If more than 4,096 members of one
 * score have their first 478 bytes in common, these are in order of a hash. */
#ifndef DUEQ_ZSET_H
#define DUEQ_ZSET_H

#include "storage/keys/state/keys_types.h"
#include "storage/kv/key.h"

/* Receives an entry; false stops the iteration. It must not change the store. */
typedef bool (*zset_fn)(void *arg, const struct zset_entry *entry);

/* ---- one member. O(log n) */

enum dueq_status zset_score(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice member, double *ret_score);
/* Sets the score, which is not NaN; *ret_added: the member was absent. */
enum dueq_status zset_put(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice member, double score, bool *ret_added);

/* When and how a score is set: ZADD's options. */
struct zset_rule {
    bool if_absent, if_present;
    bool if_greater, if_less; /* than the present score; absent members are added */
    bool increment;           /* the score is added to the present one */
};
enum zset_effect {
    ZSET_NOT_MET, /* the rule does not allow it */
    ZSET_SAME,    /* the member has that score already */
    ZSET_ADDED,
    ZSET_MOVED,
    ZSET_NAN /* the increment would give NaN (inf and -inf); nothing has changed */
};
/* *score: the score, or the increment; afterwards the member's score, unless the effect is
 * ZSET_NOT_MET or ZSET_NAN. */
enum dueq_status zset_add(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice member, const struct zset_rule *rule, double *score,
                          enum zset_effect *ret_effect);
enum dueq_status zset_remove(const struct keys_view *view, struct dueq_slice name,
                             struct dueq_slice member);

/* Replaces a value of any type by these entries: at least one, no member twice, not in memory
 * of the store. `grown`: with the encoding as if they had been added one by one, which decides
 * whether -0 stays. */
enum dueq_status zset_replace(const struct keys_view *view, struct dueq_slice name,
                              const struct zset_entry *entries, size_t count, bool grown);

/* ---- in the order of hashes */

/* As keys_scan, over the members. */
enum dueq_status zset_scan(const struct keys_view *view, struct dueq_slice name,
                           uint64_t cursor, uint64_t count, zset_fn fn, void *arg,
                           uint64_t *ret_cursor);
/* The member lives until the next call. */
enum dueq_status zset_random(const struct keys_view *view, struct dueq_slice name,
                             uint64_t random, struct zset_entry *ret_entry);

/* ---- in order */

/* One end of a range. */
struct zset_bound {
    enum { ZSET_FIRST, ZSET_LAST, ZSET_SCORE, ZSET_LEX } kind;
    double score;             /* ZSET_SCORE */
    struct dueq_slice member; /* ZSET_LEX: all scores are taken to be equal */
    bool exclusive;
};
struct zset_range {
    struct zset_bound least, most;
    bool reverse; /* from the most to the least */
};
/* Calls fn for the entries of the range, in order. Deleted entries are skipped once and not by
 * every call (kv/dead_ranges.h). O(log n + entries). */
enum dueq_status zset_each(const struct keys_view *view, struct dueq_slice name,
                           const struct zset_range *range, zset_fn fn, void *arg);
/* Calls fn for the entries from a rank on; reverse: ranks count from the greatest. O(distance
 * to the nearer end). */
enum dueq_status zset_each_from(const struct keys_view *view, struct dueq_slice name,
                                uint64_t rank, bool reverse, zset_fn fn, void *arg);
enum dueq_status zset_rank(const struct keys_view *view, struct dueq_slice name,
                           struct dueq_slice member, bool reverse,
                           uint64_t *ret_rank); /* O(rank) */

/* Where zset_each_on has stopped. A zeroed one is the beginning of the range. */
struct zset_position {
    struct kv_key key; /* of the last entry that fn got; size 0: there was none */
    bool again;        /* set by the caller: fn gets that entry once more */
};
/* As zset_each, from *position on, which is updated: after fn has stopped, the next call
 * continues, in the same direction, or with `again` in the other. The set must not change
 * between the calls; DUEQ_STALE: it has, and the entry is not found. */
enum dueq_status zset_each_on(const struct keys_view *view, struct dueq_slice name,
                              const struct zset_range *range, struct zset_position *position,
                              zset_fn fn, void *arg);

/* ---- removing */

/* Removes the entries of a range, or `count` from a rank on. */
enum dueq_status zset_remove_range(const struct keys_view *view, struct dueq_slice name,
                                   const struct zset_range *range, uint64_t *ret_removed);
enum dueq_status zset_remove_from(const struct keys_view *view, struct dueq_slice name,
                                  uint64_t rank, uint64_t count, uint64_t *ret_removed);
/* Removes the first (reverse: last) entry; the member lives until the next change. */
enum dueq_status zset_pop(const struct keys_view *view, struct dueq_slice name, bool reverse,
                          struct zset_entry *ret_entry);

#endif
