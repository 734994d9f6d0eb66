/* The memory of the process, as the kernel counts it: malloc would walk over all that is free,
 * 50 ms after a million topics. */
#ifndef DUEQ_PROCESS_MEMORY_H
#define DUEQ_PROCESS_MEMORY_H

#include <stdint.h>

struct process_memory {
    uint64_t resident; /* bytes, with pages of files */
    uint64_t own;      /* of these, heap and memtables */
    uint64_t peak;     /* of `own`, as far as somebody has looked */
};

/* What is not known is 0. Some 10 usec. The server looks once a second, for the peak. */
struct process_memory process_memory_read(void);

#endif
