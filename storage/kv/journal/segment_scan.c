#include "storage/kv/journal/segment_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STEP = 256 * 1024 };

/* Reads `size` bytes, which the file has. -1: errno. */
static int read_whole(const struct segment_scan *scan, uint8_t *bytes, size_t size,
                      uint64_t offset)
{
    while (size > 0) {
        ssize_t got = scan->io->pread(scan->io->arg, scan->fd, bytes, size, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = EIO; /* the file is shorter than before */
        if (got <= 0)
            return -1;
        bytes += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return 0;
}

static enum dueq_status make_space(struct segment_scan *scan, size_t need)
{
    size_t passed = (size_t)(scan->offset - scan->buffered);
    uint8_t *grown;

    memmove(scan->buffer, scan->buffer + passed, scan->filled - passed);
    scan->filled -= passed;
    scan->buffered = scan->offset;
    if (need <= scan->capacity)
        return DUEQ_OK;
    grown = realloc(scan->buffer, need);
    if (grown == NULL)
        return DUEQ_NOMEM;
    scan->buffer = grown;
    scan->capacity = need;
    return DUEQ_OK;
}

/* Has `need` bytes from the present offset on, which the file has, in the buffer. */
static enum dueq_status load(struct segment_scan *scan, size_t need)
{
    enum dueq_status status;
    uint64_t end = scan->buffered + scan->filled;
    size_t more;

    if (end - scan->offset >= need)
        return DUEQ_OK;
    status = make_space(scan, need);
    if (status != DUEQ_OK)
        return status;
    more = scan->capacity - scan->filled;
    if (more > scan->size - end)
        more = (size_t)(scan->size - end);
    if (read_whole(scan, scan->buffer + scan->filled, more, end) != 0)
        return DUEQ_IO;
    scan->filled += more;
    return DUEQ_OK;
}

static enum dueq_status read_header(struct segment_scan *scan, uint64_t store_salt)
{
    struct stat stats;
    enum dueq_status status;

    if (fstat(scan->fd, &stats) != 0)
        return DUEQ_IO;
    scan->size = (uint64_t)stats.st_size;
    if (!S_ISREG(stats.st_mode) || scan->size < SEGMENT_HEADER_SIZE)
        return DUEQ_CORRUPT;
    status = load(scan, SEGMENT_HEADER_SIZE);
    if (status != DUEQ_OK)
        return status;
    if (!segment_claims(scan->buffer, &scan->header))
        return DUEQ_CORRUPT;
    scan->salt = segment_salt(store_salt, scan->header.number);
    if (!segment_read_header(scan->buffer, scan->salt, &scan->header))
        return DUEQ_CORRUPT;
    scan->capacity = STEP;
    scan->offset = SEGMENT_HEADER_SIZE;
    scan->next_lsn = scan->header.first_lsn;
    return DUEQ_OK;
}

enum dueq_status segment_scan_open(struct segment_scan *ret_scan, const struct dueq_io *io,
                                   const char *path, uint64_t store_salt)
{
    enum dueq_status status;

    *ret_scan = (struct segment_scan){.io = io, .buffer = malloc(STEP)};
    if (ret_scan->buffer == NULL)
        return DUEQ_NOMEM;
    ret_scan->capacity = SEGMENT_HEADER_SIZE; /* many callers want no more than that */
    ret_scan->fd = io->open(io->arg, path, O_RDONLY | O_NONBLOCK, 0);
    if (ret_scan->fd < 0) {
        free(ret_scan->buffer);
        return errno == ENOENT ? DUEQ_NOTFOUND : DUEQ_IO;
    }
    status = read_header(ret_scan, store_salt);
    if (status != DUEQ_OK)
        segment_scan_close(ret_scan);
    return status;
}

enum dueq_status segment_scan_next(struct segment_scan *scan, struct record_header *ret_record)
{
    uint64_t room = scan->size - scan->offset;
    const uint8_t *bytes;
    enum dueq_status status;
    size_t whole;

    if (room < RECORD_HEADER_SIZE)
        return DUEQ_NOTFOUND;
    status = load(scan, RECORD_HEADER_SIZE);
    if (status != DUEQ_OK)
        return status;
    bytes = scan->buffer + (scan->offset - scan->buffered);
    if (!record_read_header(bytes, RECORD_HEADER_SIZE, scan->salt, ret_record) ||
        ret_record->lsn != scan->next_lsn || record_space(ret_record->size) > room)
        return DUEQ_NOTFOUND;
    whole = record_space(ret_record->size);
    status = load(scan, whole);
    if (status != DUEQ_OK)
        return status;
    bytes = scan->buffer + (scan->offset - scan->buffered);
    if (!record_read(bytes, whole, scan->salt, ret_record))
        return DUEQ_NOTFOUND;
    scan->payload = bytes + RECORD_HEADER_SIZE;
    scan->offset += whole;
    scan->next_lsn++;
    return DUEQ_OK;
}

enum dueq_status segment_scan_to(struct segment_scan *scan, uint64_t last_lsn)
{
    struct record_header record;
    enum dueq_status status = DUEQ_OK;

    while (status == DUEQ_OK && scan->next_lsn <= last_lsn)
        status = segment_scan_next(scan, &record);
    return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
}

void segment_scan_close(struct segment_scan *scan)
{
    int error = errno;

    scan->io->close(scan->io->arg, scan->fd);
    free(scan->buffer);
    errno = error;
}
