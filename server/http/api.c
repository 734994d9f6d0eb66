#include "server/http/api.h"

#include "server/http/api_command.h"
#include "server/http/api_errors.h"
#include "server/http/api_guard.h"
#include "server/http/api_login.h"
#include "server/http/api_session.h"
#include "server/http/http.h"
#include "server/http/http_reply.h"
#include "server/http/openapi.h"
#include "server/http/web_login.h"
#include "server/http/web_sessions.h"
#include "server/http/web_view.h"
#include "server/net/connection.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON_TYPE "application/json"

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
    char *login;             /* the Authorization of the session; NULL: none was given */
    uint64_t web_number;     /* of the dashboard's login whose session it is; 0: it is not */
    struct web_session *web; /* of the request; NULL: it has none. Until it is logged in */
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

void api_account(struct api *api)
{
    if (api == NULL || api->session == NULL)
        return;
    api_session_account(api->session, sizeof(*api) + api->body.capacity + api->out.capacity +
                                          api->command.head.capacity +
                                          api->command.tail.capacity +
                                          http_connection_memory(api->connection));
}

/* ---- ends */

static void drop_session(struct api *api)
{
    api_session_close(api->session);
    api->session = NULL;
    api->is_logged_in = false;
    free(api->login);
    api->login = NULL;
    api->web_number = 0;
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

    if (!api->reply.has_begun && (line = api_login_error(replies)) != NULL) {
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
        buffer_release(&api->body);
        json_decref(api->params); /* while the command waits nobody needs it */
        api->params = NULL;
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

    http_connection_continue(connection);
    api->taken = 0;
    api->stage = api->is_raw ? API_PASSES_RAW : API_TAKES_JSON;
    buffer_init(&api->body, API_JSON_MAX);
    if (!api->is_raw || build(api, (int64_t)connection->head.length))
        on_input(api);
}

/* ---- the login */

static void end_login(struct api *api)
{
    struct evbuffer *replies = api_session_replies(api->session);
    char *line = api_login_error(replies);

    if (line != NULL) {
        drop_session(api);
        reply_error(api, line, true);
        free(line);
    } else if (api_login_skip(replies)) {
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
    api_account(api);
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

/* Is the session that of the same login? */
static bool is_right_session(const struct api *api)
{
    if (api->session == NULL || !api->is_logged_in || api_session_has_ended(api->session))
        return false;
    return api->web != NULL
               ? api->web_number == api->web->number
               : api->web_number == 0 && has_login(api, api->connection->head.authorization);
}

/* The user of a cookie needs no password again. */
static void enter(struct api *api)
{
    if (api_session_id(api->session) == 0) {
        drop_session(api);
        refuse(api, 503, "ERR max number of clients reached");
        return;
    }
    api->web_number = api->web->number;
    api->is_logged_in = true;
    begin_body(api);
}

static void log_in(struct api *api)
{
    struct http_part login = api->connection->head.authorization;

    if (login.data != NULL && (api->login = strndup(login.data, login.size)) == NULL) {
        drop_session(api);
        refuse(api, 503, "ERR out of memory");
        return;
    }
    if (login.data == NULL) {
        api_login_write(api_session_requests(api->session));
    } else if (!api_login_write_basic(api_session_requests(api->session), login)) {
        drop_session(api);
        refuse(api, 401, "NOAUTH the login must be Basic user:password");
        return;
    }
    api->stage = API_LOGS_IN;
    http_connection_expect(api->connection);
}

/* Two logins of one client are two sessions. */
static void begin_session(struct api *api)
{
    struct acl_user *user =
        api->web == NULL ? NULL : web_session_user(api->web, api->server->acl);

    if (is_right_session(api)) {
        begin_body(api);
        return;
    }
    drop_session(api);
    if (!http_make_room_for_session(api->server)) {
        refuse(api, 503, "ERR too many HTTP sessions");
        return;
    }
    api->session = api_session_open(api->connection, user, on_session, api);
    if (api->session == NULL)
        refuse(api, 503, "ERR no memory or descriptor for a session");
    else if (api->web != NULL)
        enter(api);
    else
        log_in(api);
}

/* ---- a request */

/* The cookie of the dashboard, where it has one. A login needs no second secret: it ends the
 * session of before, and whoever does not know the password gets no other one. */
static int check_cookie(struct api *api, const char **ret_why)
{
    const struct http_head *head = &api->connection->head;
    bool is_login = web_login_has_path(head->path);

    api->web = web_login_find(api->connection);
    *ret_why = "NOAUTH the session has ended: log in again";
    if (api->web == NULL && web_login_is_tried(api->connection) && !is_login)
        return 401;
    *ret_why = "NOCSRF the X-CSRF-Token is not that of the session";
    return api->web == NULL || head->method == HTTP_GET || web_login_is_entered(head) ||
                   web_session_has_csrf(api->web, head->csrf_token)
               ? 0
               : 403;
}

/* Before anybody logs in. 0: good. */
static int check(struct api *api, const char **ret_why)
{
    const struct http_head *head = &api->connection->head;
    const struct config *config = &api->server->config;
    bool is_login = api->server->dashboard != NULL && web_login_has_path(head->path);
    int status = api_check_host(head, config->http_hosts, ret_why);

    if (status == 0)
        status = api_check_origin(head, ret_why);
    if (status != 0)
        return status;
    *ret_why = "ERR the server is about to stop";
    if (api->server->stopping)
        return 503;
    status = check_cookie(api, ret_why);
    if (status != 0 || api->web != NULL || is_login)
        return status;
    if (config->http_api != HTTP_API_NO)
        return 0;
    if (api->server->dashboard != NULL && http_is_of_page(head)) {
        *ret_why = "NOAUTH a login is needed: see /v1/session";
        return 401;
    }
    *ret_why = "ERR the API is off: see http-api";
    return 403;
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
    openapi_write(&text,
                  api->server->dashboard == NULL ? 0 : (int)api->server->config.http_port);
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

    if (api->server->dashboard != NULL && web_login_has_path(head->path)) {
        web_login_serve(api->connection, api->web);
        return;
    }
    if (api->server->dashboard != NULL && web_view_has_path(head->path)) {
        web_view_serve(api->connection, api->web);
        return;
    }
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
    if (status == 401)
        drop_session(api);
    if (status != 0)
        refuse(api, status, why);
    else
        find_and_begin(api);
}
