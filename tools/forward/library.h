/* Shared libraries that only `dueq forward` needs, opened when it does: linked with the
 * program, libcurl would bring thirty others into each start and into the server's memory. */
#ifndef DUEQ_LIBRARY_H
#define DUEQ_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct library_function {
    const char *name;
    void *place; /* of a pointer to the function */
};

/* Opens the library, for good, and writes the functions' places. False: *why, `size` bytes,
 * says which package has it. */
bool library_open(const char *file, const char *package,
                  const struct library_function *functions, size_t count, char *why,
                  size_t size);

#endif
