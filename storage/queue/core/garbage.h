/* What flushed topics leave in memory and on disk is removed a little at a time. Private to
 * storage/queue. */
#ifndef DUEQ_GARBAGE_H
#define DUEQ_GARBAGE_H

#include "storage/kv/key.h"

struct queue;

struct garbage {
    bool any;         /* there may be records of flushed topics */
    size_t table;     /* the one that is being searched */
    struct kv_key at; /* all such records before are deleted: the search goes on here */
};

/* Frees memory and deletes records of flushed topics in at most *budget steps, which are
 * subtracted. */
void garbage_collect(struct queue *queue, unsigned *budget);
/* The same for the memory only. */
void garbage_free(struct queue *queue, unsigned *budget);
/* To be called after a flush of topics. */
void garbage_begin(struct queue *queue);
/* To be called at the opening: looks whether an earlier process left something. */
void garbage_load(struct queue *queue);
/* True: garbage_collect has something to do. */
bool garbage_any(const struct queue *queue);

#endif
