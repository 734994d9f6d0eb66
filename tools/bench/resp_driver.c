#include "tools/bench/resp_driver.h"

#include "protocol/number.h"

#include <stdio.h>
#include <string.h>

static void append_header(struct buffer *out, char type, size_t number)
{
    char text[NUMBER_TEXT_MAX];
    size_t size = number_format_integer(text + 1, (int64_t)number) + 1;

    text[0] = type;
    text[size++] = '\r';
    text[size++] = '\n';
    buffer_append(out, text, size);
}

void resp_request(struct buffer *out, size_t arguments)
{
    append_header(out, '*', arguments);
}

void resp_argument(struct buffer *out, const void *data, size_t size)
{
    append_header(out, '$', size);
    buffer_append(out, data, size);
    buffer_append(out, "\r\n", 2);
}

void resp_text(struct buffer *out, const char *text)
{
    resp_argument(out, text, strlen(text));
}

void resp_number(struct buffer *out, int64_t number)
{
    char text[NUMBER_TEXT_MAX];

    resp_argument(out, text, number_format_integer(text, number));
}

enum bench_outcome resp_reply(const char *data, size_t size, struct resp_token *tokens,
                              size_t *ret_count, struct bench_reply *ret)
{
    ret->used = resp_scan(data, size, tokens, RESP_DRIVER_TOKENS, ret_count);
    if (ret->used == 0)
        return BENCH_PARTIAL;
    if (tokens[0].type != '-')
        return BENCH_DONE;
    snprintf(ret->error, sizeof(ret->error), "%.*s", (int)tokens[0].size, tokens[0].data);
    return BENCH_FAILED;
}

enum bench_outcome resp_plain_reply(const char *data, size_t size, struct bench_reply *ret)
{
    struct resp_token tokens[RESP_DRIVER_TOKENS];
    size_t count;
    enum bench_outcome outcome = resp_reply(data, size, tokens, &count, ret);

    if (outcome == BENCH_DONE && tokens[0].type == ':')
        ret->acked = (size_t)tokens[0].number;
    return outcome;
}

void resp_claimed(struct bench_claimed *job, const struct resp_token *id, int64_t token)
{
    snprintf(job->id, sizeof(job->id), "%.*s", (int)id->size, id->data);
    job->token = token;
}
