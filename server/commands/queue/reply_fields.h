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

static inline void write_state(struct resp_writer *reply, enum dueq_state state)
{
    resp_string(reply, "state");
    resp_string(reply, dueq_state_name(state));
}

#endif
