/* Commands whose reply or search grows with what is stored: one walk over a key, or over all
 * keys, that is made at once when it is short and else goes on in later turns (long_work.h),
 * a slice each. The reply is that of one moment: when the key changes all the same, the walk
 * begins anew.
 *
 * A handler reads its arguments each time it runs, says what it wants in a struct long_read,
 * and returns what long_read_run answers. */
#ifndef DUEQ_LONG_READS_H
#define DUEQ_LONG_READS_H

#include "server/commands/database.h"
#include "server/process/random.h"

struct long_read;

enum long_source {
    LONG_HASH,  /* its fields, in the order of HSCAN */
    LONG_SET,   /* its members, likewise */
    LONG_ZSET,  /* likewise */
    LONG_ORDER, /* of a sorted set: the entries of a range */
    LONG_LIST,  /* its elements, from an index on */
    LONG_NAMES  /* of all keys of the database, with the guarantee of SCAN */
};

struct long_element {
    struct dueq_slice name, value; /* an element of a list is a name */
    double score;
};

/* What goes from one slice to the next; the handler says how it begins, zeros where nothing
 * else is said. */
struct long_progress {
    uint64_t place; /* LONG_LIST: of the next element; the others': their cursor */
    struct zset_place order;
    uint64_t skip; /* LONG_ORDER: entries that are passed over first ... */
    bool turns;    /* ... against the range's direction; the next is the first of it then */
    /* the command's own */
    uint64_t found, left, passed, index;
    struct sample sample;
};

struct long_read {
    enum long_source source;
    struct dueq_slice key;
    uint64_t steps; /* it takes at least */
    uint64_t count; /* of elements in the reply, where that is known */
    enum list_end towards;
    struct zset_range range;
    const void *arg; /* the command's own */
    /* Writes what stands before the elements; NULL: nothing. */
    void (*begin)(struct long_read *read);
    /* Gets each element. False: that was all. */
    bool (*take)(struct long_read *read, const struct long_element *element);
    /* Ends the reply; NULL: it is ended. */
    void (*end)(struct long_read *read);
    struct long_progress at;
    /* set by long_read_run */
    struct context *context;
    struct resp_writer *reply;
    unsigned budget; /* of steps */
    size_t mark;     /* of an array's head */
    bool in_slices, is_over;
};

enum outcome long_read_run(struct context *context, struct long_read *read);

/* `begin` and what `end` calls, for an array whose length is known last. */
void long_read_begin_array(struct long_read *read);
void long_read_end_array(struct long_read *read, uint64_t count);

#endif
