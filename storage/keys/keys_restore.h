/* Keys as a whole, for those who copy a store key by key (tools/offline, storage/salvage.h):
 * type, encoding and expiry as they were. No limit is asked. */
#ifndef DUEQ_KEYS_RESTORE_H
#define DUEQ_KEYS_RESTORE_H

#include "storage/keys/keys.h"

struct keys_restored {
    enum keys_type type;
    enum keys_encoding encoding;
    int64_t expires; /* see expiry.h */
};

/* At this time nothing has expired; so all keys of a store can be seen. */
struct keys_view keys_restore_view(struct keys *keys, unsigned database);
/* The elements that are added next are of such a key. */
void keys_restore_begin(struct keys *keys, const struct keys_restored *key);
/* Adds an element, in the order in which they were; of a string there is one. value: of a
 * field; score: of a member. DUEQ_FULL, DUEQ_TOOBIG: see kv_room. */
enum dueq_status keys_restore_add(const struct keys_view *view, struct dueq_slice name,
                                  const struct keys_restored *key, struct dueq_slice element,
                                  struct dueq_slice value, double score);
/* After some elements, or all. */
enum dueq_status keys_restore_end(const struct keys_view *view, struct dueq_slice name,
                                  const struct keys_restored *key);

#endif
