/* The types that all calls on keys share: what a key is, and from where and when it is seen. */
#ifndef DUEQ_KEYS_TYPES_H
#define DUEQ_KEYS_TYPES_H

#include "storage/keys/state/expiry.h"
#include "storage/status.h"
#include "storage/types.h"

struct keys;

enum { KEYS_DATABASES_MAX = 16 };
enum { KEYS_PREFETCH_MOST = 32 }; /* names that keys_prefetch takes */

enum keys_type { KEYS_NONE, KEYS_STRING, KEYS_LIST, KEYS_SET, KEYS_ZSET, KEYS_HASH };

/* The encoding that Redis would use for the value. OBJECT ENCODING shows it, and the order of
 * hashes and sets depends on it. A value changes from the compact encoding of its type to the
 * other one and never back. The numbers are those on disk. */
enum keys_encoding {
    KEYS_RAW,    /* strings */
    KEYS_INT,    /* strings that are 64-bit integers in their canonical form */
    KEYS_EMBSTR, /* short strings that were never edited */
    KEYS_QUICKLIST,
    KEYS_INTSET,    /* sets of integers only; ascending */
    KEYS_LISTPACK,  /* small values; a hash is in order of insertion */
    KEYS_HASHTABLE, /* in no order */
    KEYS_SKIPLIST
};

/* Above these limits a value leaves its compact encoding. They are compared when an element is
 * added: raising one later does not bring a value back. Hashes and sets also leave it above 8
 * KiB. */
struct keys_limits {
    uint64_t hash_entries, hash_value; /* fields; bytes of a field or value */
    uint64_t intset_entries;
    uint64_t zset_entries, zset_value; /* members; bytes of one */
    uint64_t list_entries; /* of a packed list; changes only the space that it takes on disk */
};

/* A view names the database and the time of a call. */
struct keys_view {
    struct keys *keys;
    unsigned database; /* below KEYS_DATABASES_MAX */
    struct dueq_time time;
};

struct keys_info {
    enum keys_type type;
    uint64_t count;  /* elements; bytes of a string */
    int64_t expires; /* see expiry.h; DUEQ_NEVER: the key does not expire */
    enum keys_encoding encoding;
    bool packed; /* the value is in the key's record and has no records of its own */
};

enum list_end { LIST_HEAD, LIST_TAIL };

struct zset_entry {
    struct dueq_slice member;
    double score;
};

/* Receives what an iteration finds; false stops it. The slices live until it returns. */
typedef bool (*keys_fn)(void *arg, struct dueq_slice name, const struct keys_info *info);
typedef bool (*keys_element_fn)(void *arg, struct dueq_slice element, struct dueq_slice value);

#endif
