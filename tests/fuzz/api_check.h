/* What is true for any bytes: as a request of the API they are refused with an error, or become
 * a request of RESP that says how many arguments it has, each with its size; as a reply of
 * RESP3 they are refused, wait for more, or become JSON. The fuzzer and the test that replays
 * the corpus share this. */
#ifndef DUEQ_API_CHECK_H
#define DUEQ_API_CHECK_H

#include "server/http/api_command.h"
#include "server/http/api_reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { API_RAW = 3 /* bytes of a raw body */ };

/* Reads over "$5\r\nhello\r\n". */
static inline bool api_skip_argument(const char **at, const char *end)
{
    char *after;
    unsigned long size;

    if (*at == end || **at != '$')
        return false;
    size = strtoul(*at + 1, &after, 10);
    if (end - after < 2 || (size_t)(end - after) - 2 < size + 2 ||
        memcmp(after + 2 + size, "\r\n", 2) != 0)
        return false;
    *at = after + 2 + size + 2;
    return true;
}

static inline bool api_is_request(struct api_command *command)
{
    const char *at, *end;
    char *after;
    unsigned long count;

    if (command->has_raw)
        buffer_append(&command->head, "raw", API_RAW);
    buffer_append(&command->head, buffer_content(&command->tail), buffer_size(&command->tail));
    buffer_append(&command->head, "", 1);
    at = buffer_content(&command->head);
    end = at + buffer_size(&command->head) - 1;
    count = strtoul(at + 1, &after, 10);
    if (*at != '*' || count != command->count)
        return false;
    for (at = after + 2; count > 0; count--)
        if (!api_skip_argument(&at, end))
            return false;
    return at == end;
}

/* A head, and the JSON after it. */
static inline bool api_takes_request(const char *bytes, size_t size)
{
    size_t head_size = http_head_size(bytes, size);
    struct route_values values;
    struct api_command command;
    struct api_error error;
    struct http_head head;
    const struct route *route;
    char methods[64];
    bool is_bad, good = true;
    json_t *params;

    if (head_size == 0 || http_head_read(bytes, head_size, &head) != 0)
        return true;
    route = api_find_route(head.method, head.path, &values, methods, sizeof(methods), &is_bad);
    if (route == NULL || is_bad)
        return true;
    params = api_read_query(head.query, &error);
    if (params != NULL && (size == head_size || api_read_json(params, bytes + head_size,
                                                              size - head_size, &error))) {
        if (api_command_build(route, &values, params, route->may_be_raw ? API_RAW : -1,
                              &command, &error))
            good = api_is_request(&command);
        api_command_release(&command);
    }
    json_decref(params);
    return good;
}

/* JSON has no limits here; jansson has. */
static inline bool api_only_jansson_minds(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);

    return code == json_error_null_byte_in_key || code == json_error_numeric_overflow;
}

/* The first byte says how long the pieces are in which the others come, and the form. */
static inline bool api_takes_reply(const char *bytes, size_t size)
{
    static const char *const fields[] = {"id", "token", NULL}, *const gap[] = {"number", NULL};
    size_t piece = (size_t)(unsigned char)bytes[0] + 1, begin = 1, end = 1;
    struct reply_shape shape = {.wrap = bytes[0] & 1 ? "jobs" : NULL,
                                .fields = bytes[0] & 2 ? fields : NULL,
                                .short_fields = bytes[0] & 16 ? gap : NULL,
                                .depth = (unsigned)(bytes[0] >> 2) & 1,
                                .null_is_empty = bytes[0] & 8};
    enum reply_step step = REPLY_MORE;
    struct api_reply json;
    struct buffer out;
    json_error_t error;
    bool good = true;
    json_t *value;

    api_reply_init(&json, &shape);
    buffer_init(&out, SIZE_MAX / 2);
    while (step == REPLY_AGAIN || (step == REPLY_MORE && end < size)) {
        size_t used, wanted;

        if (step == REPLY_MORE)
            end = size - end > piece ? end + piece : size;
        step = api_reply_run(&json, bytes + begin, end - begin, &out, &used, &wanted);
        begin += used;
    }
    if (step == REPLY_DONE) {
        value = json_loadb(buffer_content(&out), buffer_size(&out),
                           JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
        good = value != NULL || out.overflowed || api_only_jansson_minds(&error);
        json_decref(value);
    }
    if (!good)
        fprintf(stderr, "no JSON: %.*s\n", (int)buffer_size(&out), buffer_content(&out));
    buffer_release(&out);
    return good;
}

static inline bool api_holds_up(const uint8_t *data, size_t size)
{
    return size == 0 || (api_takes_request((const char *)data, size) &&
                         api_takes_reply((const char *)data, size));
}

#endif
