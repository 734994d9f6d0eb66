#include "tests/support/faults/lmdb_disk.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct fake_disk *attached;
static bool skip_syncs;
static off_t data_end;

void lmdb_disk_attach(struct fake_disk *disk)
{
    attached = disk;
}

void lmdb_disk_set_end(off_t end)
{
    data_end = end;
}

void lmdb_disk_skip_syncs(bool skip)
{
    skip_syncs = skip;
}

static bool ends_in(const char *path, const char *end)
{
    size_t size = strlen(path), tail = strlen(end);

    return size >= tail && strcmp(path + size - tail, end) == 0;
}

static bool is_data_file(int fd, char *path)
{
    char link[64];
    ssize_t size;

    if (attached == NULL)
        return false;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    size = readlink(link, path, PATH_MAX - 1);
    path[size < 0 ? 0 : size] = '\0';
    return ends_in(path, "/data.mdb") || ends_in(path, "/data.mdb.new");
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    struct iovec part = {(void *)(uintptr_t)data, size};
    char path[PATH_MAX];

    if (!is_data_file(fd, path))
        return pwritev2(fd, &part, 1, offset, 0);
    return fake_disk_data_write(attached, path, fd, &part, 1, offset);
}

static ssize_t write_to_end(int fd, const struct iovec *parts, int count)
{
    off_t left = data_end - lseek(fd, 0, SEEK_CUR);
    ssize_t put = 0;

    for (int i = 0; i < count && left > 0; i++) {
        size_t size = (off_t)parts[i].iov_len < left ? parts[i].iov_len : (size_t)left;

        if (write(fd, parts[i].iov_base, size) != (ssize_t)size)
            return -1;
        put += (ssize_t)size;
        left -= (off_t)size;
    }
    if (put > 0)
        return put;
    errno = ENOSPC;
    return -1;
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    char path[PATH_MAX];
    ssize_t put;
    off_t offset;

    if (data_end > 0)
        return write_to_end(fd, parts, count);
    if (!is_data_file(fd, path))
        return syscall(SYS_writev, fd, parts, count);
    offset = lseek(fd, 0, SEEK_CUR);
    put = fake_disk_data_write(attached, path, fd, parts, count, offset);
    if (put > 0)
        lseek(fd, put, SEEK_CUR);
    return put;
}

int fdatasync(int fd)
{
    char path[PATH_MAX];

    if (skip_syncs)
        return 0;
    if (!is_data_file(fd, path))
        return (int)syscall(SYS_fdatasync, fd);
    return fake_disk_data_sync(attached, path);
}
