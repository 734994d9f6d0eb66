/* beanstalkd's protocol (doc/protocol.txt): a command per line, a job per reserve, delays in
 * seconds, ids that the server gives. The tube is always "default". */
#include "tools/bench/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void append_line(struct buffer *out, const char *line)
{
    buffer_append(out, line, strlen(line));
}

static unsigned put_request(struct buffer *out, const struct bench_push *push)
{
    char line[128];

    snprintf(line, sizeof(line), "put 128 %lld 60 %zu\r\n", (long long)(push->delay / 1000),
             push->body_size);
    append_line(out, line);
    buffer_append(out, push->body, push->body_size);
    append_line(out, "\r\n");
    return 1;
}

static unsigned reserve_request(struct buffer *out, const char *topic, unsigned count,
                                int64_t now)
{
    (void)topic;
    (void)now;
    for (unsigned i = 0; i < count; i++)
        append_line(out, "reserve-with-timeout 0\r\n");
    return count;
}

static unsigned delete_request(struct buffer *out, const char *topic,
                               const struct bench_claimed *jobs, unsigned count)
{
    char line[128];

    (void)topic;
    for (unsigned i = 0; i < count; i++) {
        snprintf(line, sizeof(line), "delete %s\r\n", jobs[i].id);
        append_line(out, line);
    }
    return count;
}

/* Copies a line without its CRLF. False: it is incomplete. */
static bool read_line(const char *data, size_t size, char *line, size_t room, size_t *ret_used)
{
    const char *end = memchr(data, '\n', size);
    size_t length;

    if (end == NULL)
        return false;
    length = (size_t)(end - data) - 1;
    snprintf(line, room, "%.*s", (int)length, data);
    *ret_used = length + 2;
    return true;
}

static enum bench_outcome expect_line(const char *data, size_t size, const char *word,
                                      struct bench_reply *ret)
{
    char line[128];

    if (!read_line(data, size, line, sizeof(line), &ret->used))
        return BENCH_PARTIAL;
    if (strncmp(line, word, strlen(word)) == 0)
        return BENCH_DONE;
    snprintf(ret->error, sizeof(ret->error), "%s", line);
    return BENCH_FAILED;
}

static enum bench_outcome put_reply(const char *data, size_t size, struct bench_reply *ret)
{
    return expect_line(data, size, "INSERTED ", ret);
}

static enum bench_outcome delete_reply(const char *data, size_t size, struct bench_reply *ret)
{
    enum bench_outcome outcome = expect_line(data, size, "DELETED", ret);

    ret->acked = outcome == BENCH_DONE;
    return outcome;
}

static enum bench_outcome reserve_reply(const char *data, size_t size,
                                        struct bench_claimed *jobs, struct bench_reply *ret)
{
    char line[128];
    unsigned long bytes;

    if (!read_line(data, size, line, sizeof(line), &ret->used))
        return BENCH_PARTIAL;
    if (strcmp(line, "TIMED_OUT") == 0) {
        ret->empty = true;
        return BENCH_DONE;
    }
    if (sscanf(line, "RESERVED %63s %lu", jobs[0].id, &bytes) != 2) {
        snprintf(ret->error, sizeof(ret->error), "%s", line);
        return BENCH_FAILED;
    }
    if (size < ret->used + bytes + 2)
        return BENCH_PARTIAL;
    ret->used += bytes + 2;
    ret->claimed = 1;
    return BENCH_DONE;
}

const struct bench_driver bench_beanstalkd = {
    .name = "beanstalkd",
    .port = "11300",
    .push = put_request,
    .claim = reserve_request,
    .ack = delete_request,
    .push_reply = put_reply,
    .claim_reply = reserve_reply,
    .ack_reply = delete_reply,
};
