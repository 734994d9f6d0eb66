/* What the two drivers for RESP servers share. */
#ifndef DUEQ_RESP_DRIVER_H
#define DUEQ_RESP_DRIVER_H

#include "tools/bench/driver.h"
#include "tools/bench/resp_scan.h"

enum { RESP_DRIVER_TOKENS = 1 + 5 * BENCH_COUNT_MAX };

void resp_request(struct buffer *out, size_t arguments);
void resp_argument(struct buffer *out, const void *data, size_t size);
void resp_text(struct buffer *out, const char *text);
void resp_number(struct buffer *out, int64_t number);

/* Scans one reply into tokens. After an error reply ret->error is its text. */
enum bench_outcome resp_reply(const char *data, size_t size, struct resp_token *tokens,
                              size_t *ret_count, struct bench_reply *ret);

/* The reply of a push or ack: all but errors are a success; an integer is the number acked. */
enum bench_outcome resp_plain_reply(const char *data, size_t size, struct bench_reply *ret);

/* Copies the id from a reply into the job. */
void resp_claimed(struct bench_claimed *job, const struct resp_token *id, int64_t token);

#endif
