/* Values of strings as commands read and write them: a missing key reads as empty, errors are
 * replied, writes are notified. O(size) of the value. */
#ifndef DUEQ_STRING_VALUE_H
#define DUEQ_STRING_VALUE_H

#include "server/dispatch/context.h"
#include "storage/keys/keys.h"
#include "storage/keys/string.h"

/* Bytes that a string has at most, as in Redis. */
#define STRING_VALUE_MAX ((size_t)512 << 20)

/* *ret_value is a view of the store, valid until the next write; empty when there is no such
 * key. ret_found may be NULL. False: the error is written. */
bool string_value_read(struct context *context, struct dueq_slice name,
                       struct dueq_slice *ret_value, bool *ret_found);
/* Sets the value and publishes `event`. expires, origin: as in string_set. False: the error is
 * written, nothing is changed. */
bool string_value_write(struct context *context, struct dueq_slice name,
                        struct dueq_slice value, int64_t expires, enum string_origin origin,
                        const char *event);

#endif
