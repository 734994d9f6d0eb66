#include "tools/terminal/library.h"

#include <stdio.h>

bool library_open(const char *file, const char *package,
                  const struct library_function *functions, size_t count, char *why,
                  size_t size)
{
    (void)package;
    (void)functions;
    (void)count;
    snprintf(why, size, "this program was built without %s", file);
    return false;
}
