/* Walks over the bits of a string, which may have 500 MB: a part in each slice (see
 * server/dispatch/long_work.h). Until the last one, requests that would write the key wait. */
#ifndef DUEQ_BIT_SCAN_H
#define DUEQ_BIT_SCAN_H

#include "server/dispatch/context.h"

/* Bits from first to last, both included. Bit 0 is the most significant one of byte 0. */
struct bit_range {
    uint64_t first, last;
    bool empty;
};

struct bit_scan {
    /* Looks at the bits of the part, which is not empty. */
    void (*look)(struct bit_scan *scan, const uint8_t *bytes, struct bit_range part);
    unsigned bit;   /* for the command, as is the next */
    int64_t result; /* of all parts so far */
    bool is_over;   /* set by `look`: the other parts do not matter */
    uint64_t at;    /* the bit that is next; bit_scan_run sets it */
};

/* To be called in each slice, with what the key and the arguments say then and with the same
 * *scan at its beginning. When the key has changed, the scan begins again. True: *scan has the
 * result. False: *ret_outcome is what the handler returns. */
bool bit_scan_run(struct context *context, const uint8_t *bytes, struct bit_range range,
                  struct bit_scan *scan, enum outcome *ret_outcome);

#endif
