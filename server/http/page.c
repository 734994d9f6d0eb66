#include "server/http/page.h"

#include "server/http/api_guard.h"
#include "server/http/assets.h"
#include "server/http/http_reply.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <string.h>

/* Nothing of others is loaded, nothing stands in the page itself, nobody shows it in a frame.
 */
#define GUARDS                                                                                 \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "       \
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "                \
    "frame-ancestors 'none'\r\n"                                                               \
    "Referrer-Policy: no-referrer\r\n"                                                         \
    "Cross-Origin-Resource-Policy: same-origin\r\n"                                            \
    "Cross-Origin-Embedder-Policy: require-corp\r\n"                                           \
    "X-Frame-Options: DENY\r\n"                                                                \
    "Vary: Sec-Fetch-Site\r\n"

/* No page of others holds a window of it. */
#define ALONE "Cross-Origin-Opener-Policy: same-origin\r\n"

static bool is(struct http_part path, const char *text)
{
    return path.size == strlen(text) && memcmp(path.data, text, path.size) == 0;
}

const struct asset *asset_find(struct http_part path)
{
    for (size_t i = 0; i < asset_count; i++)
        if (is(path, assets[i].path))
            return &assets[i];
    return NULL;
}

bool page_has_path(struct http_part path)
{
    return is(path, "/") || is(path, "/ui") ||
           (path.size >= 4 && memcmp(path.data, "/ui/", 4) == 0);
}

static void reply_redirect(struct http_connection *connection)
{
    struct http_reply_head head = {.status = 303,
                                   .has_size = true,
                                   .fields = "Location: /ui/\r\nReferrer-Policy: "
                                             "no-referrer\r\n"};

    http_reply_head(connection, &head);
    http_connection_done(connection);
}

/* The tags are digits: none is a part of another. */
static bool has_it(const struct http_head *head, const struct asset *asset)
{
    struct http_part tags = head->if_none_match;

    return tags.data != NULL && memmem(tags.data, tags.size, asset->tag, strlen(asset->tag));
}

/* Who types the address, or is there already, comes from no page of others. Then ALONE would
 * only make the browser begin one more process, which takes as long as all the rest. */
static bool may_be_opened_by_others(const struct http_head *head)
{
    return !http_part_is(head->fetch_site, "none") &&
           !http_part_is(head->fetch_site, "same-origin");
}

static void reply_asset(struct http_connection *connection, const struct asset *asset)
{
    bool is_same = has_it(&connection->head, asset);
    char fields[1024];
    struct http_reply_head head = {.status = is_same ? 304 : 200,
                                   .type = asset->type,
                                   .cache = "no-cache",
                                   .fields = fields,
                                   .has_size = !is_same,
                                   .size = asset->size};

    snprintf(fields, sizeof(fields), "ETag: %s\r\n%s%s" GUARDS, asset->tag,
             is_same ? "" : "Content-Encoding: gzip\r\n",
             may_be_opened_by_others(&connection->head) ? ALONE : "");
    http_reply_head(connection, &head);
    if (connection->head.method == HTTP_GET && !is_same)
        evbuffer_add_reference(http_connection_output(connection), asset->bytes, asset->size,
                               NULL, NULL);
    http_connection_done(connection);
}

void page_serve(struct http_connection *connection)
{
    const struct http_head *head = &connection->head;
    const struct asset *asset = asset_find(head->path);
    const char *why;
    int status = api_check_host(head, connection->server->config.http_hosts, &why);

    connection->keeps = head->keeps;
    if (status != 0)
        http_reply_error(connection, status, why);
    else if (is(head->path, "/") || is(head->path, "/ui"))
        reply_redirect(connection);
    else if (asset == NULL)
        http_reply_text(connection, 404, "The page has no such file.\n");
    else if (!http_takes_encoding(head->accept_encoding, "gzip"))
        http_reply_text(connection, 406, "The page is compressed: Accept-Encoding: gzip.\n");
    else
        reply_asset(connection, asset);
}
