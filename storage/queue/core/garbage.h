/* What flushed and dropped topics leave in memory and on disk is removed a little at a time.
 * Private to storage/queue. */
#ifndef DUEQ_GARBAGE_H
#define DUEQ_GARBAGE_H

#include "storage/kv/key.h"
#include "storage/status.h"

struct queue;

struct garbage {
    bool any;         /* there may be records of flushed topics */
    size_t table;     /* the one that is being searched */
    struct kv_key at; /* all such records before are deleted: the search goes on here */
    /* A dropped topic is known by its mark on disk, 'G' and its id. */
    bool dropped;   /* there may be marks */
    uint64_t topic; /* the one whose records are searched for; 0: that of the first mark */
    uint64_t next;  /* no mark has a lower id */
    size_t drop_table;
    struct kv_key drop_at; /* in that table, as `at` */
};

/* Frees memory and deletes records of flushed topics in at most *budget steps, which are
 * subtracted. */
void garbage_collect(struct queue *queue, unsigned *budget);
/* The same for the memory only. */
void garbage_free(struct queue *queue, unsigned *budget);
/* To be called after a flush of topics. */
void garbage_begin(struct queue *queue);
/* To be called after the drop of one topic. has_edges: its jobs waited for others, or others
 * for them. O(log n). */
void garbage_add(struct queue *queue, uint64_t topic, bool has_edges);
/* To be called at the opening: looks whether an earlier process left something. */
enum dueq_status garbage_load(struct queue *queue);
/* True: garbage_collect has something to do. */
bool garbage_any(const struct queue *queue);

#endif
