/* What a check of the whole store finds, and how far it is. Private to storage: dueq_verify and
 * those who check for it, storage/queue/check.c and storage/keys/keys_check.c. */
#ifndef DUEQ_VERIFY_H
#define DUEQ_VERIFY_H

#include "storage/dueq.h"
#include "storage/kv/cursor.h"
#include "storage/kv/key.h"

struct kv;

enum {
    FINDINGS_TEXT_MAX = 1024,
    FINDINGS_NAME_MAX = 128, /* bytes of a name that are shown */
    FINDINGS_QUOTED_MAX = 4 * FINDINGS_NAME_MAX + 6
};

struct findings {
    struct dueq_verify *verify; /* the caller's; NULL: only the first finding is wanted */
    const char *first;          /* the first finding; NULL: none */
    bool stopped;               /* nothing more is looked at: */
    enum dueq_status why;       /* DUEQ_STOPPED: the caller wants no more; DUEQ_NOMEM */
};

/* Reports that `what` (static text) is wrong with what the format names. */
void findings_add(struct findings *findings, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports a read that failed: the status, and the damaged page if the store knows one. */
void findings_unreadable(struct findings *findings, struct kv *kv, enum dueq_status status,
                         const char *place);
void findings_stop(struct findings *findings, enum dueq_status why);
/* Counts a record. False: the caller wants no more. O(1). */
bool findings_step(struct findings *findings);

/* Writes the name in quotes, as far as it fits; bytes that do not print as \xHH. Returns text,
 * which has FINDINGS_QUOTED_MAX bytes. */
char *findings_quote(char *text, struct dueq_slice name);

/* Calls fn for each record whose key begins with the prefix, until it returns false or nobody
 * wants more. A read that fails is reported, and ends the walk: false. */
typedef bool (*findings_fn)(void *arg, struct dueq_slice key, struct dueq_slice value);
bool findings_walk(struct findings *findings, struct kv *kv, const struct kv_key *prefix,
                   findings_fn fn, void *arg);
/* Likewise for the first record of each owner: those whose keys are the same up to where `head`
 * says. A head of 0 ends the walk. */
typedef size_t (*findings_head_fn)(struct dueq_slice key);
bool findings_walk_heads(struct findings *findings, struct kv *kv, const struct kv_key *prefix,
                         findings_head_fn head, findings_fn fn, void *arg);

/* Ids in RAM, 8 bytes each. A zeroed one is empty. */
struct id_list {
    uint64_t *ids;
    size_t count, capacity;
};
bool id_list_add(struct id_list *list, uint64_t id); /* false: out of memory */
/* Sorts it, once all are there. Returns an id that is in it twice; 0: none. */
uint64_t id_list_sort(struct id_list *list);
bool id_list_has(const struct id_list *list, uint64_t id); /* of a sorted one */
void id_list_release(struct id_list *list);

#endif
