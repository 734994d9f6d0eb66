/* A record of a journal segment: its header, its checksums, the space that it takes. No files
 * here. Format: FORMAT.md.
 *
 * A record is a header of RECORD_HEADER_SIZE bytes, the payload, and padding up to a multiple
 * of RECORD_ALIGN. `salt` is segment_salt() of the segment. `room` is how many bytes may be
 * read at `bytes`; a function never reads beyond it, whatever the bytes contain. */
#ifndef DUEQ_RECORD_H
#define DUEQ_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { RECORD_HEADER_SIZE = 48, RECORD_ALIGN = 8 };

struct record_header {
    uint64_t lsn;
    uint64_t durable; /* LSN that was durable when the record was written */
    int64_t time;     /* unix ms */
    uint32_t size;    /* bytes of the payload */
};

/* Bytes that a record with such a payload, at most DUEQ_RECORD_MAX bytes, takes, header and
 * padding included. */
size_t record_space(size_t payload);

/* Writes the RECORD_HEADER_SIZE bytes that come before the payload. The parts together are the
 * payload, header->size bytes long. O(size), for the checksum. */
void record_write_header(uint8_t *bytes, const struct record_header *header,
                         const struct iovec *parts, int count, uint64_t salt);

/* True: a whole record that is not damaged begins here and ends within `room`. O(size). */
bool record_read(const uint8_t *bytes, size_t room, uint64_t salt,
                 struct record_header *ret_header);

/* True: the header is whole, so a record of this segment was begun here. The payload is not
 * looked at; it may be damaged, and larger than `room`, but not than DUEQ_RECORD_MAX. O(1). */
bool record_read_header(const uint8_t *bytes, size_t room, uint64_t salt,
                        struct record_header *ret_header);

/* Reads the header without any checksum. False: the magic is wrong, or the record would not end
 * within `room`. O(1). */
bool record_claims(const uint8_t *bytes, size_t room, struct record_header *ret_header);

/* True: the magic of a record is here, whatever follows it. O(1). */
bool record_begins(const uint8_t *bytes, size_t room);
/* The same, and the header contains this LSN. What an earlier use of the file has left contains
 * another one. O(1). */
bool record_begins_as(const uint8_t *bytes, size_t room, uint64_t lsn);

#endif
