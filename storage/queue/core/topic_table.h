/* The names of all topics, in RAM: a hash table that grows and shrinks by one bucket at a time
 * (linear hashing: Litwin, 1980), so that no call is long, however many topics there are. It
 * knows nothing of jobs. Private to storage/queue. */
#ifndef DUEQ_TOPIC_TABLE_H
#define DUEQ_TOPIC_TABLE_H

#include "storage/slice.h"
#include "storage/wheel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct topic;

/* What a topic costs while nobody uses it. It stays where it is as long as the topic lives. */
struct topic_entry {
    struct topic_entry *next; /* in its bucket */
    struct topic *topic;      /* NULL: asleep, all of it is in its record */
    struct wheel_timer timer; /* its next event, on the queue's clock; not armed: none */
    uint8_t flags;            /* TOPIC_*, while it is asleep */
    uint8_t name_size;
    char name[];
};

enum {
    TOPIC_FOLLOWS_WALL = 1, /* a step of the wall clock changes its next event */
    TOPIC_HAS_DEAD = 2,     /* a change of settings changes its next event */
    TOPIC_HAS_GROUPS = 4,   /* likewise */
    TOPIC_REFUSED = 8,      /* a change of settings may let claims find jobs */
    TOPIC_HAS_EVENTS = 16   /* a change of settings may make its ring smaller */
};

enum { TOPIC_TABLE_SEGMENTS = 32, TOPIC_TABLE_LEAST = 64 /* buckets */ };

struct topic_table {
    struct topic_entry **segments[TOPIC_TABLE_SEGMENTS]; /* each as large as all before */
    size_t buckets;                                      /* 0: none was needed so far */
    size_t count;
    uint64_t seed;            /* names cannot be chosen to share a bucket */
    struct topic_table *next; /* among flushed ones */
};

static inline struct dueq_slice topic_entry_name(const struct topic_entry *entry)
{
    return dueq_slice(entry->name, entry->name_size);
}

static inline struct topic_entry *topic_entry_of_timer(struct wheel_timer *timer)
{
    return (struct topic_entry *)(void *)((char *)timer - offsetof(struct topic_entry, timer));
}

/* An entry that is in no table; the caller frees it. NULL: out of memory. */
struct topic_entry *topic_entry_new(struct dueq_slice name);
/* Gives `count` entries, chained by `next`, to a new table. False: out of memory, and they are
 * still the caller's. O(count). */
bool topic_table_fill(struct topic_table *table, struct topic_entry *entries, size_t count);
/* NULL: there is none. */
struct topic_entry *topic_table_find(const struct topic_table *table, struct dueq_slice name);
/* The name has no entry yet. NULL: out of memory. */
struct topic_entry *topic_table_add(struct topic_table *table, struct dueq_slice name);
/* Frees the entry. */
void topic_table_remove(struct topic_table *table, struct topic_entry *entry);
/* The first entry of a bucket below table->buckets, then by entry->next. Entries move to lower
 * buckets only when there are fewer buckets afterwards. */
struct topic_entry *topic_table_bucket(const struct topic_table *table, size_t bucket);
/* Takes an entry out of the table, which nobody searches any more; the caller frees it. NULL:
 * the table is empty, and has no memory. *budget: steps, at least 1. */
struct topic_entry *topic_table_take(struct topic_table *table, unsigned *budget);

#endif
