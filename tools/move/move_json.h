/* --json: what has been done, as one object on standard output; what is said to people goes to
 * standard error then. */
#ifndef DUEQ_MOVE_JSON_H
#define DUEQ_MOVE_JSON_H

#include "tools/move/move.h"

/* From here on standard output is for the object alone. */
void move_json_begin(struct move *move);
/* Prints it, with the exit status. Does nothing without a beginning. */
void move_json_end(struct move *move, int status);

#endif
