/* kill -9 at a moment that the test does not choose. */
#ifndef DUEQ_SIGKILL_H
#define DUEQ_SIGKILL_H

#include "tests/support/dice.h"
#include "tests/support/server_process.h"

/* SIGKILL in a random moment of the time to come. */
void sigkill_within(struct server_process *server, struct dice *dice, unsigned ms);

/* Waits for it. Any other end of the server fails the test. */
void sigkill_await(struct server_process *server);

/* Sizes of files at which checkpoints and the recycling of segments are often under way. */
void sigkill_choose_sizes(struct server_process *server, struct dice *dice);

/* Lets it die while it recovers, now and then several times in a row. */
void sigkill_recovery(struct server_process *server, struct dice *dice);

#endif
