/* A new store that goes on from another one, of which it has no record. */
#ifndef DUEQ_KV_BEGIN_H
#define DUEQ_KV_BEGIN_H

#include "storage/dueq.h"

enum { KV_EPOCH_MOST = 0xffff }; /* it has 16 bits */

/* Makes in `dir`, which is missing or empty, what the opening of a new store of that epoch with
 * these options takes up: a copy of the store is then of a later epoch than the one it came
 * from. A greater epoch than KV_EPOCH_MOST counts as
 * that. DUEQ_IO, DUEQ_FULL, DUEQ_INVALID; error says
 * why. Some syncs. */
enum dueq_status kv_begin(const char *dir, const struct dueq_options *options, uint64_t epoch,
                          struct dueq_error *error);

#endif
