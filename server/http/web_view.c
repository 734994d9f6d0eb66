#include "server/http/web_view.h"

#include "protocol/number.h"
#include "server/http/api_command.h"
#include "server/http/client_view.h"
#include "server/http/dashboard.h"
#include "server/http/charts_view.h"
#include "server/http/http_reply.h"
#include "server/http/live.h"
#include "server/http/overview.h"
#include "server/http/web_rights.h"
#include "server/http/web_routes.h"

#include <stdio.h>
#include <string.h>

/* ---- parameters and replies */

const char *web_view_text(const json_t *params, const char *name, size_t *ret_size)
{
    const json_t *value = json_object_get(params, name);

    if (!json_is_string(value))
        return NULL;
    *ret_size = json_string_length(value);
    return json_string_value(value);
}

bool web_view_number(struct http_connection *connection, const json_t *params, const char *name,
                     int64_t least, int64_t most, int64_t *number)
{
    size_t size;
    const char *text = web_view_text(params, name, &size);
    char error[128];
    int64_t value;

    if (text == NULL)
        return true;
    if (number_parse_integer(text, size, &value) && value >= least && value <= most) {
        *number = value;
        return true;
    }
    snprintf(error, sizeof(error), "ERR the parameter '%s' must be an integer from %d to %d",
             name, (int)least, (int)most);
    http_reply_error(connection, 400, error);
    return false;
}

void web_view_reply(struct http_connection *connection, struct buffer *out)
{
    buffer_append(out, "\n", 1);
    if (!out->overflowed) {
        http_reply(connection, 200, "application/json", out);
        return;
    }
    buffer_release(out);
    http_reply_error(connection, 503, "ERR out of memory");
}

/* ---- views */

static void serve_server(struct http_connection *connection, const struct web_session *session,
                         const json_t *params)
{
    struct server *server = connection->server;
    struct buffer out;

    (void)session;
    (void)params;
    buffer_init(&out, SIZE_MAX / 2);
    server_view_write(server, &server->dashboard->rates, &out);
    web_view_reply(connection, &out);
}

typedef void (*view_fn)(struct http_connection *connection, const struct web_session *session,
                        const json_t *params);

static const view_fn views[WEB_VIEWS] = {[WEB_SERVER] = serve_server,
                                         [WEB_OVERVIEW] = overview_serve,
                                         [WEB_LIVE] = live_serve,
                                         [WEB_CLIENTS] = client_view_serve,
                                         [WEB_SLOWLOG] = client_view_serve_slowlog,
                                         [WEB_HISTORY] = charts_view_serve,
                                         [WEB_TOPIC_HISTORY] = charts_view_serve};

/* WEB_VIEWS: none. */
static enum web_route find(struct http_part path)
{
    unsigned view = 0;

    if (charts_view_has_path(path))
        return WEB_HISTORY; /* that of a topic has the same parameters */
    while (view < WEB_VIEWS && (path.size != strlen(web_routes()[view].path) ||
                                memcmp(path.data, web_routes()[view].path, path.size) != 0))
        view++;
    return (enum web_route)view;
}

bool web_view_has_path(struct http_part path)
{
    return find(path) != WEB_VIEWS;
}

/* ---- checks */

static bool has_param(const struct route *route, const char *name)
{
    const struct param *param = route->params;

    while (param != NULL && param->name != NULL && strcmp(param->name, name) != 0)
        param++;
    return param != NULL && param->name != NULL;
}

/* False: the reply is written. */
static bool check_params(struct http_connection *connection, const struct route *route,
                         json_t *params)
{
    const char *name;
    char error[128];
    json_t *value;

    json_object_foreach(params, name, value)
    {
        if (has_param(route, name) && json_is_string(value))
            continue;
        snprintf(error, sizeof(error),
                 "ERR there is no parameter '%.64s' here, or it comes twice", name);
        http_reply_error(connection, 400, error);
        return false;
    }
    return true;
}

static bool check_rights(struct http_connection *connection, const struct route *route,
                         const struct web_session *session)
{
    char error[128];

    if (route->command == NULL ||
        web_rights_allow(web_session_user(session, connection->server->acl), route->command))
        return true;
    snprintf(error, sizeof(error),
             "NOPERM this user has no permissions to run the '%s' command", route->command);
    http_reply_error(connection, 403, error);
    return false;
}

void web_view_serve(struct http_connection *connection, const struct web_session *session)
{
    const struct http_head *head = &connection->head;
    enum web_route view = find(head->path);
    const struct route *route = &web_routes()[view];
    struct api_error error;
    json_t *params;

    if (head->method != HTTP_GET) {
        http_reply_refusal(connection, 405, NULL, "GET");
        return;
    }
    if (session == NULL) {
        http_reply_error(connection, 401, "NOAUTH this is for logins of the dashboard");
        return;
    }
    if (head->length > 0) {
        http_reply_error(connection, 400, "ERR this request has no body");
        return;
    }
    if (!check_rights(connection, route, session))
        return;
    params = api_read_query(head->query, &error);
    if (params == NULL)
        http_reply_error(connection, 400, error.text);
    else if (check_params(connection, route, params))
        views[view](connection, session, params);
    json_decref(params);
}
