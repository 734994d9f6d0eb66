/* Makes a sound store of what can be read of a damaged one. Private to storage, and to
 * `dueq repair`. */
#ifndef DUEQ_SALVAGE_H
#define DUEQ_SALVAGE_H

#include "storage/kv/key.h"
#include "storage/store.h"

enum salvage_finding {
    SALVAGE_DAMAGE,   /* a place in the files that does not read */
    SALVAGE_LOST,     /* something that the store had, and that the new one has not */
    SALVAGE_DOUBTFUL, /* something that the new store has, perhaps in an older form */
    SALVAGE_FINDINGS
};

struct salvage {
    /* Is told of each finding, in words that live until it returns. */
    void (*on_finding)(void *arg, enum salvage_finding finding, const char *text);
    /* Is called after each 10,000 records; false stops. NULL: nobody asks. */
    bool (*on_progress)(void *arg, uint64_t records);
    void *arg; /* of both */
    /* Set by salvage_store: */
    uint64_t findings[SALVAGE_FINDINGS];
    uint64_t topics, jobs, keys; /* that the new store has */
    /* Private: */
    uint64_t records;
    struct kv *from;       /* what was read, by key */
    struct dueq *into;     /* the new store */
    struct dueq_time time; /* of all its calls */
    bool doubts;           /* `from` has some */
    uint64_t epoch;        /* of the damaged store */
};

/* Reads the directory `from`, in which nothing changes, and makes a store in `to`, which is
 * missing or empty. Takes another directory for its work, `scratch`, which is missing too and
 * is left for the caller to remove; it becomes as large as what was read. DUEQ_OK: the new
 * store is sound, whatever was found. DUEQ_CORRUPT: there is nothing to be read. DUEQ_STOPPED:
 * on_progress said so. Else a status of dueq_open; error says why. O(data * log n). */
enum dueq_status salvage_store(const char *from, const char *scratch, const char *to,
                               struct salvage *salvage, struct dueq_error *error);

/* ---- for storage/queue/queue_salvage.c and storage/keys/keys_salvage.c */

void salvage_note(struct salvage *salvage, enum salvage_finding finding, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));
/* Counts a record, and commits what has gathered in the new store. */
enum dueq_status salvage_step(struct salvage *salvage);

/* Why the record with that key is in doubt; NULL: it is not. `whole` false: any record whose
 * key begins so. */
const char *salvage_doubt(const struct salvage *salvage, struct dueq_slice key, bool whole);

#endif
