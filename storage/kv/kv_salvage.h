/* Reads what is sound in a damaged data directory, and changes nothing in it. For
 * salvage_store; nothing else reads past damage. */
#ifndef DUEQ_KV_SALVAGE_H
#define DUEQ_KV_SALVAGE_H

#include "storage/io.h"
#include "storage/slice.h"
#include "storage/status.h"

#include <stdint.h>

struct kv_salvage;

/* How far a record is to be trusted. Each has its checksum; what may be wrong is its time. */
enum kv_salvaged {
    KV_SALVAGED,          /* it is what the store had */
    KV_SALVAGED_STRAY,    /* of a page that nothing leads to: perhaps older than what is lost */
    KV_SALVAGED_AFTER_GAP /* the journal has lost records that came before it */
};

struct kv_salvage_sink {
    /* What the store had under this key is replaced; by one that is stray only if there is
     * nothing. Any status but DUEQ_OK ends the reading. */
    enum dueq_status (*on_put)(void *arg, struct dueq_slice key, struct dueq_slice value,
                               enum kv_salvaged how);
    enum dueq_status (*on_del)(void *arg, struct dueq_slice key);
    /* What is damaged, in words that live until it returns. */
    void (*on_damage)(void *arg, const char *what);
    void *arg;
};

/* Locks the directory against a server, and finds the newest tree of data.mdb. The sink is
 * copied. DUEQ_CORRUPT: nothing in it can be read. DUEQ_LOCKED, DUEQ_FORMAT, DUEQ_IO,
 * DUEQ_NOMEM; error says why. */
enum dueq_status kv_salvage_open(const char *dir, const struct dueq_io *io,
                                 const struct kv_salvage_sink *sink,
                                 struct kv_salvage **ret_salvage, struct dueq_error *error);
void kv_salvage_close(struct kv_salvage *salvage); /* NULL is fine */

/* The seed of the store; 0: it is lost. */
uint64_t kv_salvage_seed(const struct kv_salvage *salvage);
/* The epoch of the store's history (journal/history.h); 0: it is lost, or the first. */
uint64_t kv_salvage_epoch(const struct kv_salvage *salvage);

/* Gives everything to the sink: first what data.mdb has, then what the journal changes, in
 * order. *ret_time: the greatest time that was found, unix ms. O(data). */
enum dueq_status kv_salvage_read(struct kv_salvage *salvage, int64_t *ret_time);

#endif
