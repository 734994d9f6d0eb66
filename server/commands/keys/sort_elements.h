/* The elements of the key that SORT sorts. */
#ifndef DUEQ_SORT_ELEMENTS_H
#define DUEQ_SORT_ELEMENTS_H

#include "server/commands/keys/sort.h"

/* Finds the type and the size of the key. False: the error is written. */
bool sort_elements_begin(struct sort *sort);
/* SORT_READS: reads elements into sort->elements until the budget is spent or all are there;
 * then the next phase begins. Sets sort->status. */
void sort_elements_read(struct sort *sort);

#endif
