/* Fields of the maps that queue commands reply: a name and its value. */
#ifndef DUEQ_REPLY_FIELDS_H
#define DUEQ_REPLY_FIELDS_H

#include "protocol/resp_writer.h"
#include "server/dispatch/context.h"

static inline void write_number(struct resp_writer *reply, const char *name, int64_t number)
{
    resp_string(reply, name);
    resp_integer(reply, number);
}

static inline void write_number_or_nil(struct resp_writer *reply, const char *name,
                                       int64_t number, bool present)
{
    resp_string(reply, name);
    if (present)
        resp_integer(reply, number);
    else
        resp_null(reply);
}

static inline void write_bytes(struct resp_writer *reply, const char *name,
                               struct dueq_slice bytes)
{
    resp_string(reply, name);
    resp_bulk(reply, bytes.data, bytes.size);
}

static inline void write_bytes_or_nil(struct resp_writer *reply, const char *name,
                                      struct dueq_slice bytes)
{
    resp_string(reply, name);
    if (bytes.size > 0)
        resp_bulk(reply, bytes.data, bytes.size);
    else
        resp_null(reply);
}

static inline void write_state(struct resp_writer *reply, enum dueq_state state)
{
    resp_string(reply, "state");
    resp_string(reply, dueq_state_name(state));
}

/* The last attempts, the oldest first. */
static inline void write_attempts(struct resp_writer *reply, const struct dueq_job *job)
{
    struct dueq_attempt attempts[DUEQ_ATTEMPTS_KEPT];
    size_t count = dueq_job_attempts(job, attempts);

    resp_string(reply, "attempts");
    resp_array(reply, count);
    for (size_t i = 0; i < count; i++) {
        resp_map(reply, 4);
        write_number(reply, "ended", attempts[i].ended);
        write_number(reply, "duration", attempts[i].duration);
        resp_string(reply, "outcome");
        resp_string(reply, dueq_outcome_name(attempts[i].outcome));
        write_bytes_or_nil(reply, "worker", attempts[i].worker);
    }
}

#endif
