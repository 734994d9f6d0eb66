/* Jobs of a file that wait for others. They are kept until the file is read: a job waits only
 * for those that are there when it is pushed. Then they come so that each is behind those of
 * them that it waits for. */
#ifndef DUEQ_WAITING_JOBS_H
#define DUEQ_WAITING_JOBS_H

#include "storage/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct waiting_jobs {
    FILE *lines; /* a temporary file; NULL until the first one is added */
    struct waiting_job *jobs;
    size_t count, room;
    uint64_t *after; /* names, of all jobs */
    size_t after_count, after_room;
};

/* A number for a job. Two have the same one by chance once in 2^64. */
uint64_t waiting_name(struct dueq_slice topic, struct dueq_slice id);
/* Adds a job with its line. waiting_jobs_after adds what it waits for. 40 bytes of memory for
 * each, 8 for each that it waits for. False: no memory, or no room in the temporary file. */
bool waiting_jobs_add(struct waiting_jobs *waiting, uint64_t name, const char *line,
                      size_t size);
bool waiting_jobs_after(struct waiting_jobs *waiting, uint64_t name);

/* Gets a line; its bytes are valid during the call. False stops. */
typedef bool (*waiting_fn)(void *arg, const char *line, size_t size);
/* Calls fn for each. False: fn has stopped it, or *ret_wrong says what is wrong. */
bool waiting_jobs_each(struct waiting_jobs *waiting, waiting_fn fn, void *arg,
                       const char **ret_wrong);
void waiting_jobs_release(struct waiting_jobs *waiting);

#endif
