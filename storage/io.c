#include "storage/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef RWF_APPEND
#define RWF_APPEND 0x10 /* of Linux; not every libc names it */
#endif

_Static_assert(sizeof(off_t) == 8, "build with -D_FILE_OFFSET_BITS=64");

static int system_open(void *arg, const char *path, int flags, mode_t mode)
{
    (void)arg;
    return open(path, flags | O_CLOEXEC, mode);
}

static int system_close(void *arg, int fd)
{
    (void)arg;
    return close(fd);
}

static ssize_t system_pread(void *arg, int fd, void *data, size_t size, off_t offset)
{
    (void)arg;
    return pread(fd, data, size, offset);
}

static ssize_t system_pwritev(void *arg, int fd, const struct iovec *parts, int count,
                              off_t offset)
{
    (void)arg;
    return pwritev(fd, parts, count, offset);
}

static int system_fdatasync(void *arg, int fd)
{
    (void)arg;
    return fdatasync(fd);
}

/* Makes the file that long. The kernel finds the end and writes there in one step, so the zeros
 * never replace what another thread writes meanwhile, as those of posix_fallocate may. */
static int append_zeros(int fd, off_t end)
{
    static uint8_t zeros[4096]; /* not const: no bytes of the file, and small in memory */
    struct stat stats;

    while (fstat(fd, &stats) == 0) {
        off_t left = end - stats.st_size;
        struct iovec part = {zeros, left < (off_t)sizeof(zeros) ? (size_t)left : sizeof(zeros)};

        if (left <= 0)
            return 0;
        if (syscall(SYS_pwritev2, fd, &part, 1, 0L, 0L, RWF_APPEND) <= 0)
            return -1;
    }
    return -1;
}

/* Some file systems have no such call (JFFS2, UBIFS, NFS 3). There holes stay holes, and a disk
 * that is full is noticed when they are filled. */
static int system_fallocate(void *arg, int fd, off_t offset, off_t size)
{
    (void)arg;
    if (fallocate(fd, 0, offset, size) == 0)
        return 0;
    return errno == EOPNOTSUPP || errno == ENOSYS ? append_zeros(fd, offset + size) : -1;
}

static int system_rename(void *arg, const char *from, const char *to)
{
    (void)arg;
    return rename(from, to);
}

static int system_unlink(void *arg, const char *path)
{
    (void)arg;
    return unlink(path);
}

static int system_fsync_dir(void *arg, const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), result;

    (void)arg;
    if (fd < 0)
        return -1;
    result = fsync(fd);
    close(fd);
    return result;
}

static int system_fsync_open_dir(void *arg, int fd)
{
    (void)arg;
    return fsync(fd);
}

static int system_forget(void *arg, int fd)
{
    int error = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);

    (void)arg;
    errno = error;
    return error == 0 ? 0 : -1;
}

static int system_free_bytes(void *arg, const char *path, uint64_t *ret_bytes)
{
    struct statvfs stats;

    (void)arg;
    if (statvfs(path, &stats) != 0)
        return -1;
    *ret_bytes = (uint64_t)stats.f_bavail * stats.f_frsize;
    return 0;
}

static uint64_t system_monotonic_usec(void *arg)
{
    struct timespec now;

    (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

const struct dueq_io io_system = {
    .open = system_open,
    .close = system_close,
    .pread = system_pread,
    .pwritev = system_pwritev,
    .fdatasync = system_fdatasync,
    .fallocate = system_fallocate,
    .rename = system_rename,
    .unlink = system_unlink,
    .fsync_dir = system_fsync_dir,
    .fsync_open_dir = system_fsync_open_dir,
    .forget = system_forget,
    .free_bytes = system_free_bytes,
    .monotonic_usec = system_monotonic_usec,
};

bool io_is_file(int fd)
{
    struct stat stats;

    return fstat(fd, &stats) == 0 && S_ISREG(stats.st_mode);
}

int io_write(const struct dueq_io *io, int fd, const void *bytes, size_t size, uint64_t offset)
{
    const uint8_t *from = bytes;

    for (size_t done = 0; done < size;) {
        struct iovec part = {(void *)(uintptr_t)(from + done), size - done};
        ssize_t put = io->pwritev(io->arg, fd, &part, 1, (off_t)(offset + done));

        if (put < 0 && errno == EINTR)
            continue;
        if (put == 0)
            errno = EIO;
        if (put <= 0)
            return -1;
        done += (size_t)put;
    }
    return 0;
}
