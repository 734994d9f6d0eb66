/* A copy of a large value that is made in parts, each by another step, in memory that the store
 * takes over. The value must not change meanwhile. All zero: none has begun. */
#ifndef DUEQ_LARGE_COPY_H
#define DUEQ_LARGE_COPY_H

#include "storage/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct kv;
struct kv_key;

struct large_copy {
    uint8_t *bytes; /* NULL: it has not begun */
    size_t size;    /* of the value */
    size_t at;      /* bytes that are copied */
};

/* Memory for a large value that is filled in by and by; to be freed with free(). NULL: there is
 * none. O(1). */
uint8_t *large_copy_memory(size_t size);

/* Copies up to `most` bytes more. True: all are copied. False, with copy->bytes NULL: out of
 * memory. */
bool large_copy_part(struct large_copy *copy, struct dueq_slice value, size_t most);
/* Puts the value, which is copied, as a record that is absent, and empties the copy. Ends what
 * is lent to the store. */
void large_copy_put(struct large_copy *copy, struct kv *kv, const struct kv_key *key);
void large_copy_release(struct large_copy *copy);

#endif
