#include "server/session/workers.h"

#include "server/containers/seeded_table.h"
#include "server/server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct worker {
    UT_hash_handle hh;
    struct worker *prev, *next;
    struct session *sessions; /* by worker_prev, worker_next */
    size_t session_count;
    uint64_t last; /* id of the session that claimed last, and its address */
    char address[sizeof(((struct session *)0)->address)];
    int64_t active; /* monotonic ms: the last request of a session that has left */
    int64_t period; /* of the last claim: monotonic time in units of WORKER_PERIOD_MS */
    uint64_t claims[WORKER_PERIODS]; /* a ring, by period */
    size_t name_size;
    char name[];
};

/* ---- by name */

const struct worker *workers_find(const struct workers *workers, struct dueq_slice name)
{
    struct worker *worker;

    HASH_FIND(hh, workers->by_name, name.data, name.size, worker);
    return worker;
}

static void discard(struct workers *workers, struct worker *worker)
{
    assert(workers->by_name != NULL && workers->list != NULL);
    HASH_DEL(workers->by_name, worker);
    DL_DELETE(workers->list, worker);
    free(worker);
}

/* Those that were seen first go; not one with a connection. */
static void make_room(struct workers *workers)
{
    struct worker *worker, *next;
    int looks = 8;

    if (HASH_COUNT(workers->by_name) < WORKERS_MAX)
        return;
    DL_FOREACH_SAFE(workers->list, worker, next) {
        if (worker->sessions == NULL) {
            discard(workers, worker);
            return;
        }
        if (--looks == 0)
            return;
        DL_DELETE(workers->list, worker);
        DL_APPEND(workers->list, worker);
    }
}

/* NULL: out of memory. */
static struct worker *open_worker(struct workers *workers, struct dueq_slice name)
{
    struct worker *worker;

    HASH_FIND(hh, workers->by_name, name.data, name.size, worker);
    if (worker != NULL)
        return worker;
    make_room(workers);
    worker = calloc(1, sizeof(*worker) + name.size);
    if (worker == NULL)
        return NULL;
    worker->name_size = name.size;
    memcpy(worker->name, name.data, name.size);
    HASH_ADD_KEYPTR(hh, workers->by_name, worker->name, worker->name_size, worker);
    if (!seeded_table_holds(worker)) {
        free(worker);
        return NULL;
    }
    DL_APPEND(workers->list, worker);
    return worker;
}

/* ---- claims */

static void advance(struct worker *worker, int64_t period)
{
    for (int64_t i = 0; i < WORKER_PERIODS && worker->period + i < period; i++)
        worker->claims[(uint64_t)(period - i) % WORKER_PERIODS] = 0;
    worker->period = period;
}

static void join(struct server *server, struct session *session, struct worker *worker)
{
    workers_leave(server, session);
    session->worker = worker;
    DL_APPEND2(worker->sessions, session, worker_prev, worker_next);
    worker->session_count++;
}

/* Its last claim was of another session. */
static void move_to(struct server *server, const struct session *session, struct worker *worker)
{
    worker->last = session->id;
    snprintf(worker->address, sizeof(worker->address), "%s", session->address);
    DL_DELETE(server->workers.list, worker);
    DL_APPEND(server->workers.list, worker);
}

static bool is_of(const struct session *session, struct dueq_slice name)
{
    const struct worker *worker = session->worker;

    return worker != NULL && worker->name_size == name.size &&
           memcmp(worker->name, name.data, name.size) == 0;
}

void workers_note(struct server *server, struct session *session, struct dueq_slice name,
                  uint64_t jobs)
{
    int64_t period = server->clock.last.monotonic / WORKER_PERIOD_MS;
    struct worker *worker = session->worker;

    if (!is_of(session, name)) {
        worker = open_worker(&server->workers, name);
        if (worker == NULL)
            return; /* Q.WORKERS knows one less */
        join(server, session, worker);
    }
    if (worker->last != session->id)
        move_to(server, session, worker);
    if (period != worker->period)
        advance(worker, period);
    worker->claims[(uint64_t)period % WORKER_PERIODS] += jobs;
}

void workers_leave(struct server *server, struct session *session)
{
    struct worker *worker = session->worker;

    (void)server;
    if (worker == NULL)
        return;
    session->worker = NULL;
    DL_DELETE2(worker->sessions, session, worker_prev, worker_next);
    worker->session_count--;
    if (session->active > worker->active)
        worker->active = session->active;
}

void workers_release(struct server *server)
{
    while (server->workers.list != NULL)
        discard(&server->workers, server->workers.list);
}

/* ---- views */

size_t workers_count(const struct workers *workers)
{
    return HASH_COUNT(workers->by_name);
}

const struct worker *workers_next(const struct workers *workers, const struct worker *worker)
{
    return worker == NULL ? workers->list : worker->next;
}

struct dueq_slice workers_name(const struct worker *worker)
{
    return dueq_slice(worker->name, worker->name_size);
}

struct worker_view workers_view(const struct server *server, const struct worker *worker)
{
    int64_t now = server->clock.last.monotonic, active = worker->active;
    int64_t before = now / WORKER_PERIOD_MS - WORKER_PERIODS; /* their claims are too old */
    const struct session *session;
    struct worker_view view = {.name = workers_name(worker),
                               .address = worker->address,
                               .connections = worker->session_count};

    DL_FOREACH2(worker->sessions, session, worker_next)
        if (session->active > active)
            active = session->active;
    view.idle = now > active ? now - active : 0;
    if (before < -1)
        before = -1; /* the machine has just started */
    for (int64_t period = worker->period;
         period > before && period > worker->period - WORKER_PERIODS; period--)
        view.claims += worker->claims[(uint64_t)period % WORKER_PERIODS];
    return view;
}
