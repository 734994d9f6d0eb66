/* Memory that grows to any size without a copy of all of it. From GROWN_MAPPED bytes on it is a
 * mapping of its own, whose pages the kernel moves. realloc copies when the memory began where
 * many small blocks had been: then it grows in place until that room ends, at 300 MB perhaps.
 * Below it is malloc's. So the size tells how it is to be freed.
 *
 * A new mapping costs more than what is written into it, as the kernel clears each page when it
 * is first touched. So freed ones are kept for whoever is next, GROWN_KEPT_MOST bytes in all:
 * of each size that a buffer has while it doubles, from GROWN_MAPPED up to GROWN_SPARE_MOST.
 * Any thread may call. */
#ifndef DUEQ_GROWN_MEMORY_H
#define DUEQ_GROWN_MEMORY_H

#include <stddef.h>

enum {
    GROWN_MAPPED = 128 * 1024,
    GROWN_SPARE_MOST = 1024 * 1024,
    GROWN_KEPT_MOST = 4 * 1024 * 1024
};

/* Memory of `size` bytes (NULL: 0) gets a new size that is not smaller. Copies less than
 * GROWN_SPARE_MOST bytes. NULL: out of memory, and it stays as it was. */
void *grown_memory_resize(void *memory, size_t size, size_t new_size);
void grown_memory_free(void *memory, size_t size); /* NULL: no-op */

/* Gives the freed ones that are kept back to the system. */
void grown_memory_give_back(void);

#endif
