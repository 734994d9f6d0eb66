/* Union, intersection and difference of sets and sorted sets, replied, counted or stored. Long
 * work goes on in later turns (long_work.h); it begins again when a source changes, so the
 * result is that of one time. O(elements read * sources).
 *
 * That of thousands of sources is alone with the store (alone.h), as to hold each of them costs
 * more than to read it; only when it has very much to do it holds them after all. */
#ifndef DUEQ_COMBINE_H
#define DUEQ_COMBINE_H

#include "server/commands/combine_sources.h"
#include "server/commands/made_key.h"

/* The first part says what is wanted and is set by the handler; all else begins as zero. */
struct combination {
    enum { COMBINE_UNION, COMBINE_INTERSECTION, COMBINE_DIFFERENCE } operation;
    enum { COMBINE_REPLIED, COMBINE_STORED, COMBINE_COUNTED } use;
    enum { COMBINE_SUM, COMBINE_LEAST, COMBINE_GREATEST } aggregate;
    enum keys_type type; /* of the result. KEYS_SET: all sources must be sets */
    bool with_scores;
    uint64_t limit;    /* members to count at most; 0: all */
    const char *event; /* of COMBINE_STORED, under the name at argument 1 */
    /* Reads an option that comes after the sources, or a part of one, and moves `option` on.
     * False: the error is written. NULL: there are none. */
    bool (*read_option)(struct context *context, struct combination *combination);
    bool options_first;  /* an error of theirs comes before one of the sources */
    size_t option;       /* argument that is to be read next, from the first one on */
    size_t weights_left; /* of WEIGHTS, from there on */

    /* progress */
    struct context *context;
    struct keys_view view;
    struct combine_sources sources;
    bool is_alone;              /* with the store */
    bool is_prepared;           /* the sources are read and in order */
    bool walked_all;            /* the result is complete */
    size_t walked;              /* the source whose members are read now */
    uint64_t cursor;            /* of the scan of that source */
    struct gathered candidates; /* members that the scan has found */
    size_t candidate;           /* that is next */
    size_t looked;              /* other sources in which it was looked up */
    unsigned budget;            /* steps left in this turn; GATHERED_WHOLE: do all of it */
    size_t bytes;               /* of the members that were read */
    uint64_t found;             /* members of the result */
    size_t written;             /* members in the reply */
    bool written_head;          /* the head of the reply is written */
    struct made_key made;
    struct gathered_sort sort;
    enum dueq_status status;
};

/* Combines the `count` keys from the argument `first` on, in this turn or in later ones. */
enum outcome combine(struct context *context, struct combination *combination, size_t first,
                     size_t count);
/* For a handler that runs again (long_work_state is not NULL), instead of combine. */
enum outcome combine_continue(struct context *context);

#endif
