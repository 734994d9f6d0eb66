/* What nobody needs any more, and is too much to be freed in one turn: a gigabyte of output
 * takes 100 ms. One list for the process, as the client of whom it was is gone. Only for the
 * loop. */
#ifndef DUEQ_SPENT_H
#define DUEQ_SPENT_H

#include <stdbool.h>
#include <stddef.h>

/* Frees memory of `size` bytes that malloc has made: later when that takes long, which is from
 * more than SPENT_AT_ONCE bytes on. NULL: no-op. */
enum { SPENT_AT_ONCE = 2 << 20 };
void spent_memory(void *memory, size_t size);
void spent_grown_memory(void *memory, size_t size); /* the same of protocol/grown_memory.h */

/* The first member of an object that has many parts. */
struct spent {
    struct spent *next;
    size_t size;                            /* of memory */
    bool (*free_some)(struct spent *spent); /* true: the object is freed */
};

enum { SPENT_PARTS = 2000 }; /* that free_some frees: some 100 usec */

/* The object is freed later, by calls of free_some. */
void spent_add(struct spent *spent, bool (*free_some)(struct spent *spent));

bool spent_any(void);
void spent_free_some(void); /* some 100 usec */

#endif
