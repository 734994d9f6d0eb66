/* Single fields of the hash at argument 1. */
#ifndef DUEQ_HASH_FIELDS_H
#define DUEQ_HASH_FIELDS_H

#include "server/dispatch/context.h"

/* *ret_found false: there is no such key or field. *ret_value is a view of the store, valid
 * until the next write. False: the error is written. */
bool hash_fields_read(struct context *context, struct dueq_slice field,
                      struct dueq_slice *ret_value, bool *ret_found);

/* *ret_added: the field is new. Publishes nothing. False: the error is written. */
bool hash_fields_write(struct context *context, struct dueq_slice field,
                       struct dueq_slice value, bool *ret_added);

#endif
