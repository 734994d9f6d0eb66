/* The recurring jobs in RAM: by name, and by the time at which each is looked at next. What
 * they are is in their records. Private to storage/queue. */
#ifndef DUEQ_CRONS_H
#define DUEQ_CRONS_H

#include "storage/cron.h"

#define HASH_NONFATAL_OOM 1 /* a library does not exit: hh.tbl is NULL then */
#include <uthash.h>

enum { CRON_CLOCKS = 2, CRONS_LIMIT = 10000 };

struct cron_entry {
    UT_hash_handle hh;
    int64_t at;    /* ms, on the clock: the next time, or when it is tried again */
    size_t place;  /* in the heap of its clock, when it is in there */
    uint8_t clock; /* CLOCK_QUEUE, CLOCK_WALL */
    bool waits;    /* it is in the heap */
    bool is_paused;
    enum dueq_status failure; /* of the last try; DUEQ_OK: none failed */
    uint8_t name_size;
    char name[];
};

/* The entry with the least `at` comes first. */
struct cron_heap {
    struct cron_entry **entries;
    size_t count, room;
};

struct crons {
    struct cron_entry *entries; /* uthash */
    struct cron_heap heaps[CRON_CLOCKS];
    struct cron_entry
        *sweep;     /* looked at next, after the wall clock was set back; NULL: none */
    int64_t offset; /* between the clocks, for which that was done */
    int64_t held;   /* ms, on the queue's clock: nothing fires before, for want of memory */
    uint64_t limit;
    uint64_t seed;
    dueq_zone_fn zone;
    void *zone_arg;
    struct dueq_cron_stats stats;
};

static inline struct dueq_slice cron_entry_name(const struct cron_entry *entry)
{
    return dueq_slice(entry->name, entry->name_size);
}

static inline uint64_t crons_count(const struct crons *crons)
{
    return HASH_COUNT(crons->entries);
}

/* NULL: there is none. O(1). */
struct cron_entry *crons_find(const struct crons *crons, struct dueq_slice name);
/* A new entry, which does not wait. Each operation on it has the memory that it needs. NULL:
 * out of memory. */
struct cron_entry *crons_add(struct crons *crons, struct dueq_slice name);
void crons_remove(struct crons *crons, struct cron_entry *entry);
/* Frees all. */
void crons_release(struct crons *crons);

/* The entry is looked at then. O(log n). */
void crons_wait(struct crons *crons, struct cron_entry *entry, uint8_t clock, int64_t at);
/* It is looked at no more. */
void crons_rest(struct crons *crons, struct cron_entry *entry);
/* The first of a clock; NULL: none waits. O(1). */
struct cron_entry *crons_first(const struct crons *crons, uint8_t clock);

/* NULL: sound. O(n). */
const char *crons_check(const struct crons *crons);

#endif
