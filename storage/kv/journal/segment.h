/* The bytes of a journal segment: header, records, checksums. No files here. Format: FORMAT.md.
 *
 * Checksums are seeded by a salt that no other segment of this store has or had, so that what a
 * recycled file still holds of its earlier life is never taken for a record. */
#ifndef DUEQ_SEGMENT_H
#define DUEQ_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
    SEGMENT_FIXED_SIZE = 64,  /* of the header, written once */
    SEGMENT_NOTE_SIZE = 32,   /* behind it, written again and again */
    SEGMENT_HEADER_SIZE = 96, /* both */
    RECORD_HEADER_SIZE = 48,
    RECORD_ALIGN = 8
};

struct segment_header {
    uint64_t number;    /* grows with each segment of the store, never used twice */
    uint64_t first_lsn; /* of the record that comes first */
    uint64_t durable;   /* LSN known to be durable when the segment was begun */
};

struct record_header {
    uint64_t lsn;
    uint64_t durable; /* LSN known to be durable when the record was written */
    int64_t time;     /* unix ms */
    uint32_t size;    /* of the payload */
};

uint64_t segment_salt(uint64_t store_salt, uint64_t number);

/* Fills in SEGMENT_HEADER_SIZE bytes, with a note that says nothing. */
void segment_write_header(uint8_t *bytes, const struct segment_header *header, uint64_t salt);
bool segment_read_header(const uint8_t *bytes, uint64_t salt,
                         struct segment_header *ret_header);

/* The same without the checksum: what the bytes say of themselves. */
bool segment_claims(const uint8_t *bytes, struct segment_header *ret_header);

/* The note says which LSN has become durable since: written when nothing else is, so that the
 * last record before a pause can be told from one that was torn. */
void segment_write_note(uint8_t *bytes, uint64_t durable, uint64_t salt);
/* `bytes`: SEGMENT_NOTE_SIZE. 0: it says nothing. */
uint64_t segment_read_note(const uint8_t *bytes, uint64_t salt);

/* Bytes that a record takes, padding included. */
size_t record_space(size_t payload);

/* Fills in the header of a record whose payload is the parts. */
void record_write_header(uint8_t *bytes, const struct record_header *header,
                         const struct iovec *parts, int count, uint64_t salt);

/* A whole, undamaged record within `room` bytes? */
bool record_read(const uint8_t *bytes, size_t room, uint64_t salt,
                 struct record_header *ret_header);

/* The header alone, whose checksum is its own: a record of this segment was begun here,
 * whatever has become of its payload, which may be larger than `room`. O(1). */
bool record_read_header(const uint8_t *bytes, size_t room, uint64_t salt,
                        struct record_header *ret_header);

/* What the bytes say, without any checksum. */
bool record_claims(const uint8_t *bytes, size_t room, struct record_header *ret_header);

/* Does a record seem to begin here, whole or torn? */
bool record_begins(const uint8_t *bytes, size_t room);
/* And does it say it is that one? What an earlier life of the file has left says otherwise. */
bool record_begins_as(const uint8_t *bytes, size_t room, uint64_t lsn);

#endif
