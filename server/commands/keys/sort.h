/* One SORT: what is asked for, and how far it has come. Its phases are in sort_elements.h,
 * sort_pattern.h, sort_order.h and, for the rest, in sort.c. */
#ifndef DUEQ_SORT_H
#define DUEQ_SORT_H

#include "server/commands/made_key.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/long_work.h"
#include "storage/keys/zset/zset.h"

enum {
    SORT_GETS_MAX = 1024,
    SORT_LOOKUP_STEPS = 4 /* to read another key */
};

struct sort {
    struct context *context;
    size_t gets[SORT_GETS_MAX]; /* arguments */
    size_t get_count;
    size_t by, store; /* arguments; 0: none */
    struct argument_limit limit;
    enum { SORT_ASCENDS, SORT_DESCENDS } direction;
    bool alpha, unsorted;
    bool may_follow; /* may the user read all keys? Once a pattern has asked */

    /* progress */
    enum { SORT_READS, SORT_WEIGHS, SORT_ORDERS, SORT_GIVES } phase;
    enum keys_type type;        /* KEYS_NONE: there is no such key */
    uint64_t count;             /* of its elements */
    uint64_t cursor;            /* of set_scan: the next element */
    struct zset_position place; /* of zset_each_on: the next element */
    unsigned budget;            /* steps left in this turn; GATHERED_WHOLE: do all of it */
    size_t bytes;               /* of the values that were read and given */
    struct gathered elements;
    size_t weighed, given; /* of the elements */
    size_t end;            /* of those that are given */
    struct gathered_sort order;
    struct made_key made; /* what is stored */
    enum dueq_status status;
};

/* Takes steps off the budget of this turn. */
static inline void sort_spend(struct sort *sort, size_t steps)
{
    if (sort->budget != GATHERED_WHOLE)
        sort->budget -= sort->budget < steps ? sort->budget : (unsigned)steps;
}

/* The same for a value that is read or given. */
static inline void sort_spend_on(struct sort *sort, struct dueq_slice value)
{
    sort->bytes += value.size;
    sort_spend(sort, 1 + value.size / LONG_STEP_BYTES);
}

/* Is it done at once, and turns out to be too much for one turn? */
static inline bool sort_is_too_long(const struct sort *sort)
{
    return sort->budget == GATHERED_WHOLE && sort->bytes > LONG_ENOUGH_BYTES;
}

#endif
