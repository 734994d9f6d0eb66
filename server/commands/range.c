#include "server/commands/range.h"

#include <assert.h>

bool range_clamp(int64_t start, int64_t stop, uint64_t count, uint64_t *ret_first,
                 uint64_t *ret_count)
{
    int64_t size = (int64_t)count;

    assert(count <= INT64_MAX);
    if (start < 0)
        start = start < -size ? 0 : start + size;
    if (stop < 0)
        stop = stop < -size ? -1 : stop + size;
    if (stop >= size)
        stop = size - 1;
    if (start > stop || start >= size)
        return false;
    *ret_first = (uint64_t)start;
    *ret_count = (uint64_t)(stop - start) + 1;
    return true;
}

bool range_clamp_string(int64_t start, int64_t stop, uint64_t count, uint64_t *ret_first,
                        uint64_t *ret_count)
{
    if (start < 0 && stop < 0 && start > stop)
        return false;
    if (stop < -(int64_t)count)
        stop = -(int64_t)count;
    return range_clamp(start, stop, count, ret_first, ret_count);
}
