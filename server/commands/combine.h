/* Sets and sorted sets put together: union, intersection and difference, replied, counted or
 * stored. What is long goes on in later turns, over the sources as they are at one moment. */
#ifndef DUEQ_COMBINE_H
#define DUEQ_COMBINE_H

#include "server/commands/made_key.h"

struct combine_source {
    size_t argument;
    enum keys_type type; /* KEYS_NONE: there is no such key */
    uint64_t count;
    double weight; /* of a sorted set's union or intersection */
};

/* What is asked for; begins zeroed but for that. */
struct combination {
    enum { COMBINE_UNION, COMBINE_INTERSECTION, COMBINE_DIFFERENCE } operation;
    enum { COMBINE_REPLIED, COMBINE_STORED, COMBINE_COUNTED } use;
    enum { COMBINE_SUM, COMBINE_LEAST, COMBINE_GREATEST } aggregate;
    enum keys_type type; /* of the result. KEYS_SET: all sources are sets, too */
    bool with_scores;
    uint64_t limit;    /* of what is counted; 0: none */
    const char *event; /* stored under the first argument */
    struct combine_source *sources;
    size_t count;

    /* how far it is */
    struct context *context;
    struct keys_view view;
    bool integers;     /* every source is a set of integers */
    bool walked_all;   /* the result is complete */
    size_t walked;     /* the source whose members come now */
    uint64_t cursor;   /* where among them */
    unsigned budget;   /* steps left in this turn; GATHERED_WHOLE: there is no other */
    uint64_t found;    /* members */
    size_t written;    /* into the reply */
    bool written_head; /* of the reply */
    struct made_key made;
    struct gathered_sort sort;
    enum dueq_status status;
};

/* Takes `count` keys from the argument `first` on as sources. False: the error is written, and
 * combine_release is still due. */
bool combine_read_sources(struct context *context, struct combination *combination,
                          size_t first, size_t count);
void combine_release(struct combination *combination);

/* Runs it, at once or from here on in later turns; takes over all that it holds. */
enum outcome combine(struct context *context, struct combination *combination);
/* When the handler runs again, instead of all the above. */
enum outcome combine_go_on(struct context *context);

#endif
