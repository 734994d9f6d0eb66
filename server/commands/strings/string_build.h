/* Strings that are made of others, and may have 500 MB: a part is computed in each slice (see
 * server/dispatch/long_work.h), and only the last slice writes. Nothing is copied twice: the
 * store takes the memory over. Until then others read the old value, and requests that would
 * write one of the keys wait. */
#ifndef DUEQ_STRING_BUILD_H
#define DUEQ_STRING_BUILD_H

#include "server/dispatch/context.h"

struct string_build_form {
    /* Computes bytes[from] to bytes[to - 1]. False: the error is written. */
    bool (*fill)(struct context *context, void *arg, uint8_t *bytes, size_t from, size_t to);
    /* Writes the value, with string_value_write, and the reply. */
    enum outcome (*end)(struct context *context, void *arg, struct dueq_slice value);
};

/* To be called in each slice with what the arguments and the keys say then, `arg` and the size
 * of the result; a slice that finds another size, or another value, begins again. `reads`:
 * bytes that are read for each byte of the result. The caller has checked the size. */
enum outcome string_build(struct context *context, const struct string_build_form *form,
                          void *arg, size_t size, size_t reads);

/* ---- for a string that is computed in another way */

/* Calls `store` with the value, in memory of large_copy_memory, as string_build_form.end.
 * *bytes becomes NULL when the store has taken it over. */
enum outcome string_build_store(struct context *context,
                                enum outcome (*store)(struct context *context, void *arg,
                                                      struct dueq_slice value),
                                void *arg, uint8_t **bytes, size_t size);

#endif
