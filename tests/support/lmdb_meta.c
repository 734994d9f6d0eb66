#include "tests/support/lmdb_meta.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { META_PAGE = 4096, META_PAGES = 2 };

/* The bytes that the last unsynced change of a meta page has replaced. */
static struct {
    pthread_mutex_t lock;
    bool unsynced;
    off_t offset;
    size_t size;
    uint8_t before[META_PAGE];
} meta = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_data_file(int fd)
{
    static const char name[] = "/data.mdb";
    char link[64], path[PATH_MAX];
    ssize_t size;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    size = readlink(link, path, sizeof(path));
    return size >= (ssize_t)sizeof(name) - 1 &&
           memcmp(path + size - (sizeof(name) - 1), name, sizeof(name) - 1) == 0;
}

/* A whole page is a new file's; LMDB changes the one that is there from its middle on. */
static bool is_commit(int fd, size_t size, off_t offset)
{
    return offset < META_PAGE * META_PAGES && offset % META_PAGE != 0 && size < META_PAGE &&
           is_data_file(fd);
}

static void remember(int fd, size_t size, off_t offset)
{
    int flags = fcntl(fd, F_GETFL);

    meta.unsynced = flags >= 0 && (flags & O_DSYNC) == 0;
    meta.offset = offset;
    meta.size = size;
    if (syscall(SYS_pread64, fd, meta.before, size, offset) != (long)size)
        abort();
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    ssize_t put;

    if (!is_commit(fd, size, offset))
        return syscall(SYS_pwrite64, fd, data, size, offset);
    pthread_mutex_lock(&meta.lock);
    remember(fd, size, offset);
    put = syscall(SYS_pwrite64, fd, data, size, offset);
    pthread_mutex_unlock(&meta.lock);
    return put;
}

int fdatasync(int fd)
{
    int result = (int)syscall(SYS_fdatasync, fd);

    if (result == 0 && is_data_file(fd)) {
        pthread_mutex_lock(&meta.lock);
        meta.unsynced = false;
        pthread_mutex_unlock(&meta.lock);
    }
    return result;
}

bool lmdb_meta_undo(const char *dir)
{
    bool undo = meta.unsynced;
    char path[PATH_MAX];
    int fd;

    meta.unsynced = false;
    if (!undo)
        return false;
    snprintf(path, sizeof(path), "%s/data.mdb", dir);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || syscall(SYS_pwrite64, fd, meta.before, meta.size, meta.offset) < 0)
        abort();
    close(fd);
    return true;
}
