/* A plain socket, for what hiredis hides: RESP3, exact bytes, half requests, garbage. An error
 * fails the running test. */
#ifndef DUEQ_RAW_CLIENT_H
#define DUEQ_RAW_CLIENT_H

#include "tests/support/client/client.h"

#include <stdio.h>

struct raw_client {
    int fd;
    FILE *input;
};

void raw_open(struct raw_client *raw, const struct server_process *server);
void raw_close(struct raw_client *raw);

void raw_send(struct raw_client *raw, const char *bytes, size_t size);
/* Sends an inline command or any text, and CRLF. */
void raw_say(struct raw_client *raw, const char *line);

/* One reply, RESP2 or RESP3, in the notation of reply_text.h; the caller frees it. */
char *raw_reply(struct raw_client *raw);

/* Sends a line; the reply must match. */
#define raw_expect(raw, pattern, line)                                                         \
    raw_expect_at(__FILE__, __LINE__, (raw), (pattern), (line))
void raw_expect_at(const char *file, int line_number, struct raw_client *raw,
                   const char *pattern, const char *line);
#define raw_expect_reply(raw, pattern) raw_expect_at(__FILE__, __LINE__, (raw), (pattern), NULL)

/* The next bytes must be exactly these. */
#define raw_expect_bytes(raw, bytes) raw_expect_bytes_at(__FILE__, __LINE__, (raw), (bytes))
void raw_expect_bytes_at(const char *file, int line, struct raw_client *raw, const char *bytes);

/* The server must close the connection without sending more. */
#define raw_expect_closed(raw) raw_expect_closed_at(__FILE__, __LINE__, (raw))
void raw_expect_closed_at(const char *file, int line, struct raw_client *raw);

#endif
