#include "server/http/http_reply.h"

#include "protocol/json_text.h"

#include <event2/buffer.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* ---- the head */

static const struct {
    int status;
    const char *reason;
    const char *error; /* in the body, when nothing else is said */
} statuses[] = {
    {200, "OK", ""},
    {201, "Created", ""},
    {303, "See Other", ""},
    {304, "Not Modified", ""},
    {400, "Bad Request", "ERR this is no request of HTTP/1.1"},
    {401, "Unauthorized", "NOAUTH a login is needed"},
    {403, "Forbidden", "NOPERM this is not allowed"},
    {404, "Not Found", "ERR there is no such path"},
    {405, "Method Not Allowed", "ERR the path has no such method"},
    {406, "Not Acceptable", "ERR this is only there compressed"},
    {408, "Request Timeout", "ERR the request took too long"},
    {409, "Conflict", "ERR conflict"},
    {411, "Length Required", "ERR the body needs a Content-Length"},
    {412, "Precondition Failed", "STALE"},
    {413, "Content Too Large", "TOOBIG the body is too large"},
    {415, "Unsupported Media Type", "ERR the Content-Type must be application/json"},
    {417, "Expectation Failed", "ERR only 100-continue can be expected"},
    {429, "Too Many Requests", "ERR too many failed logins"},
    {431, "Request Header Fields Too Large", "TOOBIG the head has more than 8192 bytes"},
    {500, "Internal Server Error", "ERR the server has failed"},
    {503, "Service Unavailable", "ERR try again later"},
    {505, "HTTP Version Not Supported", "ERR the version must be HTTP/1.0 or HTTP/1.1"},
    {507, "Insufficient Storage", "FULL"},
};

static size_t find_status(int status)
{
    size_t i = 0;

    while (statuses[i].status != status && i + 1 < sizeof(statuses) / sizeof(statuses[0]))
        i++;
    return i;
}

static void add_date(struct evbuffer *out, const struct server *server)
{
    time_t now = (time_t)(server->clock.last.wall / 1000);
    char text[64];
    struct tm parts;

    if (gmtime_r(&now, &parts) != NULL &&
        strftime(text, sizeof(text), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts) > 0)
        evbuffer_add(out, text, strlen(text));
}

bool http_is_of_page(const struct http_head *head)
{
    return head->cookie.data != NULL || http_part_is(head->fetch_site, "same-origin");
}

static void add_special(struct http_connection *connection, int status, const char *allow)
{
    struct evbuffer *out = http_connection_output(connection);

    if (status == 401 && !http_is_of_page(&connection->head))
        evbuffer_add_printf(out, "WWW-Authenticate: Basic realm=\"dueq\", "
                                 "charset=\"UTF-8\"\r\n");
    if (status == 405 && allow != NULL)
        evbuffer_add_printf(out, "Allow: %s\r\n", allow);
    if (status == 429 || status == 503)
        evbuffer_add_printf(out, "Retry-After: 1\r\n");
}

void http_reply_head(struct http_connection *connection, const struct http_reply_head *head)
{
    struct evbuffer *out = http_connection_output(connection);

    if (connection->server->stopping || connection->body_left > 0)
        connection->keeps = false;
    evbuffer_add_printf(out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", head->status,
                        statuses[find_status(head->status)].reason,
                        head->type == NULL ? "text/plain; charset=utf-8" : head->type);
    if (head->is_chunked)
        evbuffer_add_printf(out, "Transfer-Encoding: chunked\r\n");
    else if (head->has_size)
        evbuffer_add_printf(out, "Content-Length: %" PRIu64 "\r\n", head->size);
    if (!connection->keeps)
        evbuffer_add_printf(out, "Connection: close\r\n");
    add_date(out, connection->server);
    add_special(connection, head->status, head->allow);
    evbuffer_add_printf(out, "Cache-Control: %s\r\nX-Content-Type-Options: nosniff\r\n%s\r\n",
                        head->cache == NULL ? "no-store" : head->cache,
                        head->fields == NULL ? "" : head->fields);
}

/* ---- whole replies */

static void release_body(const void *data, size_t size, void *arg)
{
    (void)data;
    (void)size;
    buffer_release(arg);
    free(arg);
}

/* The body goes out without a copy. */
static void lend(struct evbuffer *out, struct buffer *body)
{
    struct buffer *kept = buffer_size(body) == 0 ? NULL : malloc(sizeof(*kept));

    if (kept == NULL) {
        buffer_release(body);
        return;
    }
    *kept = *body;
    *body = (struct buffer){0};
    if (evbuffer_add_reference(out, buffer_content(kept), buffer_size(kept), release_body,
                               kept) != 0)
        release_body(NULL, 0, kept);
}

void http_reply_whole(struct http_connection *connection, struct http_reply_head *head,
                      struct buffer *body)
{
    head->has_size = true;
    head->size = buffer_size(body);
    http_reply_head(connection, head);
    if (connection->head.method == HTTP_HEAD)
        buffer_release(body);
    else
        lend(http_connection_output(connection), body);
    http_connection_done(connection);
}

static void reply(struct http_connection *connection, int status, const char *type,
                  const char *allow, struct buffer *body)
{
    struct http_reply_head head = {.status = status, .type = type, .allow = allow};

    http_reply_whole(connection, &head, body);
}

void http_reply(struct http_connection *connection, int status, const char *type,
                struct buffer *body)
{
    reply(connection, status, type, NULL, body);
}

void http_reply_text(struct http_connection *connection, int status, const char *text)
{
    struct buffer body;

    buffer_init(&body, 4096);
    buffer_append(&body, text, strlen(text));
    reply(connection, status, NULL, "GET, HEAD", &body);
}

void http_reply_refusal(struct http_connection *connection, int status, const char *error,
                        const char *allow)
{
    struct buffer body;

    if (error == NULL)
        error = statuses[find_status(status)].error;
    buffer_init(&body, SIZE_MAX / 2);
    buffer_append(&body, "{\"error\":", 9);
    json_write_text(&body, error, strlen(error));
    buffer_append(&body, "}\n", 2);
    reply(connection, status, "application/json", allow, &body);
}

void http_reply_error(struct http_connection *connection, int status, const char *error)
{
    http_reply_refusal(connection, status, error, NULL);
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
