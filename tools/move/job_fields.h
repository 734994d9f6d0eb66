/* What Q.GET and Q.SCAN say of a job: an array of names and values. */
#ifndef DUEQ_JOB_FIELDS_H
#define DUEQ_JOB_FIELDS_H

#include "tools/move/peer.h"

/* The value of that name. NULL: there is none. */
const redisReply *job_field(const redisReply *job, const char *name);
/* The same of a string, empty otherwise, and of an integer. */
struct dueq_slice job_text(const redisReply *job, const char *name);
long long job_number(const redisReply *job, const char *name, long long otherwise);
bool job_is(const redisReply *job, const char *state);

#endif
