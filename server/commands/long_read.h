/* Commands whose reply or search grows with what is stored. Each is one walk over a key or over
 * all names. A short walk is done at once; a long one goes on in later turns, a slice each
 * (long_work.h). The reply shows the key as it was at one time: when the key changes, the walk
 * begins again. Only a walk over all names does not notice changes; it gives the guarantee of
 * SCAN.
 *
 * A handler reads its arguments each time it runs, describes the walk in a struct long_read and
 * returns what long_read_run returns. */
#ifndef DUEQ_LONG_READ_H
#define DUEQ_LONG_READ_H

#include "server/commands/database.h"
#include "server/containers/slice_set.h"
#include "server/process/random.h"
#include "storage/keys/zset/zset.h"

struct long_read;

enum long_read_source {
    LONG_READ_HASH,  /* fields, in the order of HSCAN */
    LONG_READ_SET,   /* members, in the order of SSCAN */
    LONG_READ_ZSET,  /* members, in the order of ZSCAN */
    LONG_READ_ORDER, /* entries of a range of a sorted set, by score */
    LONG_READ_LIST,  /* elements of a list, from an index on */
    LONG_READ_NAMES, /* names of all keys of the database */
    LONG_READ_TOPICS /* names of all topics, in order */
};

struct long_read_element {
    struct dueq_slice name, value; /* the element of a list is in name */
    double score;
};

/* The state that is kept between slices. The handler sets where it begins; all else is zero. */
struct long_read_progress {
    uint64_t place; /* LONG_READ_LIST: index of the next element; others: cursor */
    struct zset_position order;
    uint8_t name[DUEQ_NAME_MAX]; /* LONG_READ_TOPICS: the last one */
    size_t name_size;
    uint64_t skip; /* LONG_READ_ORDER: entries to skip first ... */
    bool turns;    /* ... against the direction of the range, which then turns */
    /* for the command */
    uint64_t found, left, passed, index;
    struct sample sample;
    struct slice_set *seen; /* of picks: what is written; it is freed with the walk */
};

struct long_read {
    enum long_read_source source;
    struct dueq_slice key;
    uint64_t steps; /* elements that it reads at least; 0: unknown */
    uint64_t count; /* elements in the reply, where known; for the command */
    enum list_end towards;
    struct zset_range range;
    const void *arg; /* for the command */
    /* Writes what comes before the elements; NULL: nothing. */
    void (*begin)(struct long_read *read);
    /* Gets each element. False: no more are wanted. */
    bool (*take)(struct long_read *read, const struct long_read_element *element);
    /* Instead of a walk, and of take: looks at one element, which is anywhere in the key. Sets
     * is_over when no more are wanted. */
    enum dueq_status (*pick)(struct long_read *read);
    /* Completes the reply; NULL: nothing to do. */
    void (*end)(struct long_read *read);
    struct long_read_progress at;
    /* set by long_read_run */
    struct context *context;
    struct resp_writer *reply;
    unsigned budget; /* steps left in this turn */
    size_t mark;     /* where the head of the array goes */
    bool in_slices, is_over;
};

/* Runs the walk or a slice of it. Writes the reply or the error. */
enum outcome long_read_run(struct context *context, struct long_read *read);

/* May the command, which has picked `done` of `most` random elements in this slice, pick one
 * more? Each takes long on a page that is new to the process, so this looks at the clock; but
 * a command that begins picks a few. */
bool long_read_may_pick(const struct context *context, unsigned done, unsigned most);

/* For a reply that is an array whose length is known last: the first is a `begin`, the second
 * is called by an `end`. */
void long_read_begin_array(struct long_read *read);
void long_read_end_array(struct long_read *read, uint64_t count);

#endif
