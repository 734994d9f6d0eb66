/* Which ids were met in this run, so that two jobs with one id do not become one. 24 bytes for
 * each. */
#ifndef DUEQ_SEEN_H
#define DUEQ_SEEN_H

#include "storage/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seen_entry {
    uint64_t id, body; /* hashes */
    uint64_t count;    /* 0: unused */
};

struct seen {
    struct seen_entry *entries;
    size_t count, room;
};

/* Counts the id of the topic: 1 the first time. 0: out of memory. *ret_same: the body is that
 * of the first time. */
uint64_t seen_count(struct seen *seen, struct dueq_slice topic, struct dueq_slice id,
                    struct dueq_slice body, bool *ret_same);
bool seen_has(const struct seen *seen, struct dueq_slice topic, struct dueq_slice id);
/* How often it was counted. *ret_same: with this body the first time; only if it was. */
uint64_t seen_look(const struct seen *seen, struct dueq_slice topic, struct dueq_slice id,
                   struct dueq_slice body, bool *ret_same);
void seen_release(struct seen *seen);

#endif
