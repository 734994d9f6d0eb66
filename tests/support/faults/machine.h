/* A machine whose clocks step, with a server on it and a client. */
#ifndef DUEQ_MACHINE_H
#define DUEQ_MACHINE_H

#include "tests/support/client/client.h"
#include "tests/support/faults/stepped_clock.h"

struct machine {
    struct server_process *server;
    struct stepped_clock *clock;
    redisContext *client;
};

/* Its clocks are right, the server runs and the client is connected. */
struct machine machine_boot(void);

#endif
