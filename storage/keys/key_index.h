/* The directory of keys: database and name -> type, object id, count, expiry. Private to
 * storage/keys.
 *
 * Open entries are cached in RAM. A changed one is written once, when the batch is committed
 * (key_index_save), however many commands of the turn touched it. */
#ifndef DUEQ_KEY_INDEX_H
#define DUEQ_KEY_INDEX_H

#include "storage/keys/keys.h"
#include "storage/keys/packed.h"
#include "storage/kv/key.h"

#define HASH_NONFATAL_OOM 1 /* a library does not exit: hh.tbl is NULL then */
#include <uthash.h>

enum {
    TABLE_COUNTERS = 'c', /* -> next object id, next physical database */
    TABLE_DATABASE = 'd', /* logical number -> physical id, keys, expiring keys */
    TABLE_EXPIRY = 'e',   /* time, physical, hash, name -> whole name when folded */
    TABLE_GARBAGE = 'g',  /* object or physical id, what -> nothing, or indexes of a list */
    TABLE_MEMBER = 'h',   /* object, hash, member -> value */
    TABLE_KEY = 'k',      /* physical, hash, name -> entry */
    TABLE_ELEMENT = 'l',  /* object, index -> list element */
    TABLE_STRING = 'v',   /* object -> value */
    TABLE_ORDER = 'y',    /* object, score, member -> nothing, or flags and whole member */
    TABLE_CUT = 'z',      /* object, rest of the key behind a cut -> its first key (cuts.h) */

    KEYS_CACHE_MAX = 4096, /* open entries kept between commits */
    KEYS_SMALL = 64,       /* elements that are reclaimed at once */
    NAME_HASH_BYTES = 6,

    /* Up to these sizes, bytes, values stand in the key's own record, which is written anew
     * once a turn when they change: whatever the options for encodings say. */
    KEYS_PACKED_STRING = 256,
    KEYS_PACKED_LIST = 1024,
    KEYS_PACKED_LOOSE = 2048, /* where the order of the cells tells nobody anything */
    KEYS_PACKED_ORDER = 8192, /* where it does: small hashes and sets of integers */
    KEYS_UNSAVED_MAX = 1024   /* such values that are changed and not yet in their records */
};

struct keys_entry {
    UT_hash_handle hh;
    struct keys_entry *newer, *older; /* least recently used order */
    struct keys_entry *prev, *next;   /* changed ones (utlist), while dirty */
    enum keys_type type;
    enum keys_encoding encoding; /* what Redis would call it */
    bool packed;                 /* the value stands in the key's own record */
    struct packed value;         /* packed and changed: it, until it is in the record */
    uint64_t object;             /* of the value's own records; 0: it never had any */
    uint64_t count;              /* elements; 1: of a string, 0: of a new one */
    int64_t expires;
    int64_t used;     /* when it was last, at the latest */
    uint64_t counted; /* by this use: each once */
    int64_t head;     /* list: index of the first element */
    bool is_whole;    /* known to have no cuts (cuts.h) */
    bool dirty;       /* differs from the record on disk */
    bool stored;      /* has a record on disk */
    uint16_t logical; /* database at the time it was opened, for change events */
    uint64_t physical;
    size_t name_size;
    uint8_t name[];
};

struct keys_database {
    uint64_t physical, count, expiring;
    bool dirty;
};

struct change_log {
    uint8_t *bytes; /* records: struct change_header, name */
    size_t size, read, capacity;
    size_t looked; /* ahead, up to here */
    size_t last;   /* where the newest record begins, if there is one */
    bool on;
};

/* Of keys by who is running now. */
struct access_state {
    unsigned how; /* enum access_effect; 0 outside */
    int64_t now;
    int64_t closed;  /* no key that is not open was used after this */
    uint64_t serial; /* of this use */
    uint64_t missed; /* hash of the name that was not found last */
    uint64_t missed_by;
    struct access_lookups lookups;
};

struct keys {
    struct kv *kv;
    uint64_t seed;
    struct keys_database databases[KEYS_DATABASES_MAX];
    uint64_t next_object, next_physical;
    bool counters_dirty;
    bool making_way;            /* what is opened next takes the place of another value */
    struct keys_entry *entries; /* by physical and name */
    struct keys_entry *newest, *oldest;
    struct keys_entry *changed; /* entries that differ from their records */
    struct kv_cursor *cursors[4];
    unsigned cursors_taken;
    struct change_log changes;
    struct keys_limits limits;
    struct access_state use;
    uint8_t *scratch; /* a value that must outlive the change that follows */
    size_t scratch_size;
    size_t unsaved, unsaved_bytes; /* packed values that are changed */
    int64_t next_expiry[2]; /* on queue's and wall clock: none before; DUEQ_NEVER: none */
    struct kv_key first_expiry[2]; /* no expiry record of that clock comes before */
    bool garbage;                  /* there may be garbage records to erase by */
    bool garbage_stays;            /* some that could not be read are for the next opening */
    struct kv_key garbage_first;   /* none comes before */
    struct kv_key garbage_now;     /* the one being worked on; size 0: none */
    unsigned erased;               /* records of small objects, since a tick has counted them */
    struct kv_key garbage_at;      /* everything of that before this is gone; size 0: nothing */
    struct keys_build *builds;     /* objects that grow in slices (utlist) */
    struct keys_removal *removals; /* that look for what is to go (utlist) */
};

static inline struct dueq_slice keys_entry_name(const struct keys_entry *entry)
{
    return dueq_slice(entry->name, entry->name_size);
}

/* 48 bits, the order of names and members. */
uint64_t name_hash(const struct keys *keys, struct dueq_slice name);
void name_hash_append(struct kv_key *key, uint64_t hash);
uint64_t name_hash_read(const uint8_t *bytes);

/* The tables that hold an object's records; 0 ends. */
const uint8_t *object_key_tables(enum keys_type type);
/* What the keys of an object's records in a table begin with. */
struct kv_key object_key_prefix(uint8_t table, uint64_t object);
/* Of the element of a list, whose index may be negative. */
struct kv_key object_key_element(uint64_t object, int64_t index);

/* The live entry of that name. wanted KEYS_NONE: of any type. */
enum dueq_status key_index_find(const struct keys_view *view, struct dueq_slice name,
                                enum keys_type wanted, struct keys_entry **ret_entry);
/* The same, created empty when absent. */
enum dueq_status key_index_open(const struct keys_view *view, struct dueq_slice name,
                                enum keys_type type, struct keys_entry **ret_entry);
/* Of a value of that type that has just got records of its own. A sorted set may be small for
 * Redis all the same. */
enum keys_encoding key_index_large_encoding(enum keys_type type);
/* Marks the entry for saving. */
void key_index_mark_dirty(struct keys *keys, struct keys_entry *entry);
/* Marks the entry for saving and tells of the change. An entry of no elements (not a string) is
 * removed and gone. */
void key_index_changed(const struct keys_view *view, struct keys_entry *entry);
/* Tells of a change that left the entry's record as it is. */
void key_index_touched(const struct keys_view *view, const struct keys_entry *entry);
/* Takes the key out; its elements are reclaimed. The entry is gone. */
void key_index_remove(struct keys *keys, struct keys_entry *entry, bool expired);
/* Sets the expiry and its index record. */
void key_index_set_expiry(struct keys *keys, struct keys_entry *entry, int64_t at);
/* Moves the object of `from` to a new name, which is free. `from` is gone. DUEQ_NOMEM: nothing
 * has changed. */
enum dueq_status key_index_relink(struct keys *keys, struct keys_entry *from, unsigned database,
                                  struct dueq_slice name);
void key_index_save(struct keys *keys);

/* What the record of a key says; the slices lie in key and record. */
struct key_index_record {
    enum keys_type type;
    enum keys_encoding encoding;
    bool packed;
    uint64_t object, count;
    int64_t expires, head;
    struct dueq_slice name, value; /* value: packed */
};
/* False: it is damaged. */
bool key_index_read_record(struct dueq_slice key, struct dueq_slice record,
                           struct key_index_record *ret_record);
/* The whole name that belongs to an expiry record. */
struct dueq_slice key_index_expiring_name(struct dueq_slice key, struct dueq_slice record);

enum dueq_status key_index_load(struct keys *keys);
/* Forgets the open entries of a physical database, unsaved changes too. */
void key_index_forget(struct keys *keys, uint64_t physical);

/* ---- packed values */

/* The value, which lives until the next change. */
enum dueq_status key_index_value(struct keys *keys, const struct keys_entry *entry,
                                 struct dueq_slice *ret_value);
/* Brings the value into entry->value, to be changed there, and marks the entry for saving.
 * Others that are changed may be saved, and their values leave memory. Room in the journal is
 * asked for: a few bytes that change write kilobytes. DUEQ_TOOBIG: one record would not hold
 * them. On failure nothing has changed. */
enum dueq_status key_index_edit(struct keys *keys, struct keys_entry *entry);
/* Saves the entry with that value instead of the one it has. */
void key_index_write_value(struct keys *keys, struct keys_entry *entry,
                           struct dueq_slice value);
/* From now on the value stands in records of its own under entry->object, where the caller puts
 * what he takes over in *ret_value and releases. NULL: nothing of it is wanted, and it cannot
 * fail. On failure nothing has changed. */
enum dueq_status key_index_unpack(struct keys *keys, struct keys_entry *entry,
                                  struct packed *ret_value);
/* The other way: takes over the value. The records that it had are the caller's to delete. */
void key_index_pack(struct keys *keys, struct keys_entry *entry, struct packed *value);
/* Would a packed value of that size, bytes, be too large? */
bool key_index_outgrows(const struct keys_entry *entry, size_t size);
/* `to`, which is new, has what `from` has: type, count, and the value when it is packed; else
 * the records are shared. */
enum dueq_status key_index_take_value(struct keys *keys, struct keys_entry *to,
                                      const struct keys_entry *from);
/* After a failure: an entry that was opened for what then did not come is taken out again. */
void key_index_drop_empty(struct keys *keys, struct keys_entry *entry);

/* Builds the record's key. */
void key_index_key(const struct keys *keys, uint64_t physical, struct dueq_slice name,
                   struct kv_key *ret_key);
enum {
    KEY_INDEX_KEY_FIXED = 1 + 8 + NAME_HASH_BYTES,
    EXPIRY_KEY_FIXED = 1 + 8 + 8 + NAME_HASH_BYTES
};

/* access.c: a lookup ended so. */
void access_hit(struct keys *keys, struct keys_entry *entry);
void access_miss(struct keys *keys, struct dueq_slice name);

/* changes.c */
enum change_kind { CHANGE_VALUE, CHANGE_CREATED, CHANGE_EXPIRED, CHANGE_FLUSHED };
/* CHANGE_FLUSHED: the whole database, no name. */
void changes_record(struct keys *keys, unsigned database, struct dueq_slice name,
                    enum change_kind kind);

/* reclaim.c */
enum { /* beside enum keys_type in a garbage record */
       GARBAGE_DATABASE = 255,
       GARBAGE_HEAD =
           254, /* elements cut off a list that lives on: their indexes are the value */
       GARBAGE_TAIL = 253,
       GARBAGE_CUTS = 252 /* an object that lives on has cuts (cuts.h) */
};
void reclaim_object(struct keys *keys, enum keys_type type, uint64_t object, uint64_t count);
void reclaim_database(struct keys *keys, uint64_t physical);
/* Elements cut off one end of a list that lives on; many are erased later, in slices. */
void reclaim_elements(struct keys *keys, uint64_t object, enum list_end end, int64_t first,
                      uint64_t count);
/* The list grows at that end to the index. *ret_taken: an element that was cut off may still be
 * there; it is to be written over and will not be reclaimed. */
enum dueq_status reclaim_take_back(struct keys *keys, uint64_t object, enum list_end end,
                                   int64_t index, bool *ret_taken);

/* The object is to be reclaimed, from its garbage record, which has this key. */
void reclaim_later(struct keys *keys, uint64_t object, enum keys_type type);
/* It was passed over while it was built, and is built no more. */
void reclaim_passed(struct keys *keys, uint64_t object, enum keys_type type);
struct kv_key reclaim_record(uint64_t object, uint8_t kind);

/* keys_build.c: nobody erases an object that is being built. What is built from one that
 * changes has to begin anew. Builds that outlive the store find nothing any more. */
bool keys_build_covers(const struct keys *keys, uint64_t object);
void keys_build_invalidate(struct keys *keys, uint64_t object);
void keys_build_forget_all(struct keys *keys);
/* removal.c, likewise */
void keys_spoil_removals(struct keys *keys, uint64_t object);
void keys_forget_removals(struct keys *keys);

/* Deletes what stands under the name, expired or not, so that it is free. */
enum dueq_status keys_make_free(const struct keys_view *view, struct dueq_slice name);

/* Brings a place down to the key, if that comes before it. Records are looked for from such a
 * place on, and not over all that have been deleted. */
void keys_lower_bound(struct kv_key *place, const struct kv_key *key);

/* Cursors are few and kept; take and give nest. NULL: out of memory or nested too deep. */
struct kv_cursor *keys_take_cursor(struct keys *keys);
void keys_give_cursor(struct keys *keys);

/* The scratch space, at least that large; NULL: out of memory. */
uint8_t *keys_reserve(struct keys *keys, size_t size);
/* Copies into the scratch space, where it lives until the next keep. */
struct dueq_slice keys_keep(struct keys *keys, struct dueq_slice value);

#endif
