/* LD_PRELOAD: a disk that fails on command, for the files under FAULTY_DISK_PATH.
 *
 * The file FAULTY_DISK_TRIGGER is the switch: while it exists, each of its lines contains a
 * call and its errno, for instance "fdatasync EIO", "write ENOSPC" or "grow ENOSPC".
 *
 * `fdatasync` means fdatasync, fsync and msync. `write` means write, writev, pwrite and
 * pwritev. `grow` means those writes that would make the file longer, fallocate,
 * posix_fallocate, ftruncate and the creation of files: a full disk, on which preallocated
 * blocks can still be written. statvfs then reports no free block.
 *
 * `datasync` means those calls on data.mdb: checkpoints.
 *
 * `replay` means the reading of a whole segment of the journal.
 *
 * HOLD instead of an errno: the call waits until the switch changes.
 *
 * FAULTY_DISK_COUNTDOWN: so many calls of the failing kind succeed first. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long passed;

#define NEXT(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))

static int errno_of(const char *name)
{
    if (strcmp(name, "ENOSPC") == 0)
        return ENOSPC;
    if (strcmp(name, "EROFS") == 0)
        return EROFS;
    return strcmp(name, "EDQUOT") == 0 ? EDQUOT : EIO;
}

enum { HELD = -1 };

/* Returns the errno with which calls of this kind must fail; 0: none. Reads the switch by
 * system calls that this file does not replace. */
static int look(const char *kind)
{
    const char *path = getenv("FAULTY_DISK_TRIGGER"),
               *countdown = getenv("FAULTY_DISK_COUNTDOWN");
    char text[256], *rest = NULL;
    int fd = path ? NEXT(open)(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    ssize_t size = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[size > 0 ? size : 0] = '\0';
    for (char *word = strtok_r(text, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        const char *code = strtok_r(NULL, " \n", &rest);
        if (!code || strcmp(word, kind) != 0)
            continue;
        if (countdown && atomic_fetch_add(&passed, 1) < atol(countdown))
            return 0;
        if (strcmp(code, "HOLD") == 0)
            return HELD;
        return errno_of(code);
    }
    return 0;
}

static int fault(const char *kind)
{
    int found;
    while ((found = look(kind)) == HELD)
        usleep(1000);
    return found;
}

static bool is_ours(const char *path)
{
    const char *prefix = getenv("FAULTY_DISK_PATH");
    return prefix && strncmp(path, prefix, strlen(prefix)) == 0;
}

/* False: the file has no name. */
static bool path_of(int fd, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    if (size < 0)
        return false;
    path[size] = '\0';
    return true;
}

static bool fd_is_ours(int fd)
{
    char path[PATH_MAX];
    return path_of(fd, path) && is_ours(path);
}

static bool is_data_file(int fd)
{
    char path[PATH_MAX];
    const char *name = path_of(fd, path) ? strrchr(path, '/') : NULL;
    return name != NULL && strcmp(name, "/data.mdb") == 0;
}

enum { HEADER_MOST = 4096 }; /* a longer read is not of a header */

static bool is_replay(int fd, size_t size)
{
    char path[PATH_MAX];
    size_t length = path_of(fd, path) ? strlen(path) : 0;
    return size > HEADER_MOST && length > 4 && strcmp(path + length - 4, ".seg") == 0;
}

static bool fails(int fd, const char *kind)
{
    int saved = errno, failure = fd_is_ours(fd) ? fault(kind) : 0;
    errno = failure ? failure : saved;
    return failure != 0;
}

static bool write_fails(int fd, off_t end)
{
    struct stat status;
    if (fails(fd, "write"))
        return true;
    return fstat(fd, &status) == 0 && end > status.st_size && fails(fd, "grow");
}

static off_t size_of(const struct iovec *parts, int count)
{
    off_t size = 0;
    for (int i = 0; i < count; i++)
        size += (off_t)parts[i].iov_len;
    return size;
}

static off_t position(int fd)
{
    int saved = errno;
    off_t offset = lseek(fd, 0, SEEK_CUR);
    errno = saved;
    return offset < 0 ? 0 : offset;
}

/* ---- the calls */

int fdatasync(int fd)
{
    if (is_data_file(fd) && fails(fd, "datasync"))
        return -1;
    return fails(fd, "fdatasync") ? -1 : NEXT(fdatasync)(fd);
}

int fsync(int fd)
{
    return fails(fd, "fdatasync") ? -1 : NEXT(fsync)(fd);
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    return is_replay(fd, size) && fails(fd, "replay") ? -1
                                                      : NEXT(pread)(fd, data, size, offset);
}

ssize_t write(int fd, const void *data, size_t size)
{
    if (fd_is_ours(fd) && write_fails(fd, position(fd) + (off_t)size))
        return -1;
    return NEXT(write)(fd, data, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    if (fd_is_ours(fd) && write_fails(fd, position(fd) + size_of(parts, count)))
        return -1;
    return NEXT(writev)(fd, parts, count);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    return write_fails(fd, offset + (off_t)size) ? -1 : NEXT(pwrite)(fd, data, size, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    return write_fails(fd, offset + size_of(parts, count))
               ? -1
               : NEXT(pwritev)(fd, parts, count, offset);
}

int fallocate(int fd, int mode, off_t offset, off_t size)
{
    return fails(fd, "grow") ? -1 : NEXT(fallocate)(fd, mode, offset, size);
}

int posix_fallocate(int fd, off_t offset, off_t size)
{
    return fails(fd, "grow") ? errno : NEXT(posix_fallocate)(fd, offset, size);
}

int ftruncate(int fd, off_t size)
{
    struct stat status;
    bool grows = fstat(fd, &status) == 0 && size > status.st_size;
    return grows && fails(fd, "grow") ? -1 : NEXT(ftruncate)(fd, size);
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list values;
        va_start(values, flags);
        mode = va_arg(values, mode_t);
        va_end(values);
    }
    int failure =
        flags & O_CREAT && is_ours(path) && access(path, F_OK) != 0 ? fault("grow") : 0;
    if (failure) {
        errno = failure;
        return -1;
    }
    return NEXT(open)(path, flags, mode);
}

static void claim_full(struct statvfs *status)
{
    status->f_bfree = status->f_bavail = 0;
}

int statvfs(const char *path, struct statvfs *status)
{
    int result = NEXT(statvfs)(path, status);
    if (result == 0 && is_ours(path) && fault("grow"))
        claim_full(status);
    return result;
}

int fstatvfs(int fd, struct statvfs *status)
{
    int result = NEXT(fstatvfs)(fd, status);
    if (result == 0 && fd_is_ours(fd) && fault("grow"))
        claim_full(status);
    return result;
}
