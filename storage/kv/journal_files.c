#include "storage/kv/journal_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILL_STEP = 1024 * 1024 };

/* ---- names */

void journal_files_live_path(const struct journal_files *files, uint64_t number, char *path)
{
    snprintf(path, PATH_MAX, "%s/%016" PRIx64 ".seg", files->path, number);
}

static void spare_path(const struct journal_files *files, uint64_t number, char *path)
{
    snprintf(path, PATH_MAX, "%s/spare-%016" PRIx64 ".seg", files->path, number);
}

static void reserve_path(const struct journal_files *files, char *path)
{
    snprintf(path, PATH_MAX, "%s/reserve.seg", files->path);
}

static void half_made_path(const struct journal_files *files, uint64_t number, char *path)
{
    snprintf(path, PATH_MAX, "%s/new-%016" PRIx64 ".tmp", files->path, number);
}

/* The number in a name of exactly that form; 0: it is none. */
static uint64_t number_in(const char *name, const char *prefix)
{
    size_t skip = strlen(prefix);
    char *end;
    uint64_t number;

    if (strncmp(name, prefix, skip) != 0 || strlen(name) != skip + 16 + 4)
        return 0;
    number = strtoull(name + skip, &end, 16);
    return strcmp(end, ".seg") == 0 && end == name + skip + 16 ? number : 0;
}

/* ---- opening */

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static bool add_number(struct journal_listing *listing, uint64_t number)
{
    uint64_t *grown;

    if ((listing->count & (listing->count + 1)) == 0) { /* at 0, 1, 3, 7, ... */
        grown = realloc(listing->numbers, (listing->count * 2 + 2) * sizeof(*grown));
        if (grown == NULL)
            return false;
        listing->numbers = grown;
    }
    listing->numbers[listing->count++] = number;
    return true;
}

static enum dueq_status list(struct journal_files *files, struct journal_listing *listing,
                             struct dueq_error *error)
{
    DIR *dir = opendir(files->path);
    struct dirent *found;

    if (dir == NULL)
        return dueq_fail(error, DUEQ_IO, "cannot list %s: %s", files->path, strerror(errno));
    while ((found = readdir(dir)) != NULL) {
        uint64_t live = number_in(found->d_name, "");
        uint64_t spare = number_in(found->d_name, "spare-");

        if (live + spare >= files->next_number)
            files->next_number = live + spare + 1;
        if (live != 0 && !add_number(listing, live)) {
            closedir(dir);
            return dueq_fail(error, DUEQ_NOMEM, "out of memory");
        }
    }
    closedir(dir);
    if (listing->count > 1)
        qsort(listing->numbers, listing->count, sizeof(uint64_t), compare_numbers);
    return DUEQ_OK;
}

enum dueq_status journal_files_open(struct journal_files *files, const char *dir,
                                    const struct kv_io *io, size_t segment_bytes,
                                    struct journal_listing *ret_listing,
                                    struct dueq_error *error)
{
    enum dueq_status status;

    memset(files, 0, sizeof(*files));
    pthread_mutex_init(&files->lock, NULL);
    files->io = io;
    files->segment_bytes = segment_bytes;
    files->next_number = 1;
    if (snprintf(files->path, sizeof(files->path), "%s/journal", dir) >=
        (int)sizeof(files->path))
        return dueq_fail(error, DUEQ_INVALID, "the path %s is too long", dir);
    if (mkdir(files->path, 0700) != 0 && errno != EEXIST)
        return dueq_fail(error, DUEQ_IO, "cannot create %s: %s", files->path, strerror(errno));
    if (io->fsync_dir(io->arg, dir) != 0) /* whoever has made it may have been killed then */
        return dueq_fail(error, DUEQ_IO, "cannot sync %s: %s", dir, strerror(errno));
    *ret_listing = (struct journal_listing){0};
    status = list(files, ret_listing, error);
    if (status != DUEQ_OK)
        free(ret_listing->numbers);
    return status;
}

void journal_files_close(struct journal_files *files)
{
    pthread_mutex_destroy(&files->lock);
}

/* ---- reading */

/* -1: errno. */
static int read_at(const struct kv_io *io, int fd, uint8_t *bytes, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = io->pread(io->arg, fd, bytes + done, size - done, (off_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            errno = EIO; /* shorter than it was */
        if (got == 0)
            return -1;
        done += (size_t)got;
    }
    return 0;
}

/* What the kernel has in memory is not to be believed: after a sync that failed it may be
 * nowhere else. So it is synced, forgotten, and read off the disk. NULL: errno. */
static uint8_t *read_off_disk(const struct kv_io *io, int fd, size_t most, size_t *ret_size)
{
    struct stat stats;
    uint8_t *bytes;
    size_t size;

    if (io->fdatasync(io->arg, fd) != 0 || fstat(fd, &stats) != 0)
        return NULL;
    io->forget(io->arg, fd);
    size = (size_t)stats.st_size < most ? (size_t)stats.st_size : most;
    bytes = malloc(size + 1);
    if (bytes == NULL)
        return NULL;
    if (read_at(io, fd, bytes, size) != 0) {
        free(bytes);
        return NULL;
    }
    *ret_size = size;
    return bytes;
}

enum dueq_status journal_files_read(const struct journal_files *files, uint64_t number,
                                    size_t most, uint8_t **ret_bytes, size_t *ret_size,
                                    struct dueq_error *error)
{
    const struct kv_io *io = files->io;
    char path[PATH_MAX];
    uint8_t *bytes;
    int fd, failed;

    journal_files_live_path(files, number, path);
    fd = io->open(io->arg, path, O_RDONLY, 0);
    if (fd < 0)
        return dueq_fail(error, DUEQ_IO, "cannot open %s: %s", path, strerror(errno));
    bytes = read_off_disk(io, fd, most, ret_size);
    failed = errno;
    io->close(io->arg, fd);
    if (bytes == NULL)
        return dueq_fail(error, failed == ENOMEM ? DUEQ_NOMEM : DUEQ_IO, "cannot read %s: %s",
                         path, strerror(failed));
    *ret_bytes = bytes;
    return DUEQ_OK;
}

/* ---- making */

static bool no_room(int error)
{
    return error == ENOSPC || error == EDQUOT;
}

/* Writes zeros, so that the blocks are there and later syncs have no metadata to write. */
static int fill(const struct journal_files *files, int fd, size_t size)
{
    const struct kv_io *io = files->io;
    uint8_t *zeros = calloc(1, FILL_STEP);
    size_t done = 0;

    if (zeros == NULL) {
        errno = ENOMEM;
        return -1;
    }
    while (done < size) {
        struct iovec part = {zeros, size - done < FILL_STEP ? size - done : FILL_STEP};
        ssize_t put = io->pwritev(io->arg, fd, &part, 1, (off_t)done);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            free(zeros);
            return -1;
        }
        done += (size_t)put;
    }
    free(zeros);
    return io->fdatasync(io->arg, fd);
}

static int allocate(const struct kv_io *io, int fd, size_t size)
{
    int result;

    do
        result = io->fallocate(io->arg, fd, 0, (off_t)size);
    while (result != 0 && errno == EINTR);
    return result;
}

/* Closes and removes what cannot be used after all; errno stays. -1. */
static int give_up(const struct journal_files *files, int fd, const char *path)
{
    const struct kv_io *io = files->io;
    int error = errno;

    if (fd >= 0)
        io->close(io->arg, fd);
    io->unlink(io->arg, path);
    errno = error;
    return -1;
}

/* Makes a file of `size` bytes under a temporary name and renames it. -1: errno. */
static int make_file(const struct journal_files *files, const char *path, uint64_t number,
                     size_t size, bool zeros)
{
    const struct kv_io *io = files->io;
    char half_made[PATH_MAX];
    int fd;

    half_made_path(files, number, half_made);
    fd = io->open(io->arg, half_made, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        return -1;
    if (allocate(io, fd, size) == 0 && (!zeros || fill(files, fd, size) == 0) &&
        io->rename(io->arg, half_made, path) == 0)
        return fd;
    return give_up(files, fd, half_made);
}

/* ---- tidying up */

static void adopt_reserve(struct journal_files *files)
{
    char path[PATH_MAX];
    struct stat stats;

    reserve_path(files, path);
    if (stat(path, &stats) != 0)
        return;
    files->reserve = (size_t)stats.st_size == files->segment_bytes;
    if (!files->reserve)
        files->io->unlink(files->io->arg, path);
}

/* Overwrites an old spare, which takes no room on a disk that may be full. -1: no use. */
static int wash(const struct journal_files *files, const char *path)
{
    const struct kv_io *io = files->io;
    int fd = io->open(io->arg, path, O_RDWR, 0), result;
    struct stat stats;

    if (fd < 0)
        return -1;
    result = fstat(fd, &stats);
    if (result == 0)
        result = (size_t)stats.st_size == files->segment_bytes
                     ? fill(files, fd, files->segment_bytes)
                     : -1;
    io->close(io->arg, fd);
    return result;
}

static void tidy_spare(struct journal_files *files, const char *path)
{
    const struct kv_io *io = files->io;
    char reserve[PATH_MAX];

    reserve_path(files, reserve);
    if (!files->reserve && wash(files, path) == 0 && io->rename(io->arg, path, reserve) == 0)
        files->reserve = true;
    else
        io->unlink(io->arg, path);
}

void journal_files_tidy(struct journal_files *files)
{
    DIR *dir = opendir(files->path);
    struct dirent *found;
    char path[PATH_MAX];

    adopt_reserve(files);
    while (dir != NULL && (found = readdir(dir)) != NULL) {
        uint64_t spare = number_in(found->d_name, "spare-");

        if (snprintf(path, sizeof(path), "%s/%s", files->path, found->d_name) >=
            (int)sizeof(path))
            continue;
        if (spare != 0)
            tidy_spare(files, path);
        else if (strncmp(found->d_name, "new-", 4) == 0)
            files->io->unlink(files->io->arg, path);
    }
    if (dir != NULL)
        closedir(dir);
}

/* ---- coming and going */

static uint64_t new_number(struct journal_files *files)
{
    uint64_t number;

    pthread_mutex_lock(&files->lock);
    number = files->next_number++;
    pthread_mutex_unlock(&files->lock);
    return number;
}

/* Takes one out of the list; 0: none. */
static uint64_t pick_spare(struct journal_files *files)
{
    uint64_t number = 0;

    pthread_mutex_lock(&files->lock);
    for (int i = 0; i < JOURNAL_SPARES && number == 0; i++) {
        number = files->spares[i];
        files->spares[i] = 0;
    }
    pthread_mutex_unlock(&files->lock);
    return number;
}

static bool want_spare(struct journal_files *files)
{
    bool wanted = true;

    pthread_mutex_lock(&files->lock);
    for (int i = 0; i < JOURNAL_SPARES; i++)
        wanted = wanted && files->spares[i] == 0;
    pthread_mutex_unlock(&files->lock);
    return wanted;
}

/* False: there are enough. */
static bool keep_spare(struct journal_files *files, uint64_t number)
{
    bool kept = false;

    pthread_mutex_lock(&files->lock);
    for (int i = 0; i < JOURNAL_SPARES && !kept; i++)
        if (files->spares[i] == 0) {
            files->spares[i] = number;
            kept = true;
        }
    pthread_mutex_unlock(&files->lock);
    return kept;
}

/* Renames and opens. -1: it could not be had. */
static int take_file(const struct journal_files *files, const char *from, const char *to)
{
    const struct kv_io *io = files->io;
    int fd;

    if (io->rename(io->arg, from, to) != 0)
        return -1;
    fd = io->open(io->arg, to, O_RDWR, 0);
    return fd >= 0 ? fd : give_up(files, fd, to);
}

static int take_spare(struct journal_files *files, const char *path)
{
    uint64_t number = pick_spare(files);
    char spare[PATH_MAX];

    if (number == 0)
        return -1;
    spare_path(files, number, spare);
    return take_file(files, spare, path);
}

/* The reserve outlives openings, so that a full disk can be drained after one. It must not come
 * back written to: its new name is on disk before the first byte. -1: errno; left alone when
 * there is none. */
static int take_reserve(struct journal_files *files, const char *path)
{
    const struct kv_io *io = files->io;
    char reserve[PATH_MAX];
    bool there;
    int fd;

    pthread_mutex_lock(&files->lock);
    there = files->reserve;
    files->reserve = false;
    pthread_mutex_unlock(&files->lock);
    reserve_path(files, reserve);
    fd = there ? take_file(files, reserve, path) : -1;
    if (fd < 0 || io->fsync_dir(io->arg, files->path) == 0)
        return fd;
    return give_up(files, fd, path);
}

enum dueq_status journal_files_take(struct journal_files *files, size_t size,
                                    struct segment_file *ret_segment, bool *ret_reserve)
{
    bool ordinary = size <= files->segment_bytes;
    uint64_t number = new_number(files);
    char path[PATH_MAX];
    int fd = -1;

    if (ordinary)
        size = files->segment_bytes;
    *ret_reserve = false;
    journal_files_live_path(files, number, path);
    if (ordinary)
        fd = take_spare(files, path);
    if (fd < 0)
        fd = make_file(files, path, number, size, false);
    if (fd < 0 && no_room(errno)) {
        *ret_reserve = true;
        if (ordinary)
            fd = take_reserve(files, path);
    }
    if (fd < 0)
        return no_room(errno) ? DUEQ_FULL : DUEQ_IO;
    *ret_segment = (struct segment_file){.number = number, .size = size, .fd = fd};
    return DUEQ_OK;
}

void journal_files_retire(struct journal_files *files, uint64_t number, uint64_t size)
{
    const struct kv_io *io = files->io;
    char path[PATH_MAX], spare[PATH_MAX];

    journal_files_live_path(files, number, path);
    spare_path(files, number, spare);
    if (size != files->segment_bytes || io->rename(io->arg, path, spare) != 0)
        io->unlink(io->arg, path);
    else if (!keep_spare(files, number))
        io->unlink(io->arg, spare);
}

static bool prepare_reserve(struct journal_files *files)
{
    char path[PATH_MAX];
    int fd;

    reserve_path(files, path);
    fd = make_file(files, path, new_number(files), files->segment_bytes, false);
    if (fd < 0)
        return false;
    files->io->close(files->io->arg, fd);
    pthread_mutex_lock(&files->lock);
    files->reserve = true;
    pthread_mutex_unlock(&files->lock);
    return true;
}

static bool prepare_spare(struct journal_files *files)
{
    uint64_t number = new_number(files);
    char path[PATH_MAX];
    int fd;

    spare_path(files, number, path);
    fd = make_file(files, path, number, files->segment_bytes, true);
    if (fd < 0)
        return false;
    files->io->close(files->io->arg, fd);
    keep_spare(files, number);
    return true;
}

bool journal_files_prepare(struct journal_files *files)
{
    bool reserve, made = false;

    pthread_mutex_lock(&files->lock);
    reserve = files->reserve;
    pthread_mutex_unlock(&files->lock);
    if (!reserve) {
        if (!prepare_reserve(files))
            return false;
        made = true;
    }
    if (want_spare(files)) {
        if (!prepare_spare(files))
            return false;
        made = true;
    }
    return !made || files->io->fsync_dir(files->io->arg, files->path) == 0;
}
