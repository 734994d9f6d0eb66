#include "storage/keys/state/access.h"

#include "storage/keys/state/keys_internal.h"
#include "storage/keys/state/name_hash.h"

void access_begin(struct keys *keys, unsigned effects, int64_t now)
{
    struct access_state *access = &keys->access;

    if (access->serial == 0)
        access->closed = now; /* earlier uses are not known */
    access->effects = effects;
    access->now = now;
    access->serial++;
}

void access_end(struct keys *keys)
{
    keys->access.effects = 0;
}

void access_hit(struct keys *keys, struct keys_entry *entry)
{
    struct access_state *access = &keys->access;

    if (access->effects & ACCESS_TOUCH)
        entry->used = access->now;
    if (!(access->effects & ACCESS_COUNT) || entry->counted == access->serial)
        return;
    entry->counted = access->serial;
    access->lookups.hits++;
}

void access_miss(struct keys *keys, uint64_t hash)
{
    struct access_state *access = &keys->access;

    if (!(access->effects & ACCESS_COUNT))
        return;
    access->lookups.misses += access->missed_by != access->serial || access->missed != hash;
    access->missed_by = access->serial;
    access->missed = hash;
}

struct access_lookups access_get_lookups(const struct keys *keys)
{
    return keys->access.lookups;
}

void access_reset_lookups(struct keys *keys)
{
    keys->access.lookups = (struct access_lookups){0};
}
