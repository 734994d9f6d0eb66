/* Erases the records that cuts have deleted. Private to storage/keys. */
#ifndef DUEQ_CUT_ERASER_H
#define DUEQ_CUT_ERASER_H

#include "storage/keys/state/keys_types.h"

/* Erases records of the object's cuts. DUEQ_OK: no cut is left; DUEQ_BUSY: the budget, steps,
 * is spent. */
enum dueq_status cut_eraser_run(struct keys *keys, uint64_t object, unsigned *budget);

#endif
