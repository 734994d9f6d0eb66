/* The header of a journal segment: its bytes and checksums. No files here; the records that
 * follow the header are in record.h. Format: FORMAT.md.
 *
 * Every checksum of a segment is seeded by a salt that no other segment of the store has or
 * had. So what a recycled file still contains of its earlier use is never taken for a header, a
 * note or a record of the new segment. */
#ifndef DUEQ_SEGMENT_H
#define DUEQ_SEGMENT_H

#include "storage/kv/journal/history.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SEGMENT_FIXED_SIZE = 64, /* bytes of the header, written once */
    SEGMENT_NOTE_SIZE = 32,  /* bytes of the note after it, written again and again */
    SEGMENT_HEADER_SIZE = SEGMENT_FIXED_SIZE + SEGMENT_NOTE_SIZE
};

struct segment_header {
    uint64_t number;    /* grows with each segment of the store, never used twice */
    uint64_t first_lsn; /* of the record that comes first */
    uint64_t durable;   /* LSN that was durable when the segment was begun */
    struct history history;
};

uint64_t segment_salt(uint64_t store_salt, uint64_t number);

/* Writes SEGMENT_HEADER_SIZE bytes: the header and an empty note. */
void segment_write_header(uint8_t *bytes, const struct segment_header *header, uint64_t salt);

/* Reads SEGMENT_FIXED_SIZE bytes. False: magic or checksum is wrong. */
bool segment_read_header(const uint8_t *bytes, uint64_t salt,
                         struct segment_header *ret_header);

/* The same, but does not look at the checksum. False: the magic is wrong. */
bool segment_claims(const uint8_t *bytes, struct segment_header *ret_header);

/* The note says which LSN has become durable after the segment was begun. It is written when
 * the journal is idle, so that a damaged last record can be told from a torn one. `bytes`:
 * SEGMENT_NOTE_SIZE. */
void segment_write_note(uint8_t *bytes, uint64_t durable, uint64_t salt);
/* 0: the note is empty or damaged. */
uint64_t segment_read_note(const uint8_t *bytes, uint64_t salt);

#endif
