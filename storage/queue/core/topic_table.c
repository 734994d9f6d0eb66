#include "storage/queue/core/topic_table.h"
#include "storage/xxh3.h"

#include <stdlib.h>

enum { SHRINKS = 4 }; /* with each removal, from four times as many buckets as entries on */

/* ---- buckets. Segment 0 has the first TOPIC_TABLE_LEAST, segment n as many as all before it.
 */

static int log2_of(size_t number)
{
    return 63 - __builtin_clzll(number);
}

/* The segment of a bucket, and in *bucket the index there. */
static int segment_of(size_t *bucket)
{
    size_t scaled = *bucket / TOPIC_TABLE_LEAST;
    int segment = scaled == 0 ? 0 : 1 + log2_of(scaled);

    if (segment > 0)
        *bucket -= (size_t)TOPIC_TABLE_LEAST << (segment - 1);
    return segment;
}

static struct topic_entry **bucket_at(const struct topic_table *table, size_t bucket)
{
    int segment = segment_of(&bucket);

    return &table->segments[segment][bucket];
}

struct topic_entry *topic_table_bucket(const struct topic_table *table, size_t bucket)
{
    return *bucket_at(table, bucket);
}

/* Buckets above are split already: they have the names whose next bit of the hash is set. */
static size_t bucket_of(const struct topic_table *table, struct dueq_slice name)
{
    uint64_t hash = XXH3_64bits_withSeed(name.data, name.size, table->seed);
    size_t lap = (size_t)1 << log2_of(table->buckets), bucket = hash & (2 * lap - 1);

    return bucket < table->buckets ? bucket : bucket - lap;
}

/* False: out of memory. Pages of a large segment are taken from the system as they are used. */
static bool make_segment(struct topic_table *table, int segment)
{
    size_t size = (size_t)TOPIC_TABLE_LEAST << (segment > 0 ? segment - 1 : 0);

    if (segment == TOPIC_TABLE_SEGMENTS)
        return false;
    table->segments[segment] = calloc(size, sizeof(struct topic_entry *));
    return table->segments[segment] != NULL;
}

/* One bucket more; its entries come from the bucket that it is split from. Without memory the
 * buckets stay as they are: only slower. */
static void grow(struct topic_table *table)
{
    size_t added = table->buckets, at = added, from = added - ((size_t)1 << log2_of(added));
    int segment = segment_of(&at);
    struct topic_entry **link, *entry;

    if (at == 0 && !make_segment(table, segment))
        return;
    table->buckets++;
    link = bucket_at(table, from);
    while ((entry = *link) != NULL) {
        struct topic_entry **to;

        if (bucket_of(table, topic_entry_name(entry)) == from) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        to = bucket_at(table, added);
        entry->next = *to;
        *to = entry;
    }
}

/* One bucket less: its entries go back to the one that it was split from. */
static void shrink(struct topic_table *table)
{
    size_t removed = table->buckets - 1, at = removed;
    struct topic_entry **link = bucket_at(table, removed - ((size_t)1 << log2_of(removed)));
    int segment = segment_of(&at);

    while (*link != NULL)
        link = &(*link)->next;
    *link = table->segments[segment][at];
    table->segments[segment][at] = NULL;
    table->buckets--;
    if (at == 0) {
        free(table->segments[segment]);
        table->segments[segment] = NULL;
    }
}

/* ---- entries */

struct topic_entry *topic_entry_new(struct dueq_slice name)
{
    size_t size = offsetof(struct topic_entry, name) + name.size;
    struct topic_entry *entry = calloc(1, size > sizeof(*entry) ? size : sizeof(*entry));

    if (entry == NULL)
        return NULL;
    entry->name_size = (uint8_t)name.size;
    memcpy(entry->name, name.data, name.size);
    return entry;
}

static void insert(struct topic_table *table, struct topic_entry *entry)
{
    struct topic_entry **bucket = bucket_at(table, bucket_of(table, topic_entry_name(entry)));

    entry->next = *bucket;
    *bucket = entry;
    table->count++;
}

/* All buckets at once: a table that grows with each entry reads every one of them again, from
 * memory that is no longer in a cache. Without memory for all of them there are fewer. */
bool topic_table_fill(struct topic_table *table, struct topic_entry *entries, size_t count)
{
    struct topic_entry *next;

    for (int segment = 0; table->buckets < count && make_segment(table, segment); segment++)
        table->buckets = (size_t)TOPIC_TABLE_LEAST << segment;
    if (table->buckets == 0 && count > 0)
        return false;
    for (; entries != NULL; entries = next) {
        next = entries->next;
        insert(table, entries);
    }
    return true;
}

struct topic_entry *topic_table_find(const struct topic_table *table, struct dueq_slice name)
{
    struct topic_entry *entry;

    if (table->count == 0)
        return NULL;
    entry = *bucket_at(table, bucket_of(table, name));
    while (entry != NULL && !dueq_slice_equal(topic_entry_name(entry), name))
        entry = entry->next;
    return entry;
}

struct topic_entry *topic_table_add(struct topic_table *table, struct dueq_slice name)
{
    struct topic_entry *entry;

    if (table->buckets == 0 && !make_segment(table, 0))
        return NULL;
    if (table->buckets == 0)
        table->buckets = TOPIC_TABLE_LEAST;
    entry = topic_entry_new(name);
    if (entry == NULL)
        return NULL;
    insert(table, entry);
    if (table->count > table->buckets)
        grow(table);
    return entry;
}

void topic_table_remove(struct topic_table *table, struct topic_entry *entry)
{
    struct topic_entry **link = bucket_at(table, bucket_of(table, topic_entry_name(entry)));

    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    free(entry);
    table->count--;
    for (int i = 0; i < SHRINKS; i++)
        if (table->buckets > TOPIC_TABLE_LEAST && table->count < table->buckets / SHRINKS)
            shrink(table);
}

/* From the last bucket down, so that segments are given back as they become empty. */
struct topic_entry *topic_table_take(struct topic_table *table, unsigned *budget)
{
    while (table->buckets > 0 && *budget > 0) {
        size_t at = table->buckets - 1;
        struct topic_entry **bucket = bucket_at(table, at), *entry = *bucket;
        int segment = segment_of(&at);

        --*budget;
        if (entry != NULL) {
            *bucket = entry->next;
            return entry;
        }
        table->buckets--;
        if (at == 0) {
            free(table->segments[segment]);
            table->segments[segment] = NULL;
        }
    }
    return NULL;
}
