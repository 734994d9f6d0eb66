#include "server/waiters.h"

#include "server/connection.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

struct line;

/* A place in the line for one topic. */
struct stand {
    struct line *line;
    struct waiter *waiter;
    struct stand *prev, *next;
};

/* All who wait for one topic, first come first. */
struct line {
    UT_hash_handle hh;
    struct stand *stands;
    bool pinned; /* being served: not to be freed */
    size_t name_size;
    char name[];
};

/* One allocation: the waiter, its stands, its arguments and their bytes. */
struct waiter {
    struct session *session;
    struct wheel_timer timer;
    int64_t deadline;
    struct request request;
    size_t stand_count;
    struct stand stands[];
};

struct waiters {
    struct line *lines;
    struct wheel wheel;
    size_t count;
};

struct waiters *waiters_new(int64_t now)
{
    struct waiters *waiters = calloc(1, sizeof(*waiters));

    if (waiters != NULL)
        wheel_init(&waiters->wheel, now);
    return waiters;
}

void waiters_free(struct waiters *waiters)
{
    free(waiters);
}

size_t waiters_count(const struct waiters *waiters)
{
    return waiters->count;
}

/* ---- lines */

static void drop_line(struct waiters *waiters, struct line *line)
{
    if (line->stands != NULL || line->pinned)
        return;
    HASH_DEL(waiters->lines, line);
    free(line);
}

static struct line *find_line(struct waiters *waiters, struct dueq_slice topic)
{
    struct line *line;

    HASH_FIND(hh, waiters->lines, topic.data, topic.size, line);
    return line;
}

static struct line *open_line(struct waiters *waiters, struct dueq_slice topic)
{
    struct line *line = find_line(waiters, topic);

    if (line != NULL)
        return line;
    line = calloc(1, sizeof(*line) + topic.size);
    if (line == NULL)
        return NULL;
    line->name_size = topic.size;
    memcpy(line->name, topic.data, topic.size);
    HASH_ADD_KEYPTR(hh, waiters->lines, line->name, line->name_size, line);
    return line;
}

static void leave_lines(struct waiters *waiters, struct waiter *waiter)
{
    for (size_t i = 0; i < waiter->stand_count; i++) {
        struct stand *stand = &waiter->stands[i];

        if (stand->line == NULL)
            continue;
        DL_DELETE(stand->line->stands, stand);
        drop_line(waiters, stand->line);
    }
}

/* ---- waiting */

/* What lies beyond the wheel's horizon is armed again when the wheel gets there. */
static void arm(struct waiters *waiters, struct waiter *waiter)
{
    if (waiter->deadline != DUEQ_NEVER &&
        !wheel_arm(&waiters->wheel, &waiter->timer, waiter->deadline))
        wheel_arm(&waiters->wheel, &waiter->timer, wheel_horizon(&waiters->wheel) - 1);
}

/* Copies the arguments behind the waiter's stands. */
static void copy_request(struct waiter *waiter, const struct request *request)
{
    struct argument *arguments =
        (struct argument *)(void *)(waiter->stands + waiter->stand_count);
    char *bytes = (char *)(arguments + request->count);

    for (size_t i = 0; i < request->count; i++) {
        arguments[i] = (struct argument){bytes, request->arguments[i].size};
        memcpy(bytes, request->arguments[i].data, request->arguments[i].size);
        bytes[request->arguments[i].size] = '\0';
        bytes += request->arguments[i].size + 1;
    }
    waiter->request = (struct request){request->count, arguments, request->bytes};
}

static struct waiter *new_waiter(const struct context *context, size_t topics)
{
    const struct request *request = context->request;
    size_t size = sizeof(struct waiter) + topics * sizeof(struct stand) +
                  request->count * (sizeof(struct argument) + 1) + request->bytes;
    struct waiter *waiter = calloc(1, size);

    if (waiter == NULL)
        return NULL;
    waiter->session = context->session;
    waiter->stand_count = topics;
    copy_request(waiter, request);
    return waiter;
}

static void join_lines(struct waiters *waiters, struct waiter *waiter,
                       const struct dueq_slice *topics)
{
    for (size_t i = 0; i < waiter->stand_count; i++) {
        struct stand *stand = &waiter->stands[i];

        stand->waiter = waiter;
        stand->line = open_line(waiters, topics[i]);
        if (stand->line != NULL)
            DL_APPEND(stand->line->stands, stand);
    }
}

enum outcome context_wait(struct context *context, const struct dueq_slice *topics,
                          size_t count, int64_t deadline)
{
    struct waiters *waiters = context->server->waiters;
    struct waiter *waiter;

    if (context->waiter != NULL)
        return OUTCOME_WAIT; /* it keeps its place */
    waiter = new_waiter(context, count);
    if (waiter == NULL) {
        resp_error(context->reply, "ERR out of memory");
        return OUTCOME_DONE;
    }
    waiter->deadline = deadline;
    join_lines(waiters, waiter, topics);
    arm(waiters, waiter);
    context->session->waiter = waiter;
    waiters->count++;
    context->server->stats.blocked_clients = waiters->count;
    return OUTCOME_WAIT;
}

static void release(struct server *server, struct waiter *waiter)
{
    wheel_cancel(&server->waiters->wheel, &waiter->timer);
    leave_lines(server->waiters, waiter);
    waiter->session->waiter = NULL;
    server->waiters->count--;
    server->stats.blocked_clients = server->waiters->count;
    free(waiter);
}

void waiters_cancel(struct server *server, struct session *session)
{
    if (session->waiter != NULL)
        release(server, session->waiter);
}

/* ---- serving */

/* Runs the command again; true: the waiter has its answer and is gone. */
static bool run_again(struct server *server, struct waiter *waiter, bool timed_out)
{
    struct connection *connection = connection_of(waiter->session);

    if (connection_run(connection, &waiter->request, waiter, timed_out) == OUTCOME_WAIT)
        return false;
    release(server, waiter);
    connection_mark_resumed(connection);
    return true;
}

/* As long as the first in line gets something; who got it has left the line. */
static void serve_line(struct server *server, struct line *line)
{
    line->pinned = true;
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it stands there no more */
    while (line->stands != NULL && run_again(server, line->stands->waiter, false))
        ;
    line->pinned = false;
    drop_line(server->waiters, line);
}

void waiters_serve(struct server *server)
{
    struct dueq_slice topic;
    struct line *line;

    while (server->store != NULL && dueq_next_signal(server->store, &topic) == DUEQ_OK) {
        line = server->waiters->count == 0 ? NULL : find_line(server->waiters, topic);
        if (line != NULL && !line->pinned)
            serve_line(server, line);
    }
}

void waiters_expire(struct server *server)
{
    struct waiters *waiters = server->waiters;
    struct wheel_timer *timer;

    while ((timer = wheel_expire(&waiters->wheel, server->now.now)) != NULL) {
        struct waiter *waiter =
            (struct waiter *)(void *)((char *)timer - offsetof(struct waiter, timer));

        if (waiter->deadline > server->now.now)
            arm(waiters, waiter);
        else
            run_again(server, waiter, true);
    }
}

void waiters_unblock(struct server *server, struct session *session, bool with_error)
{
    struct connection *connection = connection_of(session);

    if (!with_error) {
        run_again(server, session->waiter, true);
        return;
    }
    connection_reply_error(connection, "UNBLOCKED client unblocked via CLIENT UNBLOCK");
    release(server, session->waiter);
    connection_mark_resumed(connection);
}

int64_t waiters_next(const struct waiters *waiters, int64_t now)
{
    int64_t next = wheel_next(&waiters->wheel);

    if (next == WHEEL_NEVER)
        return DUEQ_NEVER;
    return next > now ? next - now : 0;
}
