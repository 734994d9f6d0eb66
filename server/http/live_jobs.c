#include "server/http/live_jobs.h"

#include "server/http/api_login.h"
#include "server/http/api_session.h"
#include "server/http/dashboard.h"
#include "server/http/http.h"
#include "server/http/fields.h"
#include "server/http/web_rights.h"

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#define CHANNEL "__queue__:"

enum { PARTS = 4 /* of a message: "pmessage", the pattern, the channel, the id */ };

struct live_jobs {
    struct live_stream *stream;
    struct api_session *session;
    unsigned told; /* in this second */
    uint64_t skipped;
    bool is_over; /* it was refused, or the session has ended */
};

/* ---- the subscription */

static void subscribe_to_topic(const struct live_stream *stream, struct evbuffer *requests)
{
    evbuffer_add_printf(requests, "*%d\r\n$9\r\nSUBSCRIBE\r\n", DUEQ_EVENT_TYPES + 1);
    for (int type = 0; type < DUEQ_EVENT_TYPES; type++) {
        const char *event = dueq_event_name((enum dueq_event_type)type);

        evbuffer_add_printf(requests, "$%zu\r\n" CHANNEL,
                            strlen(CHANNEL) + stream->topic_size + 1 + strlen(event));
        evbuffer_add(requests, stream->topic, stream->topic_size);
        evbuffer_add_printf(requests, ":%s\r\n", event);
    }
}

static void subscribe(struct live_jobs *jobs)
{
    const struct live_stream *stream = jobs->stream;
    struct evbuffer *requests = api_session_requests(jobs->session);

    if (stream->topic_size > 0)
        subscribe_to_topic(stream, requests);
    else
        evbuffer_add_printf(requests, "*2\r\n$10\r\nPSUBSCRIBE\r\n$%zu\r\n" CHANNEL "*\r\n",
                            strlen(CHANNEL) + 1);
}

static void refuse(struct live_jobs *jobs, const char *error)
{
    struct buffer out;

    jobs->is_over = true;
    buffer_init(&out, 4096);
    fields_open(&out, NULL, '{');
    fields_string(&out, "what", "events");
    fields_string(&out, "error", error);
    fields_close(&out, '}');
    if (!out.overflowed)
        live_stream_send(jobs->stream, "refused", buffer_content(&out), buffer_size(&out));
    buffer_release(&out);
}

/* ---- messages */

struct reading {
    const char *at, *end;
};

/* ">3\r\n", "$7\r\n", ":1\r\n". False: it is not there yet. */
static bool read_number(struct reading *reading, char *kind, size_t *ret_number)
{
    const char *line = memchr(reading->at, '\n', (size_t)(reading->end - reading->at));

    if (line == NULL)
        return false;
    *kind = *reading->at;
    *ret_number = strtoul(reading->at + 1, NULL, 10);
    reading->at = line + 1;
    return true;
}

static bool read_part(struct reading *reading, struct dueq_slice *ret_part)
{
    size_t number;
    char kind;

    *ret_part = dueq_slice("", 0);
    if (!read_number(reading, &kind, &number))
        return false;
    if (kind != '$')
        return true;
    if ((size_t)(reading->end - reading->at) < number + 2)
        return false;
    *ret_part = dueq_slice(reading->at, number);
    reading->at += number + 2;
    return true;
}

/* False: it is not whole yet. */
static bool read_message(struct reading *reading, struct dueq_slice *parts)
{
    struct reading ahead = *reading;
    size_t count;
    char kind;

    if (!read_number(&ahead, &kind, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!read_part(&ahead, &parts[i < PARTS ? i : PARTS - 1]))
            return false;
    *reading = ahead;
    return true;
}

/* What a message says: of one channel, or of one that the pattern fits. */
struct told {
    struct dueq_slice topic, event, id;
};

/* "__queue__:topic:event": a topic may contain colons. False: it is no message. */
static bool read_told(const struct dueq_slice *parts, struct told *ret_told)
{
    bool of_pattern = parts[0].size == 8 && memcmp(parts[0].data, "pmessage", 8) == 0;
    struct dueq_slice channel = parts[of_pattern ? 2 : 1];
    const char *begin = (const char *)channel.data + strlen(CHANNEL), *colon;

    if (!of_pattern && (parts[0].size != 7 || memcmp(parts[0].data, "message", 7) != 0))
        return false;
    if (channel.size <= strlen(CHANNEL))
        return false;
    colon = memrchr(begin, ':', channel.size - strlen(CHANNEL));
    if (colon == NULL)
        return false;
    *ret_told = (struct told){dueq_slice(begin, (size_t)(colon - begin)),
                              dueq_slice(colon + 1, (size_t)((const char *)channel.data +
                                                             channel.size - (colon + 1))),
                              parts[of_pattern ? 3 : 2]};
    return true;
}

/* user: NULL when the login has ended. */
static void write_event(struct live_jobs *jobs, const struct acl_user *user,
                        const struct dueq_slice *parts, struct buffer *out)
{
    bool of_all = jobs->stream->topic_size == 0;
    struct told told;

    if (!read_told(parts, &told) || user == NULL ||
        (of_all && !web_rights_allow_topic(user, told.topic)))
        return;
    if (jobs->told == LIVE_JOBS_MAX) {
        jobs->skipped++;
        return;
    }
    jobs->told++;
    fields_open(out, NULL, '{');
    if (of_all)
        fields_bytes(out, "topic", told.topic.data, told.topic.size);
    fields_bytes(out, "event", told.event.data, told.event.size);
    fields_bytes(out, "id", told.id.data, told.id.size);
    fields_number(out, "at", jobs->stream->connection->server->clock.last.wall);
    fields_close(out, '}');
}

/* It may be the end of the stream, and of this. */
static void send_events(struct live_jobs *jobs, struct buffer *out)
{
    fields_close(out, ']');
    fields_count(out, "skipped", jobs->skipped);
    fields_close(out, '}');
    jobs->skipped = 0;
    if (!out->overflowed)
        live_stream_send(jobs->stream, "events", buffer_content(out), buffer_size(out));
}

/* NULL: the login has ended. */
static const struct acl_user *user_of(const struct live_stream *stream)
{
    struct server *server = stream->connection->server;
    const struct web_session *session = web_sessions_of(
        &server->dashboard->sessions, stream->login, server->acl, server->clock.last.monotonic);

    return session == NULL ? NULL : web_session_user(session, server->acl);
}

static void begin(struct buffer *out)
{
    buffer_init(out, SIZE_MAX / 2);
    fields_open(out, NULL, '{');
    fields_open(out, "events", '[');
}

static void take_messages(struct live_jobs *jobs)
{
    struct evbuffer *replies = api_session_replies(jobs->session);
    size_t size = evbuffer_get_length(replies);
    const char *bytes = (const char *)evbuffer_pullup(replies, -1);
    struct reading reading = {bytes, bytes + size};
    struct dueq_slice parts[PARTS] = {{NULL, 0}};
    const struct acl_user *user = user_of(jobs->stream);
    struct buffer out;
    size_t empty;

    begin(&out);
    empty = buffer_size(&out);
    while (size > 0 && reading.at < reading.end && read_message(&reading, parts))
        write_event(jobs, user, parts, &out);
    if (size > 0)
        evbuffer_drain(replies, (size_t)(reading.at - bytes));
    if (buffer_size(&out) > empty)
        send_events(jobs, &out);
    buffer_release(&out);
}

static void on_session(void *arg)
{
    struct live_jobs *jobs = arg;
    char *error;

    if (jobs->is_over)
        return;
    error = api_login_error(api_session_replies(jobs->session));
    if (error != NULL)
        refuse(jobs, error + 1);
    else if (api_session_has_ended(jobs->session))
        refuse(jobs, "ERR the session was closed");
    else
        take_messages(jobs);
    free(error);
}

void live_jobs_second(struct live_jobs *jobs)
{
    struct buffer out;

    jobs->told = 0;
    if (jobs->skipped == 0 || jobs->is_over)
        return;
    begin(&out);
    send_events(jobs, &out);
    buffer_release(&out);
}

/* ---- life */

struct live_jobs *live_jobs_new(struct live_stream *stream, struct acl_user *user)
{
    struct live_jobs *jobs = calloc(1, sizeof(*jobs));

    if (jobs == NULL || !http_make_room_for_session(stream->connection->server)) {
        free(jobs);
        return NULL;
    }
    jobs->stream = stream;
    jobs->session = api_session_open(stream->connection, user, on_session, jobs);
    if (jobs->session == NULL) {
        free(jobs);
        return NULL;
    }
    if (api_session_id(jobs->session) != 0)
        subscribe(jobs);
    return jobs;
}

void live_jobs_free(struct live_jobs *jobs)
{
    if (jobs != NULL)
        api_session_close(jobs->session);
    free(jobs);
}
