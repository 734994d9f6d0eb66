/* The patterns of BY and GET: "weight_*" names a string, "object_*->field" a field of a hash;
 * the star stands for the element. "#" is the element itself. */
#ifndef DUEQ_SORT_PATTERN_H
#define DUEQ_SORT_PATTERN_H

#include "server/commands/keys/sort.h"

/* Reads what the pattern names for an element; the value is valid until the store changes.
 * False: there is no such key or field, or sort->status is an error. O(size of the name). */
bool sort_pattern_look_up(struct sort *sort, struct argument pattern,
                          const struct gathered_item *element, struct dueq_slice *ret_value);

#endif
