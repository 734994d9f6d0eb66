#include "server/http/web_login.h"

#include "protocol/json_text.h"
#include "server/http/api_errors.h"
#include "server/http/api_guard.h"
#include "server/http/api_login.h"
#include "server/http/api_session.h"
#include "server/http/dashboard.h"
#include "server/http/http.h"
#include "server/http/http_reply.h"
#include "server/http/web_rights.h"
#include "server/net/connection.h"

#include <event2/buffer.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSION_PATH "/v1/session"

/* A login by user and password. */
struct web_login {
    struct server *server;
    struct http_connection *connection;
    struct api_session *session; /* NULL: the request is being read */
    struct buffer body;
};

bool web_login_has_path(struct http_part path)
{
    return path.size == strlen(SESSION_PATH) && memcmp(path.data, SESSION_PATH, path.size) == 0;
}

bool web_login_is_entered(const struct http_head *head)
{
    return head->method == HTTP_POST && web_login_has_path(head->path);
}

/* ---- cookies */

/* A browser has the cookies of all ports of a host in one place: two servers must not take
 * each other's. */
static void name_cookie(const struct server *server, char *name, size_t room)
{
    snprintf(name, room, "dueq-session-%d", (int)server->config.http_port);
}

static struct http_part cookie_of(const struct http_connection *connection)
{
    char name[32];

    name_cookie(connection->server, name, sizeof(name));
    return connection->server->dashboard == NULL ? (struct http_part){NULL, 0}
                                                 : http_cookie(connection->head.cookie, name);
}

struct web_session *web_login_find(const struct http_connection *connection)
{
    struct server *server = connection->server;

    return server->dashboard == NULL
               ? NULL
               : web_sessions_find(&server->dashboard->sessions, cookie_of(connection),
                                   server->acl, server->clock.last.monotonic);
}

bool web_login_is_tried(const struct http_connection *connection)
{
    return cookie_of(connection).data != NULL;
}

static void write_cookie(const struct http_connection *connection, const char *value,
                         char *fields, size_t room)
{
    char name[32];

    name_cookie(connection->server, name, sizeof(name));
    snprintf(fields, room, "Set-Cookie: %s=%s; HttpOnly; SameSite=Strict; Path=/%s%s\r\n", name,
             value, http_connection_is_secure(connection) ? "; Secure" : "",
             value[0] == '\0' ? "; Max-Age=0" : "");
}

/* ---- replies */

static void put(struct buffer *out, const char *text)
{
    buffer_append(out, text, strlen(text));
}

static void describe(const struct server *server, const struct web_session *session,
                     struct buffer *out)
{
    put(out, "{\"user\":");
    json_write_bytes(out, session->name, session->name_size);
    put(out, ",\"csrf\":\"");
    put(out, session->csrf);
    put(out, "\",\"passwordless\":");
    put(out, session->is_passwordless ? "true" : "false");
    put(out, ",\"rights\":");
    web_rights_write(web_session_user(session, server->acl),
                     server->config.http_api == HTTP_API_READ, out);
    put(out, "}\n");
}

/* cookie: a new one; NULL: it has it. */
static void reply_session(struct http_connection *connection, const struct web_session *session,
                          const char *cookie)
{
    struct buffer body;
    char fields[256] = "";
    struct http_reply_head head = {.status = 200, .type = "application/json", .fields = fields};

    if (cookie != NULL)
        write_cookie(connection, cookie, fields, sizeof(fields));
    buffer_init(&body, SIZE_MAX / 2);
    describe(connection->server, session, &body);
    if (!body.overflowed) {
        http_reply_whole(connection, &head, &body);
        return;
    }
    buffer_release(&body);
    http_reply_error(connection, 503, "ERR out of memory");
}

static void begin_session(struct http_connection *connection, const struct acl_user *user)
{
    struct server *server = connection->server;
    char cookie[WEB_SECRET_SIZE + 1];
    struct web_session *session = web_sessions_add(&server->dashboard->sessions, user,
                                                   server->clock.last.monotonic, cookie);

    if (session == NULL)
        http_reply_error(connection, 503, "ERR out of memory");
    else
        reply_session(connection, session, cookie);
    acl_hash_forget(cookie, sizeof(cookie));
}

/* ---- a login by user and password */

static void free_login(struct web_login *login)
{
    api_session_close(login->session);
    if (buffer_size(&login->body) > 0)
        acl_hash_forget(buffer_content(&login->body), buffer_size(&login->body));
    buffer_release(&login->body);
    free(login);
}

static void on_gone(void *served)
{
    free_login(served);
}

static void refuse(struct web_login *login, int status, const char *error)
{
    struct http_connection *connection = login->connection;

    free_login(login);
    http_reply_error(connection, status, error);
}

static void reply_error(struct web_login *login, const char *line)
{
    refuse(login, api_status_of(line + 1, strlen(line + 1), true), line + 1);
}

/* The login of before, whose cookie the browser has still, ends with the new one. */
static void end_former(const struct http_connection *connection)
{
    struct web_session *former = web_login_find(connection);

    if (former != NULL)
        web_sessions_end(&connection->server->dashboard->sessions, former);
}

/* The user may have been changed since its password was found to be right, and the dashboard
 * turned off. */
static void succeed(struct web_login *login)
{
    struct server *server = login->server;
    struct http_connection *connection = login->connection;
    const struct session *session = server_find_session(server, api_session_id(login->session));
    const struct acl_user *user;

    if (server->dashboard == NULL || session == NULL || session->user->is_dead ||
        session->credentials != session->user->credentials) {
        refuse(login, 401, "NOAUTH the user has changed: log in again");
        return;
    }
    user = session->user;
    end_former(connection);
    free_login(login);
    begin_session(connection, user);
}

static void on_session(void *arg)
{
    struct web_login *login = arg;
    struct evbuffer *replies = api_session_replies(login->session);
    char *line = api_login_error(replies);

    if (line != NULL)
        reply_error(login, line);
    else if (api_login_skip(replies))
        succeed(login);
    else if (api_session_has_ended(login->session))
        refuse(login, 503, "ERR the session was closed: try again");
    free(line);
}

static struct http_part text_of(const json_t *object, const char *name)
{
    const json_t *text = json_object_get(object, name);

    return json_is_string(text)
               ? (struct http_part){json_string_value(text), json_string_length(text)}
               : (struct http_part){NULL, 0};
}

static void log_in(struct web_login *login, struct http_part user, struct http_part password)
{
    login->session = http_make_room_for_session(login->server)
                         ? api_session_open(login->connection, NULL, on_session, login)
                         : NULL;
    if (login->session == NULL) {
        refuse(login, 503, "ERR too many HTTP sessions, or no memory for one more");
        return;
    }
    api_login_write_user(api_session_requests(login->session), user, password);
    http_connection_expect(login->connection);
}

static void read_login(struct web_login *login)
{
    json_t *body =
        json_loadb(buffer_size(&login->body) == 0 ? "" : buffer_content(&login->body),
                   buffer_size(&login->body), JSON_REJECT_DUPLICATES, NULL);
    struct http_part user = text_of(body, "user"), password = text_of(body, "password");

    if (user.data == NULL || password.data == NULL)
        refuse(login, 400, "ERR a login is {\"user\": \"...\", \"password\": \"...\"}");
    else
        log_in(login, user, password);
    json_decref(body);
}

static void on_input(void *served)
{
    struct web_login *login = served;
    struct http_connection *connection = login->connection;
    struct evbuffer *input = http_connection_input(connection);
    size_t size = evbuffer_get_length(input);
    char *to;

    size = size < connection->body_left ? size : (size_t)connection->body_left;
    to = size == 0 ? NULL : buffer_reserve(&login->body, size);
    if (to != NULL) {
        evbuffer_remove(input, to, size);
        buffer_commit(&login->body, size);
        http_connection_took(connection, size);
    }
    if (login->body.overflowed)
        refuse(login, 503, "ERR out of memory");
    else if (connection->body_left == 0)
        read_login(login);
}

static const struct http_hooks hooks = {.on_input = on_input, .on_gone = on_gone};

static void begin_login(struct http_connection *connection)
{
    struct web_login *login = calloc(1, sizeof(*login));

    if (login == NULL) {
        http_reply_error(connection, 503, "ERR out of memory");
        return;
    }
    login->server = connection->server;
    login->connection = connection;
    buffer_init(&login->body, WEB_LOGIN_MAX);
    http_connection_served_by(connection, &hooks, login);
    http_connection_continue(connection);
    on_input(login);
}

/* ---- requests */

static void reply_end(struct http_connection *connection, struct web_session *session)
{
    struct http_reply_head head = {.status = 200, .type = "application/json"};
    struct buffer body;
    char fields[256];

    if (session == NULL) {
        http_reply_error(connection, 401, "NOAUTH nobody is logged in");
        return;
    }
    web_sessions_end(&connection->server->dashboard->sessions, session);
    write_cookie(connection, "", fields, sizeof(fields));
    head.fields = fields;
    buffer_init(&body, 4096);
    put(&body, "{\"ended\":true}\n");
    http_reply_whole(connection, &head, &body);
}

static void reply_present(struct http_connection *connection, struct web_session *session)
{
    struct server *server = connection->server;
    const struct acl_user *user = acl_default(server->acl);

    if (session != NULL)
        reply_session(connection, session, NULL);
    else if (acl_wants_login(server->acl))
        http_reply_error(connection, 401, "NOAUTH a login is needed");
    else
        begin_session(connection, user);
}

/* As at the other ports: who may not connect there may not log in here. */
static bool is_turned_away(const struct http_connection *connection, char *error, size_t room)
{
    const char *why;

    if (!connection_is_refused(connection->server, connection->address, &why))
        return false;
    snprintf(error, room, "%.*s", (int)strcspn(why + 1, "\r"), why + 1);
    return true;
}

/* 0: good. */
static int check(const struct http_connection *connection, char *error, size_t room)
{
    const struct http_head *head = &connection->head;
    const char *why;
    bool is_raw;
    int status = api_check_body(head, false, &is_raw, &why);

    snprintf(error, room, "%s", why == NULL ? "" : why);
    if (status != 0)
        return status;
    if (head->length > WEB_LOGIN_MAX)
        return 413;
    return is_turned_away(connection, error, room) ? 403 : 0;
}

void web_login_serve(struct http_connection *connection, struct web_session *session)
{
    enum http_method method = connection->head.method;
    char error[512];
    int status;

    if (method != HTTP_GET && method != HTTP_POST && method != HTTP_DELETE) {
        http_reply_refusal(connection, 405, NULL, "GET, POST, DELETE");
        return;
    }
    status = check(connection, error, sizeof(error));
    if (status != 0)
        http_reply_error(connection, status, error[0] == '\0' ? NULL : error);
    else if (method == HTTP_GET)
        reply_present(connection, session);
    else if (method == HTTP_DELETE)
        reply_end(connection, session);
    else
        begin_login(connection);
}
