/* A bucket of permits, as one moment: when it is full again if nobody takes one. A topic has it
 * in its record, a group in its own. Private to storage/queue. */
#ifndef DUEQ_BUCKET_H
#define DUEQ_BUCKET_H

#include "storage/queue/record/safe_time.h"
#include "storage/types.h"

#include <stdbool.h>

/* libdueq-small has no rates (rates_none.c): all buckets are full there. */
#ifdef DUEQ_SMALL
enum { BUCKETS_KNOWN = 0 };
#else
enum { BUCKETS_KNOWN = 1 };
#endif

/* full: ms on the queue's clock; part: of a ms, in units of 1/count, where count is that of the
 * rate. Both 0: it is full. */
struct bucket {
    int64_t full, part;
};

static inline bool bucket_is_full(const struct bucket *bucket)
{
    return !BUCKETS_KNOWN || (bucket->full == 0 && bucket->part == 0);
}

/* Has it been full since? */
static inline bool bucket_is_over(const struct bucket *bucket, int64_t now)
{
    return bucket_is_full(bucket) || bucket->full + (bucket->part > 0) <= now;
}

/* Can a store have it? */
static inline bool bucket_is_sound(const struct bucket *bucket)
{
    return bucket->full >= SAFE_TIME_MIN && bucket->full <= SAFE_TIME_MAX &&
           bucket->part >= 0 && bucket->part < DUEQ_RATE_MAX;
}

#endif
