/* Commands that take many elements out of a list, set or sorted set: they find them in slices
 * (long_work), write the reply meanwhile, and then take all of them out at once. */
#ifndef DUEQ_REMOVALS_H
#define DUEQ_REMOVALS_H

#include "server/commands/database.h"

struct removing;

/* How a command answers. */
struct removal_form {
    /* Before the elements, of which there are `count`. NULL: they are not written. */
    void (*begin)(struct context *context, const struct removing *removing, uint64_t count);
    void (*write)(struct context *context, const struct removing *removing,
                  const struct zset_entry *element);
    /* They are out, so many: the rest of the reply, and events. */
    void (*end)(struct context *context, const struct removing *removing, uint64_t count);
    /* Does it in one turn: what storage/keys cannot do in slices (DUEQ_INVALID). */
    enum outcome (*at_once)(struct context *context, const struct removing *removing);
};

struct removing {
    const struct removal_form *form;
    const void *arg; /* the form's */
    size_t key;      /* argument */
    enum keys_type type;
    uint64_t count; /* of elements to be written */
    struct keys_part part;
    const struct zset_range *range; /* KEYS_PART_RANGE */
};

/* `steps`: elements that are looked at. Within an EXEC all is done at once, or refused. */
enum outcome removal_begin(struct context *context, const struct removing *removing,
                           uint64_t steps);
/* Has one begun, of a key that has not changed since? Otherwise nothing of it is left and the
 * command begins, for the first time or anew. */
bool removal_is_under_way(struct context *context);
/* Of one under way: a slice. Key, count and part are those with which it began. */
enum outcome removal_go_on(struct context *context, const struct removing *removing);

#endif
