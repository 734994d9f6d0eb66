#include "tools/offline/new_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool complain(const struct new_directory *made, const char *what, const char *path)
{
    fprintf(stderr, "dueq: %s %s %s: %s\n", made->command, what, path, strerror(errno));
    return false;
}

/* The name without slashes at its end; of a directory that is there, without links.
 * ret_name: PATH_MAX bytes. */
static bool find_name(const struct new_directory *made, const char *dir, char *ret_name)
{
    size_t size = strlen(dir);

    if (realpath(dir, ret_name) != NULL)
        return true;
    while (size > 1 && dir[size - 1] == '/')
        size--;
    if (errno != ENOENT || size == 0 || size >= PATH_MAX)
        return complain(made, "makes a directory:", dir);
    memcpy(ret_name, dir, size);
    ret_name[size] = '\0';
    return true;
}

/* Sets errno when it is not. */
static bool is_empty(const char *dir)
{
    DIR *entries = opendir(dir);
    const struct dirent *entry;

    if (entries == NULL)
        return false;
    errno = 0;
    while ((entry = readdir(entries)) != NULL && errno == 0)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            errno = ENOTEMPTY;
    closedir(entries);
    return errno == 0;
}

/* musl 1.2.3 has no statx: what is mounted from the same disk is then found by the rename. */
static bool is_mount_point(const char *dir, const struct stat *stats)
{
#ifdef STATX_ATTR_MOUNT_ROOT
    struct statx more;

    (void)stats;
    return statx(AT_FDCWD, dir, AT_SYMLINK_NOFOLLOW, 0, &more) == 0 &&
           (more.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
#else
    char path[PATH_MAX];
    struct stat parent;

    return snprintf(path, sizeof(path), "%s/..", dir) < (int)sizeof(path) &&
           stat(path, &parent) == 0 && parent.st_dev != stats->st_dev;
#endif
}

/* Rename puts a directory in the place of an empty one, but not of a mount point. */
static bool can_be_replaced(struct new_directory *made, const char *dir)
{
    if (lstat(dir, &made->replaced) != 0)
        return errno == ENOENT;
    made->replaces = true;
    if (is_mount_point(dir, &made->replaced)) {
        errno = EBUSY;
        return false;
    }
    return is_empty(dir);
}

/* Of an earlier attempt nothing may be left but an empty directory. */
static bool make_beside(const struct new_directory *made)
{
    if (rmdir(made->path) != 0 && (errno == ENOTEMPTY || errno == EEXIST)) {
        fprintf(stderr, "dueq: %s is left over from another %s: remove it\n", made->path,
                made->command);
        return false;
    }
    if (mkdir(made->path, 0700) != 0)
        return complain(made, "makes the directory", made->path);
    if (!made->replaces || chown(made->path, made->replaced.st_uid, made->replaced.st_gid) == 0)
        return true;
    complain(made, "cannot keep the owner of the empty directory in", made->path);
    rmdir(made->path);
    return false;
}

static uid_t owner; /* for give, to which nftw hands no argument */
static gid_t group;

static int give(const char *path, const struct stat *found, int type, struct FTW *at)
{
    (void)found;
    (void)type;
    (void)at;
    return lchown(path, owner, group);
}

/* The files get the owner too: those who start a service see to it only when the directory has
 * another one. */
static bool keep_owner_and_mode(const struct new_directory *made)
{
    const struct stat *kept = &made->replaced;
    bool done;
    int fd;

    if (!made->replaces)
        return true;
    owner = kept->st_uid;
    group = kept->st_gid;
    fd = open(made->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    done = fd >= 0 && nftw(made->path, give, 8, FTW_PHYS) == 0 &&
           fchmod(fd, kept->st_mode & 07777) == 0 && syncfs(fd) == 0;
    if (!done)
        complain(made, "cannot keep owner and mode of the empty directory in", made->path);
    if (fd >= 0)
        close(fd);
    return done;
}

/* So that a power cut afterwards leaves all of it. */
static bool sync_parent(const char *dir)
{
    char parent[PATH_MAX + sizeof("/..")];
    bool done;
    int fd;

    snprintf(parent, sizeof(parent), "%s/..", dir);
    fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    done = fd >= 0 && fsync(fd) == 0;
    if (!done)
        fprintf(stderr, "dueq: sync %s: %s\n", parent, strerror(errno));
    if (fd >= 0)
        close(fd);
    return done;
}

bool new_directory_put(struct new_directory *made)
{
    if (!keep_owner_and_mode(made))
        return false;
    if (rename(made->path, made->name) == 0)
        return sync_parent(made->name);
    fprintf(stderr, "dueq: rename %s to %s: %s\n", made->path, made->name, strerror(errno));
    return false;
}

bool new_directory_begin(struct new_directory *made, const char *dir, const char *command)
{
    made->command = command;
    made->replaces = false;
    if (!find_name(made, dir, made->name))
        return false;
    if (snprintf(made->path, sizeof(made->path), "%s.%sing", made->name, command) >=
        (int)sizeof(made->path)) {
        errno = ENAMETOOLONG;
        return complain(made, "makes a directory:", made->name);
    }
    if (!can_be_replaced(made, made->name))
        return complain(made, "makes a directory, or fills an empty one:", made->name);
    return make_beside(made);
}
