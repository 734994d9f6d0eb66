/* Runs commands through the real dispatch on a real store in a temporary directory, without
 * sockets. The clock moves only in runner_pass and runner_move_clock. */
#ifndef DUEQ_COMMAND_RUNNER_H
#define DUEQ_COMMAND_RUNNER_H

#include "server/net/connection.h"

enum { RUNNER_CLIENTS = 512 };

enum { RUNNER_KILLS = 100 }; /* clients that a slice ends */

struct command_runner {
    struct server server;
    char *dir;
    struct connection *clients[RUNNER_CLIENTS]; /* the first one always exists */
    size_t client_count;
    bool by_slices; /* long work continues in runner_slice only; else it runs to its end */
};

#define RUNNER_START INT64_C(1700000000000) /* unix ms at which its clock begins */

/* As cmocka set-up and teardown; *state is the runner. */
int runner_setup(void **state);
/* The same in a directory that is there, with these options; NULL: a new one; the default ones.
 * NULL: the store does not open. */
struct command_runner *runner_new(char *dir, const struct dueq_options *options);
int runner_teardown(void **state);

#define runner_test(function)                                                                  \
    cmocka_unit_test_setup_teardown(function, runner_setup, runner_teardown)

/* Another client. */
struct connection *runner_connect(struct command_runner *runner);
/* Another client, which waits in the command of this line. */
struct connection *runner_waiting(struct command_runner *runner, const char *line);

/* Moves the clock by `ms`, and no tick comes. */
void runner_move_clock(struct command_runner *runner, int64_t ms);
/* Moves the clock by `ms` and does what falls due. */
void runner_pass(struct command_runner *runner, int64_t ms);

/* One slice of long work as in a turn, and then the commit. False: there was nothing to do. */
bool runner_slice(struct command_runner *runner);
/* Runs all slices and returns their number; each may write at most `slice_bytes` to the
 * journal. */
int runner_finish(struct command_runner *runner, uint64_t slice_bytes);
/* Commits what the test itself has put into the store, and serves the waiters. */
void runner_commit(struct command_runner *runner);

/* Opens the store again with these options; NULL: the same as at set-up. */
void runner_reopen(struct command_runner *runner, const struct dueq_options *options);

/* Opens the store again as after a kill: without what was not committed. */
void runner_abandon(struct command_runner *runner);

/* Runs a line, split like an inline command ("\x00" within quotes), for the first or for the
 * given client. The reply must match a pattern of reply_text.h; no reply is "". */
#define runner_expect(runner, pattern, line)                                                   \
    runner_expect_at(__FILE__, __LINE__, (runner), (runner)->clients[0], (pattern), (line))
#define runner_expect_of(runner, client, pattern, line)                                        \
    runner_expect_at(__FILE__, __LINE__, (runner), (client), (pattern), (line))
void runner_expect_at(const char *file, int line_number, struct command_runner *runner,
                      struct connection *client, const char *pattern, const char *line);

/* The same without a look at the reply, which stays in the client's output. A line whose quotes
 * are not balanced is none. */
void runner_run(struct command_runner *runner, struct connection *client, const char *line);

/* Runs pairs of pattern and line in order. */
#define runner_expect_all(runner, cases)                                                       \
    runner_expect_all_at(__FILE__, __LINE__, (runner), (cases),                                \
                         sizeof(cases) / sizeof(*(cases)))
void runner_expect_all_at(const char *file, int line_number, struct command_runner *runner,
                          const char *const (*cases)[2], size_t count);

/* A reply that comes later: to a command that waited. */
#define runner_expect_reply(client, pattern)                                                   \
    runner_expect_reply_at(__FILE__, __LINE__, (client), (pattern))
void runner_expect_reply_at(const char *file, int line_number, struct connection *client,
                            const char *pattern);

/* One step of a conversation of several clients. Clients are 'a' (the first), 'b', ...; a
 * client connects with its first line. '+': the clock moves by the ms in the line. line NULL:
 * replies that come later; several are separated by a space. */
struct runner_step {
    char client;
    const char *pattern, *line;
};
#define runner_follow(runner, steps)                                                           \
    runner_follow_at(__FILE__, __LINE__, (runner), (steps), sizeof(steps) / sizeof(*(steps)))
void runner_follow_at(const char *file, int line_number, struct command_runner *runner,
                      const struct runner_step *steps, size_t count);

/* The bytes of the reply; the caller frees them. */
char *runner_bytes(struct command_runner *runner, const char *line);

/* The reply must be exactly these bytes; for what differs in RESP2 and RESP3. */
#define runner_expect_bytes(runner, bytes, line)                                               \
    runner_expect_bytes_at(__FILE__, __LINE__, (runner), (bytes), (line))
void runner_expect_bytes_at(const char *file, int line_number, struct command_runner *runner,
                            const char *bytes, const char *line);

#endif
