/* Lists of jobs as lines of a table. */
#ifndef DUEQ_CLIENT_LISTS_H
#define DUEQ_CLIENT_LISTS_H

#include "tools/client/client_call.h"
#include "tools/client/columns.h"

void list_jobs_begin(const struct client_call *call, struct columns *columns);
/* Puts a job, or prints it as JSON. */
void list_jobs_add(const struct client_call *call, struct columns *columns,
                   const redisReply *job);

#endif
