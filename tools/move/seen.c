#include "tools/move/seen.h"

#include "storage/xxh3.h"

#include <stdlib.h>

enum { FIRST_ROOM = 1024 };

static uint64_t hash_of(struct dueq_slice topic, struct dueq_slice id)
{
    return XXH3_64bits_withSeed(id.data, id.size, XXH3_64bits(topic.data, topic.size));
}

static struct seen_entry *find(const struct seen *seen, uint64_t id)
{
    size_t at = (size_t)id & (seen->room - 1);

    while (seen->entries[at].count > 0 && seen->entries[at].id != id)
        at = (at + 1) & (seen->room - 1);
    return &seen->entries[at];
}

static bool grow(struct seen *seen)
{
    struct seen larger = {.room = seen->room == 0 ? FIRST_ROOM : 2 * seen->room};

    larger.entries = calloc(larger.room, sizeof(*larger.entries));
    if (larger.entries == NULL)
        return false;
    for (size_t i = 0; i < seen->room; i++)
        if (seen->entries[i].count > 0)
            *find(&larger, seen->entries[i].id) = seen->entries[i];
    larger.count = seen->count;
    free(seen->entries);
    *seen = larger;
    return true;
}

uint64_t seen_count(struct seen *seen, struct dueq_slice topic, struct dueq_slice id,
                    struct dueq_slice body, bool *ret_same)
{
    uint64_t hash = hash_of(topic, id), content = XXH3_64bits(body.data, body.size);
    struct seen_entry *entry;

    if (seen->count * 2 >= seen->room && !grow(seen))
        return 0;
    entry = find(seen, hash);
    if (entry->count == 0) {
        *entry = (struct seen_entry){hash, content, 0};
        seen->count++;
    }
    *ret_same = entry->body == content;
    return ++entry->count;
}

bool seen_has(const struct seen *seen, struct dueq_slice topic, struct dueq_slice id)
{
    return seen->room > 0 && find(seen, hash_of(topic, id))->count > 0;
}

uint64_t seen_look(const struct seen *seen, struct dueq_slice topic, struct dueq_slice id,
                   struct dueq_slice body, bool *ret_same)
{
    const struct seen_entry *entry = seen->room == 0 ? NULL : find(seen, hash_of(topic, id));

    if (entry == NULL || entry->count == 0)
        return 0;
    *ret_same = entry->body == XXH3_64bits(body.data, body.size);
    return entry->count;
}

void seen_release(struct seen *seen)
{
    free(seen->entries);
    *seen = (struct seen){NULL, 0, 0};
}
