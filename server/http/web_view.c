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

static const struct view {
    const char *path;
    const char *command; /* to which the user must have the right; NULL: it looks itself */
    const char *params;  /* names with spaces between them */
    void (*serve)(struct http_connection *connection, const struct web_session *session,
                  const json_t *params);
} views[] = {
    {"/v1/server", "INFO", "", serve_server},
    {"/v1/overview", "Q.STATS", "match sort order offset limit", overview_serve},
    {"/v1/live", NULL, "topic topics events", live_serve},
    {"/v1/clients", "CLIENT LIST", "after limit", client_view_serve},
    {"/v1/slowlog", "SLOWLOG GET", "count", client_view_serve_slowlog},
};

static const struct view charts_view = {NULL, NULL, "range", charts_view_serve};

static const struct view *find(struct http_part path)
{
    if (charts_view_has_path(path))
        return &charts_view;
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
        if (path.size == strlen(views[i].path) &&
            memcmp(path.data, views[i].path, path.size) == 0)
            return &views[i];
    return NULL;
}

bool web_view_has_path(struct http_part path)
{
    return find(path) != NULL;
}

/* ---- checks */

static bool is_listed(const char *name, const char *list)
{
    size_t size = strlen(name);

    while (*(list += strspn(list, " ")) != '\0') {
        if (strcspn(list, " ") == size && memcmp(list, name, size) == 0)
            return true;
        list += strcspn(list, " ");
    }
    return false;
}

/* False: the reply is written. */
static bool check_params(struct http_connection *connection, const struct view *view,
                         json_t *params)
{
    const char *name;
    char error[128];
    json_t *value;

    json_object_foreach(params, name, value)
    {
        if (is_listed(name, view->params) && json_is_string(value))
            continue;
        snprintf(error, sizeof(error),
                 "ERR there is no parameter '%.64s' here, or it comes twice", name);
        http_reply_error(connection, 400, error);
        return false;
    }
    return true;
}

static bool check_rights(struct http_connection *connection, const struct view *view,
                         const struct web_session *session)
{
    char error[128];

    if (view->command == NULL ||
        web_rights_allow(web_session_user(session, connection->server->acl), view->command))
        return true;
    snprintf(error, sizeof(error),
             "NOPERM this user has no permissions to run the '%s' command", view->command);
    http_reply_error(connection, 403, error);
    return false;
}

void web_view_serve(struct http_connection *connection, const struct web_session *session)
{
    const struct http_head *head = &connection->head;
    const struct view *view = find(head->path);
    struct api_error error;
    json_t *params;

    if (session == NULL) {
        http_reply_error(connection, 401, "NOAUTH this is for logins of the dashboard");
        return;
    }
    if (head->method != HTTP_GET) {
        http_reply_refusal(connection, 405, NULL, "GET");
        return;
    }
    if (head->length > 0) {
        http_reply_error(connection, 400, "ERR this request has no body");
        return;
    }
    if (!check_rights(connection, view, session))
        return;
    params = api_read_query(head->query, &error);
    if (params == NULL)
        http_reply_error(connection, 400, error.text);
    else if (check_params(connection, view, params))
        view->serve(connection, session, params);
    json_decref(params);
}
