/* The order of the elements: by a score or a text of their own, or of other keys. */
#ifndef DUEQ_SORT_ORDER_H
#define DUEQ_SORT_ORDER_H

#include "server/commands/keys/sort.h"

/* SORT_WEIGHS: sets what elements are compared by, until the budget is spent; then SORT_ORDERS
 * begins. False: a score is not a number. Other errors: sort->status. */
bool sort_order_weigh(struct sort *sort);
/* SORT_ORDERS: sorts, a bounded number of comparisons a turn; then SORT_GIVES begins. */
void sort_order_step(struct sort *sort);

#endif
