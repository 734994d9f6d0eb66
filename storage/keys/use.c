#include "storage/keys/directory.h"

void keys_use_begin(struct dueq *store, unsigned use, int64_t now)
{
    struct keys_using *using = &store_keys(store)->use;

    if (using->serial == 0)
        using->closed = now; /* what was before the opening is not known */
    using->how = use;
    using->now = now;
    using->serial++;
}

void keys_use_end(struct dueq *store)
{
    store_keys(store)->use.how = 0;
}

void use_found(struct keys *keys, struct keys_entry *entry)
{
    struct keys_using *using = &keys->use;

    if (using->how & KEYS_USE_TOUCH)
        entry->used = using->now;
    if (!(using->how & KEYS_USE_COUNT) || entry->counted == using->serial)
        return;
    entry->counted = using->serial;
    using->lookups.hits++;
}

void use_missed(struct keys *keys, struct dueq_slice name)
{
    struct keys_using *using = &keys->use;
    uint64_t hash;

    if (!(using->how & KEYS_USE_COUNT))
        return;
    hash = keys_hash(keys, name);
    using->lookups.misses += using->missed_by != using->serial || using->missed != hash;
    using->missed_by = using->serial;
    using->missed = hash;
}

enum dueq_status keys_last_use(const struct keys_view *view, struct dueq_slice name,
                               int64_t *ret_moment)
{
    struct keys_entry *entry;
    enum dueq_status status = directory_find(view, name, KEYS_NONE, &entry);

    if (status == DUEQ_OK)
        *ret_moment = entry->used;
    return status;
}

struct keys_lookups keys_get_lookups(const struct dueq *store)
{
    return store_keys(store)->use.lookups;
}

void keys_reset_lookups(struct dueq *store)
{
    store_keys(store)->use.lookups = (struct keys_lookups){0};
}
