#include "storage/kv/archive_file.h"

#include "storage/kv/journal/segment_scan.h"
#include "storage/xxh3.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEP = 256 * 1024, ASIDE_MOST = 99 };

#define PARTIAL ".partial"
#define DAMAGED ".damaged"

/* ---- names */

uint64_t archive_store(uint64_t seed)
{
    static const char what[] = "dueq archive";

    return XXH3_64bits_withSeed(what, sizeof(what), seed);
}

void archive_name_write(const struct archive_name *name, char *text)
{
    snprintf(text, ARCHIVE_NAME_SIZE, "%016" PRIx64 "-%016" PRIx64 "-%016" PRIx64 ".seg",
             name->store, name->first_lsn, name->history);
}

bool archive_name_read(const char *text, struct archive_name *ret_name)
{
    char again[ARCHIVE_NAME_SIZE];

    if (strlen(text) != ARCHIVE_NAME_SIZE - 1)
        return false;
    ret_name->store = strtoull(text, NULL, 16);
    ret_name->first_lsn = strtoull(text + 17, NULL, 16);
    ret_name->history = strtoull(text + 34, NULL, 16);
    archive_name_write(ret_name, again);
    return strcmp(text, again) == 0;
}

/* ---- copying */

static enum dueq_status failure(void)
{
    return errno == ENOSPC || errno == EDQUOT ? DUEQ_FULL : DUEQ_IO;
}

/* Reads what is there of `size` bytes. -1: errno. */
static ssize_t read_some(const struct dueq_io *io, int fd, void *bytes, size_t size,
                         uint64_t offset)
{
    ssize_t got;

    do
        got = io->pread(io->arg, fd, bytes, size, (off_t)offset);
    while (got < 0 && errno == EINTR);
    return got;
}

/* A note in a journal may come later than the copy; the file's end says what it says. */
static void drop_note(uint8_t *bytes, uint64_t offset)
{
    if (offset == 0)
        memset(bytes + SEGMENT_FIXED_SIZE, 0, SEGMENT_NOTE_SIZE);
}

static enum dueq_status copy_bytes(const struct archive_copy *copy, int from, int to)
{
    const struct dueq_io *io = copy->io;
    uint8_t *bytes = malloc(STEP);
    enum dueq_status status = bytes == NULL ? DUEQ_NOMEM : DUEQ_OK;

    for (uint64_t done = 0; done < copy->bytes && status == DUEQ_OK;) {
        uint64_t left = copy->bytes - done;
        ssize_t got = read_some(io, from, bytes, left < STEP ? (size_t)left : STEP, done);

        if (got >= SEGMENT_HEADER_SIZE)
            drop_note(bytes, done);
        if (!copy->goes_on(copy->arg))
            status = DUEQ_BUSY;
        else if (got <= 0)
            status = got == 0 ? DUEQ_CORRUPT : DUEQ_IO;
        else if (io_write(io, to, bytes, (size_t)got, done) != 0)
            status = failure();
        done += got > 0 ? (uint64_t)got : 0;
    }
    free(bytes);
    if (status == DUEQ_OK && io->fdatasync(io->arg, to) != 0)
        status = failure();
    if (status == DUEQ_OK)
        io->forget(io->arg, to);
    return status;
}

static bool has_space(const struct archive_copy *copy)
{
    uint64_t available;

    return copy->io->free_bytes(copy->io->arg, copy->dir, &available) == 0 &&
           available >= copy->disk_reserve && available - copy->disk_reserve >= copy->bytes;
}

/* What has the name already is of a copy that was killed, or a link that somebody has made who
 * shares the archive: it is not written through. */
static enum dueq_status write_partial(const struct archive_copy *copy, const char *from,
                                      const char *partial)
{
    const struct dueq_io *io = copy->io;
    int in = io->open(io->arg, from, O_RDONLY, 0), out;
    enum dueq_status status;

    if (in < 0)
        return errno == ENOENT ? DUEQ_NOTFOUND : DUEQ_IO;
    io->unlink(io->arg, partial);
    out = io->open(io->arg, partial, O_RDWR | O_CREAT | O_EXCL, 0600);
    status = out < 0 ? failure() : copy_bytes(copy, in, out);
    io->close(io->arg, in);
    if (out >= 0)
        io->close(io->arg, out);
    return status;
}

/* Reads the copy, as far as the system lets go of what it keeps in memory from the disk. The
 * segment was sound when it was measured: a copy that is not sound is a fault of the disk that
 * it is on, and another try may have another outcome. */
static enum dueq_status check(const struct archive_copy *copy, const char *path,
                              uint64_t last_lsn)
{
    struct segment_scan scan;
    enum dueq_status status = segment_scan_open(&scan, copy->io, path, copy->seed);

    if (status == DUEQ_OK) {
        status = segment_scan_to(&scan, last_lsn);
        if (status == DUEQ_OK && scan.offset != scan.size)
            status = DUEQ_CORRUPT;
        segment_scan_close(&scan);
    }
    if (status != DUEQ_CORRUPT && status != DUEQ_NOTFOUND)
        return status;
    errno = EIO;
    return DUEQ_IO;
}

/* A disk that cannot read what it has is one that has other bytes. */
static enum dueq_status compare_step(const struct dueq_io *io, int one, int two, uint8_t *bytes,
                                     size_t size, uint64_t offset)
{
    ssize_t got;

    if (read_some(io, one, bytes, size, offset) != (ssize_t)size)
        return DUEQ_IO;
    drop_note(bytes, offset);
    got = read_some(io, two, bytes + STEP, size, offset);
    if (got < 0 && errno != EIO)
        return DUEQ_IO;
    return got == (ssize_t)size && memcmp(bytes, bytes + STEP, size) == 0 ? DUEQ_OK
                                                                          : DUEQ_DUPLICATE;
}

static enum dueq_status compare_open(const struct archive_copy *copy, int one, int two)
{
    const struct dueq_io *io = copy->io;
    uint8_t *bytes = calloc(2, STEP);
    enum dueq_status status = bytes == NULL ? DUEQ_NOMEM : DUEQ_OK;
    struct stat found;

    if (status == DUEQ_OK &&
        (fstat(two, &found) != 0 || (uint64_t)found.st_size != copy->bytes))
        status = DUEQ_DUPLICATE;
    for (uint64_t done = 0; done < copy->bytes && status == DUEQ_OK; done += STEP) {
        uint64_t left = copy->bytes - done;

        status = compare_step(io, one, two, bytes, left < STEP ? (size_t)left : STEP, done);
    }
    free(bytes);
    if (status == DUEQ_OK &&
        (io->fdatasync(io->arg, two) != 0 ||
         io->fsync_dir(io->arg, copy->dir) != 0)) /* who made it was killed */
        status = failure();
    return status;
}

/* DUEQ_OK: the same bytes. DUEQ_NOTFOUND: there is no such file. One that cannot be opened may
 * be sound, unless its disk cannot read it. */
static enum dueq_status compare(const struct archive_copy *copy, const char *from,
                                const char *path)
{
    const struct dueq_io *io = copy->io;
    int one, two = io->open(io->arg, path, O_RDONLY | O_NONBLOCK, 0), error;
    enum dueq_status status;

    if (two < 0)
        return errno == ENOENT ? DUEQ_NOTFOUND : errno == EIO ? DUEQ_DUPLICATE : DUEQ_IO;
    one = io->open(io->arg, from, O_RDONLY, 0);
    if (one >= 0)
        status = compare_open(copy, one, two);
    else
        status = errno == ENOENT ? DUEQ_NOTFOUND : DUEQ_IO;
    error = errno;
    if (one >= 0)
        io->close(io->arg, one);
    io->close(io->arg, two);
    errno = error;
    return status;
}

/* How much of the segment is to be copied, and under which name. */
static enum dueq_status measure(struct archive_copy *copy, const char *from, uint64_t *last_lsn)
{
    struct segment_scan scan;
    struct record_header record;
    enum dueq_status status = segment_scan_open(&scan, copy->io, from, copy->seed);

    if (status != DUEQ_OK)
        return status;
    if (*last_lsn > 0)
        status = segment_scan_to(&scan, *last_lsn);
    else
        while ((status = segment_scan_next(&scan, &record)) == DUEQ_OK)
            continue;
    if (*last_lsn == 0 && status == DUEQ_NOTFOUND && scan.offset == scan.size)
        status = DUEQ_OK; /* what comes from an archive ends with its last record */
    else if (status == DUEQ_NOTFOUND)
        status = DUEQ_CORRUPT;
    *last_lsn = copy->last_lsn = scan.next_lsn - 1;
    copy->bytes = scan.offset;
    copy->name = (struct archive_name){.store = archive_store(copy->seed),
                                       .first_lsn = scan.header.first_lsn,
                                       .history = scan.header.history.id};
    if (scan.header.history.id == 0)
        status = DUEQ_CORRUPT; /* of an older version: nobody could tell whose it is */
    segment_scan_close(&scan);
    return status;
}

static enum dueq_status give_name(const struct archive_copy *copy, const char *partial,
                                  const char *path)
{
    const struct dueq_io *io = copy->io;

    if (io->rename(io->arg, partial, path) != 0)
        return failure();
    if (io->fsync_dir(io->arg, copy->dir) == 0)
        return DUEQ_OK;
    io->rename(io->arg, path, partial);
    return failure();
}

static enum dueq_status put(const struct archive_copy *copy, const char *from, const char *path,
                            uint64_t last_lsn)
{
    const struct dueq_io *io = copy->io;
    char partial[PATH_MAX];
    enum dueq_status status;
    int error;

    snprintf(partial, sizeof(partial), "%.*s" PARTIAL, PATH_MAX - 16, path);
    if (!has_space(copy)) {
        errno = ENOSPC;
        return access(copy->dir, F_OK) == 0 ? DUEQ_FULL : DUEQ_IO;
    }
    status = write_partial(copy, from, partial);
    if (status == DUEQ_OK)
        status = check(copy, partial, last_lsn);
    if (status == DUEQ_OK)
        status = give_name(copy, partial, path);
    if (status == DUEQ_OK)
        return DUEQ_OK;
    error = errno;
    io->unlink(io->arg, partial);
    errno = error;
    return status;
}

/* Sound files have other records, and stay: nobody could tell whose are right. */
static bool is_damaged(const struct archive_copy *copy, const char *path)
{
    struct segment_scan scan;
    struct record_header record;
    enum dueq_status status = segment_scan_open(&scan, copy->io, path, copy->seed);
    bool whole;

    if (status != DUEQ_OK)
        return status == DUEQ_CORRUPT || (status == DUEQ_IO && errno == EIO);
    while ((status = segment_scan_next(&scan, &record)) == DUEQ_OK)
        continue;
    whole = scan.offset == scan.size;
    segment_scan_close(&scan);
    return status == DUEQ_NOTFOUND ? !whole : status == DUEQ_IO && errno == EIO;
}

/* To open a pipe would take for ever. */
static bool is_no_file(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 && !S_ISREG(found.st_mode);
}

/* PATH.damaged, PATH.damaged.2 ...: one that nothing has. False: all are taken (errno). */
static bool find_aside(const char *path, char *aside)
{
    struct stat found;

    snprintf(aside, PATH_MAX, "%.*s" DAMAGED, PATH_MAX - 16, path);
    for (unsigned number = 2; lstat(aside, &found) == 0; number++) {
        errno = EEXIST;
        if (number > ASIDE_MOST)
            return false;
        snprintf(aside, PATH_MAX, "%.*s" DAMAGED ".%u", PATH_MAX - 16, path, number);
    }
    return true;
}

/* It is of no use for a restore, but it is not ours to throw away. */
static enum dueq_status set_aside(struct archive_copy *copy, const char *path)
{
    const struct dueq_io *io = copy->io;
    char aside[PATH_MAX];

    if (!find_aside(path, aside))
        return DUEQ_IO;
    if (io->rename(io->arg, path, aside) != 0)
        return failure();
    copy->set_aside = true;
    return DUEQ_NOTFOUND;
}

enum dueq_status archive_copy(struct archive_copy *copy, const char *from, uint64_t last_lsn)
{
    char path[PATH_MAX], name[ARCHIVE_NAME_SIZE];
    enum dueq_status status = measure(copy, from, &last_lsn);

    if (status != DUEQ_OK)
        return status;
    archive_name_write(&copy->name, name);
    if (snprintf(path, sizeof(path), "%s/%s", copy->dir, name) >= PATH_MAX - 16)
        return DUEQ_INVALID;
    status = is_no_file(path) ? DUEQ_DUPLICATE : compare(copy, from, path);
    if (status == DUEQ_DUPLICATE && (is_no_file(path) || is_damaged(copy, path)))
        status = set_aside(copy, path);
    return status == DUEQ_NOTFOUND ? put(copy, from, path, last_lsn) : status;
}
