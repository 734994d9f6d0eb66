/* Union, intersection and difference of sets and sorted sets, replied, counted or stored. Long
 * work goes on in later turns (long_work.h); it begins again when a source changes, so the
 * result is that of one time. O(elements read * sources). */
#ifndef DUEQ_COMBINE_H
#define DUEQ_COMBINE_H

#include "server/commands/made_key.h"

struct combine_source {
    size_t argument;     /* its name */
    enum keys_type type; /* KEYS_NONE: there is no such key */
    uint64_t count;
    double weight; /* of unions and intersections of sorted sets; else 1 */
};

/* The first part says what is wanted and is set by the handler; all else begins as zero. */
struct combination {
    enum { COMBINE_UNION, COMBINE_INTERSECTION, COMBINE_DIFFERENCE } operation;
    enum { COMBINE_REPLIED, COMBINE_STORED, COMBINE_COUNTED } use;
    enum { COMBINE_SUM, COMBINE_LEAST, COMBINE_GREATEST } aggregate;
    enum keys_type type; /* of the result. KEYS_SET: all sources must be sets */
    bool with_scores;
    uint64_t limit;                 /* members to count at most; 0: all */
    const char *event;              /* of COMBINE_STORED, under the name at argument 1 */
    struct combine_source *sources; /* owned; combine_read_sources */
    size_t count;

    /* progress */
    struct context *context;
    struct keys_view view;
    bool integers;     /* every source is a set of integers */
    bool walked_all;   /* the result is complete */
    size_t walked;     /* the source whose members are read now */
    uint64_t cursor;   /* of the scan of that source */
    unsigned budget;   /* steps left in this turn; GATHERED_WHOLE: do all of it */
    uint64_t found;    /* members of the result */
    size_t written;    /* members in the reply */
    bool written_head; /* the head of the reply is written */
    struct made_key made;
    struct gathered_sort sort;
    enum dueq_status status;
};

/* Reads `count` keys from the argument `first` on as sources. False: the error is written; the
 * caller must still call combine_release. */
bool combine_read_sources(struct context *context, struct combination *combination,
                          size_t first, size_t count);
/* Frees what the combination owns. */
void combine_release(struct combination *combination);

/* Runs it in this turn or begins it for later ones; takes over what the combination owns. */
enum outcome combine(struct context *context, struct combination *combination);
/* For a handler that runs again (long_work_state is not NULL), instead of all the above. */
enum outcome combine_continue(struct context *context);

#endif
