/* A bar on standard error, if that is a terminal. */
#ifndef DUEQ_PROGRESS_H
#define DUEQ_PROGRESS_H

#include <stdint.h>

struct progress {
    const char *what;
    uint64_t done, total; /* total 0: nobody knows */
    int64_t shown;        /* when, ms */
    int shows;            /* 0: not known yet, 1, -1: not a terminal */
};

void progress_begin(struct progress *progress, const char *what, uint64_t total);
void progress_add(struct progress *progress, uint64_t count);
void progress_end(struct progress *progress); /* clears the line */

#endif
