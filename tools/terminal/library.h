/* Shared libraries that only one subcommand needs, opened when it does: linked, they would cost
 * each start and each server memory (libcurl brings thirty others, libedit and ncurses 0.5 MB).
 * Programs that open none have library_none.c. */
#ifndef DUEQ_LIBRARY_H
#define DUEQ_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct library_function {
    const char *name;
    void *place; /* of a pointer to the function */
};

/* Opens the library by its name with the version of its interface ("libedit.so.2"), for good,
 * and writes the functions' places. False: *why, `size` bytes, says which package has it. */
bool library_open(const char *file, const char *package,
                  const struct library_function *functions, size_t count, char *why,
                  size_t size);

#endif
