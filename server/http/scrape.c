#include "server/http/scrape.h"

#include "server/http/http_reply.h"
#include "server/http/metrics.h"
#include "server/http/topic_metrics.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { TEXT_MAX = 64 * 1024 * 1024 };

struct scrape {
    struct server *server;
    struct http_connection *connection;
    struct event *again; /* its next slice */
    bool is_open;        /* OpenMetrics */
    bool has_begun;
    struct buffer out;
    struct metric_text text;
    struct metrics metrics;
    size_t group; /* that is written next */
    struct topic_metrics topics;
    struct scrape *prev, *next;
};

static struct scrape *scrapes; /* the first one runs, the others wait (utlist) */

/* The next one begins in the next turn. */
static void run_first(void)
{
    static const struct timeval at_once = {0, 0};

    if (scrapes != NULL)
        event_add(scrapes->again, &at_once);
}

static void free_scrape(struct scrape *scrape)
{
    DL_DELETE(scrapes, scrape);
    event_free(scrape->again);
    topic_metrics_release(&scrape->topics);
    buffer_release(&scrape->out);
    free(scrape);
}

/* Its client has gone. */
static void on_gone(void *served)
{
    bool was_first = scrapes == served;

    free_scrape(served);
    if (was_first)
        run_first();
}

static const struct http_hooks hooks = {.on_gone = on_gone};

static void finish(struct scrape *scrape)
{
    const char *type = scrape->is_open
                           ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                           : "text/plain; version=0.0.4; charset=utf-8";

    metric_end(&scrape->text);
    if (scrape->out.overflowed)
        http_reply_text(scrape->connection, 503, "no memory for the metrics\n");
    else
        http_reply(scrape->connection, 200, type, &scrape->out);
    free_scrape(scrape);
}

/* False: out of memory. */
static bool begin(struct scrape *scrape)
{
    struct server *server = scrape->server;

    scrape->has_begun = true;
    buffer_init(&scrape->out, TEXT_MAX);
    metric_text_init(&scrape->text, &scrape->out, scrape->is_open);
    server_update_clock(server);
    metrics_take(&scrape->metrics, server);
    return topic_metrics_take(&scrape->topics, server->store,
                              (size_t)server->config.http_metrics_topics);
}

/* True: there is more to do. */
static bool step(struct scrape *scrape)
{
    if (!scrape->has_begun && !begin(scrape)) {
        scrape->out.overflowed = true;
        return false;
    }
    if (scrape->group < metrics_groups()) {
        metrics_write(&scrape->metrics, scrape->group++, &scrape->text);
        return true;
    }
    return topic_metrics_step(&scrape->topics, &scrape->metrics, &scrape->text);
}

static void run_slice(struct scrape *scrape)
{
    do {
        if (!step(scrape)) {
            finish(scrape);
            return;
        }
    } while (server_has_time(scrape->server));
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
    struct scrape *scrape = arg;

    (void)fd;
    (void)what;
    server_begin_turn(scrape->server);
    run_slice(scrape);
    run_first();
}

static struct scrape *new_scrape(struct server *server, struct http_connection *connection)
{
    struct scrape *scrape = calloc(1, sizeof(*scrape));

    if (scrape == NULL)
        return NULL;
    scrape->again = evtimer_new(server->base, on_turn, scrape);
    if (scrape->again == NULL) {
        free(scrape);
        return NULL;
    }
    scrape->server = server;
    scrape->connection = connection;
    return scrape;
}

static bool wants_open_metrics(const struct http_head *head)
{
    char *accept =
        head->accept.data == NULL ? NULL : strndup(head->accept.data, head->accept.size);
    bool wants = http_wants_open_metrics(accept);

    free(accept);
    return wants;
}

void scrape_start(struct server *server, struct http_connection *connection)
{
    struct scrape *scrape = new_scrape(server, connection);

    if (scrape == NULL) {
        http_reply_text(connection, 503, "no memory for the metrics\n");
        return;
    }
    scrape->is_open = wants_open_metrics(&connection->head);
    http_connection_served_by(connection, &hooks, scrape);
    DL_APPEND(scrapes, scrape);
    if (scrapes == scrape)
        run_first();
}
