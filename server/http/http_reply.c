#include "server/http/http_reply.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *reason(int code)
{
    switch (code) {
    case 200:
        return "OK";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 503:
        return "Service Unavailable";
    default:
        return "Internal Server Error";
    }
}

static void add_headers(struct evhttp_request *request, int code, const char *type, size_t size)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    char length[24];

    snprintf(length, sizeof(length), "%zu", size);
    evhttp_add_header(headers, "Content-Type",
                      type == NULL ? "text/plain; charset=utf-8" : type);
    evhttp_add_header(headers, "Content-Length", length);
    evhttp_add_header(headers, "Connection", "close");
    evhttp_add_header(headers, "Cache-Control", "no-store");
    evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
    if (code == 405)
        evhttp_add_header(headers, "Allow", "GET, HEAD");
}

static void release_body(const void *data, size_t size, void *arg)
{
    (void)data;
    (void)size;
    buffer_release(arg);
    free(arg);
}

/* NULL: out of memory, or nothing to send; the body is released. */
static struct evbuffer *lend(struct buffer *body)
{
    struct evbuffer *out = evbuffer_new();
    struct buffer *kept = malloc(sizeof(*kept));

    if (out == NULL || kept == NULL || buffer_size(body) == 0) {
        buffer_release(body);
        free(kept);
        return out;
    }
    *kept = *body;
    *body = (struct buffer){0};
    if (evbuffer_add_reference(out, buffer_content(kept), buffer_size(kept), release_body,
                               kept) != 0)
        release_body(NULL, 0, kept);
    return out;
}

void http_reply(struct evhttp_request *request, int code, const char *type, struct buffer *body)
{
    size_t size = buffer_size(body);
    struct evbuffer *out;

    add_headers(request, code, type, size);
    if (evhttp_request_get_command(request) == EVHTTP_REQ_HEAD)
        buffer_clear(body);
    out = lend(body);
    evhttp_send_reply(request, code, reason(code), out);
    if (out != NULL)
        evbuffer_free(out);
}

void http_reply_text(struct evhttp_request *request, int code, const char *text)
{
    struct buffer body;

    buffer_init(&body, 4096);
    buffer_append(&body, text, strlen(text));
    http_reply(request, code, NULL, &body);
}

/* ---- Accept */

/* "0.75" as 750; what is no such number counts as 1. */
static unsigned read_quality(const char *text)
{
    unsigned quality = text[0] == '0' ? 0 : 1000, unit = 100;

    if ((text[0] != '0' && text[0] != '1') || text[1] != '.' || quality > 0)
        return quality;
    for (size_t i = 2; text[i] >= '0' && text[i] <= '9' && unit > 0; i++, unit /= 10)
        quality += (unsigned)(text[i] - '0') * unit;
    return quality;
}

/* Of one range, "text/plain;q=0.5". */
static unsigned quality_of(const char *range, size_t size)
{
    for (size_t i = 0; i + 2 < size; i++)
        if ((range[i] == ';' || range[i] == ' ') && strncasecmp(range + i + 1, "q=", 2) == 0)
            return read_quality(range + i + 3);
    return 1000;
}

static bool is_type(const char *range, size_t size, const char *type)
{
    size_t length = strlen(type);

    return size >= length && strncasecmp(range, type, length) == 0 &&
           (size == length || range[length] == ';' || range[length] == ' ');
}

bool http_wants_open_metrics(const char *accept)
{
    unsigned open = 0, plain = 0;

    while (accept != NULL && *accept != '\0') {
        size_t size;

        accept += strspn(accept, " \t,");
        size = strcspn(accept, ",");
        if (is_type(accept, size, "application/openmetrics-text")) {
            unsigned quality = quality_of(accept, size);

            open = quality > open ? quality : open;
        } else if (is_type(accept, size, "text/plain")) {
            plain = quality_of(accept, size);
        }
        accept += size;
    }
    return open > 0 && open >= plain;
}
