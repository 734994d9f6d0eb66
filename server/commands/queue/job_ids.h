/* How many jobs or topics one command may name, and those that do the same for each job. */
#ifndef DUEQ_JOB_IDS_H
#define DUEQ_JOB_IDS_H

#include "server/commands/wide.h"
#include "server/dispatch/arguments.h"
#include "server/dispatch/context.h"

#define JOB_IDS_MAX 1000

/* False: the error is written. */
bool job_ids_fit(struct context *context, size_t count);

/* Of "topic id [id ...]": argument of the first id, and the beginning of a struct wide_form. */
enum { JOB_IDS_FIRST = 2 };
bool job_ids_begin(struct context *context, struct wide *wide);

#endif
