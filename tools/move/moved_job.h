/* A job on its way: what a layout of another server says about it. */
#ifndef DUEQ_MOVED_JOB_H
#define DUEQ_MOVED_JOB_H

#include "storage/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* What ends the name of the topic where jobs wait that were dead when they came. */
#define MOVED_DEAD ":dead"
enum { MOVED_DEAD_SIZE = sizeof(MOVED_DEAD) - 1 };

struct moved_job {
    struct dueq_slice topic, id, body;
    int64_t due;   /* unix ms; 0: now */
    int64_t lease; /* ms; 0: the default one */
    int priority;  /* -1: the default one */
    bool dead;     /* it is put among the dead ones of its topic */
};

/* False ends the walk. */
typedef bool (*job_fn)(void *arg, const struct moved_job *job);

/* Seconds, ms, usec or nsec since 1970, whichever it must be, as ms. */
int64_t moved_due(double score);
/* An id for what has none: 32 digits from its bytes. */
enum { MADE_ID = 32 };
void moved_make_id(struct dueq_slice bytes, char *ret_id);

#endif
