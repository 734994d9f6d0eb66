/* Large values made in slices: a copy, a list with one edit in its middle, or a new value.
 *
 * The new object grows beside the old one, bounded work a step, and no command sees it until
 * the last call gives it a name, all at once. Other commands and commits may come between the
 * steps. After a crash the old value is unchanged, and what was built is erased. A
 * large element, or string, is copied in parts. Not for packed values, which are one small
 * record (keys_build_possible). */
#ifndef DUEQ_KEYS_BUILD_H
#define DUEQ_KEYS_BUILD_H

#include "storage/keys/state/keys_types.h"

struct keys_build;

/* ---- from a key */

struct list_edit {
    enum { LIST_INSERTED, LIST_REMOVED } kind;
    enum list_end towards;   /* direction of the search; LIST_TAIL for an insertion */
    struct dueq_slice value; /* to insert or to remove; must live as long as the build */
    uint64_t index;          /* LIST_INSERTED: before this one */
    uint64_t limit;          /* LIST_REMOVED: at most so many */
};

bool keys_build_possible(const struct keys_view *view, struct dueq_slice name);
/* edit NULL: a copy; else one edit of a list. DUEQ_INVALID: keys_build_possible is false. */
enum dueq_status keys_build_new(const struct keys_view *view, struct dueq_slice name,
                                const struct list_edit *edit, struct keys_build **ret_build);
/* Sets the index of an insertion that was not known yet; before the first step. */
void keys_build_insert_at(struct keys_build *build, uint64_t index);
/* Handles about `budget` elements, each of 2 KiB. Ends what is lent to the store (dueq_lend).
 * DUEQ_NOTFOUND: the key has changed, or does not exist any
 * more: free the build and begin again. */
enum dueq_status keys_build_step(struct keys_build *build, const struct keys_view *view,
                                 unsigned budget, bool *ret_finished);
/* After the last step: gives the copy a name, whose old value is deleted. */
enum dueq_status keys_build_copy(struct keys_build *build, const struct keys_view *view,
                                 unsigned to_database, struct dueq_slice to);
/* After the last step: replaces the list by the edited one. *ret_count: its elements now. */
enum dueq_status keys_build_replace(struct keys_build *build, const struct keys_view *view,
                                    uint64_t *ret_count);

/* ---- from nothing */

/* A list, set or sorted set, to be filled by the caller, who knows that it will not be packed:
 * it gets the encoding of a large value. expected: the number of elements as far as it is
 * known. With 0 a sorted set has the encoding as if it had grown, which decides whether -0
 * stays. */
enum dueq_status keys_build_empty(const struct keys_view *view, enum keys_type type,
                                  uint64_t expected, struct keys_build **ret_build);
/* The score of a member; 1 in a set. O(log n). DUEQ_NOTFOUND: no such member. */
enum dueq_status keys_build_find(const struct keys_build *build, struct dueq_slice member,
                                 double *ret_score);
/* Puts a member with its score. old: the score from keys_build_find; NULL: it is absent. The
 * member may point into another key that is iterated at the time. */
enum dueq_status keys_build_put(struct keys_build *build, struct dueq_slice member,
                                double score, const double *old);
enum dueq_status keys_build_push(struct keys_build *build, struct dueq_slice value); /* tail */
/* Gives the value a name, whose old value is deleted. DUEQ_NOTFOUND: it is empty. */
enum dueq_status keys_build_store(struct keys_build *build, const struct keys_view *view,
                                  struct dueq_slice name, uint64_t *ret_count);

/* ---- all of them */

/* Bytes of memory that it has for a part of a large record. NULL: 0. */
size_t keys_build_holds(const struct keys_build *build);
/* True while the source has not changed; from nothing: while the store is open. */
bool keys_build_is_sound(const struct keys_build *build, const struct keys_view *view);
/* What was built and has no name is erased by ticks. May come after the store was closed. NULL
 * is fine. */
void keys_build_free(struct keys_build *build);

#endif
