/* Gives the free memory of the heap back to the system bit by bit. malloc_trim does so in one
 * call, which takes as long as the kernel needs for all of the pages: 33 ms for 300 MB. So
 * large free parts are taken from the heap, their pages are given back, and only when there are
 * no more of them are they freed, with malloc_trim for the rest. Meanwhile they are nobody's
 * memory. Only for the loop, whose turns do it (containers/spent.h).
 *
 * Where the C library is not glibc, it gives memory back by itself: nothing is done. */
#ifndef DUEQ_HEAP_RETURN_H
#define DUEQ_HEAP_RETURN_H

#include <stdbool.h>
#include <stddef.h>

/* No-op while it runs. most: bytes that it may take, so that it ends: what the process has is
 * enough. */
void heap_return_begin(size_t most);
bool heap_return_runs(void);

#endif
