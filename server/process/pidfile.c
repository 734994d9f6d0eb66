#include "server/process/pidfile.h"

#include <stdio.h>
#include <unistd.h>

bool pidfile_write(const char *path)
{
    FILE *file = fopen(path, "we");
    bool good = file != NULL && fprintf(file, "%d\n", (int)getpid()) > 0;

    if (file != NULL)
        good = fclose(file) == 0 && good;
    return good;
}

void pidfile_remove(const char *path)
{
    FILE *file = fopen(path, "re");
    int pid = 0;

    if (file == NULL)
        return;
    if (fscanf(file, "%d", &pid) != 1)
        pid = 0;
    fclose(file);
    if (pid == (int)getpid())
        unlink(path);
}
