#include "tools/terminal/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool library_open(const char *file, const char *package,
                  const struct library_function *functions, size_t count, char *why,
                  size_t size)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        snprintf(why, size, "there is no %s here: apt install %s (%.200s)", file, package,
                 dlerror());
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(library, functions[i].name);

        if (found == NULL) {
            snprintf(why, size, "%s is too old: it has no %s", file, functions[i].name);
            return false;
        }
        memcpy(functions[i].place, &found, sizeof(found));
    }
    return true;
}
