/* Subcommands that work on a data directory while no server uses it (server/subcommands.h).
 * What they share. */
#ifndef DUEQ_OFFLINE_H
#define DUEQ_OFFLINE_H

#include "storage/dueq.h"

/* The exit status of all of them. */
enum {
    OFFLINE_DONE = 0,
    OFFLINE_DAMAGED = 1, /* the data, or the input, is damaged */
    OFFLINE_FAILED = 2   /* it could not run: wrong arguments, directory in use, disk, memory */
};

/* Opens the store in a directory; `is_new`: one that is made, in a directory that has none;
 * else one that exists. time: as of dueq_open; options, too, but NULL means the default ones
 * with segments as large as those that are there. Prints what is wrong, and returns the exit
 * status. */
int offline_open(const char *dir, bool is_new, const struct dueq_options *options,
                 struct dueq_time time, struct dueq **ret_store);

/* All clocks as the wall clock is. */
struct dueq_time offline_time(void);

/* The status in words, with the page of data.mdb that is damaged. */
const char *offline_reason(const struct dueq *store, enum dueq_status status);

/* Shows, on a terminal, how many records were done so far; 0: takes that away. */
void offline_show(const char *what, unsigned long long records);

#endif
