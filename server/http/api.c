#include "server/http/api.h"

#include "server/http/api_command.h"
#include "server/http/api_errors.h"
#include "server/http/api_guard.h"
#include "server/http/api_session.h"
#include "server/http/http.h"
#include "server/http/http_reply.h"
#include "server/http/openapi.h"
#include "server/net/connection.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON_TYPE "application/json"

enum { LINE_MOST = 4096, USER_MOST = 8192 /* as long as a head */ };

enum api_stage {
    API_IDLE,
    API_LOGS_IN,
    API_TAKES_JSON, /* the body is being collected */
    API_PASSES_RAW, /* the body goes on to the session as it comes */
    API_AWAITS,     /* the reply of the command */
};

struct api {
    struct server *server;
    struct http_connection *connection;
    struct api_session *session;
    char *login; /* the Authorization of the session; NULL: none was given */
    bool is_logged_in;
    enum api_stage stage;
    const struct route *route;
    struct route_values values;
    bool is_raw;
    json_t *params;
    struct buffer body;
    struct api_command command;
    uint64_t taken; /* bytes of the body since the deadline was set */
    struct api_reply reply;
    size_t wanted; /* bytes that the reply needs, to go on */
    bool head_sent;
    struct buffer out;
};

bool api_has_path(struct http_part path)
{
    return path.size >= 3 && memcmp(path.data, "/v1", 3) == 0 &&
           (path.size == 3 || path.data[3] == '/');
}

bool api_has_session(const struct http_connection *connection)
{
    return connection->api != NULL && connection->api->session != NULL &&
           connection->api->is_logged_in;
}

/* ---- ends */

static void drop_session(struct api *api)
{
    api_session_close(api->session);
    api->session = NULL;
    api->is_logged_in = false;
    free(api->login);
    api->login = NULL;
}

/* What belongs to one request. */
static void forget_request(struct api *api)
{
    json_decref(api->params);
    api->params = NULL;
    buffer_release(&api->body);
    buffer_release(&api->out);
    api_command_release(&api->command);
    api->command = (struct api_command){0};
    api->stage = API_IDLE;
}

void api_free(struct api *api)
{
    if (api == NULL)
        return;
    drop_session(api);
    forget_request(api);
    free(api);
}

static void on_gone(void *served)
{
    struct api *api = served;

    drop_session(api);
    forget_request(api);
}

static void refuse(struct api *api, int status, const char *error)
{
    forget_request(api);
    http_reply_error(api->connection, status, error);
}

/* The session has ended, or says what cannot be understood. Once it has the request nobody
 * knows whether the command has run: to be told to try again could double a job. Of a reply
 * that has begun the rest is missing, which shows. */
static void fail(struct api *api)
{
    bool may_have_run = api->stage == API_AWAITS;

    drop_session(api);
    if (!may_have_run) {
        refuse(api, 503, "ERR the session was closed: try again");
        return;
    }
    forget_request(api);
    http_connection_doom(api->connection);
}

/* ---- the reply */

static void send_out(struct api *api, const char *frame_end)
{
    struct evbuffer *out = http_connection_output(api->connection);
    bool is_chunked = api->connection->head.is_1_1;
    size_t size = buffer_size(&api->out);

    if (is_chunked && size > 0)
        evbuffer_add_printf(out, "%zx\r\n", size);
    if (size > 0)
        evbuffer_add(out, buffer_content(&api->out), size);
    if (is_chunked && size > 0)
        evbuffer_add(out, "\r\n", 2);
    if (is_chunked)
        evbuffer_add(out, frame_end, strlen(frame_end));
    buffer_clear(&api->out);
    http_connection_expect(api->connection);
}

static void send_part(struct api *api)
{
    struct http_reply_head head = {
        .status = 200, .type = JSON_TYPE, .is_chunked = api->connection->head.is_1_1};

    if (!head.is_chunked)
        api->connection->keeps = false; /* its end is the end of the body */
    if (!api->head_sent)
        http_reply_head(api->connection, &head);
    api->head_sent = true;
    send_out(api, "");
}

static void finish(struct api *api)
{
    struct http_connection *connection = api->connection;
    bool is_none = api->reply.is_null || api->reply.is_zero;

    buffer_append(&api->out, "\n", 1);
    if (api->out.overflowed) {
        fail(api);
    } else if (api->head_sent) {
        send_out(api, "0\r\n\r\n");
        forget_request(api);
        http_connection_done(connection);
    } else if (is_none && api->route->missing != NULL) {
        refuse(api, 404, api->route->missing);
    } else {
        http_reply(connection, 200, JSON_TYPE, &api->out);
        forget_request(api);
    }
}

/* The line of an error that is the whole reply. NULL: it is not there. */
static char *read_error(struct evbuffer *replies)
{
    char kind;

    if (evbuffer_copyout(replies, &kind, 1) != 1 || kind != '-')
        return NULL;
    return evbuffer_readln(replies, NULL, EVBUFFER_EOL_CRLF);
}

static void reply_error(struct api *api, const char *line, bool at_login)
{
    refuse(api, api_status_of(line + 1, strlen(line + 1), at_login), line + 1);
}

static enum reply_step run_reply(struct api *api)
{
    struct evbuffer *replies = api_session_replies(api->session);
    size_t size = evbuffer_get_length(replies), used;
    const char *bytes = (const char *)evbuffer_pullup(replies, -1);
    enum reply_step step =
        api_reply_run(&api->reply, bytes, size, &api->out, &used, &api->wanted);

    if (step != REPLY_MORE)
        api->wanted = 1;
    evbuffer_drain(replies, used);
    return step;
}

/* Goes on with the reply, as far as it is there and the peer takes it. */
static void pass_reply(struct api *api)
{
    struct evbuffer *replies = api_session_replies(api->session);
    enum reply_step step = REPLY_AGAIN;
    char *line;

    if (!api->reply.has_begun && (line = read_error(replies)) != NULL) {
        reply_error(api, line, false);
        free(line);
        return;
    }
    while (step == REPLY_AGAIN && http_connection_has_room(api->connection)) {
        if (!api->reply.has_ended && evbuffer_get_length(replies) < api->wanted) {
            if (api_session_has_ended(api->session))
                fail(api);
            return;
        }
        step = run_reply(api);
        if (step == REPLY_AGAIN || buffer_size(&api->out) >= REPLY_PART)
            send_part(api);
    }
    if (step == REPLY_DONE)
        finish(api);
    else if (step == REPLY_BROKEN ||
             (step == REPLY_MORE && api_session_has_ended(api->session)))
        fail(api);
}

static void await_reply(struct api *api)
{
    api->stage = API_AWAITS;
    api->head_sent = false;
    api->wanted = 1;
    api_reply_init(&api->reply, &api->route->shape);
    buffer_init(&api->out, SIZE_MAX / 2);
    api->connection->deadline = 0;
    api->connection->ends_with_peer = api->command.wait_ms > 0;
    if (api->connection->peer_ended && api->connection->ends_with_peer)
        http_connection_doom(api->connection);
}

/* ---- the request */

static void pour(struct evbuffer *to, struct buffer *from)
{
    evbuffer_add(to, buffer_content(from), buffer_size(from));
    buffer_release(from);
}

/* False: it is refused. */
static bool build(struct api *api, int64_t raw)
{
    struct api_error error;

    if (api_command_build(api->route, &api->values, api->params, raw, &api->command, &error)) {
        pour(api_session_requests(api->session), &api->command.head);
        return true;
    }
    refuse(api, 400, error.text);
    return false;
}

static void count_taken(struct api *api, size_t size)
{
    http_connection_took(api->connection, size);
    api->taken += size;
    if (api->taken >= HTTP_PART || api->connection->deadline == 0) {
        api->taken = 0;
        http_connection_expect(api->connection);
    }
}

static void take_json(struct api *api)
{
    struct http_connection *connection = api->connection;
    struct evbuffer *input = http_connection_input(connection);
    size_t size = evbuffer_get_length(input);
    struct api_error error;
    char *to;

    size = size < connection->body_left ? size : (size_t)connection->body_left;
    to = size == 0 ? NULL : buffer_reserve(&api->body, size);
    if (to != NULL) {
        evbuffer_remove(input, to, size);
        buffer_commit(&api->body, size);
        count_taken(api, size);
    }
    if (api->body.overflowed)
        refuse(api, 503, "ERR out of memory");
    if (api->body.overflowed || connection->body_left > 0)
        return;
    if (buffer_size(&api->body) > 0 && !api_read_json(api->params, buffer_content(&api->body),
                                                      buffer_size(&api->body), &error))
        refuse(api, 400, error.text);
    else if (build(api, -1))
        await_reply(api);
}

/* As much as the session takes. */
static void pass_raw(struct api *api)
{
    struct http_connection *connection = api->connection;
    struct evbuffer *input = http_connection_input(connection);
    struct evbuffer *requests = api_session_requests(api->session);

    while (connection->body_left > 0) {
        size_t size = evbuffer_get_length(input);

        if (evbuffer_get_length(requests) >= API_REQUEST_MOST) {
            connection->deadline = 0; /* it is the server that is slow */
            return;
        }
        size = size < connection->body_left ? size : (size_t)connection->body_left;
        if (size == 0) {
            if (connection->deadline == 0)
                http_connection_expect(connection);
            return;
        }
        evbuffer_remove_buffer(input, requests, size);
        count_taken(api, size);
    }
    pour(requests, &api->command.tail);
    await_reply(api);
}

static void on_input(void *served)
{
    struct api *api = served;

    if (api->stage == API_TAKES_JSON)
        take_json(api);
    else if (api->stage == API_PASSES_RAW)
        pass_raw(api);
}

/* It may send its body now. */
static void begin_body(struct api *api)
{
    struct http_connection *connection = api->connection;

    if (connection->head.expects && connection->body_left > 0 &&
        evbuffer_get_length(http_connection_input(connection)) == 0)
        evbuffer_add_printf(http_connection_output(connection),
                            "HTTP/1.1 100 Continue\r\n\r\n");
    http_connection_expect(connection);
    api->taken = 0;
    api->stage = api->is_raw ? API_PASSES_RAW : API_TAKES_JSON;
    buffer_init(&api->body, API_JSON_MAX);
    if (!api->is_raw || build(api, (int64_t)connection->head.length))
        on_input(api);
}

/* ---- the login */

/* Reads "Basic dXNlcjpwYXNzd29yZA==". text: USER_MOST bytes. *ret_password: where it begins. */
static bool read_login(struct http_part login, char *text, size_t *ret_size,
                       size_t *ret_password)
{
    struct http_part coded = {login.data + 6, login.size - 6};
    const char *colon;

    if (login.size < 6 || strncasecmp(login.data, "Basic ", 6) != 0 || coded.size > USER_MOST ||
        !http_read_base64(coded, text, ret_size))
        return false;
    colon = memchr(text, ':', *ret_size);
    if (colon != NULL)
        *ret_password = (size_t)(colon - text) + 1;
    return colon != NULL;
}

/* False: it is no login. */
static bool write_hello(struct api *api, struct http_part login)
{
    struct evbuffer *requests = api_session_requests(api->session);
    char text[USER_MOST];
    size_t size = 0, password = 0;

    if (login.data == NULL) {
        evbuffer_add_printf(requests, "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n");
        return true;
    }
    if (!read_login(login, text, &size, &password))
        return false;
    evbuffer_add_printf(requests, "*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$%zu\r\n",
                        password == 1 ? 7 : password - 1);
    evbuffer_add(requests, password == 1 ? "default" : text, password == 1 ? 7 : password - 1);
    evbuffer_add_printf(requests, "\r\n$%zu\r\n", size - password);
    evbuffer_add(requests, text + password, size - password);
    evbuffer_add(requests, "\r\n", 2);
    explicit_bzero(text, sizeof(text));
    return true;
}

/* Reads over the reply of HELLO. */
static enum reply_step skip_hello(struct evbuffer *replies)
{
    static const struct reply_shape shape = {.wrap = NULL};
    size_t size = evbuffer_get_length(replies), used, wanted;
    const char *bytes = (const char *)evbuffer_pullup(replies, -1);
    struct api_reply reply;
    struct buffer out;
    enum reply_step step;

    api_reply_init(&reply, &shape);
    buffer_init(&out, LINE_MOST);
    step = api_reply_run(&reply, bytes, size, &out, &used, &wanted);
    buffer_release(&out);
    if (step == REPLY_DONE)
        evbuffer_drain(replies, used);
    return step;
}

static void end_login(struct api *api)
{
    struct evbuffer *replies = api_session_replies(api->session);
    char *line = read_error(replies);

    if (line != NULL) {
        drop_session(api);
        reply_error(api, line, true);
        free(line);
    } else if (skip_hello(replies) == REPLY_DONE) {
        api->is_logged_in = true;
        begin_body(api);
    } else if (api_session_has_ended(api->session)) {
        fail(api);
    }
}

/* A session that has ended while nothing was asked. */
static void on_session(void *arg)
{
    struct api *api = arg;

    if (api->stage == API_LOGS_IN)
        end_login(api);
    else if (api->stage == API_AWAITS)
        pass_reply(api);
    else if (api_session_has_ended(api->session) && api->stage == API_IDLE)
        drop_session(api);
    else if (api_session_has_ended(api->session))
        fail(api);
    else if (api->stage == API_PASSES_RAW)
        pass_raw(api);
}

static void on_drained(void *served)
{
    struct api *api = served;

    if (api->stage == API_AWAITS && api->session != NULL)
        pass_reply(api);
}

static const struct http_hooks hooks = {on_input, on_drained, on_gone};

static bool has_login(const struct api *api, struct http_part login)
{
    if (api->login == NULL || login.data == NULL)
        return api->login == NULL && login.data == NULL;
    return strlen(api->login) == login.size && memcmp(api->login, login.data, login.size) == 0;
}

/* Two logins of one client are two sessions. */
static void begin_session(struct api *api)
{
    struct http_part login = api->connection->head.authorization;

    if (api->session != NULL && api->is_logged_in && has_login(api, login) &&
        !api_session_has_ended(api->session)) {
        begin_body(api);
        return;
    }
    drop_session(api);
    if (!http_make_room_for_session(api->server)) {
        refuse(api, 503, "ERR too many HTTP sessions");
        return;
    }
    api->session = api_session_open(api->connection, on_session, api);
    if (login.data != NULL)
        api->login = strndup(login.data, login.size);
    if (api->session == NULL || (login.data != NULL && api->login == NULL)) {
        drop_session(api);
        refuse(api, 503, "ERR no memory or descriptor for a session");
    } else if (!write_hello(api, login)) {
        drop_session(api);
        refuse(api, 401, "NOAUTH the login must be Basic user:password");
    } else {
        api->stage = API_LOGS_IN;
        http_connection_expect(api->connection);
    }
}

/* ---- a request */

/* Before anybody logs in. 0: good. */
static int check(struct api *api, const char **ret_why)
{
    const struct http_head *head = &api->connection->head;
    const struct config *config = &api->server->config;
    int status = api_check_host(head, config->http_hosts, ret_why);

    if (status == 0)
        status = api_check_origin(head, ret_why);
    if (status != 0)
        return status;
    *ret_why = "ERR the server is about to stop";
    if (api->server->stopping)
        return 503;
    *ret_why = "ERR the API is off: see http-api";
    return config->http_api == HTTP_API_NO ? 403 : 0;
}

static int check_route(struct api *api, const char **ret_why)
{
    const struct http_head *head = &api->connection->head;
    uint64_t most = API_JSON_MAX;
    int status = api_check_body(head, api->route->may_be_raw, &api->is_raw, ret_why);

    if (status != 0)
        return status;
    if (api->is_raw)
        most = (uint64_t)api->server->config.proto_max_bulk_len < DUEQ_BODY_MAX
                   ? (uint64_t)api->server->config.proto_max_bulk_len
                   : DUEQ_BODY_MAX;
    *ret_why = api->is_raw ? NULL
                           : "TOOBIG the JSON has more than 262144 bytes: send a large "
                             "body as application/octet-stream";
    if (head->length > most)
        return 413;
    *ret_why = "ERR the API is read-only: see http-api";
    return api->server->config.http_api == HTTP_API_READ && head->method != HTTP_GET ? 403 : 0;
}

/* As at the other ports: who may not connect there may not here. */
static bool is_turned_away(struct api *api)
{
    const char *why;
    char text[512];

    if (api->session != NULL ||
        !connection_is_refused(api->server, api->connection->address, &why))
        return false;
    snprintf(text, sizeof(text), "%.*s", (int)strcspn(why + 1, "\r"), why + 1);
    refuse(api, 403, text);
    return true;
}

static void begin_request(struct api *api)
{
    struct api_error error;
    const char *why;
    int status = check_route(api, &why);

    if (status != 0) {
        refuse(api, status, why);
        return;
    }
    if (is_turned_away(api))
        return;
    api->params = api_read_query(api->connection->head.query, &error);
    if (api->params == NULL)
        refuse(api, 400, error.text);
    else
        begin_session(api);
}

static void describe(struct api *api)
{
    struct buffer text;

    buffer_init(&text, SIZE_MAX / 2);
    openapi_write(&text);
    if (text.overflowed) {
        buffer_release(&text);
        refuse(api, 503, "ERR out of memory");
    } else {
        http_reply(api->connection, 200, JSON_TYPE, &text);
    }
}

static void find_and_begin(struct api *api)
{
    const struct http_head *head = &api->connection->head;
    char methods[64];
    bool is_bad;

    if (head->path.size == strlen(OPENAPI_PATH) &&
        memcmp(head->path.data, OPENAPI_PATH, head->path.size) == 0 &&
        head->method == HTTP_GET) {
        describe(api);
        return;
    }
    api->route = api_find_route(head->method, head->path, &api->values, methods,
                                sizeof(methods), &is_bad);
    if (api->route == NULL && methods[0] == '\0')
        refuse(api, 404, "ERR there is no such path: see /v1/openapi.json");
    else if (api->route == NULL)
        http_reply_refusal(api->connection, 405, NULL, methods);
    else if (is_bad)
        refuse(api, 400, "ERR topic and id must be 1 to 255 bytes long, encoded as in a URL");
    else
        begin_request(api);
}

static struct api *api_of(struct http_connection *connection)
{
    if (connection->api == NULL)
        connection->api = calloc(1, sizeof(*connection->api));
    if (connection->api != NULL) {
        connection->api->server = connection->server;
        connection->api->connection = connection;
    }
    return connection->api;
}

void api_serve(struct http_connection *connection)
{
    struct api *api = api_of(connection);
    const char *why;
    int status;

    if (api == NULL) {
        http_reply_error(connection, 503, "ERR out of memory");
        return;
    }
    connection->keeps = connection->head.keeps;
    http_connection_served_by(connection, &hooks, api);
    status = check(api, &why);
    if (status != 0)
        refuse(api, status, why);
    else
        find_and_begin(api);
}
