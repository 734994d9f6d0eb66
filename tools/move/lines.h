/* What a dueq has as lines of JSON, in the form of `dueq dump`: job, key, add and end. */
#ifndef DUEQ_LINES_H
#define DUEQ_LINES_H

#include "tools/move/move.h"

#include <stdio.h>

/* Writes the topics and the keys of move->from. Returns the exit status. */
int lines_export(struct move *move, FILE *out);
/* Reads such lines, or those of a dump, into move->to. */
int lines_import(struct move *move, FILE *in);

#endif
