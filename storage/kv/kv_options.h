/* Checks the options that a store is opened with. Private to storage/kv. */
#ifndef DUEQ_KV_OPTIONS_H
#define DUEQ_KV_OPTIONS_H

#include "storage/options.h"
#include "storage/status.h"

#include <stdint.h>

/* DUEQ_INVALID: a field is out of range; error names it. */
enum dueq_status kv_options_check(const struct dueq_options *options, struct dueq_error *error);
/* DUEQ_IO: the system gives no random bytes. */
enum dueq_status kv_options_random(uint64_t *ret_random);
/* The seed of a new directory: options->seed, or random when that is 0. DUEQ_IO: the system
 * gives no random bytes. */
enum dueq_status kv_options_seed(const struct dueq_options *options, uint64_t *ret_seed);

#endif
