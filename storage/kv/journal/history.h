/* A history: which store has written a record. A directory that is made from a backup goes on
 * from the same LSN as the store that was copied, and both write records of the same number; so
 * each has a history of its own. Private to storage/kv.
 *
 * The upper 16 bits of an id are its epoch, one more than that of the parent at least; the
 * others are random. Seqs and tokens of an epoch are above those of the epochs before
 * (storage/queue). */
#ifndef DUEQ_HISTORY_H
#define DUEQ_HISTORY_H

#include <stdint.h>

struct history {
    uint64_t id;        /* 0: not known, of a directory of an older version */
    uint64_t parent;    /* of the records before first_lsn; 0: none, or not known */
    uint64_t first_lsn; /* its first record */
};

enum { HISTORY_EPOCH_SHIFT = 48, HISTORY_SIZE = 24 };

static inline uint64_t history_epoch(uint64_t id)
{
    return id >> HISTORY_EPOCH_SHIFT;
}

static inline uint64_t history_id(uint64_t epoch, uint64_t random)
{
    uint64_t rest = random & (((uint64_t)1 << HISTORY_EPOCH_SHIFT) - 1);

    return epoch << HISTORY_EPOCH_SHIFT | (rest == 0 ? 1 : rest);
}

/* HISTORY_SIZE bytes. */
void history_write(uint8_t *bytes, const struct history *history);
struct history history_read(const uint8_t *bytes);

#endif
