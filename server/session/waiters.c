#include "storage/store.h"
#include "server/session/waiters.h"

#include "server/commands/database.h"
#include "server/dispatch/long_work.h"
#include "server/session/notifications.h"
#include "server/session/session_output.h"
#include "server/containers/request_copy.h"
#include "server/containers/seeded_table.h"
#include "server/session/watches.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct line;

/* Where the names that sessions wait for live: a database's keys, or the topics. */
enum { SPACE_TOPICS = KEYS_DATABASES_MAX, SPACES };

enum {
    TYPES = KEYS_HASH + 1,
    SWEEP_QUEUES = 256 /* looked at in a go, after a whole database changed */
};

/* A place in the line for one name. */
struct stand {
    struct line *line; /* NULL: none, the name came before among the waiter's */
    struct waiter *waiter;
    struct stand *prev, *next;
};

/* All who wait for one topic or key, first come first; those who wait for a key by the type
 * that it must have for them. */
struct line {
    UT_hash_handle hh;
    struct stand *stands[TYPES];
    struct stand *next; /* to be served, while the line is */
    size_t entry_count;
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
    enum keys_type type;    /* of the keys it waits for; KEYS_NONE: topics */
    bool is_woken;          /* it runs again for that: */
    size_t changed_index;   /* the first of its names that changed */
    struct long_work *work; /* it waits for its next slice; NULL: for something to happen */
    struct request request;
    size_t entry_count;
    struct stand stands[];
};

struct waiters {
    struct line *lines[SPACES];
    struct line *sweep[SPACES]; /* to be looked at, with those behind it; NULL: none */
    struct wheel wheel;
    size_t count;
    uint64_t steps;
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

uint64_t waiters_steps(const struct waiters *waiters)
{
    return waiters->steps;
}

size_t waiters_request_bytes(const struct waiter *waiter)
{
    return sizeof(*waiter) + waiter->entry_count * sizeof(struct stand) +
           request_copy_size(&waiter->request);
}

/* ---- lines */

static void free_queue_if_unused(struct waiters *waiters, struct line *line)
{
    if (line->entry_count > 0 || line->pinned)
        return;
    if (waiters->sweep[line->place] == line)
        waiters->sweep[line->place] = line->hh.next;
    HASH_DEL(waiters->lines[line->place], line);
    free(line);
}

static struct line *find_queue(struct waiters *waiters, unsigned place, struct dueq_slice name)
{
    struct line *line;

    HASH_FIND(hh, waiters->lines[place], name.data, name.size, line);
    return line;
}

static struct line *open_queue(struct waiters *waiters, unsigned place, struct dueq_slice name)
{
    struct line *line = find_queue(waiters, place, name);

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
    if (seeded_table_holds(line))
        return line;
    free(line);
    return NULL;
}

/* Whoever walks along the line goes on with the next. */
static void leave_queue(struct waiters *waiters, struct stand *stand)
{
    struct line *line = stand->line;

    if (line->next == stand)
        line->next = stand->next;
    DL_DELETE(line->stands[stand->waiter->type], stand);
    line->entry_count--;
    free_queue_if_unused(waiters, line);
}

static void leave_queues(struct waiters *waiters, struct waiter *waiter)
{
    for (size_t i = 0; i < waiter->entry_count; i++)
        if (waiter->stands[i].line != NULL) {
            leave_queue(waiters, &waiter->stands[i]);
            waiter->stands[i].line = NULL;
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

static struct waiter *new_waiter(const struct context *context, enum keys_type type,
                                 size_t topics)
{
    const struct request *request = context->request;
    size_t size =
        sizeof(struct waiter) + topics * sizeof(struct stand) + request_copy_size(request);
    struct waiter *waiter = calloc(1, size);

    if (waiter == NULL)
        return NULL;
    waiter->session = context->session;
    waiter->type = type;
    waiter->entry_count = topics;
    waiter->request = request_copy(request, waiter->stands + topics);
    return waiter;
}

/* Once in each line, however often it names it: who came last to a line stands at its end.
 * False: out of memory. */
static bool join_queue(struct waiters *waiters, struct waiter *waiter, size_t index,
                       unsigned place, struct dueq_slice name)
{
    struct line *line = open_queue(waiters, place, name);
    struct stand *stand = &waiter->stands[index];
    struct stand **stands = line == NULL ? NULL : &line->stands[waiter->type];

    waiters->steps++;
    if (line == NULL)
        return false;
    if (*stands != NULL && (*stands)->prev->waiter == waiter)
        return true;
    stand->waiter = waiter;
    stand->line = line;
    DL_APPEND(*stands, stand);
    line->entry_count++;
    return true;
}

static void count_blocked(struct server *server)
{
    server->stats.blocked_clients =
        server->waiters->count - long_works_count(server->long_works);
}

static enum outcome begin_wait(struct context *context, struct waiter *waiter, int64_t deadline)
{
    struct waiters *waiters = context->server->waiters;

    waiter->deadline = deadline;
    arm(waiters, waiter);
    context->session->waiter = waiter;
    waiters->count++;
    count_blocked(context->server);
    return OUTCOME_WAIT;
}

static enum outcome refuse_wait(struct context *context, struct waiter *waiter)
{
    if (waiter != NULL)
        leave_queues(context->server->waiters, waiter);
    free(waiter);
    return context_status(context, DUEQ_NOMEM);
}

enum outcome waiters_wait_for_topics(struct context *context, const struct dueq_slice *topics,
                                     size_t count, int64_t deadline)
{
    struct waiter *waiter;

    if (context->waiter != NULL)
        return OUTCOME_WAIT; /* it keeps its place */
    waiter = new_waiter(context, KEYS_NONE, count);
    for (size_t i = 0; waiter != NULL && i < count; i++)
        if (!join_queue(context->server->waiters, waiter, i, SPACE_TOPICS, topics[i]))
            return refuse_wait(context, waiter);
    return waiter == NULL ? refuse_wait(context, NULL) : begin_wait(context, waiter, deadline);
}

enum outcome waiters_wait_for_keys(struct context *context, enum keys_type type, size_t first,
                                   size_t count, int64_t deadline)
{
    struct waiter *waiter;

    if (context->waiter != NULL)
        return OUTCOME_WAIT;
    waiter = new_waiter(context, type, count);
    for (size_t i = 0; waiter != NULL && i < count; i++)
        if (!join_queue(context->server->waiters, waiter, i, context->session->database,
                        context_slice(context, first + i)))
            return refuse_wait(context, waiter);
    return waiter == NULL ? refuse_wait(context, NULL) : begin_wait(context, waiter, deadline);
}

/* Who has waited for something to happen has found it, and leaves the line for its work. */
static enum outcome turn_to_work(struct context *context, struct long_work *work)
{
    struct waiter *waiter = context->session->waiter;

    wheel_cancel(&context->server->waiters->wheel, &waiter->timer);
    waiter->deadline = DUEQ_NEVER;
    leave_queues(context->server->waiters, waiter);
    waiter->work = work;
    count_blocked(context->server);
    return OUTCOME_WAIT;
}

enum outcome waiters_begin_work(struct context *context, struct long_work *work)
{
    struct waiter *waiter;

    if (context->waiter != NULL)
        return turn_to_work(context, work);
    waiter = new_waiter(context, KEYS_NONE, 0);
    if (waiter == NULL)
        return refuse_wait(context, NULL);
    waiter->work = work;
    return begin_wait(context, waiter, DUEQ_NEVER);
}

struct long_work *waiters_work_of(const struct waiter *waiter)
{
    return waiter->work;
}

bool waiters_is_blocked(const struct session *session)
{
    return session->waiter != NULL && session->waiter->work == NULL;
}

void waiters_select_changed(const struct context *context, size_t *first, size_t *count)
{
    if (context->waiter == NULL || !context->waiter->is_woken)
        return;
    *first += context->waiter->changed_index;
    *count = 1;
}

static void release(struct server *server, struct waiter *waiter)
{
    wheel_cancel(&server->waiters->wheel, &waiter->timer);
    leave_queues(server->waiters, waiter);
    waiter->session->waiter = NULL;
    server->waiters->count--;
    long_work_release(server, waiter->work);
    count_blocked(server);
    free(waiter);
}

void waiters_cancel(struct server *server, struct session *session)
{
    if (session->waiter != NULL)
        release(server, session->waiter);
}

/* ---- serving */

/* Runs the command again; true: the waiter has its answer and is gone. */
static bool rerun_command(struct server *server, struct waiter *waiter, bool timed_out)
{
    struct session *session = waiter->session;

    server->waiters->steps++;
    if (session_run(session, &waiter->request, waiter, timed_out) == OUTCOME_WAIT)
        return false;
    release(server, waiter);
    session_resume(session);
    return true;
}

void waiters_run(struct server *server, struct session *session)
{
    rerun_command(server, session->waiter, false);
}

/* Whom the name may have something for: those who wait for a key of its type, or for a topic.
 */
static struct stand *entries_to_serve(struct server *server, const struct line *line)
{
    struct keys_view view = {store_keys(server->store), line->place, server->now};
    struct keys_info info;

    if (line->place == SPACE_TOPICS)
        return line->stands[KEYS_NONE];
    if (keys_info(&view, dueq_slice(line->name, line->name_size), &info) != DUEQ_OK)
        return NULL;
    return line->stands[info.type];
}

static bool serve_entry(struct server *server, struct stand *stand)
{
    struct waiter *waiter = stand->waiter;
    bool served;

    waiter->is_woken = true;
    waiter->changed_index = (size_t)(stand - waiter->stands);
    served = rerun_command(server, waiter, false);
    if (served || waiter->work != NULL)
        return true;
    waiter->is_woken = false;
    return false;
}

/* Each gets his turn, in order: one who finds nothing for him keeps his place. In line for a
 * topic he shows that there is nothing for those behind either. Who got something has left the
 * line. */
static void serve_queue(struct server *server, struct line *line)
{
    struct stand *stand;

    server->waiters->steps++;
    line->pinned = true;
    line->next = entries_to_serve(server, line);
    while ((stand = line->next) != NULL) {
        line->next = stand->next;
        if (!serve_entry(server, stand) && line->place == SPACE_TOPICS)
            break;
        if (line->place != SPACE_TOPICS && entries_to_serve(server, line) == NULL)
            break;
    }
    line->next = NULL;
    line->pinned = false;
    free_queue_if_unused(server->waiters, line);
}

static void serve_name(struct server *server, unsigned place, struct dueq_slice name)
{
    struct line *line =
        server->waiters->count == 0 ? NULL : find_queue(server->waiters, place, name);

    if (line != NULL && !line->pinned)
        serve_queue(server, line);
}

/* Everything in the database may have become another: all who wait there look again, a few at
 * a time. Where there is no key there is nothing to find. */
static void begin_sweep(struct server *server, unsigned place)
{
    server->waiters->sweep[place] = keys_count(store_keys(server->store), place) == 0
                                        ? NULL
                                        : server->waiters->lines[place];
}

/* The line may go away while it is served. */
static void sweep(struct server *server, unsigned place, unsigned *budget)
{
    struct waiters *waiters = server->waiters;

    while (*budget > 0 && waiters->sweep[place] != NULL) {
        struct line *line = waiters->sweep[place];

        waiters->sweep[place] = line->hh.next;
        if (!line->pinned)
            serve_queue(server, line);
        --*budget;
    }
}

static void sweep_databases(struct server *server)
{
    unsigned budget = SWEEP_QUEUES;

    for (unsigned place = 0; place < SPACES && server->waiters->count > 0; place++)
        sweep(server, place, &budget);
}

static bool is_sweeping(const struct waiters *waiters)
{
    for (unsigned place = 0; place < SPACES; place++)
        if (waiters->sweep[place] != NULL)
            return true;
    return false;
}

static void serve_change(struct server *server, const struct keys_change *change)
{
    watches_note(server, change);
    long_works_note(server, change);
    if (change->flushed)
        begin_sweep(server, change->database);
    else if (!change->expired)
        serve_name(server, change->database, change->name);
}

static bool next_change(struct server *server, struct keys_change *ret_change)
{
    if (server->store == NULL)
        return false;
    notifications_publish_pending(server);
    return changes_next(store_keys(server->store), ret_change) == DUEQ_OK;
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

/* Claiming writes: what becomes ready while writes are paused is given out after the pause. */
static bool may_claim(const struct server *server)
{
    return server->store != NULL && !server_pauses(server, COMMAND_WRITE);
}

void waiters_serve(struct server *server)
{
    struct dueq_slice topic;

    do
        while (may_claim(server) && dueq_next_signal(server->store, &topic) == DUEQ_OK)
            serve_name(server, SPACE_TOPICS, topic);
    while (serve_changes(server));
    if (server->store != NULL)
        sweep_databases(server);
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
            rerun_command(server, waiter, true);
    }
}

void waiters_unblock(struct server *server, struct session *session, bool with_error)
{
    if (!with_error) {
        rerun_command(server, session->waiter, true);
        return;
    }
    waiters_cancel(server, session);
    session_reply_error(session, "UNBLOCKED client unblocked via CLIENT UNBLOCK");
    session_resume(session);
}

int64_t waiters_next(const struct waiters *waiters, int64_t now)
{
    int64_t next = wheel_next(&waiters->wheel);

    if (is_sweeping(waiters))
        return 0;
    if (next == WHEEL_NEVER)
        return DUEQ_NEVER;
    return next > now ? next - now : 0;
}
