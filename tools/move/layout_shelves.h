/* The keys of a Redis into which an export puts jobs: what they are, and what was there. */
#ifndef DUEQ_LAYOUT_SHELVES_H
#define DUEQ_LAYOUT_SHELVES_H

#include "tools/move/layout_place.h"

#include <uthash.h>

struct shelf {
    UT_hash_handle hh;
    enum value_type type;
    bool is_note, is_read; /* is_read: by who verifies */
    long long before;      /* elements that were there when it was met first */
    uint64_t put;          /* jobs, of this run */
    char name[];
};

struct dueq_slice shelf_name(const struct shelf *shelf);

/* Notes a key of the put and asks the Redis about it, if it is new: shelves_hear reads the
 * replies. */
bool shelves_ask(struct shelf **shelves, struct peer *to, const struct layout_put *put);
/* False: the Redis has failed, or a key is something else there. */
bool shelves_hear(struct shelf *shelves, struct peer *to);
struct shelf *shelves_find(struct shelf *shelves, struct dueq_slice name);
void shelves_print(const struct shelf *shelves, enum layout layout);
void shelves_release(struct shelf **shelves);

#endif
