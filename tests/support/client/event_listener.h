/* A client that receives all keyspace notifications of a command_runner. */
#ifndef DUEQ_EVENT_LISTENER_H
#define DUEQ_EVENT_LISTENER_H

#include "tests/support/client/command_runner.h"

struct connection *event_listener_new(struct command_runner *runner);

/* What it received since the last call, in order: "lpush a, del b". */
#define event_listener_expect(listener, events)                                                \
    event_listener_expect_at(__FILE__, __LINE__, (listener), (events))
void event_listener_expect_at(const char *file, int line, struct connection *listener,
                              const char *events);

#endif
