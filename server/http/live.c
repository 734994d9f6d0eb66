#include "server/http/live.h"

#include "server/http/dashboard.h"
#include "server/http/http_reply.h"
#include "server/http/fields.h"
#include "server/http/live_jobs.h"
#include "server/http/live_stream.h"
#include "server/http/topic_row.h"
#include "server/http/web_rights.h"
#include "server/http/web_view.h"
#include "storage/store.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { LOOKS = 8 };

struct live_topic {
    char name[DUEQ_NAME_MAX];
    size_t name_size;
    struct topic_row row;
    bool is_known, has_changed;
};

/* The topics that were used last, at one moment. */
struct live_topics {
    int64_t at; /* monotonic ms; 0: none were taken */
    size_t count, looked;
    struct live_topic of[LIVE_TOPICS_MAX];
};

struct live {
    struct server *server;
    struct event *second, *step;
    struct live_stream *streams; /* (utlist) */
    size_t count;
    struct live_topics *now, *before; /* NULL: no stream wants them */
    bool has_server;                  /* `figures` are of this second */
    struct buffer figures;
    struct live_stream *next; /* the one that is told next; NULL: all have been */
    bool runs;                /* a second is being told */
};

static bool is_same_name(const struct live_topic *one, const struct live_topic *other)
{
    return one->name_size == other->name_size &&
           memcmp(one->name, other->name, one->name_size) == 0;
}

static struct dueq_slice name_of(const struct live_topic *topic)
{
    return dueq_slice(topic->name, topic->name_size);
}

/* ---- topics that have changed */

static bool wants_topics(const struct live *live)
{
    const struct live_stream *stream;

    DL_FOREACH(live->streams, stream)
        if (stream->wants_topics)
            return true;
    return false;
}

/* Their names; without memory, or the wish, there are none. */
static void begin_topics(struct live *live)
{
    struct live_topics *taken = live->before;
    struct dueq_slice names[LIVE_TOPICS_MAX];

    live->before = live->now;
    live->now = NULL;
    if (live->server->store == NULL || !wants_topics(live)) {
        free(taken);
        return;
    }
    if (taken == NULL)
        taken = malloc(sizeof(*taken));
    if (taken == NULL)
        return;
    taken->at = live->server->clock.last.monotonic;
    taken->looked = 0;
    taken->count = dueq_recent_topics(live->server->store, names, LIVE_TOPICS_MAX);
    for (size_t i = 0; i < taken->count; i++) {
        memcpy(taken->of[i].name, names[i].data, names[i].size);
        taken->of[i].name_size = names[i].size;
    }
    live->now = taken;
}

static const struct live_topic *find_before(const struct live *live,
                                            const struct live_topic *topic)
{
    for (size_t i = 0; live->before != NULL && i < live->before->count; i++)
        if (live->before->of[i].is_known && is_same_name(&live->before->of[i], topic))
            return &live->before->of[i];
    return NULL;
}

static bool differs(const struct topic_row *row, const struct topic_row *before)
{
    const struct dueq_topic_stats *now = &row->stats, *then = &before->stats;

    return memcmp(now->counts, then->counts, sizeof(now->counts)) != 0 ||
           now->pushed != then->pushed || now->claimed != then->claimed ||
           now->acked != then->acked || now->nacked != then->nacked ||
           now->leases_expired != then->leases_expired || now->dead != then->dead ||
           now->paused_in != then->paused_in || now->paused_out != then->paused_out ||
           now->next_due != then->next_due || row->is_limited != before->is_limited ||
           before->in_rate > 0 || before->out_rate > 0;
}

/* A look counts as use: the topic that was used last is looked at last. */
static void look(struct live *live)
{
    struct live_topics *now = live->now;

    for (int i = 0; i < LOOKS && now->looked < now->count; i++) {
        struct live_topic *topic = &now->of[now->count - ++now->looked];
        const struct live_topic *before;

        topic->is_known = topic_row_take(live->server, name_of(topic), &topic->row);
        if (!topic->is_known)
            continue;
        before = find_before(live, topic);
        if (before != NULL)
            topic_row_measure(&topic->row, before->row.stats.pushed,
                              topic_row_ended(&before->row.stats), now->at - live->before->at);
        topic->has_changed = before == NULL || differs(&topic->row, &before->row);
    }
    if (live->server->store != NULL)
        store_settle(live->server->store);
}

/* Are all topics looked at? A stream may come before, and is told of them with the others. */
static bool has_looked(const struct live *live)
{
    return live->now != NULL && live->now->looked == live->now->count;
}

/* ---- what one stream is told */

static void tell_server(struct live *live, struct live_stream *stream,
                        const struct acl_user *user)
{
    if (!web_rights_allow(user, "INFO"))
        return;
    if (!live->has_server) {
        buffer_clear(&live->figures);
        server_view_write(live->server, &live->server->dashboard->rates, &live->figures);
    }
    live->has_server = true;
    if (!live->figures.overflowed)
        live_stream_send(stream, "server", buffer_content(&live->figures),
                         buffer_size(&live->figures));
}

static void tell_topics(const struct live *live, struct live_stream *stream,
                        const struct acl_user *user)
{
    struct buffer out;
    size_t told = 0;

    buffer_init(&out, SIZE_MAX / 2);
    fields_open(&out, NULL, '{');
    fields_open(&out, "topics", '[');
    for (size_t i = 0; i < live->now->count; i++) {
        const struct live_topic *topic = &live->now->of[i];

        if (!topic->is_known || (!topic->has_changed && !stream->is_new) ||
            !web_rights_allow_topic(user, name_of(topic)))
            continue;
        fields_open(&out, NULL, '{');
        topic_row_write(&topic->row, name_of(topic), &out);
        fields_close(&out, '}');
        told++;
    }
    fields_close(&out, ']');
    fields_close(&out, '}');
    if (told > 0 && !out.overflowed)
        live_stream_send(stream, "overview", buffer_content(&out), buffer_size(&out));
    buffer_release(&out);
}

static void write_times(const struct dueq_quantiles *times, const char *name,
                        struct buffer *out)
{
    fields_open(out, name, '{');
    fields_count(out, "count", times->count);
    fields_number(out, "p50", times->p50);
    fields_number(out, "p99", times->p99);
    fields_number(out, "p999", times->p999);
    fields_number(out, "max", times->max);
    fields_close(out, '}');
}

static void write_latencies(struct server *server, struct dueq_slice name, struct buffer *out)
{
    static const char *const names[DUEQ_SPANS] = {
        [DUEQ_SPAN_WAIT] = "wait", [DUEQ_SPAN_RUN] = "run", [DUEQ_SPAN_LATE] = "lateness"};
    struct dueq_latencies latencies = {.since = DUEQ_NEVER};

    (void)dueq_topic_latencies(server->store, name, server->now, &latencies);
    for (int span = 0; span < DUEQ_SPANS; span++)
        write_times(&latencies.times[span][DUEQ_WINDOW_MINUTE], names[span], out);
}

/* False: there is no such topic. */
static bool write_topic(struct live_stream *stream, struct dueq_slice name, struct buffer *out)
{
    struct server *server = stream->live->server;
    int64_t now = server->clock.last.monotonic;
    struct topic_row row;
    bool is_there = topic_row_take(server, name, &row);

    if (is_there && stream->seen != 0)
        topic_row_measure(&row, stream->pushed, stream->ended, now - stream->seen);
    stream->seen = is_there ? now : 0;
    if (!is_there)
        return false;
    stream->pushed = row.stats.pushed;
    stream->ended = topic_row_ended(&row.stats);
    topic_row_write(&row, name, out);
    write_latencies(server, name, out);
    store_settle(server->store);
    return true;
}

static void tell_topic(struct live_stream *stream, const struct acl_user *user)
{
    struct dueq_slice name = dueq_slice(stream->topic, stream->topic_size);
    struct buffer out;

    if (!web_rights_allow_topic(user, name))
        return;
    buffer_init(&out, SIZE_MAX / 2);
    fields_open(&out, NULL, '{');
    if (!write_topic(stream, name, &out)) {
        fields_bytes(&out, "name", name.data, name.size);
        fields_flag(&out, "gone", true);
    }
    fields_close(&out, '}');
    if (!out.overflowed)
        live_stream_send(stream, "topic", buffer_content(&out), buffer_size(&out));
    buffer_release(&out);
}

/* ---- streams */

static void end_stream(struct live_stream *stream)
{
    struct live *live = stream->live;

    if (live->next == stream)
        live->next = stream->next;
    stream->connection->is_stream = false;
    live_jobs_free(stream->jobs);
    DL_DELETE(live->streams, stream);
    if (--live->count == 0) {
        event_del(live->second);
        event_del(live->step);
        live->runs = live->has_server = false;
        free(live->now);
        free(live->before);
        live->now = live->before = NULL;
        buffer_release(&live->figures);
        buffer_init(&live->figures, SIZE_MAX / 2);
    }
    free(stream);
}

static void on_gone(void *served)
{
    end_stream(served);
}

static void finish(struct live_stream *stream, const char *reason)
{
    struct http_connection *connection = stream->connection;
    char json[64];
    int size = snprintf(json, sizeof(json), "{\"reason\":\"%s\"}", reason);

    live_stream_send(stream, "end", json, (size_t)size);
    if (connection->stage != HTTP_SERVES)
        return;
    end_stream(stream);
    live_stream_end(connection);
}

static void tell(struct live *live, struct live_stream *stream)
{
    struct server *server = live->server;
    const struct web_session *session = web_sessions_of(
        &server->dashboard->sessions, stream->login, server->acl, server->clock.last.monotonic);
    const struct acl_user *user =
        session == NULL ? NULL : web_session_user(session, server->acl);
    struct http_connection *connection = stream->connection;

    if (user == NULL) {
        finish(stream, "session");
        return;
    }
    live_stream_keep(stream, server->clock.last.monotonic);
    tell_server(live, stream, user);
    if (connection->stage == HTTP_SERVES && stream->topic_size > 0)
        tell_topic(stream, user);
    if (connection->stage == HTTP_SERVES && stream->wants_topics && has_looked(live))
        tell_topics(live, stream, user);
    if (connection->stage == HTTP_SERVES && stream->jobs != NULL)
        live_jobs_second(stream->jobs);
    if (connection->stage == HTTP_SERVES && has_looked(live))
        stream->is_new = false;
}

/* ---- a second */

static void run_again(struct live *live)
{
    static const struct timeval at_once = {0, 0};

    event_add(live->step, &at_once);
}

/* False: the second is told. */
static bool step(struct live *live)
{
    struct live_stream *stream = live->next;

    if (live->now != NULL && !has_looked(live)) {
        look(live);
        return true;
    }
    if (stream == NULL)
        return false;
    live->next = stream->next;
    tell(live, stream);
    return live->next != NULL;
}

static void on_step(evutil_socket_t fd, short what, void *arg)
{
    struct live *live = arg;

    (void)fd;
    (void)what;
    server_begin_turn(live->server);
    while ((live->runs = live->count > 0 && step(live)))
        if (!server_has_time(live->server)) {
            run_again(live);
            return;
        }
}

static void finish_all(struct live *live, const char *reason)
{
    while (live->streams != NULL)
        finish(live->streams, reason);
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
    struct live *live = arg;

    (void)fd;
    (void)what;
    server_begin_turn(live->server);
    if (live->server->stopping) {
        finish_all(live, "stop");
        return;
    }
    if (live->runs)
        return;
    server_update_clock(live->server);
    live->runs = true;
    live->has_server = false;
    live->next = live->streams;
    begin_topics(live);
    run_again(live);
}

/* ---- life */

size_t live_count(const struct server *server)
{
    return server->dashboard == NULL || server->dashboard->live == NULL
               ? 0
               : server->dashboard->live->count;
}

void live_free(struct live *live, const char *reason)
{
    if (live == NULL)
        return;
    finish_all(live, reason);
    if (live->second != NULL)
        event_free(live->second);
    if (live->step != NULL)
        event_free(live->step);
    buffer_release(&live->figures);
    free(live);
}

static struct live *live_of(struct server *server)
{
    struct live *live = server->dashboard->live;

    if (live != NULL)
        return live;
    live = calloc(1, sizeof(*live));
    if (live == NULL)
        return NULL;
    live->server = server;
    buffer_init(&live->figures, SIZE_MAX / 2);
    live->second = event_new(server->base, -1, EV_PERSIST, on_second, live);
    live->step = evtimer_new(server->base, on_step, live);
    if (live->second == NULL || live->step == NULL) {
        live_free(live, "");
        return NULL;
    }
    return server->dashboard->live = live;
}

/* ---- asking */

static bool has_room(const struct live *live, uint64_t login)
{
    const struct live_stream *stream;
    size_t own = 0;

    DL_FOREACH(live->streams, stream)
        own += stream->login == login;
    return live->count < LIVE_STREAMS_MAX && own < LIVE_OF_LOGIN_MAX;
}

static bool is_wanted(const json_t *params, const char *name)
{
    size_t size;
    const char *text = web_view_text(params, name, &size);

    return text != NULL && (strcmp(text, "1") == 0 || strcmp(text, "true") == 0);
}

/* False: the reply is written. */
static bool check(struct http_connection *connection, const struct acl_user *user,
                  const json_t *params)
{
    size_t size = 0;
    const char *topic = web_view_text(params, "topic", &size);

    if (topic != NULL && (size == 0 || size > DUEQ_NAME_MAX))
        http_reply_error(connection, 400, "ERR a topic has 1 to 255 bytes");
    else if (topic != NULL && !web_rights_allow_topic(user, dueq_slice(topic, size)))
        http_reply_error(connection, 403, "NOPERM this user may not read the topic");
    else
        return true;
    return false;
}

static const struct http_hooks hooks = {.on_gone = on_gone};

static void begin(struct live *live, struct live_stream *stream)
{
    static const struct timeval second = {1, 0};

    stream->live = live;
    stream->is_new = true;
    stream->connection->is_stream = true;
    DL_APPEND(live->streams, stream);
    if (live->count++ == 0)
        event_add(live->second, &second);
    http_connection_served_by(stream->connection, &hooks, stream);
    live_stream_begin(stream);
}

void live_serve(struct http_connection *connection, const struct web_session *session,
                const json_t *params)
{
    struct server *server = connection->server;
    struct acl_user *user = web_session_user(session, server->acl);
    struct live *live = live_of(server);
    struct live_stream *stream;
    const char *topic;

    if (!check(connection, user, params))
        return;
    stream =
        live == NULL || !has_room(live, session->number) ? NULL : calloc(1, sizeof(*stream));
    if (stream == NULL) {
        http_reply_error(connection, 503, "ERR too many streams, or no memory");
        return;
    }
    stream->connection = connection;
    stream->login = session->number;
    topic = web_view_text(params, "topic", &stream->topic_size);
    if (topic != NULL)
        memcpy(stream->topic, topic, stream->topic_size);
    stream->wants_topics = is_wanted(params, "topics");
    begin(live, stream);
    if (is_wanted(params, "events"))
        stream->jobs = live_jobs_new(stream, user);
    tell(live, stream);
}
