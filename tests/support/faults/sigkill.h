/* kill -9 at a random time. */
#ifndef DUEQ_SIGKILL_H
#define DUEQ_SIGKILL_H

#include "tests/support/dice.h"
#include "tests/support/client/server_process.h"

/* Sends SIGKILL at a random time within the next `ms` milliseconds. */
void sigkill_within(struct server_process *server, struct dice *dice, unsigned ms);

/* Waits until the server is killed. Any other end of it fails the test. */
void sigkill_await(struct server_process *server);

/* Sets file sizes at which checkpoints and the recycling of segments happen often. */
void sigkill_choose_sizes(struct server_process *server, struct dice *dice);

/* Sometimes kills it while it recovers, also several times in a row. */
void sigkill_recovery(struct server_process *server, struct dice *dice);

#endif
