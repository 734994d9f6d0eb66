#include "server/containers/gathered.h"

#include "server/containers/seeded_table.h"
#include "server/containers/spent.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 128 * 1024 - 64, /* small enough for the heap, which takes it back in pieces */
    FREED_AT_ONCE = 1024 * 1024,
    FIRST_PLACES = 64,
    RUN = 256,    /* items that are sorted in one step */
    RUN_STEPS = 8 /* comparisons for each of these items */
};

struct gathered_chunk {
    struct gathered_chunk *next;
    size_t size;
    char bytes[];
};

/* What was released and is not freed yet. One list for the process, because the client for whom
 * it was gathered may be gone. */
static struct gathered_chunk *released;

static void free_chunks(struct gathered_chunk *chunk)
{
    while (chunk != NULL) {
        struct gathered_chunk *next = chunk->next;

        free(chunk);
        chunk = next;
    }
}

static void free_later(struct gathered_chunk *first)
{
    struct gathered_chunk *last = first;

    while (last->next != NULL)
        last = last->next;
    last->next = released;
    released = first;
}

void gathered_release(struct gathered *gathered)
{
    spent_memory(gathered->slots, gathered->capacity * sizeof(*gathered->slots));
    spent_memory(gathered->buckets, gathered->bucket_capacity * sizeof(*gathered->buckets));
    if (gathered->memory <= FREED_AT_ONCE)
        free_chunks(gathered->chunks);
    else if (gathered->chunks != NULL)
        free_later(gathered->chunks);
    *gathered = (struct gathered){.slots = NULL};
}

bool gathered_free_one(void)
{
    struct gathered_chunk *chunk = released;

    if (chunk == NULL)
        return false;
    released = chunk->next;
    free(chunk);
    return true;
}

bool gathered_has_released(void)
{
    return released != NULL;
}

/* ---- memory */

static void *fail(struct gathered *gathered)
{
    gathered->failed = true;
    return NULL;
}

static struct gathered_chunk *add_chunk(struct gathered *gathered, size_t size)
{
    struct gathered_chunk *chunk = seeded_table_allocate(sizeof(*chunk) + size);

    if (chunk == NULL)
        return fail(gathered);
    chunk->size = size;
    gathered->memory += sizeof(*chunk) + size;
    return chunk;
}

/* A large element gets a chunk of its own, linked after the one that is being filled. */
static void *take_large(struct gathered *gathered, size_t size)
{
    struct gathered_chunk *chunk = add_chunk(gathered, size);

    if (chunk == NULL)
        return NULL;
    if (gathered->chunks == NULL) {
        chunk->next = NULL;
        gathered->chunks = chunk;
    } else {
        chunk->next = gathered->chunks->next;
        gathered->chunks->next = chunk;
    }
    return chunk->bytes;
}

static void *take(struct gathered *gathered, size_t size)
{
    struct gathered_chunk *chunk = gathered->chunks;
    size_t aligned = (size + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);

    if (aligned > CHUNK / 4)
        return take_large(gathered, aligned);
    if (gathered->chunk_left < aligned) {
        chunk = add_chunk(gathered, CHUNK / sizeof(void *) * sizeof(void *));
        if (chunk == NULL)
            return NULL;
        chunk->next = gathered->chunks;
        gathered->chunks = chunk;
        gathered->chunk_left = chunk->size;
    }
    gathered->chunk_left -= aligned;
    return chunk->bytes + chunk->size - gathered->chunk_left - aligned;
}

/* Doubles an array that is full. */
static void *grow(struct gathered *gathered, void *array, size_t count, size_t *capacity,
                  size_t size)
{
    size_t wanted = *capacity == 0 ? FIRST_PLACES : *capacity * 2;
    void *grown;

    if (count < *capacity)
        return array;
    grown = realloc(array, wanted * size);
    if (grown == NULL)
        return fail(gathered);
    gathered->memory += (wanted - *capacity) * size;
    *capacity = wanted;
    return grown;
}

static void copy(char *to, struct dueq_slice bytes)
{
    if (bytes.size > 0)
        memcpy(to, bytes.data, bytes.size);
    to[bytes.size] = '\0';
}

const struct gathered_text *gathered_keep(struct gathered *gathered, struct dueq_slice bytes)
{
    struct gathered_text *text = take(gathered, sizeof(*text) + bytes.size + 1);

    if (text == NULL)
        return NULL;
    text->size = bytes.size;
    copy(text->bytes, bytes);
    return text;
}

/* ---- the table (linear hashing): each new item splits one bucket, so no call moves all */

/* The greatest power of two that is not above the number, which is not 0. */
static size_t greatest_power(size_t number)
{
    return (size_t)1 << (63 - __builtin_clzll((unsigned long long)number));
}

static size_t bucket_of(const struct gathered *gathered, struct dueq_slice bytes)
{
    size_t hash = (size_t)seeded_table_hash(bytes.data, bytes.size);
    size_t below = greatest_power(gathered->bucket_count), bucket = hash & (below * 2 - 1);

    return bucket < gathered->bucket_count ? bucket : hash & (below - 1);
}

static void put(struct gathered *gathered, struct gathered_item *item)
{
    struct gathered_item **bucket =
        &gathered->buckets[bucket_of(gathered, gathered_bytes(item))];

    item->next = *bucket;
    *bucket = item;
}

static void split_one(struct gathered *gathered)
{
    size_t last = gathered->bucket_count, below;
    struct gathered_item *item, *next;

    gathered->buckets[last] = NULL;
    gathered->bucket_count++;
    if (last == 0)
        return;
    below = greatest_power(last);
    item = gathered->buckets[last - below];
    gathered->buckets[last - below] = NULL;
    for (; item != NULL; item = next) {
        next = item->next;
        put(gathered, item);
    }
}

static bool enter(struct gathered *gathered, struct gathered_item *item)
{
    void *grown = grow(gathered, gathered->buckets, gathered->bucket_count,
                       &gathered->bucket_capacity, sizeof(struct gathered_item *));

    if (grown == NULL)
        return false;
    gathered->buckets = grown;
    split_one(gathered);
    put(gathered, item);
    return true;
}

struct gathered_item *gathered_find(const struct gathered *gathered, struct dueq_slice bytes)
{
    struct gathered_item *item;

    if (gathered->bucket_count == 0)
        return NULL;
    item = gathered->buckets[bucket_of(gathered, bytes)];
    while (item != NULL && !dueq_slice_equal(gathered_bytes(item), bytes))
        item = item->next;
    return item;
}

struct gathered_item *gathered_add(struct gathered *gathered, struct dueq_slice bytes,
                                   double score, bool found)
{
    struct gathered_item *item;
    void *grown = grow(gathered, gathered->slots, gathered->count, &gathered->capacity,
                       sizeof(struct gathered_slot));

    if (grown == NULL)
        return NULL;
    gathered->slots = grown;
    item = take(gathered, sizeof(*item) + bytes.size + 1);
    if (item == NULL)
        return NULL;
    item->score = score;
    item->size = bytes.size;
    item->next = NULL;
    copy(item->bytes, bytes);
    if (found && !enter(gathered, item))
        return NULL;
    gathered->slots[gathered->count++] = (struct gathered_slot){score, item};
    return item;
}

/* ---- sorting: short runs, which are merged two by two, pass by pass */

static int compare_slots(const void *a, const void *b, void *arg)
{
    const struct gathered_sort *sort = arg;

    return sort->compare(a, b, sort->arg);
}

static void make_run(struct gathered *gathered, struct gathered_sort *sort, size_t size)
{
    struct gathered_slot *run = gathered->slots + sort->from;

    for (size_t i = 0; i < size; i++)
        run[i].score = run[i].item->score;
    if (size > 1)
        qsort_r(run, size, sizeof(*run), compare_slots, sort);
    sort->from += size;
}

/* True: all runs are made. */
static bool make_runs(struct gathered *gathered, struct gathered_sort *sort, unsigned *budget)
{
    size_t most = *budget == GATHERED_WHOLE ? gathered->count : RUN;

    while (*budget > 0 && sort->from < gathered->count) {
        size_t left = gathered->count - sort->from, size = left < most ? left : most;

        make_run(gathered, sort, size);
        if (*budget != GATHERED_WHOLE)
            *budget -= *budget < size * RUN_STEPS ? *budget : (unsigned)size * RUN_STEPS;
    }
    if (sort->from < gathered->count)
        return false;
    sort->width = most;
    sort->from = 0;
    return true;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Continues the merge. True: the pair is merged. */
static bool merge_pair(const struct gathered *gathered, struct gathered_sort *sort,
                       unsigned *budget)
{
    size_t middle = least(sort->from + sort->width, gathered->count);
    size_t end = least(middle + sort->width, gathered->count);
    const struct gathered_slot *left = gathered->slots + sort->from + sort->left;
    const struct gathered_slot *right = gathered->slots + middle + sort->right;
    const struct gathered_slot *left_end = gathered->slots + middle;
    const struct gathered_slot *right_end = gathered->slots + end;
    struct gathered_slot *to = sort->merged + sort->from + sort->left + sort->right;

    for (; *budget > 0 && (left < left_end || right < right_end); --*budget)
        if (right == right_end ||
            (left < left_end && sort->compare(left, right, sort->arg) <= 0))
            *to++ = *left++;
        else
            *to++ = *right++;
    sort->left = (size_t)(left - gathered->slots) - sort->from;
    sort->right = (size_t)(right - gathered->slots) - middle;
    if (left < left_end || right < right_end)
        return false;
    sort->from = end;
    sort->left = sort->right = 0;
    return true;
}

static void end_pass(struct gathered *gathered, struct gathered_sort *sort)
{
    struct gathered_slot *merged = sort->merged;
    size_t capacity = gathered->capacity;

    sort->merged = gathered->slots;
    gathered->slots = merged;
    gathered->capacity = sort->capacity;
    sort->capacity = capacity;
    sort->width *= 2;
    sort->from = 0;
}

bool gathered_sort_step(struct gathered *gathered, struct gathered_sort *sort, unsigned budget)
{
    assert(sort->compare != NULL && budget > 0);
    if (sort->width == 0 && !make_runs(gathered, sort, &budget))
        return false;
    if (sort->width >= gathered->count)
        return true;
    if (sort->merged == NULL) {
        sort->merged = malloc(gathered->count * sizeof(*sort->merged));
        sort->capacity = gathered->count;
        gathered->memory += gathered->count * sizeof(*sort->merged);
    }
    if (sort->merged == NULL) {
        gathered->failed = true;
        return true;
    }
    while (sort->width < gathered->count) {
        if (!merge_pair(gathered, sort, &budget))
            return false;
        if (sort->from == gathered->count)
            end_pass(gathered, sort);
    }
    return true;
}

void gathered_sort_release(struct gathered_sort *sort)
{
    spent_memory(sort->merged, sort->capacity * sizeof(*sort->merged));
    sort->merged = NULL;
}
