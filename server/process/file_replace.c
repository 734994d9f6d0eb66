#include "server/process/file_replace.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t put = write(fd, bytes, size);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        bytes += put;
        size -= (size_t)put;
    }
    return true;
}

/* The new file gets the mode of the old one and, where that is permitted, its owner. */
static void inherit(int fd, const char *path)
{
    struct stat old;

    if (stat(path, &old) != 0)
        return;
    if (fchown(fd, old.st_uid, old.st_gid) != 0)
        errno = 0; /* then the user of the server owns it */
    fchmod(fd, old.st_mode & 07777);
}

static bool sync_directory_of(const char *path)
{
    char *copy = strdup(path);
    int fd = copy == NULL ? -1 : open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;

    if (fd >= 0)
        close(fd);
    free(copy);
    return good;
}

bool file_replace(const char *path, const char *content, size_t size)
{
    char *temporary;
    int fd;
    bool good;

    if (asprintf(&temporary, "%s.XXXXXX.tmp", path) < 0)
        return false;
    fd = mkostemps(temporary, 4, O_CLOEXEC);
    if (fd < 0) {
        free(temporary);
        return false;
    }
    inherit(fd, path);
    good = write_all(fd, content, size) && fsync(fd) == 0 && rename(temporary, path) == 0;
    if (!good) {
        int why = errno;

        unlink(temporary);
        errno = why;
    }
    close(fd);
    free(temporary);
    return good && sync_directory_of(path);
}
