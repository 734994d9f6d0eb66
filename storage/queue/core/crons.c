#include "storage/queue/core/crons.h"
#include "storage/xxh3.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_LEAST = 16 };

/* ---- heaps */

static void put(struct cron_heap *heap, size_t place, struct cron_entry *entry)
{
    heap->entries[place] = entry;
    entry->place = place;
}

static void sift_up(struct cron_heap *heap, size_t place)
{
    struct cron_entry *entry = heap->entries[place];

    while (place > 0 && heap->entries[(place - 1) / 2]->at > entry->at) {
        put(heap, place, heap->entries[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(heap, place, entry);
}

static void sift_down(struct cron_heap *heap, size_t place)
{
    struct cron_entry *entry = heap->entries[place];

    for (;;) {
        size_t child = 2 * place + 1;

        if (child + 1 < heap->count && heap->entries[child + 1]->at < heap->entries[child]->at)
            child++;
        if (child >= heap->count || heap->entries[child]->at >= entry->at)
            break;
        put(heap, place, heap->entries[child]);
        place = child;
    }
    put(heap, place, entry);
}

static bool reserve(struct cron_heap *heap, size_t count)
{
    size_t room = heap->room == 0 ? ROOM_LEAST : 2 * heap->room;
    struct cron_entry **entries;

    if (count <= heap->room)
        return true;
    entries = realloc(heap->entries, room * sizeof(*entries));
    if (entries == NULL)
        return false;
    heap->entries = entries;
    heap->room = room;
    return true;
}

void crons_rest(struct crons *crons, struct cron_entry *entry)
{
    struct cron_heap *heap = &crons->heaps[entry->clock];
    struct cron_entry *last;
    size_t place = entry->place;

    if (!entry->waits)
        return;
    entry->waits = false;
    last = heap->entries[--heap->count];
    if (last == entry)
        return;
    put(heap, place, last);
    sift_up(heap, place);
    sift_down(heap, last->place);
}

void crons_wait(struct crons *crons, struct cron_entry *entry, uint8_t clock, int64_t at)
{
    struct cron_heap *heap = &crons->heaps[clock];

    crons_rest(crons, entry);
    entry->clock = clock;
    entry->at = at;
    entry->waits = true;
    put(heap, heap->count++, entry);
    sift_up(heap, entry->place);
}

struct cron_entry *crons_first(const struct crons *crons, uint8_t clock)
{
    const struct cron_heap *heap = &crons->heaps[clock];

    return heap->count == 0 ? NULL : heap->entries[0];
}

/* ---- by name */

static unsigned hash_of(const struct crons *crons, struct dueq_slice name)
{
    return (unsigned)XXH3_64bits_withSeed(name.data, name.size, crons->seed);
}

struct cron_entry *crons_find(const struct crons *crons, struct dueq_slice name)
{
    struct cron_entry *entry;

    HASH_FIND_BYHASHVALUE(hh, crons->entries, name.data, name.size, hash_of(crons, name),
                          entry);
    return entry;
}

struct cron_entry *crons_add(struct crons *crons, struct dueq_slice name)
{
    size_t count = crons_count(crons) + 1;
    struct cron_entry *entry = NULL;

    if (reserve(&crons->heaps[0], count) && reserve(&crons->heaps[1], count))
        entry = calloc(1, sizeof(*entry) + name.size);
    if (entry == NULL)
        return NULL;
    entry->name_size = (uint8_t)name.size;
    memcpy(entry->name, name.data, name.size);
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, crons->entries, entry->name, name.size,
                                hash_of(crons, name), entry);
    if (entry->hh.tbl != NULL)
        return entry;
    free(entry);
    return NULL;
}

void crons_remove(struct crons *crons, struct cron_entry *entry)
{
    crons_rest(crons, entry);
    if (crons->sweep == entry)
        crons->sweep = entry->hh.next;
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what was freed is in the table no more */
    HASH_DEL(crons->entries, entry);
    free(entry);
}

void crons_release(struct crons *crons)
{
    struct cron_entry *entry, *next;

    HASH_ITER(hh, crons->entries, entry, next)
        crons_remove(crons, entry);
    for (size_t i = 0; i < CRON_CLOCKS; i++)
        free(crons->heaps[i].entries);
}

const char *crons_check(const struct crons *crons)
{
    for (size_t i = 0; i < CRON_CLOCKS; i++)
        for (size_t place = 0; place < crons->heaps[i].count; place++) {
            const struct cron_entry *entry = crons->heaps[i].entries[place];

            if (entry->place != place || entry->clock != i || !entry->waits ||
                entry->at < crons->heaps[i].entries[(place - (place > 0)) / 2]->at)
                return "the heap of recurring jobs is out of order";
        }
    return NULL;
}
