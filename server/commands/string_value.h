/* Values of strings as commands read and write them: a missing key reads as empty, errors are
 * replied, writes are notified. O(size) of the value. */
#ifndef DUEQ_STRING_VALUE_H
#define DUEQ_STRING_VALUE_H

#include "server/dispatch/context.h"
#include "storage/keys/keys.h"
#include "storage/keys/string.h"

/* Bytes that a command may make a string have at most: proto-max-bulk-len as in Redis, and
 * never more than the store keeps. O(1). */
size_t string_value_max(const struct context *context);

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
