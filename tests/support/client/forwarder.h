/* `dueq forward` as a child process, one at a time, with what it says in the file `forward` of
 * the server's directory. An error fails the running test. */
#ifndef DUEQ_FORWARDER_H
#define DUEQ_FORWARDER_H

#include "tests/support/client/client.h"

/* Begins it with these words for the shell, after "dueq forward". It finds the server by its
 * unix socket if the server has one, else by its port. */
void forwarder_begin(const struct server_process *server, const char *words);
/* Sends a signal (0: none) and waits for the end. Returns the exit status, or 128 + signal. */
int forwarder_end(int signal_number);
void forwarder_signal(int signal_number);
/* kill -9, if it runs; for tear-downs. */
void forwarder_cleanup(void);
pid_t forwarder_pid(void);

/* How often it has said this, all of its runs together. */
int forwarder_said(const struct server_process *server, const char *text);
/* Waits until it has said it so often. */
void forwarder_await(const struct server_process *server, const char *text, int times);

/* A whole run. Returns the exit status; *ret_output is what it said. */
int forwarder_run(const struct server_process *server, const char *words,
                  const char **ret_output);

/* Waits until asking the server with words as of expect_field shows this number. */
void await_number(redisContext *client, const char *field, int64_t wanted, const char *command);

#endif
