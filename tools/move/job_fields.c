#include "tools/move/job_fields.h"

#include <string.h>

const redisReply *job_field(const redisReply *job, const char *name)
{
    for (size_t i = 0; i + 1 < job->elements; i += 2)
        if (job->element[i]->str != NULL && strcmp(job->element[i]->str, name) == 0)
            return job->element[i + 1];
    return NULL;
}

struct dueq_slice job_text(const redisReply *job, const char *name)
{
    const redisReply *value = job_field(job, name);

    return value == NULL ? dueq_slice("", 0) : reply_slice(value);
}

long long job_number(const redisReply *job, const char *name, long long otherwise)
{
    const redisReply *value = job_field(job, name);

    return value != NULL && value->type == REDIS_REPLY_INTEGER ? value->integer : otherwise;
}

bool job_is(const redisReply *job, const char *state)
{
    return dueq_slice_equal(job_text(job, "state"), text_slice(state));
}
