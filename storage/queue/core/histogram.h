/* How often which time was measured: in the last minute, in the last 5 minutes and in all.
 * Times are kept with an error of 1/16 (those below 32 ms exactly), the greatest one exactly.
 * Memory is for what was measured only: a row for each bucket that has a time. Private to
 * storage/queue. */
#ifndef DUEQ_HISTOGRAM_H
#define DUEQ_HISTOGRAM_H

#include "storage/stats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Recent times are in two rings of columns: by 10 s, and by minute. The window of a minute is
 * the column that fills and the 6 full ones before it; that of 5 minutes one and 5. */
enum {
    HISTOGRAM_PERIOD_MS = 10 * 1000,
    HISTOGRAM_SHORTS = 7,
    HISTOGRAM_LONGS = 6, /* also: periods in a minute */
    HISTOGRAM_COLUMNS = HISTOGRAM_SHORTS + HISTOGRAM_LONGS
};

struct histogram_row {
    uint64_t all;
    uint32_t recent[HISTOGRAM_COLUMNS];
    uint16_t bucket;
};

struct histogram {
    struct histogram_row *rows;                   /* in order of their buckets */
    uint16_t count, room, last;                   /* last: index of the row used last */
    int64_t most, recent_most[HISTOGRAM_COLUMNS]; /* the greatest times, ms */
};

/* The bucket of a time in ms, 0 or more, and the greatest time in it. */
unsigned histogram_bucket(int64_t ms);
int64_t histogram_bound(unsigned bucket);

/* Counts a time, ms, in the columns of this period (counted from any one on). Grows by memory
 * that histogram_bytes tells. False: out of memory, and nothing is counted. O(log rows), and
 * O(rows) for the first time in a bucket. */
bool histogram_note(struct histogram *histogram, int64_t ms, uint64_t period);
/* Empties the columns of the periods after `last` up to `period`. O(rows). */
void histogram_advance(struct histogram *histogram, uint64_t last, uint64_t period);
/* O(rows). The columns are those of the present period. */
struct dueq_quantiles histogram_read(const struct histogram *histogram,
                                     enum dueq_window window);
size_t histogram_bytes(const struct histogram *histogram);
void histogram_release(struct histogram *histogram);

#endif
