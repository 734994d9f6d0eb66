#include "tests/support/faults/fake_disk.h"

#include "tests/support/faults/disk_image.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTORS = 1024, PARTS = 64 };

struct fault {
    unsigned passing, times;
    int error;
};

struct fake_disk {
    struct dueq_io io;
    pthread_mutex_t lock;
    pthread_cond_t released;
    struct disk_image *image;
    struct disk_file *open[DESCRIPTORS];
    char *dirs[DESCRIPTORS];  /* paths of the directories that are open */
    bool untold[DESCRIPTORS]; /* a sync of the file failed, and this descriptor has not reported
                                 it */
    unsigned long counts[DISK_CALLS];
    struct fault faults[DISK_CALLS];
    struct dice dice; /* decides what a failed sync loses */
    size_t most;
    bool interrupted; /* the last transfer was interrupted */
    bool hold_syncs;
    unsigned held_syncs; /* of files that have a name */
    bool dead;
    bool kills;              /* the cut ends the process, not the power */
    unsigned long until_cut; /* 0: no cut is planned */
    uint64_t free_bytes;
};

/* ---- faults. Under the lock. */

static bool fails(struct fake_disk *disk, enum disk_call call)
{
    struct fault *fault = &disk->faults[call];

    disk->counts[call]++;
    if (call != DISK_READ && disk->until_cut > 0 && --disk->until_cut == 0)
        disk->dead = true;
    if (disk->dead && call != DISK_READ) {
        errno = EIO;
        return true;
    }
    if (fault->times == 0)
        return false;
    if (fault->passing > 0) {
        fault->passing--;
        return false;
    }
    fault->times -= fault->times != FAKE_DISK_ALWAYS;
    errno = fault->error;
    return true;
}

static bool transfer_fails(struct fake_disk *disk, enum disk_call call)
{
    if (fails(disk, call))
        return true;
    disk->interrupted = disk->most > 0 && !disk->interrupted;
    if (disk->interrupted)
        errno = EINTR;
    return disk->interrupted;
}

static int leave(struct fake_disk *disk, int result)
{
    int error = errno;

    pthread_mutex_unlock(&disk->lock);
    errno = error;
    return result;
}

/* ---- real files */

static uint8_t *read_real(const char *path, size_t *ret_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat stats;
    uint8_t *bytes;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &stats) != 0 || (bytes = malloc((size_t)stats.st_size + 1)) == NULL ||
        pread(fd, bytes, (size_t)stats.st_size, 0) != stats.st_size)
        abort();
    close(fd);
    *ret_size = (size_t)stats.st_size;
    return bytes;
}

/* lmdb_disk.h has a pwrite of its own. */
static bool write_through(int fd, const void *bytes, size_t size, off_t offset)
{
    struct iovec part = {(void *)(uintptr_t)bytes, size};

    return pwritev2(fd, &part, 1, offset, 0) == (ssize_t)size;
}

static void write_real(int fd, const struct disk_file *file)
{
    size_t size;
    uint8_t *bytes = disk_file_bytes(file, &size);

    if (fd < 0 || !write_through(fd, bytes, size, 0) || ftruncate(fd, (off_t)size) != 0)
        abort();
    free(bytes);
}

/* Returns the file of that name, which may be new to this disk; NULL: there is none. */
static struct disk_file *find(struct fake_disk *disk, const char *path)
{
    struct disk_file *file = disk_image_find(disk->image, path);
    uint8_t *bytes;
    size_t size;

    if (file != NULL || (bytes = read_real(path, &size)) == NULL)
        return file;
    file = disk_image_adopt(disk->image, path, bytes, size);
    free(bytes);
    return file;
}

/* ---- the calls */

static int open_dir(struct fake_disk *disk, const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);

    if (fd < 0 || fd >= DESCRIPTORS)
        return -1;
    disk->dirs[fd] = strdup(path);
    return fd;
}

static int open_file(struct fake_disk *disk, const char *path, int flags, mode_t mode)
{
    struct disk_file *file;
    int fd;

    if (flags & O_DIRECTORY)
        return open_dir(disk, path, flags);
    file = find(disk, path);
    fd = open(path, flags | O_CLOEXEC, mode);
    if (fd < 0 || fd >= DESCRIPTORS)
        return -1;
    if (file == NULL)
        file = disk_image_create(disk->image, path);
    else if (flags & O_TRUNC)
        disk_file_resize(file, 0);
    disk_file_hold(file);
    disk->open[fd] = file;
    disk->untold[fd] = false;
    return fd;
}

static int fake_open(void *arg, const char *path, int flags, mode_t mode)
{
    struct fake_disk *disk = arg;

    pthread_mutex_lock(&disk->lock);
    return leave(disk, fails(disk, DISK_OPEN) ? -1 : open_file(disk, path, flags, mode));
}

static int fake_close(void *arg, int fd)
{
    struct fake_disk *disk = arg;

    pthread_mutex_lock(&disk->lock);
    if (disk->open[fd] != NULL)
        disk_file_let_go(disk->open[fd]);
    disk->open[fd] = NULL;
    free(disk->dirs[fd]);
    disk->dirs[fd] = NULL;
    return leave(disk, close(fd));
}

static ssize_t fake_pread(void *arg, int fd, void *data, size_t size, off_t offset)
{
    struct fake_disk *disk = arg;
    ssize_t got = -1;

    pthread_mutex_lock(&disk->lock);
    if (disk->most > 0 && size > disk->most)
        size = disk->most;
    if (!transfer_fails(disk, DISK_READ))
        got = pread(fd, data, size, offset);
    leave(disk, 0);
    return got;
}

/* Writes the parts until `most` bytes are written. */
static ssize_t write_parts(struct fake_disk *disk, int fd, const struct iovec *parts, int count,
                           off_t offset)
{
    size_t done = 0, most = disk->most > 0 ? disk->most : SIZE_MAX;

    for (int i = 0; i < count && done < most; i++) {
        size_t size = parts[i].iov_len < most - done ? parts[i].iov_len : most - done;

        if (!write_through(fd, parts[i].iov_base, size, offset + (off_t)done))
            abort();
        disk_file_write(disk->open[fd], (size_t)offset + done, parts[i].iov_base, size);
        done += size;
    }
    return (ssize_t)done;
}

static ssize_t fake_pwritev(void *arg, int fd, const struct iovec *parts, int count,
                            off_t offset)
{
    struct fake_disk *disk = arg;
    ssize_t put = -1;

    pthread_mutex_lock(&disk->lock);
    if (!transfer_fails(disk, DISK_WRITE))
        put = write_parts(disk, fd, parts, count, offset);
    leave(disk, 0);
    return put;
}

/* A file that the journal prepares has a temporary name until it is complete. */
static bool has_name(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && status.st_nlink > 0;
}

static void hold_sync(struct fake_disk *disk, int fd)
{
    bool counts = has_name(fd);

    disk->held_syncs += counts;
    while (disk->hold_syncs && !disk->dead)
        pthread_cond_wait(&disk->released, &disk->lock);
    disk->held_syncs -= counts;
}

static int fake_fdatasync(void *arg, int fd)
{
    struct fake_disk *disk = arg;
    int result = 0;

    pthread_mutex_lock(&disk->lock);
    hold_sync(disk, fd);
    if (disk->untold[fd] && !disk->dead) {
        disk->untold[fd] = false;
        errno = EIO;
        result = -1;
    } else if (!fails(disk, DISK_SYNC)) {
        disk_file_sync(disk->open[fd]);
    } else {
        result = -1;
        if (!disk->dead && errno != EINTR)
            disk_file_lose(disk->open[fd], &disk->dice);
    }
    return leave(disk, result);
}

/* The real file is the page cache: it shows all writes, whether they reach the disk or not. */
static ssize_t write_cache(struct disk_file *file, int fd, const struct iovec *parts, int count,
                           off_t offset)
{
    size_t done = 0;

    for (int i = 0; i < count; i++) {
        size_t size = parts[i].iov_len;

        if (!write_through(fd, parts[i].iov_base, size, offset + (off_t)done))
            abort();
        if (file != NULL)
            disk_file_write(file, (size_t)offset + done, parts[i].iov_base, size);
        done += size;
    }
    return (ssize_t)done;
}

ssize_t fake_disk_data_write(struct fake_disk *disk, const char *path, int fd,
                             const struct iovec *parts, int count, off_t offset)
{
    ssize_t put = -1;

    pthread_mutex_lock(&disk->lock);
    if (!fails(disk, DISK_DATA_WRITE))
        put = write_cache(find(disk, path), fd, parts, count, offset);
    else if (disk->dead && !disk->kills) /* the write will be lost */
        put = write_cache(NULL, fd, parts, count, offset);
    leave(disk, 0);
    return put;
}

/* As in Linux, each open descriptor reports a failed sync once. */
static void tell_others(struct fake_disk *disk, const struct disk_file *file)
{
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        if (disk->open[fd] == file)
            disk->untold[fd] = true;
}

int fake_disk_data_sync(struct fake_disk *disk, const char *path)
{
    struct disk_file *file;
    int result = 0;

    pthread_mutex_lock(&disk->lock);
    file = find(disk, path);
    if (!fails(disk, DISK_DATA_SYNC)) {
        disk_file_sync(file);
    } else {
        result = -1;
        if (!disk->dead)
            disk_file_lose(file, &disk->dice);
        tell_others(disk, file);
    }
    return leave(disk, result);
}

/* Existing blocks take no room. */
static int fake_fallocate(void *arg, int fd, off_t offset, off_t size)
{
    struct fake_disk *disk = arg;
    size_t end = (size_t)(offset + size);
    int result = -1;

    pthread_mutex_lock(&disk->lock);
    if (end <= disk_file_size(disk->open[fd])) {
        result = 0;
    } else if (!fails(disk, DISK_ALLOCATE)) {
        disk_file_resize(disk->open[fd], end);
        result = ftruncate(fd, (off_t)end);
    }
    return leave(disk, result);
}

static int fake_rename(void *arg, const char *from, const char *to)
{
    struct fake_disk *disk = arg;
    int result = -1;

    pthread_mutex_lock(&disk->lock);
    if (!fails(disk, DISK_RENAME)) {
        bool known = find(disk, from) != NULL;

        find(disk, to);
        result = rename(from, to);
        if (result == 0 && known)
            disk_image_rename(disk->image, from, to);
    }
    return leave(disk, result);
}

static int fake_unlink(void *arg, const char *path)
{
    struct fake_disk *disk = arg;
    int result = -1;

    pthread_mutex_lock(&disk->lock);
    if (!fails(disk, DISK_UNLINK)) {
        bool known = find(disk, path) != NULL;

        result = unlink(path);
        if (result == 0 && known)
            disk_image_unlink(disk->image, path);
    }
    return leave(disk, result);
}

static int sync_names(struct fake_disk *disk, const char *path)
{
    if (fails(disk, DISK_SYNC_NAMES))
        return -1;
    disk_image_sync_names(disk->image, path);
    return 0;
}

static int fake_fsync_dir(void *arg, const char *path)
{
    struct fake_disk *disk = arg;
    const struct fault *open;
    int result = -1;

    pthread_mutex_lock(&disk->lock);
    open = &disk->faults[DISK_OPEN];
    if (open->times > 0 && open->passing == 0)
        errno = open->error; /* it needs a descriptor */
    else
        result = sync_names(disk, path);
    return leave(disk, result);
}

static int fake_fsync_open_dir(void *arg, int fd)
{
    struct fake_disk *disk = arg;

    pthread_mutex_lock(&disk->lock);
    return leave(disk, sync_names(disk, disk->dirs[fd]));
}

/* Later reads return what the disk has, without what a failed sync has lost. */
static int forget(const struct disk_file *file, int fd)
{
    char path[64];
    int writable;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    writable = open(path, O_WRONLY | O_CLOEXEC);
    write_real(writable, file);
    return close(writable);
}

static int fake_forget(void *arg, int fd)
{
    struct fake_disk *disk = arg;
    int result = 0;

    pthread_mutex_lock(&disk->lock);
    if (fails(disk, DISK_FORGET))
        result = -1;
    else if (disk_file_is_stale(disk->open[fd]))
        result = forget(disk->open[fd], fd);
    return leave(disk, result);
}

static int fake_free_bytes(void *arg, const char *path, uint64_t *ret_bytes)
{
    struct fake_disk *disk = arg;

    (void)path;
    pthread_mutex_lock(&disk->lock);
    *ret_bytes = disk->free_bytes;
    return leave(disk, 0);
}

static uint64_t fake_monotonic_usec(void *arg)
{
    (void)arg;
    return io_system.monotonic_usec(io_system.arg);
}

/* ---- the disk */

struct fake_disk *fake_disk_new(void)
{
    struct fake_disk *disk = calloc(1, sizeof(*disk));

    if (disk == NULL)
        abort();
    disk->io = (struct dueq_io){.arg = disk,
                                .open = fake_open,
                                .close = fake_close,
                                .pread = fake_pread,
                                .pwritev = fake_pwritev,
                                .fdatasync = fake_fdatasync,
                                .fallocate = fake_fallocate,
                                .rename = fake_rename,
                                .unlink = fake_unlink,
                                .fsync_dir = fake_fsync_dir,
                                .fsync_open_dir = fake_fsync_open_dir,
                                .forget = fake_forget,
                                .free_bytes = fake_free_bytes,
                                .monotonic_usec = fake_monotonic_usec};
    pthread_mutex_init(&disk->lock, NULL);
    pthread_cond_init(&disk->released, NULL);
    disk->image = disk_image_new();
    disk->free_bytes = UINT64_MAX;
    return disk;
}

void fake_disk_free(struct fake_disk *disk)
{
    if (disk == NULL)
        return;
    disk_image_free(disk->image);
    pthread_cond_destroy(&disk->released);
    pthread_mutex_destroy(&disk->lock);
    free(disk);
}

const struct dueq_io *fake_disk_io(const struct fake_disk *disk)
{
    return &disk->io;
}

unsigned long fake_disk_count(struct fake_disk *disk, enum disk_call call)
{
    unsigned long count;

    pthread_mutex_lock(&disk->lock);
    count = disk->counts[call];
    pthread_mutex_unlock(&disk->lock);
    return count;
}

void fake_disk_fail(struct fake_disk *disk, enum disk_call call, unsigned passing,
                    unsigned times, int error)
{
    pthread_mutex_lock(&disk->lock);
    disk->faults[call] = (struct fault){passing, times, error};
    pthread_mutex_unlock(&disk->lock);
}

void fake_disk_shorten(struct fake_disk *disk, size_t most)
{
    pthread_mutex_lock(&disk->lock);
    disk->most = most;
    disk->interrupted = false;
    pthread_mutex_unlock(&disk->lock);
}

void fake_disk_set_free_bytes(struct fake_disk *disk, uint64_t bytes)
{
    pthread_mutex_lock(&disk->lock);
    disk->free_bytes = bytes;
    pthread_mutex_unlock(&disk->lock);
}

unsigned fake_disk_held_syncs(struct fake_disk *disk)
{
    unsigned held;

    pthread_mutex_lock(&disk->lock);
    held = disk->held_syncs;
    pthread_mutex_unlock(&disk->lock);
    return held;
}

void fake_disk_hold_syncs(struct fake_disk *disk, bool hold)
{
    pthread_mutex_lock(&disk->lock);
    disk->hold_syncs = hold;
    pthread_cond_broadcast(&disk->released);
    pthread_mutex_unlock(&disk->lock);
}

void fake_disk_cut_after(struct fake_disk *disk, unsigned long calls)
{
    pthread_mutex_lock(&disk->lock);
    disk->until_cut = calls;
    disk->dead = calls == 0;
    disk->kills = false;
    pthread_cond_broadcast(&disk->released);
    pthread_mutex_unlock(&disk->lock);
}

void fake_disk_kill_after(struct fake_disk *disk, unsigned long calls)
{
    pthread_mutex_lock(&disk->lock);
    disk->until_cut = calls;
    disk->kills = true;
    pthread_mutex_unlock(&disk->lock);
}

bool fake_disk_is_killed(struct fake_disk *disk)
{
    bool killed;

    pthread_mutex_lock(&disk->lock);
    killed = disk->dead && disk->kills;
    pthread_mutex_unlock(&disk->lock);
    return killed;
}

/* Under the lock. */
static void begin_anew(struct fake_disk *disk)
{
    memset(disk->faults, 0, sizeof(disk->faults));
    disk->dead = disk->kills = disk->hold_syncs = false;
    disk->most = disk->until_cut = 0;
}

void fake_disk_revive(struct fake_disk *disk)
{
    pthread_mutex_lock(&disk->lock);
    begin_anew(disk);
    pthread_mutex_unlock(&disk->lock);
}

bool fake_disk_is_dead(struct fake_disk *disk)
{
    bool dead;

    pthread_mutex_lock(&disk->lock);
    dead = disk->dead;
    pthread_mutex_unlock(&disk->lock);
    return dead;
}

static void remove_real(void *arg, const char *path, const struct disk_file *file)
{
    (void)arg;
    (void)file;
    unlink(path);
}

static void restore_real(void *arg, const char *path, const struct disk_file *file)
{
    int fd;

    (void)arg;
    if (file == NULL)
        return;
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    write_real(fd, file);
    close(fd);
}

void fake_disk_restart(struct fake_disk *disk, struct dice *dice)
{
    pthread_mutex_lock(&disk->lock);
    disk_image_each(disk->image, remove_real, NULL);
    disk_image_cut(disk->image, dice);
    disk_image_each(disk->image, restore_real, NULL);
    begin_anew(disk);
    disk->dice = *dice;
    pthread_mutex_unlock(&disk->lock);
}
