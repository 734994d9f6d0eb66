/* Arguments of `dueq import` and `dueq export`. */
#ifndef DUEQ_MOVE_ARGUMENTS_H
#define DUEQ_MOVE_ARGUMENTS_H

#include "tools/move/move.h"

struct move_arguments {
    struct move_options options;
    const char *place;  /* the URL or the file */
    struct place other; /* where `place` is; only if is_url */
    bool is_url;
    struct place dueq;  /* the running dueq */
    bool says_database; /* of the dueq */
};

/* argv[0] is the subcommand. False: what is wrong is printed, with the usage. */
bool move_arguments_read(struct move_arguments *arguments, const char *usage, int argc,
                         char **argv);

/* Opens both servers: the source is `from`. Returns MOVE_DONE, or another status after it has
 * told why. */
int move_open(struct move *move, const struct move_arguments *arguments, bool from_other);
void move_close(struct move *move);

#endif
