/* A hiredis client (RESP2) for tests. An unexpected reply fails the running test, names its
 * line and prints the server's log.
 *
 * Commands are formats of hiredis: words separated by spaces, %s %d %lld, %b for bytes and a
 * size_t; an inserted value is always one argument. Expected replies are patterns of
 * reply_text.h. */
#ifndef DUEQ_CLIENT_H
#define DUEQ_CLIENT_H

#include "tests/support/client/server_process.h"

#include <hiredis/hiredis.h>
#include <stdint.h>

/* Opens a connection. client_cleanup closes it if the test does not. */
redisContext *client_open(const struct server_process *server);
redisContext *client_open_unix(const char *path);
void client_close(redisContext *client);
void client_cleanup(void);

/* Sends a command; its reply must match the pattern. */
#define expect(client, pattern, ...)                                                           \
    expect_at(__FILE__, __LINE__, (client), (pattern), __VA_ARGS__)
void expect_at(const char *file, int line, redisContext *client, const char *pattern,
               const char *format, ...);

/* Sends without waiting for the reply (a blocking command, a pipeline). */
void say(redisContext *client, const char *format, ...);
/* The next reply, to a command sent with say(), must match. */
#define expect_reply(client, pattern) expect_reply_at(__FILE__, __LINE__, (client), (pattern))
void expect_reply_at(const char *file, int line, redisContext *client, const char *pattern);
/* The server must close the connection without another reply. */
#define expect_closed(client) expect_closed_at(__FILE__, __LINE__, (client))
void expect_closed_at(const char *file, int line, redisContext *client);
/* No reply may come for `ms` milliseconds. */
#define expect_silence(client, ms) expect_silence_at(__FILE__, __LINE__, (client), (ms))
void expect_silence_at(const char *file, int line, redisContext *client, int ms);

/* Sends a command whose reply is a flat array of names and values (Q.GET, Q.STATS); the value
 * of `name` must match. */
#define expect_field(client, name, pattern, ...)                                               \
    expect_field_at(__FILE__, __LINE__, (client), (name), (pattern), __VA_ARGS__)
void expect_field_at(const char *file, int line, redisContext *client, const char *name,
                     const char *pattern, const char *format, ...);

/* Makes a file of the text, or replaces it. */
void write_file(const char *path, const char *text);
/* CONFIG GET shows this value. */
void expect_option(redisContext *client, const char *name, const char *value);

/* The reply, never NULL and never an error; the caller frees it with freeReplyObject. */
redisReply *ask(redisContext *client, const char *format, ...);
int64_t ask_integer(redisContext *client, const char *format, ...);
/* A bulk or simple string, as text; the caller frees it. */
char *ask_string(redisContext *client, const char *format, ...);
/* Any reply, in the notation of reply_text.h; the caller frees it. */
char *ask_text(redisContext *client, const char *format, ...);
/* The integer under that name in a flat array of names and values. */
int64_t ask_field(redisContext *client, const char *name, const char *format, ...);
/* The integer of "name:value" in a section of INFO. */
int64_t ask_info(redisContext *client, const char *section, const char *name);

/* Waits until `count` clients are blocked, so that a test knows their order of arrival. */
void await_blocked(redisContext *client, int count);

/* Two texts of a job (ask_text) are the same. Times on the wall clock may differ by less than a
 * second: the machine's clock may be set in between, which changes how they are shown. */
void expect_same_job(const char *before, const char *after);

/* Claims one job, whose id must be the given one, and returns its token. */
int64_t claim(redisContext *client, const char *topic, const char *id);

/* The value under a name, NULL when missing. */
const redisReply *reply_field(const redisReply *reply, const char *name);

/* Fails the running test, with the servers' logs. */
void fail_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));

void sleep_ms(long ms);
int64_t unix_ms(void);

/* ---- a server and a client for each test */

struct served {
    struct server_process *server;
    redisContext *client;
};

/* cmocka set-up and teardown: *state is a struct served. */
int served_setup(void **state);
int served_teardown(void **state);
redisContext *served_client(void **state);
struct server_process *served_server(void **state);
/* Another client, which sends a command that blocks. Returns when `blocked` clients wait. */
redisContext *served_waiter(void **state, int blocked, const char *command);

#define served_test(function)                                                                  \
    cmocka_unit_test_setup_teardown(function, served_setup, served_teardown)
/* For a test that starts its servers itself. */
#define serving_test(function) cmocka_unit_test_teardown(function, served_teardown)

#endif
