#include "storage/kv/dead_ranges.h"

#include <assert.h>
#include <stdlib.h>

/* ---- life */

bool dead_ranges_init(struct dead_ranges *ranges)
{
    *ranges =
        (struct dead_ranges){.space = calloc(DEAD_RANGES_MAX, sizeof(*ranges->space)),
                             .order = calloc(DEAD_RANGES_MAX, sizeof(struct dead_range *))};
    if (ranges->space == NULL || ranges->order == NULL) {
        dead_ranges_release(ranges);
        return false;
    }
    for (unsigned i = 0; i < DEAD_RANGES_MAX; i++)
        ranges->order[i] = &ranges->space[i];
    return true;
}

void dead_ranges_release(struct dead_ranges *ranges)
{
    free(ranges->space);
    free(ranges->order);
    *ranges = (struct dead_ranges){.space = NULL};
}

/* ---- order */

static int compare(const struct kv_key *a, const struct kv_key *b)
{
    return dueq_slice_compare(kv_key_slice(a), kv_key_slice(b));
}

/* The number of ranges that begin before the key; `too`: or at it. */
static unsigned count_before(const struct dead_ranges *ranges, struct dueq_slice key, bool too)
{
    unsigned low = 0, high = ranges->count;

    while (low < high) {
        unsigned middle = (low + high) / 2;
        int order = dueq_slice_compare(kv_key_slice(&ranges->order[middle]->from), key);

        if (order < 0 || (too && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void drop(struct dead_ranges *ranges, unsigned index)
{
    struct dead_range *range = ranges->order[index];

    assert(index < ranges->count);
    ranges->count--;
    memmove(&ranges->order[index], &ranges->order[index + 1],
            (ranges->count - index) * sizeof(struct dead_range *));
    ranges->order[ranges->count] = range;
}

/* Drops a range that no search has used since the hand was last at it. */
static void make_room(struct dead_ranges *ranges)
{
    for (;; ranges->hand++) {
        struct dead_range *range;

        ranges->hand = ranges->hand < ranges->count ? ranges->hand : 0;
        range = ranges->order[ranges->hand];
        if (!range->used)
            break;
        range->used = false;
    }
    drop(ranges, ranges->hand);
}

/* Copies only the used bytes of the keys. */
static void insert(struct dead_ranges *ranges, const struct kv_key *from,
                   const struct kv_key *to)
{
    unsigned index;
    struct dead_range *range;

    if (ranges->count == DEAD_RANGES_MAX)
        make_room(ranges);
    index = count_before(ranges, kv_key_slice(from), false);
    assert(compare(from, to) < 0);
    assert(index == 0 || compare(&ranges->order[index - 1]->to, from) < 0);
    assert(index == ranges->count || compare(to, &ranges->order[index]->from) < 0);
    range = ranges->order[ranges->count];
    memmove(&ranges->order[index + 1], &ranges->order[index],
            (ranges->count - index) * sizeof(struct dead_range *));
    ranges->order[index] = range;
    ranges->count++;
    kv_key_copy(&range->from, kv_key_slice(from));
    kv_key_copy(&range->to, kv_key_slice(to));
    range->used = false;
}

const struct dead_range *dead_ranges_find(struct dead_ranges *ranges, struct dueq_slice key,
                                          bool backward)
{
    unsigned after = count_before(ranges, key, !backward);
    struct dead_range *range;
    int order;

    if (after == 0)
        return NULL;
    range = ranges->order[after - 1];
    order = dueq_slice_compare(key, kv_key_slice(&range->to));
    if (backward ? order > 0 : order >= 0)
        return NULL;
    range->used = true;
    return range;
}

/* ---- changes */

/* Merges the new range with all ranges that it overlaps or touches. */
void dead_ranges_add(struct dead_ranges *ranges, const struct kv_key *from,
                     const struct kv_key *to)
{
    struct kv_key first, last;
    unsigned index;

    if (compare(from, to) >= 0)
        return; /* empty */
    kv_key_copy(&first, kv_key_slice(from));
    kv_key_copy(&last, kv_key_slice(to));
    index = count_before(ranges, kv_key_slice(from), true);
    if (index > 0 && compare(&ranges->order[index - 1]->to, from) >= 0)
        index--;
    while (index < ranges->count && compare(&ranges->order[index]->from, &last) <= 0) {
        const struct dead_range *other = ranges->order[index];

        if (compare(&other->from, &first) < 0)
            kv_key_copy(&first, kv_key_slice(&other->from));
        if (compare(&other->to, &last) > 0)
            kv_key_copy(&last, kv_key_slice(&other->to));
        drop(ranges, index);
    }
    insert(ranges, &first, &last);
}

/* The part of the range before the key stays; the part after it becomes another range. */
void dead_ranges_split(struct dead_ranges *ranges, struct dueq_slice key)
{
    unsigned after = count_before(ranges, key, true);
    struct dead_range *range;
    struct kv_key next, to;

    if (after == 0)
        return;
    range = ranges->order[after - 1];
    if (dueq_slice_compare(key, kv_key_slice(&range->to)) >= 0)
        return;
    kv_key_copy(&to, kv_key_slice(&range->to));
    kv_key_copy(&next, key);
    kv_key_follow(&next);
    if (dueq_slice_equal(kv_key_slice(&range->from), key))
        drop(ranges, after - 1);
    else
        kv_key_copy(&range->to, key);
    if (compare(&next, &to) < 0)
        insert(ranges, &next, &to);
}

void dead_ranges_join(struct dead_ranges *ranges, struct dueq_slice key)
{
    unsigned after = count_before(ranges, key, true);
    struct dead_range *below = after > 0 ? ranges->order[after - 1] : NULL;
    struct dead_range *above = after < ranges->count ? ranges->order[after] : NULL;
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
        drop(ranges, after);
}
