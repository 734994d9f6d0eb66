#include "storage/keys/key_index.h"

void access_begin(struct keys *keys, unsigned use, int64_t now)
{
    struct access_state *using = &keys->use;

    if (using->serial == 0)
        using->closed = now; /* what was before the opening is not known */
    using->how = use;
    using->now = now;
    using->serial++;
}

void access_end(struct keys *keys)
{
    keys->use.how = 0;
}

void access_hit(struct keys *keys, struct keys_entry *entry)
{
    struct access_state *using = &keys->use;

    if (using->how & ACCESS_TOUCH)
        entry->used = using->now;
    if (!(using->how & ACCESS_COUNT) || entry->counted == using->serial)
        return;
    entry->counted = using->serial;
    using->lookups.hits++;
}

void access_miss(struct keys *keys, struct dueq_slice name)
{
    struct access_state *using = &keys->use;
    uint64_t hash;

    if (!(using->how & ACCESS_COUNT))
        return;
    hash = name_hash(keys, name);
    using->lookups.misses += using->missed_by != using->serial || using->missed != hash;
    using->missed_by = using->serial;
    using->missed = hash;
}

enum dueq_status access_last(const struct keys_view *view, struct dueq_slice name,
                             int64_t *ret_moment)
{
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, KEYS_NONE, &entry);

    if (status == DUEQ_OK)
        *ret_moment = entry->used;
    return status;
}

struct access_lookups access_get_lookups(const struct keys *keys)
{
    return keys->use.lookups;
}

void access_reset_lookups(struct keys *keys)
{
    keys->use.lookups = (struct access_lookups){0};
}
