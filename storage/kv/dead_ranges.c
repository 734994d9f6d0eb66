#include "storage/kv/dead_ranges.h"

#include <stdlib.h>

/* ---- life */

bool dead_ranges_init(struct gaps *gaps)
{
    *gaps = (struct gaps){.space = calloc(DEAD_RANGES_MAX, sizeof(*gaps->space)),
                          .order = calloc(DEAD_RANGES_MAX, sizeof(struct gap *))};
    if (gaps->space == NULL || gaps->order == NULL) {
        dead_ranges_release(gaps);
        return false;
    }
    for (unsigned i = 0; i < DEAD_RANGES_MAX; i++)
        gaps->order[i] = &gaps->space[i];
    return true;
}

void dead_ranges_release(struct gaps *gaps)
{
    free(gaps->space);
    free(gaps->order);
    *gaps = (struct gaps){.space = NULL};
}

/* ---- order */

static int compare(const struct kv_key *a, const struct kv_key *b)
{
    return dueq_slice_compare(kv_key_slice(a), kv_key_slice(b));
}

/* How many gaps begin before the key; `too`: or at it. */
static unsigned count_before(const struct gaps *gaps, struct dueq_slice key, bool too)
{
    unsigned low = 0, high = gaps->count;

    while (low < high) {
        unsigned middle = (low + high) / 2;
        int order = dueq_slice_compare(kv_key_slice(&gaps->order[middle]->from), key);

        if (order < 0 || (too && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void drop(struct gaps *gaps, unsigned index)
{
    struct gap *gap = gaps->order[index];

    gaps->count--;
    memmove(&gaps->order[index], &gaps->order[index + 1],
            (gaps->count - index) * sizeof(struct gap *));
    gaps->order[gaps->count] = gap;
}

/* Takes out one that nobody went around since the hand came by last. */
static void make_room(struct gaps *gaps)
{
    for (;; gaps->hand++) {
        struct gap *gap;

        gaps->hand = gaps->hand < gaps->count ? gaps->hand : 0;
        gap = gaps->order[gaps->hand];
        if (!gap->used)
            break;
        gap->used = false;
    }
    drop(gaps, gaps->hand);
}

/* Only what is used of the keys is copied. */
static void insert(struct gaps *gaps, const struct kv_key *from, const struct kv_key *to)
{
    unsigned index;
    struct gap *gap;

    if (gaps->count == DEAD_RANGES_MAX)
        make_room(gaps);
    index = count_before(gaps, kv_key_slice(from), false);
    gap = gaps->order[gaps->count];
    memmove(&gaps->order[index + 1], &gaps->order[index],
            (gaps->count - index) * sizeof(struct gap *));
    gaps->order[index] = gap;
    gaps->count++;
    kv_key_copy(&gap->from, kv_key_slice(from));
    kv_key_copy(&gap->to, kv_key_slice(to));
    gap->used = false;
}

const struct gap *dead_ranges_find(struct gaps *gaps, struct dueq_slice key, bool backward)
{
    unsigned behind = count_before(gaps, key, !backward);
    struct gap *gap;
    int order;

    if (behind == 0)
        return NULL;
    gap = gaps->order[behind - 1];
    order = dueq_slice_compare(key, kv_key_slice(&gap->to));
    if (backward ? order > 0 : order >= 0)
        return NULL;
    gap->used = true;
    return gap;
}

/* ---- changes */

/* All that the new one overlaps with or meets are taken up by it. */
void dead_ranges_add(struct gaps *gaps, const struct kv_key *from, const struct kv_key *to)
{
    struct kv_key first, last;
    unsigned index;

    if (compare(from, to) >= 0)
        return;
    kv_key_copy(&first, kv_key_slice(from));
    kv_key_copy(&last, kv_key_slice(to));
    index = count_before(gaps, kv_key_slice(from), true);
    if (index > 0 && compare(&gaps->order[index - 1]->to, from) >= 0)
        index--;
    while (index < gaps->count && compare(&gaps->order[index]->from, &last) <= 0) {
        const struct gap *other = gaps->order[index];

        if (compare(&other->from, &first) < 0)
            kv_key_copy(&first, kv_key_slice(&other->from));
        if (compare(&other->to, &last) > 0)
            kv_key_copy(&last, kv_key_slice(&other->to));
        drop(gaps, index);
    }
    insert(gaps, &first, &last);
}

/* The gap shrinks to what is before the key, and what is behind it becomes another. */
void dead_ranges_split(struct gaps *gaps, struct dueq_slice key)
{
    unsigned behind = count_before(gaps, key, true);
    struct gap *gap;
    struct kv_key next, to;

    if (behind == 0)
        return;
    gap = gaps->order[behind - 1];
    if (dueq_slice_compare(key, kv_key_slice(&gap->to)) >= 0)
        return;
    kv_key_copy(&to, kv_key_slice(&gap->to));
    kv_key_copy(&next, key);
    kv_key_follow(&next);
    if (dueq_slice_equal(kv_key_slice(&gap->from), key))
        drop(gaps, behind - 1);
    else
        kv_key_copy(&gap->to, key);
    if (compare(&next, &to) < 0)
        insert(gaps, &next, &to);
}

void dead_ranges_join(struct gaps *gaps, struct dueq_slice key)
{
    unsigned behind = count_before(gaps, key, true);
    struct gap *below = behind > 0 ? gaps->order[behind - 1] : NULL;
    struct gap *above = behind < gaps->count ? gaps->order[behind] : NULL;
    struct kv_key next;

    if (below != NULL && !dueq_slice_equal(kv_key_slice(&below->to), key))
        below = NULL;
    if (below == NULL && above == NULL)
        return;
    kv_key_copy(&next, key);
    kv_key_follow(&next);
    if (above != NULL && compare(&above->from, &next) != 0)
        above = NULL;
    if (below != NULL)
        kv_key_copy(&below->to, kv_key_slice(above != NULL ? &above->to : &next));
    else if (above != NULL)
        kv_key_copy(&above->from, key);
    if (below != NULL && above != NULL)
        drop(gaps, behind);
}
