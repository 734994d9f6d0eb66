#include "storage/kv/journal/journal_files.h"

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

/* Returns the number in a name of exactly that form; 0: the name has another form. */
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

static enum dueq_status begin(struct journal_files *files, const char *dir,
                              const struct dueq_io *io, struct dueq_error *error)
{
    memset(files, 0, sizeof(*files));
    files->io = io;
    files->dir = -1;
    files->next_number = 1;
    if (snprintf(files->path, sizeof(files->path), "%s/journal", dir) >=
        (int)sizeof(files->path))
        return dueq_fail(error, DUEQ_INVALID, "the path %s is too long", dir);
    pthread_mutex_init(&files->lock, NULL);
    return DUEQ_OK;
}

static enum dueq_status list_anew(struct journal_files *files,
                                  struct journal_listing *ret_listing, struct dueq_error *error)
{
    enum dueq_status status;

    *ret_listing = (struct journal_listing){0};
    status = list(files, ret_listing, error);
    if (status != DUEQ_OK)
        free(ret_listing->numbers);
    return status;
}

enum dueq_status journal_files_look(struct journal_files *files, const char *dir,
                                    const struct dueq_io *io,
                                    struct journal_listing *ret_listing,
                                    struct dueq_error *error)
{
    enum dueq_status status = begin(files, dir, io, error);

    return status == DUEQ_OK ? list_anew(files, ret_listing, error) : status;
}

enum dueq_status journal_files_open(struct journal_files *files, const char *dir,
                                    const struct dueq_io *io, size_t segment_bytes,
                                    uint64_t disk_reserve, struct journal_listing *ret_listing,
                                    struct dueq_error *error)
{
    enum dueq_status status = begin(files, dir, io, error);

    if (status != DUEQ_OK)
        return status;
    files->segment_bytes = segment_bytes;
    files->disk_reserve = disk_reserve;
    if (mkdir(files->path, 0700) != 0 && errno != EEXIST)
        return dueq_fail(error, DUEQ_IO, "cannot create %s: %s", files->path, strerror(errno));
    if (io->fsync_dir(io->arg, dir) !=
        0) /* the process that made the directory may have been killed before its sync */
        return dueq_fail(error, DUEQ_IO, "cannot sync %s: %s", dir, strerror(errno));
    files->dir = io->open(io->arg, files->path, O_RDONLY | O_DIRECTORY, 0);
    if (files->dir < 0)
        return dueq_fail(error, DUEQ_IO, "cannot open %s: %s", files->path, strerror(errno));
    return list_anew(files, ret_listing, error);
}

void journal_files_close(struct journal_files *files)
{
    if (files->dir >= 0)
        files->io->close(files->io->arg, files->dir);
    pthread_mutex_destroy(&files->lock);
}

/* ---- reading */

/* Reads all bytes from the start of the file. -1: errno. */
static int read_at(const struct dueq_io *io, int fd, uint8_t *bytes, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = io->pread(io->arg, fd, bytes + done, size - done, (off_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            errno = EIO; /* the file is shorter than before */
        if (got == 0)
            return -1;
        done += (size_t)got;
    }
    return 0;
}

/* After a failed sync the page cache may contain what the disk does not. So the file is synced,
 * dropped from the cache and read from the disk. The caller frees the result. NULL: errno. */
static uint8_t *read_off_disk(const struct dueq_io *io, int fd, size_t most, size_t *ret_size)
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
    const struct dueq_io *io = files->io;
    char path[PATH_MAX];
    uint8_t *bytes;
    int fd, failed;

    journal_files_live_path(files, number, path);
    fd = io->open(io->arg, path, O_RDONLY | O_NONBLOCK, 0);
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

uint64_t journal_files_size(const struct journal_files *files, uint64_t number)
{
    char path[PATH_MAX];
    struct stat stats;

    journal_files_live_path(files, number, path);
    return stat(path, &stats) == 0 ? (uint64_t)stats.st_size : 0;
}

/* ---- making */

int journal_files_sync_names(const struct journal_files *files)
{
    return files->io->fsync_open_dir(files->io->arg, files->dir);
}

static bool is_no_room(int error)
{
    return error == ENOSPC || error == EDQUOT;
}

static enum dueq_status status_of(int error)
{
    if (is_no_room(error))
        return DUEQ_FULL;
    return error == EMFILE || error == ENFILE || error == ENOMEM ? DUEQ_NOMEM : DUEQ_IO;
}

static void note_no_room(struct journal_files *files)
{
    pthread_mutex_lock(&files->lock);
    files->no_room = true;
    files->shortages++;
    pthread_mutex_unlock(&files->lock);
}

static uint64_t count_shortages(struct journal_files *files)
{
    uint64_t shortages;

    pthread_mutex_lock(&files->lock);
    shortages = files->shortages;
    pthread_mutex_unlock(&files->lock);
    return shortages;
}

/* Unless the other thread has found the disk full since there were so many shortages. */
static void note_room(struct journal_files *files, uint64_t shortages)
{
    pthread_mutex_lock(&files->lock);
    if (files->shortages == shortages)
        files->no_room = false;
    pthread_mutex_unlock(&files->lock);
}

/* Returns 0 if the disk has room for `size` bytes and disk_reserve; -1: errno. */
static int leaves_reserve(const struct journal_files *files, size_t size)
{
    uint64_t available;

    if (files->io->free_bytes(files->io->arg, files->path, &available) == 0 &&
        available >= files->disk_reserve && available - files->disk_reserve >= size)
        return 0;
    errno = ENOSPC;
    return -1;
}

/* Writes zeros, so that the blocks exist and later syncs write no metadata. */
static int fill(const struct journal_files *files, int fd, size_t size)
{
    const struct dueq_io *io = files->io;
    uint8_t *zeros = calloc(1, FILL_STEP);
    int result = 0;

    if (zeros == NULL) {
        errno = ENOMEM;
        return -1;
    }
    for (size_t done = 0; done < size && result == 0; done += FILL_STEP)
        result =
            io_write(io, fd, zeros, size - done < FILL_STEP ? size - done : FILL_STEP, done);
    free(zeros);
    if (result != 0)
        return -1;
    return io->fdatasync(io->arg, fd);
}

static int allocate(const struct dueq_io *io, int fd, size_t size)
{
    int result;

    do
        result = io->fallocate(io->arg, fd, 0, (off_t)size);
    while (result != 0 && errno == EINTR);
    return result;
}

/* Closes and removes a file that cannot be used; errno stays. Returns -1. */
static int give_up(const struct journal_files *files, int fd, const char *path)
{
    const struct dueq_io *io = files->io;
    int error = errno;

    if (fd >= 0)
        io->close(io->arg, fd);
    io->unlink(io->arg, path);
    errno = error;
    return -1;
}

/* Makes a file of `size` bytes under a temporary name. -1: errno. */
static int make_unnamed(const struct journal_files *files, uint64_t number, size_t size,
                        bool zeros)
{
    const struct dueq_io *io = files->io;
    char half_made[PATH_MAX];
    int fd;

    half_made_path(files, number, half_made);
    fd = io->open(io->arg, half_made, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || (allocate(io, fd, size) == 0 && (!zeros || fill(files, fd, size) == 0)))
        return fd;
    return give_up(files, fd, half_made);
}

/* The same, and renames the file to the path. */
static int make_file(const struct journal_files *files, const char *path, uint64_t number,
                     size_t size, bool zeros)
{
    const struct dueq_io *io = files->io;
    char half_made[PATH_MAX];
    int fd = make_unnamed(files, number, size, zeros);

    half_made_path(files, number, half_made);
    if (fd < 0 || io->rename(io->arg, half_made, path) == 0)
        return fd;
    return give_up(files, fd, half_made);
}

/* ---- tidying up */

/* Without a file, the folder would be taken for that of a journal which is lost. */
static bool is_last(const struct journal_files *files, const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    DIR *dir = opendir(files->path);
    const struct dirent *found;
    bool last = dir != NULL;

    while (last && (found = readdir(dir)) != NULL)
        last = found->d_name[0] == '.' || strncmp(found->d_name, "new-", 4) == 0 ||
               strcmp(found->d_name, name) == 0;
    if (dir != NULL)
        closedir(dir);
    return last;
}

/* Removes a file that is of no use. Of the last one its name stays, as that of a spare, which a
 * later opening removes. Returns 0, or -1 with errno. */
static int discard(const struct journal_files *files, const char *path, uint64_t number)
{
    const struct dueq_io *io = files->io;
    char spare[PATH_MAX];
    int fd;

    if (!is_last(files, path))
        return io->unlink(io->arg, path);
    spare_path(files, number, spare);
    if (io->rename(io->arg, path, spare) != 0)
        return -1;
    fd = io->open(io->arg, spare, O_RDWR | O_TRUNC, 0);
    if (fd >= 0)
        io->close(io->arg, fd);
    return 0;
}

static void adopt_reserve(struct journal_files *files)
{
    char path[PATH_MAX];
    struct stat stats;

    reserve_path(files, path);
    if (stat(path, &stats) != 0)
        return;
    files->reserve = (size_t)stats.st_size == files->segment_bytes;
    if (!files->reserve && !is_last(files, path))
        files->io->unlink(files->io->arg, path);
}

/* Overwrites an old spare with zeros, which needs no room on a full disk. -1: it failed. */
static int wash(const struct journal_files *files, const char *path)
{
    const struct dueq_io *io = files->io;
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

static void tidy_spare(struct journal_files *files, const char *path, uint64_t number)
{
    const struct dueq_io *io = files->io;
    char reserve[PATH_MAX];
    struct stat stats;

    reserve_path(files, reserve);
    if (!files->reserve && wash(files, path) == 0 && io->rename(io->arg, path, reserve) == 0)
        files->reserve = true;
    else if (files->stale == 0 && stat(path, &stats) == 0 &&
             (size_t)stats.st_size == files->segment_bytes)
        files->stale = number;
    else
        discard(files, path, number);
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
            tidy_spare(files, path, spare);
        else if (strncmp(found->d_name, "new-", 4) == 0)
            files->io->unlink(files->io->arg, path);
    }
    if (dir != NULL)
        closedir(dir);
}

int journal_files_put_away(struct journal_files *files, uint64_t number)
{
    const struct dueq_io *io = files->io;
    char path[PATH_MAX], spare[PATH_MAX];
    struct stat stats;

    journal_files_live_path(files, number, path);
    spare_path(files, number, spare);
    if (files->stale != 0 || stat(path, &stats) != 0 ||
        (size_t)stats.st_size != files->segment_bytes || io->rename(io->arg, path, spare) != 0)
        return discard(files, path, number);
    files->stale = number;
    return 0;
}

/* ---- taking and retiring files */

static uint64_t new_number(struct journal_files *files)
{
    uint64_t number;

    pthread_mutex_lock(&files->lock);
    number = files->next_number++;
    pthread_mutex_unlock(&files->lock);
    return number;
}

/* A filled spare, else another one. -1: there is none. Under the lock. */
static int best_spare(const struct journal_files *files)
{
    int best = -1;

    for (int i = 0; i < JOURNAL_SPARES; i++)
        if (files->spares[i].number != 0 && (best < 0 || files->spares[best].unfilled))
            best = i;
    return best;
}

/* Takes a spare out of the list; number 0: there is none. */
static struct spare_file pick_spare(struct journal_files *files)
{
    struct spare_file spare = {0};
    int best;

    pthread_mutex_lock(&files->lock);
    best = best_spare(files);
    if (best >= 0) {
        spare = files->spares[best];
        files->spares[best].number = 0;
    }
    pthread_mutex_unlock(&files->lock);
    return spare;
}

/* The same for the spare of an earlier opening, which must be overwritten before use. */
static uint64_t pick_stale(struct journal_files *files)
{
    uint64_t number;

    pthread_mutex_lock(&files->lock);
    number = files->stale;
    files->stale = 0;
    pthread_mutex_unlock(&files->lock);
    return number;
}

static bool want_spare(struct journal_files *files)
{
    bool wanted = true;

    pthread_mutex_lock(&files->lock);
    for (int i = 0; i < JOURNAL_SPARES; i++)
        wanted = wanted && files->spares[i].number == 0;
    pthread_mutex_unlock(&files->lock);
    return wanted;
}

bool journal_files_have_spare(struct journal_files *files)
{
    return !want_spare(files);
}

bool journal_files_have_filled(struct journal_files *files)
{
    int best;
    bool filled;

    pthread_mutex_lock(&files->lock);
    best = best_spare(files);
    filled = best >= 0 && !files->spares[best].unfilled;
    pthread_mutex_unlock(&files->lock);
    return filled;
}

/* Adds a spare to the list. False: there are enough. */
static bool keep_spare(struct journal_files *files, struct spare_file spare)
{
    bool kept = false;

    pthread_mutex_lock(&files->lock);
    for (int i = 0; i < JOURNAL_SPARES && !kept; i++)
        if (files->spares[i].number == 0) {
            files->spares[i] = spare;
            kept = true;
        }
    pthread_mutex_unlock(&files->lock);
    return kept;
}

/* Opens the file, then renames it: if there is no descriptor, the file keeps its name. -1:
 * errno. */
static int take_file(const struct journal_files *files, const char *from, const char *to)
{
    const struct dueq_io *io = files->io;
    int fd = io->open(io->arg, from, O_RDWR, 0), error;

    if (fd < 0 || io->rename(io->arg, from, to) == 0)
        return fd;
    error = errno;
    io->close(io->arg, fd);
    errno = error;
    return -1;
}

/* Renames a spare to the path and opens it. -1: errno, which is 0 when there is no spare.
 * Without a descriptor the spare stays. */
static int take_spare(struct journal_files *files, const char *path, bool *ret_unfilled)
{
    struct spare_file spare = pick_spare(files);
    char from[PATH_MAX];
    int fd;

    errno = 0;
    *ret_unfilled = spare.unfilled;
    if (spare.number == 0)
        return -1;
    spare_path(files, spare.number, from);
    fd = take_file(files, from, path);
    if (fd < 0 && status_of(errno) == DUEQ_NOMEM)
        keep_spare(files, spare);
    return fd;
}

static bool change_reserve(struct journal_files *files, bool there)
{
    bool before;

    pthread_mutex_lock(&files->lock);
    before = files->reserve;
    files->reserve = there;
    pthread_mutex_unlock(&files->lock);
    return before;
}

/* Renames the reserve to the path and opens it. The reserve outlives openings, so that a full
 * disk can be drained after one. A power cut must not bring it back with records in it, so its
 * new name is synced before the first byte is written. -1: errno, unchanged when there is no
 * reserve. */
static int take_reserve(struct journal_files *files, const char *path)
{
    char reserve[PATH_MAX];
    int fd;

    if (!change_reserve(files, false))
        return -1;
    reserve_path(files, reserve);
    fd = take_file(files, reserve, path);
    if (fd < 0 && status_of(errno) == DUEQ_NOMEM)
        change_reserve(files, true);
    if (fd < 0 || journal_files_sync_names(files) == 0)
        return fd;
    return give_up(files, fd, path);
}

static bool is_ordinary(const struct journal_files *files, size_t size)
{
    return size <= files->segment_bytes;
}

enum dueq_status journal_files_take(struct journal_files *files, size_t size,
                                    struct segment_file *ret_segment)
{
    bool ordinary = is_ordinary(files, size), unfilled = false;
    uint64_t number = new_number(files);
    char path[PATH_MAX];
    int fd = -1;

    errno = 0;
    if (ordinary)
        size = files->segment_bytes;
    journal_files_live_path(files, number, path);
    if (ordinary)
        fd = take_spare(files, path, &unfilled);
    if (fd < 0 && status_of(errno) != DUEQ_NOMEM) {
        fd = make_file(files, path, number, size, false);
        unfilled = ordinary && fd >= 0;
    }
    if (fd < 0 && is_no_room(errno)) {
        note_no_room(files);
        if (ordinary)
            fd = take_reserve(files, path);
    }
    if (fd < 0)
        return status_of(errno);
    *ret_segment =
        (struct segment_file){.number = number, .size = size, .fd = fd, .unfilled = unfilled};
    return DUEQ_OK;
}

enum dueq_status journal_files_make_large(struct journal_files *files, size_t size,
                                          struct segment_file *ret_large)
{
    uint64_t number = new_number(files);
    int fd = -1;

    if (leaves_reserve(files, size) == 0)
        fd = make_unnamed(files, number, size, false);
    if (fd < 0)
        return status_of(errno);
    *ret_large = (struct segment_file){.number = number, .size = size, .fd = fd};
    return DUEQ_OK;
}

/* The file gets the next number, because numbers are in the order of use. */
enum dueq_status journal_files_take_large(struct journal_files *files,
                                          struct segment_file *large)
{
    uint64_t number = new_number(files);
    char half_made[PATH_MAX], path[PATH_MAX];

    half_made_path(files, large->number, half_made);
    journal_files_live_path(files, number, path);
    if (files->io->rename(files->io->arg, half_made, path) != 0)
        return DUEQ_IO;
    large->number = number;
    return DUEQ_OK;
}

void journal_files_discard_large(struct journal_files *files, const struct segment_file *large)
{
    char half_made[PATH_MAX];

    half_made_path(files, large->number, half_made);
    give_up(files, large->fd, half_made);
}

void journal_files_retire(struct journal_files *files, uint64_t number, uint64_t size,
                          bool unfilled)
{
    const struct dueq_io *io = files->io;
    char path[PATH_MAX], spare[PATH_MAX];

    journal_files_live_path(files, number, path);
    spare_path(files, number, spare);
    if (size != files->segment_bytes || io->rename(io->arg, path, spare) != 0)
        discard(files, path, number);
    else if (!keep_spare(files, (struct spare_file){number, unfilled}))
        discard(files, spare, number);
}

static int prepare_reserve(struct journal_files *files)
{
    char path[PATH_MAX];
    int fd;

    reserve_path(files, path);
    fd = make_file(files, path, new_number(files), files->segment_bytes, false);
    if (fd < 0)
        return -1;
    files->io->close(files->io->arg, fd);
    change_reserve(files, true);
    return 0;
}

/* Overwrites the spare of an earlier opening, which then is a spare of this one. -1: there is
 * none, or it failed. */
static int wash_stale(struct journal_files *files)
{
    uint64_t number = pick_stale(files);
    char path[PATH_MAX];

    if (number == 0)
        return -1;
    spare_path(files, number, path);
    if (wash(files, path) == 0 && keep_spare(files, (struct spare_file){number, false}))
        return 0;
    discard(files, path, number);
    return -1;
}

static int make_spare(struct journal_files *files, bool zeros)
{
    uint64_t number = new_number(files);
    char path[PATH_MAX];
    int fd = -1;

    spare_path(files, number, path);
    if (leaves_reserve(files, files->segment_bytes) == 0)
        fd = make_file(files, path, number, files->segment_bytes, zeros);
    if (fd < 0)
        return -1;
    files->io->close(files->io->arg, fd);
    if (!keep_spare(files, (struct spare_file){number, !zeros}))
        files->io->unlink(files->io->arg, path);
    return 0;
}

enum dueq_status journal_files_spare(struct journal_files *files)
{
    enum dueq_status status = DUEQ_OK;

    if (want_spare(files) && make_spare(files, false) != 0) {
        status = status_of(errno);
        if (status == DUEQ_FULL)
            note_no_room(files);
    }
    return status;
}

static bool lacks_reserve(struct journal_files *files)
{
    bool lacks;

    pthread_mutex_lock(&files->lock);
    lacks = !files->reserve;
    pthread_mutex_unlock(&files->lock);
    return lacks;
}

/* On a full disk a recycled segment becomes the reserve. It is overwritten first, so that a
 * power cut cannot bring its records back. */
static int turn_spare_into_reserve(struct journal_files *files)
{
    uint64_t number = pick_spare(files).number;
    char spare[PATH_MAX], reserve[PATH_MAX];

    if (number == 0)
        number = pick_stale(files);
    errno = ENOSPC;
    if (number == 0)
        return -1;
    spare_path(files, number, spare);
    reserve_path(files, reserve);
    if (wash(files, spare) == 0 && files->io->rename(files->io->arg, spare, reserve) == 0) {
        change_reserve(files, true);
        return 0;
    }
    return give_up(files, -1, spare);
}

/* Makes the reserve first: draining is more important than growth. */
static int make_missing(struct journal_files *files, bool *ret_made)
{
    *ret_made = false;
    if (lacks_reserve(files)) {
        if (prepare_reserve(files) != 0 &&
            !(is_no_room(errno) && turn_spare_into_reserve(files) == 0))
            return -1;
        *ret_made = true;
    }
    if (want_spare(files)) {
        if (wash_stale(files) != 0 && make_spare(files, true) != 0)
            return -1;
        *ret_made = true;
    }
    return 0;
}

bool journal_files_prepare(struct journal_files *files)
{
    uint64_t shortages = count_shortages(files);
    bool made;

    if (make_missing(files, &made) != 0) {
        if (is_no_room(errno))
            note_no_room(files);
        return false;
    }
    note_room(files, shortages);
    return !made || journal_files_sync_names(files) == 0;
}

bool journal_files_wanted(struct journal_files *files)
{
    return lacks_reserve(files) || want_spare(files);
}

bool journal_files_bare(struct journal_files *files)
{
    bool stale;

    pthread_mutex_lock(&files->lock);
    stale = files->stale != 0;
    pthread_mutex_unlock(&files->lock);
    return !stale && lacks_reserve(files) && want_spare(files);
}

bool journal_files_have_room(struct journal_files *files)
{
    bool no_room;

    pthread_mutex_lock(&files->lock);
    no_room = files->no_room;
    pthread_mutex_unlock(&files->lock);
    return !no_room || !journal_files_wanted(files);
}
