/* Reads a segment file record by record, wherever it is: in a journal, an archive or a backup.
 * Private to storage/kv and to what restores stores.
 *
 * Memory: 256 KiB, or the largest record. */
#ifndef DUEQ_SEGMENT_SCAN_H
#define DUEQ_SEGMENT_SCAN_H

#include "storage/io.h"
#include "storage/kv/journal/record.h"
#include "storage/kv/journal/segment.h"
#include "storage/status.h"

struct segment_scan {
    struct segment_header header;
    uint64_t size;          /* bytes of the file */
    uint64_t offset;        /* of the record that comes next: all before is sound */
    uint64_t next_lsn;      /* its LSN */
    const uint8_t *payload; /* of the last record; lives until the next call */
    /* private */
    const struct dueq_io *io;
    int fd;
    uint64_t salt, buffered; /* file offset of the buffer's first byte */
    uint8_t *buffer;
    size_t capacity, filled;
};

/* store_salt: the seed of the store. DUEQ_NOTFOUND: there is no such file. DUEQ_CORRUPT: it is
 * no segment of that store, or its header is damaged. DUEQ_IO (errno), DUEQ_NOMEM. After any
 * but DUEQ_OK there is nothing to close. */
enum dueq_status segment_scan_open(struct segment_scan *ret_scan, const struct dueq_io *io,
                                   const char *path, uint64_t store_salt);
/* The next record. DUEQ_NOTFOUND: none that is sound is here: the segment ends, or is damaged;
 * the caller knows where it must end. DUEQ_IO (errno), DUEQ_NOMEM. O(record). */
enum dueq_status segment_scan_next(struct segment_scan *scan, struct record_header *ret_record);
/* Reads all records up to that LSN. DUEQ_CORRUPT: it is not reached. */
enum dueq_status segment_scan_to(struct segment_scan *scan, uint64_t last_lsn);
void segment_scan_close(struct segment_scan *scan);

#endif
