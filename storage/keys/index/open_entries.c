#include "storage/keys/index/open_entries.h"

#include "storage/keys/index/unsaved.h"

#include <assert.h>
#include <stdlib.h>

/* ---- order of use */

static void link_newest(struct keys *keys, struct keys_entry *entry)
{
    entry->older = keys->newest;
    entry->newer = NULL;
    if (keys->newest != NULL)
        keys->newest->newer = entry;
    keys->newest = entry;
    if (keys->oldest == NULL)
        keys->oldest = entry;
}

static void unlink_entry(struct keys *keys, struct keys_entry *entry)
{
    if (entry->newer != NULL)
        entry->newer->older = entry->older;
    else
        keys->newest = entry->older;
    if (entry->older != NULL)
        entry->older->newer = entry->newer;
    else
        keys->oldest = entry->newer;
}

/* ---- identity */

static size_t identity_size(size_t name_size)
{
    return sizeof(uint64_t) + name_size;
}

/* uthash wants the identity (physical, name) in one piece of memory. */
static size_t write_identity(uint8_t *bytes, uint64_t physical, struct dueq_slice name)
{
    memcpy(bytes, &physical, sizeof(physical));
    if (name.size > 0)
        memcpy(bytes + sizeof(physical), name.data, name.size);
    return identity_size(name.size);
}

/* The hash of the name has 48 random bits. */
static unsigned identity_hash(uint64_t physical, uint64_t hash)
{
    return (unsigned)hash ^ (unsigned)(physical * 0x9e3779b1);
}

/* ---- the table */

/* *ret_entry NULL: it is not open. DUEQ_NOMEM: not known. */
static enum dueq_status look_up(const struct keys *keys, uint64_t physical,
                                struct dueq_slice name, uint64_t hash,
                                struct keys_entry **ret_entry)
{
    uint8_t small[256], *identity = small;
    size_t size = identity_size(name.size);

    if (size > sizeof(small))
        identity = malloc(size);
    if (identity == NULL)
        return DUEQ_NOMEM;
    write_identity(identity, physical, name);
    HASH_FIND_BYHASHVALUE(hh, keys->entries, identity, size, identity_hash(physical, hash),
                          *ret_entry);
    if (identity != small)
        free(identity);
    return DUEQ_OK;
}

bool open_entries_contain(const struct keys *keys, uint64_t physical, struct dueq_slice name,
                          uint64_t hash)
{
    struct keys_entry *entry;

    return look_up(keys, physical, name, hash, &entry) == DUEQ_OK && entry != NULL;
}

enum dueq_status open_entries_find(struct keys *keys, uint64_t physical, struct dueq_slice name,
                                   uint64_t hash, struct keys_entry **ret_entry)
{
    struct keys_entry *entry;
    enum dueq_status status = look_up(keys, physical, name, hash, &entry);

    if (status == DUEQ_OK && entry == NULL)
        status = DUEQ_NOTFOUND;
    if (status != DUEQ_OK)
        return status;
    if (entry != keys->newest) {
        unlink_entry(keys, entry);
        link_newest(keys, entry);
    }
    *ret_entry = entry;
    return DUEQ_OK;
}

/* The identity is kept after the name in the same allocation. */
struct keys_entry *open_entries_add(struct keys *keys, unsigned logical, uint64_t physical,
                                    struct dueq_slice name, uint64_t hash)
{
    size_t size = identity_size(name.size);
    struct keys_entry *entry = calloc(1, sizeof(*entry) + name.size + size);
    uint8_t *identity;

    if (entry == NULL)
        return NULL;
    entry->logical = (uint16_t)logical;
    entry->physical = physical;
    entry->hash = hash;
    entry->expires = DUEQ_NEVER;
    entry->used = keys->access.effects & ACCESS_TOUCH ? keys->access.now : keys->access.closed;
    entry->name_size = name.size;
    if (name.size > 0)
        memcpy(entry->name, name.data, name.size);
    identity = entry->name + name.size;
    write_identity(identity, physical, name);
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, keys->entries, identity, size,
                                identity_hash(physical, hash), entry);
    if (entry->hh.tbl == NULL) {
        free(entry);
        return NULL;
    }
    link_newest(keys, entry);
    return entry;
}

void open_entries_close(struct keys *keys, struct keys_entry *entry)
{
    unsaved_unmark(keys, entry);
    HASH_DEL(keys->entries, entry);
    unlink_entry(keys, entry);
    free(entry);
}

void open_entries_trim(struct keys *keys)
{
    while (HASH_COUNT(keys->entries) > KEYS_CACHE_MAX) {
        if (keys->oldest->used > keys->access.closed)
            keys->access.closed = keys->oldest->used;
        open_entries_close(keys, keys->oldest);
    }
}

void open_entries_close_all(struct keys *keys, uint64_t physical)
{
    struct keys_entry *entry = keys->newest;

    while (entry != NULL) {
        struct keys_entry *older = entry->older;

        if (entry->physical == physical)
            open_entries_close(keys, entry);
        entry = older;
    }
}
