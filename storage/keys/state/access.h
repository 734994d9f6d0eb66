/* When a key was last used, and how many lookups found their key.
 *
 * Between access_begin and access_end, finding a key uses it. The times are kept in RAM, with
 * the open entries: of any other key is known only that it was not used after its entry was
 * closed, or after the store was opened. */
#ifndef DUEQ_ACCESS_H
#define DUEQ_ACCESS_H

#include "storage/keys/state/keys_types.h"

enum access_effect {
    ACCESS_TOUCH = 1 << 0, /* sets the time of the last use */
    ACCESS_COUNT = 1 << 1  /* counts hits and misses */
};

/* effects: of enum access_effect, or 0 for a use that leaves no trace. now: the queue's clock,
 * ms. */
void access_begin(struct keys *keys, unsigned effects, int64_t now);
void access_end(struct keys *keys);

/* Names that were looked up and found, or not found, since the store was opened or the last
 * reset. Each name counts once between begin and end. */
struct access_lookups {
    uint64_t hits, misses;
};
struct access_lookups access_get_lookups(const struct keys *keys);
void access_reset_lookups(struct keys *keys);

/* ---- private to storage/keys */

struct keys_entry;

struct access_state {
    unsigned effects;   /* of the current use; 0 outside */
    int64_t now;        /* of the current use */
    int64_t closed;     /* no key that is not open was used after this */
    uint64_t serial;    /* of the current use; the first is 1 */
    uint64_t missed;    /* hash of the last name that was not found */
    uint64_t missed_by; /* serial of the use that did not find it */
    struct access_lookups lookups;
};

void access_hit(struct keys *keys, struct keys_entry *entry);
void access_miss(struct keys *keys, uint64_t hash);

#endif
