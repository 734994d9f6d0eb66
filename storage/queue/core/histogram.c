#include "storage/queue/core/histogram.h"

#include <stdlib.h>
#include <string.h>

/* Each power of two from 32 on has 16 buckets, up to 2^42 ms: 139 years. */
enum { EXACT = 32, PARTS = 16, PARTS_BITS = 4, FIRST_POWER = 5, LAST_POWER = 41, ROWS = 4 };

unsigned histogram_bucket(int64_t ms)
{
    int64_t longest = ((int64_t)1 << (LAST_POWER + 1)) - 1;
    uint64_t length = (uint64_t)(ms < 0 ? 0 : ms > longest ? longest : ms);
    unsigned power;

    if (length < EXACT)
        return (unsigned)length;
    power = 63 - (unsigned)__builtin_clzll(length);
    return EXACT + (power - FIRST_POWER) * PARTS +
           (unsigned)(length >> (power - PARTS_BITS)) % PARTS;
}

int64_t histogram_bound(unsigned bucket)
{
    unsigned shift;

    if (bucket < EXACT)
        return bucket;
    shift = (bucket - EXACT) / PARTS + FIRST_POWER - PARTS_BITS;
    return (int64_t)(PARTS + (bucket - EXACT) % PARTS + 1) * ((int64_t)1 << shift) - 1;
}

/* The index of the bucket's row, or of the first one after its place. */
static unsigned row_index(const struct histogram *histogram, unsigned bucket)
{
    unsigned from = 0, to = histogram->count;

    while (from < to) {
        unsigned middle = (from + to) / 2;

        if (histogram->rows[middle].bucket < bucket)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool grow(struct histogram *histogram)
{
    unsigned room = histogram->room == 0 ? ROWS : 2U * histogram->room;
    struct histogram_row *rows = realloc(histogram->rows, room * sizeof(*rows));

    if (rows == NULL)
        return false;
    histogram->rows = rows;
    histogram->room = (uint16_t)room;
    return true;
}

/* NULL: out of memory. */
static struct histogram_row *open_row(struct histogram *histogram, unsigned bucket)
{
    unsigned at = histogram->last;
    struct histogram_row *row;

    if (at < histogram->count && histogram->rows[at].bucket == bucket)
        return &histogram->rows[at];
    at = row_index(histogram, bucket);
    histogram->last = (uint16_t)at;
    if (at < histogram->count && histogram->rows[at].bucket == bucket)
        return &histogram->rows[at];
    if (histogram->count == histogram->room && !grow(histogram))
        return NULL;
    row = &histogram->rows[at];
    memmove(row + 1, row, (histogram->count - at) * sizeof(*row));
    *row = (struct histogram_row){.bucket = (uint16_t)bucket};
    histogram->count++;
    return row;
}

static unsigned short_column(uint64_t period)
{
    return (unsigned)(period % HISTOGRAM_SHORTS);
}

static unsigned long_column(uint64_t period)
{
    return HISTOGRAM_SHORTS + (unsigned)(period / HISTOGRAM_LONGS % HISTOGRAM_LONGS);
}

static void keep_greater(int64_t *most, int64_t ms)
{
    if (ms > *most)
        *most = ms;
}

bool histogram_note(struct histogram *histogram, int64_t ms, uint64_t period)
{
    unsigned brief = short_column(period), minute = long_column(period);
    struct histogram_row *row = open_row(histogram, histogram_bucket(ms));

    if (row == NULL)
        return false;
    row->all++;
    row->recent[brief]++;
    row->recent[minute]++;
    keep_greater(&histogram->most, ms);
    keep_greater(&histogram->recent_most[brief], ms);
    keep_greater(&histogram->recent_most[minute], ms);
    return true;
}

static void empty_column(struct histogram *histogram, unsigned column)
{
    for (unsigned i = 0; i < histogram->count; i++)
        histogram->rows[i].recent[column] = 0;
    histogram->recent_most[column] = 0;
}

void histogram_advance(struct histogram *histogram, uint64_t last, uint64_t period)
{
    uint64_t minutes = period / HISTOGRAM_LONGS - last / HISTOGRAM_LONGS;

    for (uint64_t i = 0; i < period - last && i < HISTOGRAM_SHORTS; i++)
        empty_column(histogram, short_column(period - i));
    for (uint64_t i = 0; i < minutes && i < HISTOGRAM_LONGS; i++)
        empty_column(histogram, long_column(period - i * HISTOGRAM_LONGS));
}

/* ---- reading */

static const struct columns {
    unsigned first, end; /* the same: all times */
} windows[DUEQ_WINDOWS] = {[DUEQ_WINDOW_MINUTE] = {0, HISTOGRAM_SHORTS},
                           [DUEQ_WINDOW_5_MINUTES] = {HISTOGRAM_SHORTS, HISTOGRAM_COLUMNS},
                           [DUEQ_WINDOW_ALL] = {0, 0}};

static uint64_t count_row(const struct histogram_row *row, const struct columns *columns)
{
    uint64_t count = 0;

    if (columns->first == columns->end)
        return row->all;
    for (unsigned i = columns->first; i < columns->end; i++)
        count += row->recent[i];
    return count;
}

static int64_t find_most(const struct histogram *histogram, const struct columns *columns)
{
    int64_t most = 0;

    if (columns->first == columns->end)
        return histogram->most;
    for (unsigned i = columns->first; i < columns->end; i++)
        keep_greater(&most, histogram->recent_most[i]);
    return most;
}

/* So many of the times are not above the quantile of `thousandths`. */
static uint64_t rank(uint64_t count, uint64_t thousandths)
{
    return count - count * (1000 - thousandths) / 1000;
}

struct dueq_quantiles histogram_read(const struct histogram *histogram, enum dueq_window window)
{
    const struct columns *columns = &windows[window];
    struct dueq_quantiles found = {.max = find_most(histogram, columns)};
    struct {
        int64_t *value;
        uint64_t thousandths;
    } const wanted[] = {{&found.p50, 500}, {&found.p99, 990}, {&found.p999, 999}};
    uint64_t seen = 0;
    unsigned next = 0;

    for (unsigned i = 0; i < histogram->count; i++)
        found.count += count_row(&histogram->rows[i], columns);
    for (unsigned i = 0; i < histogram->count && next < 3; i++) {
        int64_t bound = histogram_bound(histogram->rows[i].bucket);

        seen += count_row(&histogram->rows[i], columns);
        while (next < 3 && seen > 0 && seen >= rank(found.count, wanted[next].thousandths))
            *wanted[next++].value = bound < found.max ? bound : found.max;
    }
    return found;
}

size_t histogram_bytes(const struct histogram *histogram)
{
    return histogram->room * sizeof(*histogram->rows);
}

void histogram_release(struct histogram *histogram)
{
    free(histogram->rows);
    *histogram = (struct histogram){.rows = NULL};
}
