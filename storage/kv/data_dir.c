#include "storage/kv/data_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char format[] = "dueq 1\n";

/* Unless the parent can be written but not read. -1: errno. */
static int sync_name(const char *dir, const struct dueq_io *io)
{
    char parent[PATH_MAX];

    snprintf(parent, sizeof(parent), "%.*s/..", PATH_MAX - 4, dir);
    return io->fsync_dir(io->arg, parent) == 0 || errno == EACCES ? 0 : -1;
}

/* A process that made the directory may have been killed before it synced its name: FORMAT is
 * written after that. */
static enum dueq_status write_format(int fd, const char *dir, const struct dueq_io *io,
                                     struct dueq_error *error)
{
    if (sync_name(dir, io) != 0)
        return dueq_fail(error, DUEQ_IO, "cannot sync the name of %s: %s", dir,
                         strerror(errno));
    if (pwrite(fd, format, sizeof(format) - 1, 0) != (ssize_t)sizeof(format) - 1 ||
        fsync(fd) != 0)
        return dueq_fail(error, DUEQ_IO, "cannot write %s/FORMAT: %s", dir, strerror(errno));
    return DUEQ_OK;
}

/* The lock is on the FORMAT file: the kernel releases it however the process ends. */
static enum dueq_status check_format(int fd, const char *dir, const struct dueq_io *io,
                                     struct dueq_error *error)
{
    char found[64] = "";
    ssize_t size = pread(fd, found, sizeof(found) - 1, 0);

    if (size < 0)
        return dueq_fail(error, DUEQ_IO, "cannot read %s/FORMAT: %s", dir, strerror(errno));
    if (size == 0 || found[0] == '\0') /* new, or a power cut came before the write */
        return write_format(fd, dir, io, error);
    if (strcmp(found, format) == 0)
        return DUEQ_OK;
    found[strcspn(found, "\n")] = '\0';
    return dueq_fail(
        error, DUEQ_FORMAT,
        "%s/FORMAT says \"%s\", this version reads \"dueq 1\": use the dueq that wrote it", dir,
        found);
}

enum dueq_status data_dir_lock(const char *dir, const struct dueq_io *io, int *ret_fd,
                               struct dueq_error *error)
{
    char path[PATH_MAX];
    enum dueq_status status;
    int fd;

    if (snprintf(path, sizeof(path), "%s/FORMAT", dir) >= (int)sizeof(path))
        return dueq_fail(error, DUEQ_INVALID, "the path %s is too long", dir);
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return dueq_fail(error, DUEQ_IO, "cannot create %s: %s", dir, strerror(errno));
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return dueq_fail(error, DUEQ_IO, "cannot open %s: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return dueq_fail(error, DUEQ_LOCKED, "%s is in use by another process", dir);
    }
    status = check_format(fd, dir, io, error);
    if (status != DUEQ_OK) {
        close(fd);
        return status;
    }
    *ret_fd = fd;
    return DUEQ_OK;
}

/* Of a later version, or damaged? */
static enum dueq_status check_damaged_format(int fd, const char *dir, struct dueq_error *error)
{
    char found[64] = "";
    ssize_t size = pread(fd, found, sizeof(found) - 1, 0);
    unsigned version = 0;

    if (size > 0 && strcmp(found, format) == 0)
        return DUEQ_OK;
    if (size > 0 && sscanf(found, "dueq %u\n", &version) == 1 && version > 1 &&
        strlen(found) < sizeof("dueq 1000\n"))
        return dueq_fail(error, DUEQ_FORMAT,
                         "%s/FORMAT says that version %u wrote it: use the dueq that wrote it",
                         dir, version);
    return dueq_fail(error, DUEQ_CORRUPT, "FORMAT is damaged");
}

enum dueq_status data_dir_lock_to_read(const char *dir, int *ret_fd, struct dueq_error *error)
{
    char path[PATH_MAX];
    enum dueq_status status;
    int fd;

    *ret_fd = -1;
    if (snprintf(path, sizeof(path), "%s/FORMAT", dir) >= (int)sizeof(path))
        return dueq_fail(error, DUEQ_INVALID, "the path %s is too long", dir);
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return dueq_fail(error, errno == ENOENT ? DUEQ_CORRUPT : DUEQ_IO, "cannot open %s: %s",
                         path, strerror(errno));
    if (flock(fd, LOCK_SH | LOCK_NB) != 0) {
        close(fd);
        return dueq_fail(error, DUEQ_LOCKED, "%s is in use by another process", dir);
    }
    status = check_damaged_format(fd, dir, error);
    if (status == DUEQ_FORMAT)
        close(fd);
    else
        *ret_fd = fd;
    return status;
}

/* Only a folder that can be read can be found to be empty. */
static bool is_empty(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *found;
    bool empty = true;

    if (dir == NULL)
        return errno == ENOENT;
    while (empty && (found = readdir(dir)) != NULL)
        empty = found->d_name[0] == '.';
    closedir(dir);
    return empty;
}

bool data_dir_has_journal(const char *dir)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%.*s/journal", PATH_MAX - 16, dir);
    return !is_empty(path);
}

bool data_dir_has_empty_journal(const char *dir)
{
    char path[PATH_MAX];
    struct stat named;

    snprintf(path, sizeof(path), "%.*s/journal", PATH_MAX - 16, dir);
    return stat(path, &named) == 0 && is_empty(path);
}

bool data_dir_is_new(const char *dir)
{
    char path[PATH_MAX];
    struct stat named;

    snprintf(path, sizeof(path), "%.*s/lock.mdb", PATH_MAX - 16, dir);
    if (lstat(path, &named) == 0 || errno != ENOENT)
        return false;
    return !data_dir_has_journal(dir);
}

void data_dir_unlock(int fd)
{
    if (fd >= 0)
        close(fd);
}
