#include "server/waiters.h"

#include "server/connection.h"
#include "server/notify.h"
#include "server/request_copy.h"
#include "server/watches.h"
#include "storage/keys/keys.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

struct line;

/* Where the names that sessions wait for live: a database's keys, or the topics. */
enum { PLACE_TOPICS = KEYS_DATABASES_MAX, PLACES };

/* A place in the line for one name. */
struct stand {
    struct line *line;
    struct waiter *waiter;
    struct stand *prev, *next;
};

/* All who wait for one topic or key, first come first. */
struct line {
    UT_hash_handle hh;
    struct stand *stands;
    unsigned place;
    bool pinned; /* being served: not to be freed */
    size_t name_size;
    char name[];
};

/* One allocation: the waiter, its stands, its arguments and their bytes. */
struct waiter {
    struct session *session;
    struct wheel_timer timer;
    int64_t deadline;
    struct dueq_slice woken_by; /* what changed, while it runs again for that */
    struct request request;
    size_t stand_count;
    struct stand stands[];
};

struct waiters {
    struct line *lines[PLACES];
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
    HASH_DEL(waiters->lines[line->place], line);
    free(line);
}

static struct line *find_line(struct waiters *waiters, unsigned place, struct dueq_slice name)
{
    struct line *line;

    HASH_FIND(hh, waiters->lines[place], name.data, name.size, line);
    return line;
}

static struct line *open_line(struct waiters *waiters, unsigned place, struct dueq_slice name)
{
    struct line *line = find_line(waiters, place, name);

    if (line != NULL)
        return line;
    line = calloc(1, sizeof(*line) + name.size);
    if (line == NULL)
        return NULL;
    line->place = place;
    line->name_size = name.size;
    if (name.size > 0)
        memcpy(line->name, name.data, name.size);
    HASH_ADD_KEYPTR(hh, waiters->lines[place], line->name, line->name_size, line);
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

static struct waiter *new_waiter(const struct context *context, size_t topics)
{
    const struct request *request = context->request;
    size_t size =
        sizeof(struct waiter) + topics * sizeof(struct stand) + request_copy_size(request);
    struct waiter *waiter = calloc(1, size);

    if (waiter == NULL)
        return NULL;
    waiter->session = context->session;
    waiter->stand_count = topics;
    waiter->request = request_copy(request, waiter->stands + topics);
    return waiter;
}

static void join_line(struct waiters *waiters, struct waiter *waiter, size_t index,
                      unsigned place, struct dueq_slice name)
{
    struct stand *stand = &waiter->stands[index];

    stand->waiter = waiter;
    stand->line = open_line(waiters, place, name);
    if (stand->line != NULL)
        DL_APPEND(stand->line->stands, stand);
}

static void begin_wait(struct context *context, struct waiter *waiter, int64_t deadline)
{
    struct waiters *waiters = context->server->waiters;

    waiter->deadline = deadline;
    arm(waiters, waiter);
    context->session->waiter = waiter;
    waiters->count++;
    context->server->stats.blocked_clients = waiters->count;
}

enum outcome context_wait(struct context *context, const struct dueq_slice *topics,
                          size_t count, int64_t deadline)
{
    struct waiter *waiter;

    if (context->waiter != NULL)
        return OUTCOME_WAIT; /* it keeps its place */
    waiter = new_waiter(context, count);
    if (waiter == NULL)
        return context_status(context, DUEQ_NOMEM);
    for (size_t i = 0; i < count; i++)
        join_line(context->server->waiters, waiter, i, PLACE_TOPICS, topics[i]);
    begin_wait(context, waiter, deadline);
    return OUTCOME_WAIT;
}

enum outcome context_wait_keys(struct context *context, size_t first, size_t count,
                               int64_t deadline)
{
    struct waiter *waiter;

    if (context->waiter != NULL)
        return OUTCOME_WAIT;
    waiter = new_waiter(context, count);
    if (waiter == NULL)
        return context_status(context, DUEQ_NOMEM);
    for (size_t i = 0; i < count; i++)
        join_line(context->server->waiters, waiter, i, context->session->database,
                  context_slice(context, first + i));
    begin_wait(context, waiter, deadline);
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

bool waiter_woken_by(const struct waiter *waiter, struct dueq_slice name)
{
    return dueq_slice_equal(waiter->woken_by, name);
}

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

static bool line_has_key(struct server *server, const struct line *line)
{
    struct keys_view view = {server->store, line->place, server->now.now};
    struct keys_info info;

    return keys_info(&view, dueq_slice(line->name, line->name_size), &info) == DUEQ_OK;
}

static struct stand *stand_at(const struct line *line, size_t index)
{
    struct stand *stand = line->stands;

    while (stand != NULL && index-- > 0)
        stand = stand->next;
    return stand;
}

/* Each gets his turn, in order: one who finds nothing for him keeps his place. In line for a
 * topic he shows that there is nothing for those behind either; those who wait for a key may
 * want different things of it. Who got something has left the line. */
static void serve_stands(struct server *server, struct line *line)
{
    size_t passed = 0;
    struct stand *stand;

    line->pinned = true;
    while ((stand = stand_at(line, passed)) != NULL) {
        stand->waiter->woken_by = dueq_slice(line->name, line->name_size);
        if (run_again(server, stand->waiter, false))
            continue;
        stand->waiter->woken_by = dueq_slice(NULL, 0);
        if (line->place == PLACE_TOPICS || !line_has_key(server, line))
            break;
        passed++;
    }
}

static void serve_line(struct server *server, struct line *line)
{
    serve_stands(server, line);
    line->pinned = false;
    drop_line(server->waiters, line);
}

static void serve_name(struct server *server, unsigned place, struct dueq_slice name)
{
    struct line *line =
        server->waiters->count == 0 ? NULL : find_line(server->waiters, place, name);

    if (line != NULL && !line->pinned)
        serve_line(server, line);
}

/* Everything in the database may have become another: all who wait there look again. Pinned
 * lines stay, so that the walk can go on from them. */
static void serve_database(struct server *server, unsigned place)
{
    struct line *line = server->waiters->lines[place];

    while (line != NULL) {
        bool pinned = line->pinned;
        struct line *next;

        if (!pinned)
            serve_stands(server, line);
        next = line->hh.next;
        line->pinned = pinned;
        drop_line(server->waiters, line);
        line = next;
    }
}

static void serve_change(struct server *server, const struct keys_change *change)
{
    watches_note(server, change);
    if (change->flushed)
        serve_database(server, change->database);
    else if (!change->expired)
        serve_name(server, change->database, change->name);
}

static bool next_change(struct server *server, struct keys_change *ret_change)
{
    if (server->store == NULL)
        return false;
    notify_lives(server);
    return keys_next_change(server->store, ret_change) == DUEQ_OK;
}

/* Serving makes changes of its own, which come behind in the same log. */
static bool serve_changes(struct server *server)
{
    struct keys_change change;
    bool any = false;

    while (next_change(server, &change)) {
        serve_change(server, &change);
        any = true;
    }
    return any;
}

void waiters_serve(struct server *server)
{
    struct dueq_slice topic;

    do
        while (server->store != NULL && dueq_next_signal(server->store, &topic) == DUEQ_OK)
            serve_name(server, PLACE_TOPICS, topic);
    while (serve_changes(server));
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
