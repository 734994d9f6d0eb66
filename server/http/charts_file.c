#include "server/http/charts_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A record: its head, then the name. Numbers are as the machine has them: on another one the
 * sum is another. */
struct record {
    uint32_t sum; /* of all that follows */
    uint8_t version, range, name_size, zero;
    struct charts_point point;
};

enum { VERSION = 1, WRITE_ROOM = 4 << 20 };

struct writing {
    struct buffer out;
    uint32_t slot; /* of CHARTS_DAY; 0: all points of all ranges */
};

static uint32_t sum_of(const struct record *record, const char *name)
{
    XXH64_hash_t head = XXH3_64bits(&record->version, sizeof(*record) - sizeof(record->sum));

    return (uint32_t)XXH3_64bits_withSeed(name, record->name_size, head);
}

static void path_of(const char *dir, const char *end, char *path, size_t room)
{
    snprintf(path, room, "%s/dashboard.history%s", dir, end);
}

/* ---- writing */

static void write_point(void *arg, struct dueq_slice topic, enum charts_range range,
                        const struct charts_point *point)
{
    struct writing *writing = arg;
    struct record record = {.version = VERSION,
                            .range = (uint8_t)range,
                            .name_size = (uint8_t)topic.size,
                            .point = *point};

    if (writing->slot != 0 && (range != CHARTS_DAY || point->slot != writing->slot))
        return;
    record.sum = sum_of(&record, topic.data);
    buffer_append(&writing->out, &record, sizeof(record));
    buffer_append(&writing->out, topic.data, topic.size);
}

/* False: errno says why. */
static bool put(int fd, const struct buffer *out)
{
    const char *bytes = buffer_size(out) == 0 ? "" : buffer_content(out);
    size_t size = buffer_size(out);

    while (size > 0) {
        ssize_t written = write(fd, bytes, size);

        if (written < 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

static bool write_file(const char *path, int flags, struct writing *writing)
{
    int fd =
        writing->out.overflowed ? -1 : open(path, flags | O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    bool good = fd >= 0 && put(fd, &writing->out);

    if (fd >= 0)
        close(fd);
    return good;
}

bool charts_file_write(const struct charts *charts, const char *dir)
{
    struct writing writing = {.slot = 0};
    char path[4096], fresh[4096];
    bool good;

    path_of(dir, "", path, sizeof(path));
    path_of(dir, ".tmp", fresh, sizeof(fresh));
    buffer_init(&writing.out, WRITE_ROOM);
    charts_each(charts, write_point, &writing);
    good = write_file(fresh, O_TRUNC, &writing) && rename(fresh, path) == 0;
    buffer_release(&writing.out);
    return good;
}

/* Of a record only a part is there: what is added behind it would be left out with it. By a
 * descriptor, as the sandbox lets no path through. errno stays. */
static void cut(const char *path, size_t size)
{
    int error = errno, fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd >= 0 && ftruncate(fd, (off_t)size) != 0)
        log_write_limited(LOG_WARNING, "dashboard.history: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    errno = error;
}

bool charts_file_add(const struct charts *charts, const char *dir, uint32_t slot)
{
    struct writing writing = {.slot = slot};
    struct stat file = {0};
    char path[4096];
    bool good;

    path_of(dir, "", path, sizeof(path));
    if (stat(path, &file) == 0 && file.st_size > CHARTS_FILE_MAX / 2)
        return charts_file_write(charts, dir);
    buffer_init(&writing.out, WRITE_ROOM);
    charts_each(charts, write_point, &writing);
    good = write_file(path, O_APPEND, &writing);
    if (!good)
        cut(path, (size_t)file.st_size);
    buffer_release(&writing.out);
    return good;
}

/* ---- reading */

/* The whole file; NULL: there is none that is good. The caller frees it. */
static char *read_file(const char *path, size_t *ret_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat file = {0};
    char *bytes = NULL;
    ssize_t got = -1;

    if (fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size > 0 &&
        file.st_size <= CHARTS_FILE_MAX)
        bytes = malloc((size_t)file.st_size);
    if (bytes != NULL)
        got = read(fd, bytes, (size_t)file.st_size);
    if (fd >= 0)
        close(fd);
    if (got > 0) {
        *ret_size = (size_t)got;
        return bytes;
    }
    free(bytes);
    return NULL;
}

/* A torn end is cut off, and so is all behind what is damaged. */
void charts_file_read(struct charts *charts, const char *dir)
{
    char path[4096], *bytes;
    struct record record;
    size_t size = 0, at = 0, good = 0;

    path_of(dir, "", path, sizeof(path));
    bytes = read_file(path, &size);
    while (bytes != NULL && size - at >= sizeof(record)) {
        memcpy(&record, bytes + at, sizeof(record));
        at += sizeof(record);
        if (record.version != VERSION || record.range >= CHARTS_RANGES ||
            size - at < record.name_size || sum_of(&record, bytes + at) != record.sum)
            break;
        charts_restore(charts, dueq_slice(bytes + at, record.name_size),
                       (enum charts_range)record.range, &record.point);
        at += record.name_size;
        good = at;
    }
    if (good < size)
        cut(path, good);
    free(bytes);
}
