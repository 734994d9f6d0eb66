#include "server/http/charts_view.h"

#include "server/http/dashboard.h"
#include "server/http/charts.h"
#include "server/http/http_reply.h"
#include "server/http/web_rights.h"
#include "server/http/web_view.h"

#include <string.h>

#define ALL_PATH "/v1/history"
#define BEFORE   "/v1/topics/"
#define AFTER    "/history"

static bool is_of_all(struct http_part path)
{
    return path.size == strlen(ALL_PATH) && memcmp(path.data, ALL_PATH, path.size) == 0;
}

/* The name in the path, not decoded; size 0: it is another path. */
static struct http_part topic_in(struct http_part path)
{
    size_t before = strlen(BEFORE), after = strlen(AFTER);
    struct http_part name = {NULL, 0};

    if (path.size <= before + after || memcmp(path.data, BEFORE, before) != 0 ||
        memcmp(path.data + path.size - after, AFTER, after) != 0)
        return name;
    name = (struct http_part){path.data + before, path.size - before - after};
    return memchr(name.data, '/', name.size) == NULL ? name : (struct http_part){NULL, 0};
}

bool charts_view_has_path(struct http_part path)
{
    return is_of_all(path) || topic_in(path).size > 0;
}

/* False: the reply is written. */
static bool read_range(struct http_connection *connection, const json_t *params,
                       enum charts_range *ret_range)
{
    size_t size;
    const char *text = web_view_text(params, "range", &size);
    unsigned range = 0;

    while (text != NULL && range < CHARTS_RANGES &&
           strcmp(text, charts_range_name((enum charts_range)range)) != 0)
        range++;
    *ret_range = (enum charts_range)range;
    if (range < CHARTS_RANGES)
        return true;
    http_reply_error(connection, 400, "ERR 'range' must be minutes, hours or day");
    return false;
}

static bool read_topic(struct http_connection *connection, char *name, size_t *ret_size)
{
    struct http_part part = topic_in(connection->head.path);

    *ret_size = 0;
    if (part.size == 0)
        return true;
    if (part.size <= 3 * DUEQ_NAME_MAX && http_decode(part, false, name, ret_size) &&
        *ret_size > 0 && *ret_size <= DUEQ_NAME_MAX)
        return true;
    http_reply_error(connection, 400, "ERR a topic has 1 to 255 bytes, encoded as in a URL");
    return false;
}

void charts_view_serve(struct http_connection *connection, const struct web_session *session,
                       const json_t *params)
{
    struct server *server = connection->server;
    const struct acl_user *user = web_session_user(session, server->acl);
    char name[3 * DUEQ_NAME_MAX];
    enum charts_range range;
    struct buffer out;
    size_t size;

    if (!read_range(connection, params, &range) || !read_topic(connection, name, &size))
        return;
    if (size > 0 ? !web_rights_allow_topic(user, dueq_slice(name, size))
                 : !web_rights_allow(user, "INFO")) {
        http_reply_error(connection, 403, "NOPERM this user may not read that");
        return;
    }
    if (server->dashboard->charts == NULL) {
        http_reply_error(connection, 404, "ERR no history is kept: see dashboard-history");
        return;
    }
    buffer_init(&out, SIZE_MAX / 2);
    charts_write(server->dashboard->charts, dueq_slice(name, size), range, &out);
    web_view_reply(connection, &out);
}
