#include "storage/keys/zset_gap.h"

#include <stdlib.h>

struct zset_gaps {
    unsigned count;
    struct zset_gap gaps[ZSET_GAPS]; /* the one noted last first; no two touch */
};

void zset_key_copy(struct kv_key *key, struct dueq_slice bytes)
{
    memcpy(key->bytes, bytes.data, bytes.size);
    key->size = (uint16_t)bytes.size;
    key->folded = bytes.size == KV_KEY_MAX;
}

void zset_key_follow(struct kv_key *key)
{
    if (key->size < KV_KEY_MAX) {
        key->bytes[key->size++] = 0;
        return;
    }
    while (key->bytes[key->size - 1] == UINT8_MAX)
        key->size--;
    key->bytes[key->size - 1]++;
}

static int compare(const struct kv_key *a, const struct kv_key *b)
{
    return dueq_slice_compare(kv_key_slice(a), kv_key_slice(b));
}

const struct zset_gap *zset_gap_ahead(const struct keys_entry *entry, const struct kv_key *key,
                                      bool backward)
{
    for (unsigned i = 0; entry->gaps != NULL && i < entry->gaps->count; i++) {
        const struct zset_gap *gap = &entry->gaps->gaps[i];
        int from = compare(&gap->from, key), to = compare(key, &gap->to);

        if (backward ? from < 0 && to <= 0 : from <= 0 && to < 0)
            return gap;
    }
    return NULL;
}

static void drop(struct zset_gaps *gaps, unsigned index)
{
    gaps->count--;
    memmove(&gaps->gaps[index], &gaps->gaps[index + 1],
            (gaps->count - index) * sizeof(gaps->gaps[0]));
}

/* Takes up those that overlap with the gap or meet it. */
static void absorb(struct zset_gaps *gaps, struct zset_gap *gap)
{
    for (unsigned i = 0; i < gaps->count;) {
        const struct zset_gap *other = &gaps->gaps[i];

        if (compare(&gap->from, &other->to) > 0 || compare(&other->from, &gap->to) > 0) {
            i++;
            continue;
        }
        if (compare(&other->from, &gap->from) < 0)
            gap->from = other->from;
        if (compare(&other->to, &gap->to) > 0)
            gap->to = other->to;
        drop(gaps, i);
    }
}

static bool is_known(const struct keys_entry *entry, const struct kv_key *from,
                     const struct kv_key *to)
{
    const struct zset_gap *gap = zset_gap_ahead(entry, from, false);

    return gap != NULL && compare(to, &gap->to) <= 0;
}

void zset_gap_note(struct keys_entry *entry, const struct kv_key *from, const struct kv_key *to)
{
    struct zset_gaps *gaps = entry->gaps;
    struct zset_gap gap;

    if (compare(from, to) >= 0 || is_known(entry, from, to))
        return;
    if (gaps == NULL)
        gaps = entry->gaps = calloc(1, sizeof(*gaps));
    if (gaps == NULL)
        return;
    gap = (struct zset_gap){*from, *to};
    absorb(gaps, &gap);
    if (gaps->count == ZSET_GAPS)
        gaps->count--;
    memmove(&gaps->gaps[1], &gaps->gaps[0], gaps->count * sizeof(gaps->gaps[0]));
    gaps->gaps[0] = gap;
    gaps->count++;
}

void zset_gap_put(struct keys_entry *entry, const struct kv_key *key)
{
    const struct zset_gap *found = zset_gap_ahead(entry, key, false);
    struct zset_gap gap;
    struct kv_key behind = *key;

    if (found == NULL)
        return;
    gap = *found;
    drop(entry->gaps, (unsigned)(found - entry->gaps->gaps));
    zset_key_follow(&behind);
    zset_gap_note(entry, &behind, &gap.to);
    zset_gap_note(entry, &gap.from, key);
}

void zset_gap_del(struct keys_entry *entry, const struct kv_key *key)
{
    struct kv_key behind = *key;

    if (entry->gaps == NULL)
        return;
    zset_key_follow(&behind);
    if (zset_gap_ahead(entry, key, true) != NULL ||
        zset_gap_ahead(entry, &behind, false) != NULL)
        zset_gap_note(entry, key, &behind);
}
