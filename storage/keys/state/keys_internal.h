/* The inside of struct keys, with its cursors and its scratch space. Private to
 * storage/keys. */
#ifndef DUEQ_KEYS_INTERNAL_H
#define DUEQ_KEYS_INTERNAL_H

#include "storage/keys/state/access.h"
#include "storage/keys/state/changes.h"
#include "storage/keys/state/packed.h"
#include "storage/kv/key.h"

#define HASH_NONFATAL_OOM 1 /* a library does not exit: hh.tbl is NULL then */
#include <uthash.h>

struct kv;
struct kv_cursor;
struct unfinished;

/* An open key. */
struct keys_entry {
    UT_hash_handle hh;
    struct keys_entry *newer, *older; /* least recently used order */
    struct keys_entry *prev, *next;   /* changed ones (utlist), while dirty */
    enum keys_type type;
    enum keys_encoding encoding;
    bool packed;         /* the value is in the key's own record */
    struct packed value; /* of a packed one that is changed, until it is saved */
    uint64_t object;     /* id of the value's own records; 0: it never had any */
    uint64_t count;      /* elements; 1 for a string, 0 for a new entry */
    int64_t expires;
    int64_t used;     /* time of the last use, at the latest (access.h) */
    uint64_t counted; /* serial of the use that counted it */
    int64_t head;     /* list: index of the first element */
    bool uncut;       /* known to have no cuts (cuts.h) */
    bool dirty;       /* differs from the record on disk */
    bool stored;      /* has a record on disk */
    uint16_t logical; /* database at the last lookup, for change events */
    uint64_t hash;    /* of the name (name_hash.h) */
    uint64_t physical;
    size_t name_size;
    uint8_t name[];
};

struct keys_database {
    uint64_t physical, count, expiring;
    bool dirty;
};

struct keys {
    struct kv *kv; /* not owned */
    uint64_t seed;
    struct keys_database databases[KEYS_DATABASES_MAX];
    uint64_t next_object, next_physical;
    bool counters_dirty;
    bool making_way;            /* the next entry opened replaces another value */
    struct keys_entry *entries; /* by physical and name */
    struct keys_entry *newest, *oldest;
    struct keys_entry *changed; /* entries that differ from their records */
    struct kv_cursor *cursors[4];
    unsigned cursors_taken;
    struct change_log changes;
    struct keys_limits limits;
    struct access_state access;
    uint8_t *scratch; /* a value that must outlive the change that follows */
    size_t scratch_size;
    size_t unsaved, unsaved_bytes; /* packed values that are changed */
    int64_t next_expiry[2]; /* on queue's and wall clock: none before; DUEQ_NEVER: none */
    struct kv_key first_expiry[2]; /* no expiry record of that clock is before */
    bool garbage;                  /* there may be garbage records to erase by */
    bool garbage_stays;            /* some could not be read; they stay until the next open */
    struct kv_key garbage_first;   /* no garbage record is before */
    struct kv_key garbage_now;     /* the garbage record in work; size 0: none */
    unsigned erased;               /* records of small objects, since a tick has counted them */
    struct kv_key garbage_at;      /* garbage_now's records before this are erased; size 0: no
                                    * record is */
    struct unfinished *unfinished; /* builds and removals (utlist) */
};

static inline struct dueq_slice keys_entry_name(const struct keys_entry *entry)
{
    return dueq_slice(entry->name, entry->name_size);
}

/* Takes one of four cursors, which are kept for reuse; the last one taken is given back first.
 * NULL: out of memory, or all four are taken. */
struct kv_cursor *keys_take_cursor(struct keys *keys);
void keys_give_cursor(struct keys *keys);

/* The scratch space, of at least that size, bytes; NULL: out of memory. */
uint8_t *keys_reserve(struct keys *keys, size_t size);
/* Copies the value into the scratch space, where it lives until the next keep or reserve. data
 * NULL: out of memory. */
struct dueq_slice keys_keep(struct keys *keys, struct dueq_slice value);

/* Lowers `bound` to the key if the key is before it. Searches start at such a bound, so that
 * they do not pass all records that were deleted before it. */
void keys_lower_bound(struct kv_key *bound, const struct kv_key *key);

#endif
