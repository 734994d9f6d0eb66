#include "storage/kv/pressure.h"

#include "storage/kv/kv_internal.h"

enum {
    MERGE_UNKNOWN_USEC = 1000 * 1000, /* before the first checkpoint has ended */
    MERGE_LEAST_USEC = 20 * 1000,
    MERGE_MOST_USEC = 30 * 1000 * 1000
};

/* Something that fills up while a checkpoint runs. */
struct gauge {
    uint64_t taken; /* bytes */
    uint64_t limit; /* at which growth ends */
    uint64_t spent; /* of the reserve above the limit */
    uint64_t reserve;
};

static uint64_t above(uint64_t taken, uint64_t limit)
{
    return taken > limit ? taken - limit : 0;
}

static struct gauge memtable_gauge(const struct kv *kv)
{
    uint64_t limit = kv->options.memtable_bytes;
    size_t large, taken = memtable_taken(kv->active, &large);

    return (struct gauge){taken, limit, above(taken - large, limit), limit / 2};
}

static struct gauge journal_gauge(const struct kv *kv)
{
    uint64_t limit = kv->options.journal_bytes / 2;
    uint64_t taken = kv->since_freeze + kv_batch_bytes(kv);

    return (struct gauge){taken, limit, above(taken, limit), limit};
}

static unsigned level(const struct gauge *gauge)
{
    uint64_t half = gauge->limit / 2;

    if (gauge->taken <= half)
        return 0;
    if (gauge->taken < gauge->limit)
        return (unsigned)((gauge->taken - half) * KV_PRESSURE_FULL / (gauge->limit - half));
    if (gauge->spent >= gauge->reserve)
        return KV_PRESSURE_MOST;
    return KV_PRESSURE_FULL + (unsigned)(gauge->spent * KV_PRESSURE_FULL / gauge->reserve);
}

static bool is_merging(const struct kv *kv)
{
    return kv->frozen != NULL && kv->state != KV_FAILED && checkpoint_running(kv->checkpoint) &&
           checkpoint_has_room(kv->checkpoint);
}

unsigned kv_pressure(const struct kv *kv)
{
    struct gauge memtable, journal;
    unsigned a, b;

    if (!is_merging(kv))
        return 0;
    memtable = memtable_gauge(kv);
    journal = journal_gauge(kv);
    a = level(&memtable);
    b = level(&journal);
    return a > b ? a : b;
}

/* How long the running checkpoint will take, from its start. One that takes longer than the
 * last one did is expected to take longer still. */
static uint64_t expected_usec(const struct kv *kv)
{
    uint64_t usec = kv->merge_usec == 0 ? MERGE_UNKNOWN_USEC : kv->merge_usec;
    uint64_t so_far = kv->io->monotonic_usec(kv->io->arg) - kv->frozen_at;

    usec = usec > so_far ? usec : so_far;
    usec += usec / 4;
    if (usec < MERGE_LEAST_USEC)
        return MERGE_LEAST_USEC;
    return usec < MERGE_MOST_USEC ? usec : MERGE_MOST_USEC;
}

/* At the level p (0 to 1) the second half W of the gauge fills with W / (2 T p) bytes a second,
 * which takes it from 0 to 1 in the time T. *counted: what was taken when it was counted
 * last. */
static double pause_usec(const struct gauge *gauge, uint64_t *counted, double expected)
{
    uint64_t grown = above(gauge->taken, *counted);
    uint64_t half = gauge->limit - gauge->limit / 2;
    unsigned now = level(gauge);

    *counted = gauge->taken;
    if (now > KV_PRESSURE_FULL)
        now = KV_PRESSURE_FULL;
    return expected * 2 * now / KV_PRESSURE_FULL * (double)grown / (double)half;
}

uint64_t kv_growth_pause(struct kv *kv)
{
    struct gauge memtable = memtable_gauge(kv), journal = journal_gauge(kv);
    double expected = is_merging(kv) ? (double)expected_usec(kv) : 0;
    double a = pause_usec(&memtable, &kv->paced.memtable, expected);
    double b = pause_usec(&journal, &kv->paced.journal, expected);

    return (uint64_t)(a > b ? a : b);
}
