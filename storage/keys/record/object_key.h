/* The tables of the keys, and how the keys of an object's records begin. Private to
 * storage/keys.
 *
 * An object is a value that has records of its own; its id is the first part of their keys. */
#ifndef DUEQ_OBJECT_KEY_H
#define DUEQ_OBJECT_KEY_H

#include "storage/keys/state/keys_types.h"
#include "storage/kv/key.h"

enum {
    TABLE_COUNTERS = 'c', /* -> next object id, next physical database */
    TABLE_DATABASE = 'd', /* logical number -> physical id, keys, expiring keys */
    TABLE_EXPIRY = 'e',   /* time, physical, hash, name -> whole name when folded */
    TABLE_RECLAIM = 'g',  /* object or physical id, what -> nothing, or indexes of a list */
    TABLE_MEMBER = 'h',   /* object, hash, member -> value */
    TABLE_KEY = 'k',      /* physical, hash, name -> entry */
    TABLE_ELEMENT = 'l',  /* object, index -> list element */
    TABLE_STRING = 'v',   /* object -> value */
    TABLE_ORDER = 'y',    /* object, score, member -> nothing, or flags and whole member */
    TABLE_CUT = 'z'       /* object, end of the cut -> its first key (cuts.h) */
};

/* The tables that contain records of a value of that type, ascending; 0 ends them. */
const uint8_t *object_key_tables(enum keys_type type);
/* The bytes with which the keys of an object's records in a table begin. */
struct kv_key object_key_prefix(uint8_t table, uint64_t object);
/* The key of a list element; the index may be negative. */
struct kv_key object_key_element(uint64_t object, int64_t index);

#endif
