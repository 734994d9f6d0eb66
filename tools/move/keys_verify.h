/* Compares what was moved with where it came from. */
#ifndef DUEQ_KEYS_VERIFY_H
#define DUEQ_KEYS_VERIFY_H

#include "tools/move/move.h"

/* Type, size and expiry of each key are compared, and the values of all or of a sample of the
 * `found` ones; what differs is printed. False: a peer has failed. */
bool keys_compare_all(struct move *move, uint64_t found, uint64_t *ret_different);

#endif
