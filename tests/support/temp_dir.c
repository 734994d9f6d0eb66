#include "tests/support/temp_dir.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPEN_DIRECTORIES = 16 };

char *temp_dir_new(void)
{
    const char *parent = getenv("TMPDIR");
    char *path = NULL;
    if (asprintf(&path, "%s/dueq-test-XXXXXX", parent && *parent ? parent : "/tmp") < 0 ||
        !mkdtemp(path)) {
        perror("a directory for the test");
        abort();
    }
    return path;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void temp_dir_remove(char *path)
{
    if (path)
        nftw(path, remove_entry, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
    free(path);
}

int temp_dir_replace(const char *from, const char *path)
{
    nftw(path, remove_entry, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
    return rename(from, path);
}
