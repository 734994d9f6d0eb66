/* Asks an HTTP port of 127.0.0.1, one connection for each request. An error fails the running
 * test. */
#ifndef DUEQ_HTTP_CLIENT_H
#define DUEQ_HTTP_CLIENT_H

#include <stddef.h>

/* Opens a connection; the caller closes it. */
int http_reach(int port);
int http_try_to_reach(int port); /* -1: nobody listens */
/* The reply to a request without a body, head included; valid until the next one. headers: each
 * with CRLF. */
const char *http_request(int port, const char *method, const char *path, const char *headers);
const char *http_get(int port, const char *path);
/* The same for any bytes; the server may close the connection without a word: "". */
const char *http_send(int port, const char *bytes, size_t size);

const char *http_body(const char *reply);
/* "200" */
void http_expect_status(const char *reply, const char *status);
/* The reply must have the line. */
void http_expect_line(const char *reply, const char *line);
/* The reply must have the status, and the text in its body. */
void http_expect_text(const char *reply, const char *status, const char *text);
/* Copies what stands in the text after `before`, up to one of the bytes of `ends`, into *to. It
 * must be there and have less than `room` bytes. */
void http_copy_after(const char *text, const char *before, const char *ends, char *to,
                     size_t room);

#endif
