/* The jobs in the stored data directories of old formats (tests/fixtures): one of every kind.
 * The same list makes and checks a directory, so new jobs are only added at its end. */
#ifndef DUEQ_OLD_JOBS_H
#define DUEQ_OLD_JOBS_H

#include "storage/dueq.h"

/* The options with which the directories were made. */
void old_jobs_options(struct dueq_options *ret_options);

/* Fills an empty directory and leaves it as a crash would: a part of the jobs in data.mdb, the
 * rest in the journal. */
void old_jobs_make(const char *dir);

/* Fails the running test unless the store is as old_jobs_make left it. */
void old_jobs_check(struct dueq *store);

#endif
