/* Records that say what is to be erased, so that erasing continues after a restart. Private to
 * storage/keys. Format: FORMAT.md, table g. */
#ifndef DUEQ_GARBAGE_RECORD_H
#define DUEQ_GARBAGE_RECORD_H

#include "storage/keys/state/keys_types.h"
#include "storage/kv/key.h"

/* The last byte of a garbage record's key; an enum keys_type: a whole object. */
enum {
    GARBAGE_DATABASE = 255, /* a flushed database */
    GARBAGE_HEAD = 254,     /* elements cut off the head of a list; value: their indexes */
    GARBAGE_TAIL = 253,     /* the same at its tail */
    GARBAGE_CUTS = 252      /* the object has cuts (cuts.h) */
};
/* id: of an object, or the physical id of a database. */
struct kv_key garbage_record_key(uint64_t id, uint8_t kind);
/* Has the key the form of those? A record that has not cannot be erased by. */
bool garbage_record_reads(struct dueq_slice key);

/* DUEQ_NOTFOUND, without a search when there is no garbage at all. */
enum dueq_status garbage_record_get(struct keys *keys, const struct kv_key *record,
                                    struct dueq_slice *ret_value);
/* `absent`: the store has no such record. */
void garbage_record_put(struct keys *keys, const struct kv_key *record, struct dueq_slice value,
                        bool absent);
/* Puts a record without a value, which is absent. Ticks pass over it while its object is being
 * built (unfinished.h). */
void garbage_record_add(struct keys *keys, uint64_t id, uint8_t kind);
/* The object of that record is not being built any more: ticks may erase it. */
void garbage_record_release(struct keys *keys, uint64_t object, enum keys_type type);

#endif
