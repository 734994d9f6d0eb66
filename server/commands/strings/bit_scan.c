#include "server/commands/strings/bit_scan.h"

#include "server/dispatch/long_work.h"

#include <stdlib.h>

enum { SLICE_BITS = (2 << 20) * 8 }; /* half a millisecond, when they are counted */

/* False: bits are left. */
static bool look_on(const uint8_t *bytes, struct bit_range range, struct bit_scan *scan)
{
    uint64_t left = range.last - scan->at + 1, bits = left < SLICE_BITS ? left : SLICE_BITS;
    struct bit_range part = {.first = scan->at, .last = scan->at + bits - 1};

    scan->look(scan, bytes, part);
    scan->at += bits;
    return scan->is_over || bits == left;
}

static enum outcome go_on_later(struct context *context, const struct bit_scan *scan)
{
    struct bit_scan *kept = long_work_state(context);

    if (kept == NULL)
        kept = malloc(sizeof(*kept));
    if (kept == NULL)
        return context_status(context, DUEQ_NOMEM);
    *kept = *scan;
    return long_work_continue(context, kept, free, LONG_HOLDS_KEYS);
}

bool bit_scan_run(struct context *context, const uint8_t *bytes, struct bit_range range,
                  struct bit_scan *scan, enum outcome *ret_outcome)
{
    const struct bit_scan *kept = long_work_state(context);

    if (range.empty)
        return true;
    scan->at = range.first;
    if (kept != NULL && !long_work_keys_changed(context))
        *scan = *kept;
    if (look_on(bytes, range, scan))
        return true;
    *ret_outcome = go_on_later(context, scan);
    return false;
}
