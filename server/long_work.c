#include "server/long_work.h"

#include "protocol/number.h"
#include "server/commands/handlers.h"
#include "server/connection.h"
#include "server/key_specs.h"
#include "server/seeded_table.h"
#include "server/transaction.h"
#include "server/waiters.h"
#include "storage/keys/keys.h"
#include "storage/kv/kv.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
    STORING_MAX = 8, /* that take turns; the others wait for one of them to end */
    BEHIND_MS = 1,   /* until the next look whether the checkpoint has caught up */
    UNREAD = 1 << 20 /* bytes of a reply written in pieces that may be unread */
};

/* A key that is read, or about to be replaced, by so many. */
struct busy_key {
    UT_hash_handle hh;
    size_t works;
    bool is_awaited; /* by one who will write it: no more works begin before him */
    unsigned database;
    size_t name_size;
    char name[];
};

/* Works that store wait in a queue until they may take turns; those that write a reply in
 * pieces take turns from the start, and are parked while too much of it is unread. */
enum work_place { WORK_QUEUED, WORK_STORING, WORK_WRITING, WORK_PARKED, WORK_PLACES };

struct long_work {
    struct session *session;
    void *state;
    void (*free_state)(void *);
    struct busy_key *key;
    enum work_place place;
    struct long_work *prev, *next;
};

struct long_works {
    struct long_work *lists[WORK_PLACES];
    size_t storing, count;
    struct busy_key *busy[KEYS_DATABASES_MAX];
    size_t busy_count;
    bool freed;
};

struct long_works *long_works_new(void)
{
    return calloc(1, sizeof(struct long_works));
}

void long_works_free(struct long_works *works)
{
    free(works);
}

size_t long_works_count(const struct long_works *works)
{
    return works->count;
}

/* ---- busy keys */

static struct busy_key *find_busy(const struct long_works *works, unsigned database,
                                  struct dueq_slice name)
{
    struct busy_key *key;

    HASH_FIND(hh, works->busy[database], name.data, name.size, key);
    return key;
}

/* NULL: out of memory. */
static struct busy_key *occupy(struct long_works *works, unsigned database,
                               struct dueq_slice name)
{
    struct busy_key *key = find_busy(works, database, name);

    if (key == NULL) {
        key = calloc(1, sizeof(*key) + name.size);
        if (key == NULL)
            return NULL;
        key->database = database;
        key->name_size = name.size;
        if (name.size > 0)
            memcpy(key->name, name.data, name.size);
        HASH_ADD_KEYPTR(hh, works->busy[database], key->name, key->name_size, key);
        if (!seeded_table_holds(key)) {
            free(key);
            return NULL;
        }
        works->busy_count++;
    }
    key->works++;
    return key;
}

static void leave_key(struct long_works *works, struct busy_key *key)
{
    if (key == NULL || --key->works > 0)
        return;
    HASH_DEL(works->busy[key->database], key);
    free(key);
    works->busy_count--;
    works->freed = true;
}

bool long_works_freed(struct server *server)
{
    bool freed = server->long_works->freed;

    server->long_works->freed = false;
    return freed;
}

struct holding {
    const struct long_works *works;
    const struct request *request;
    unsigned database;
    bool held;
};

/* Who only reads sees what was there; but who reads it to write elsewhere may keep it busy for
 * long, and comes behind those who wait. */
static void hold_key(void *arg, size_t index, const char *flags, size_t flags_size)
{
    struct holding *holding = arg;
    struct argument name = holding->request->arguments[index];
    struct busy_key *key =
        find_busy(holding->works, holding->database, dueq_slice(name.data, name.size));
    bool reads = flags_size >= 2 && memcmp(flags, "RO", 2) == 0;

    if (key == NULL || (reads && !key->is_awaited))
        return;
    key->is_awaited = true;
    holding->held = true;
}

static bool holds(const struct long_works *works, unsigned database,
                  const struct request *request)
{
    const struct command *command = command_find(request->arguments[0]);
    struct holding holding = {works, request, database, false};

    if (command == NULL || !(command->flags & COMMAND_WRITE) || command->key_specs == NULL ||
        !command_arity_fits(command, request->count))
        return false;
    key_specs_find(command->key_specs, request, hold_key, &holding);
    return holding.held;
}

/* In which database what comes behind a SELECT looks for its keys; one that will be refused
 * changes nothing. */
static void follow_select(const struct server *server, const struct request *request,
                          unsigned *database)
{
    int64_t number;

    if (request->count == 2 && argument_is(request->arguments[0], "select") &&
        number_parse_integer(request->arguments[1].data, request->arguments[1].size, &number) &&
        number >= 0 && number < server->config.databases)
        *database = (unsigned)number;
}

static bool holds_transaction(const struct server *server, const struct session *session)
{
    unsigned database = session->database;

    for (size_t i = 0; i < transaction_count(session->transaction); i++) {
        const struct request *request = transaction_request(session->transaction, i);

        if (holds(server->long_works, database, request))
            return true;
        follow_select(server, request, &database);
    }
    return false;
}

bool long_works_hold(const struct server *server, const struct session *session,
                     const struct request *request)
{
    const struct long_works *works = server->long_works;
    const struct command *command;

    if (works == NULL || works->busy_count == 0)
        return false;
    if (session->transaction == NULL)
        return holds(works, session->database, request);
    command = command_find(request->arguments[0]);
    return command != NULL && command->run == run_exec && holds_transaction(server, session);
}

/* ---- which of them runs */

static void put(struct long_works *works, struct long_work *work, enum work_place place)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is in that list */
    DL_DELETE(works->lists[work->place], work);
    works->storing -= work->place == WORK_STORING;
    work->place = place;
    DL_APPEND(works->lists[place], work);
    works->storing += place == WORK_STORING;
}

void long_work_release(struct server *server, struct long_work *work)
{
    struct long_works *works = server->long_works;

    if (work == NULL)
        return;
    DL_DELETE(works->lists[work->place], work);
    works->storing -= work->place == WORK_STORING;
    works->count--;
    leave_key(works, work->key);
    work->free_state(work->state);
    free(work);
}

/* Storing goes no faster than the checkpoint takes it away: both memtables full would stop the
 * loop. Without room the checkpoint may never end, and the command shall say so. */
static bool is_behind(const struct server *server)
{
    struct kv *kv = server->store == NULL ? NULL : dueq_kv(server->store);

    return kv != NULL && kv_is_behind(kv) && kv_room(kv, 0) == DUEQ_OK;
}

/* The first of the list goes behind the others; it may be gone after its slice. */
static void run_first(struct server *server, enum work_place place)
{
    struct long_work *work = server->long_works->lists[place];

    if (work == NULL)
        return;
    put(server->long_works, work, place);
    waiters_run(server, work->session);
}

void long_works_turn(struct server *server)
{
    struct long_works *works = server->long_works;

    if (works->count == 0)
        return;
    run_first(server, WORK_WRITING);
    while (works->storing < STORING_MAX && works->lists[WORK_QUEUED] != NULL)
        put(works, works->lists[WORK_QUEUED], WORK_STORING);
    if (!is_behind(server))
        run_first(server, WORK_STORING);
}

int64_t long_works_next(const struct server *server)
{
    const struct long_works *works = server->long_works;

    if (works->lists[WORK_WRITING] != NULL || (works->freed && server->held > 0))
        return 0;
    if (works->lists[WORK_STORING] == NULL && works->lists[WORK_QUEUED] == NULL)
        return DUEQ_NEVER;
    return is_behind(server) ? BEHIND_MS : 0;
}

void long_works_drained(struct server *server, struct session *session)
{
    struct long_work *work = session->waiter == NULL ? NULL : waiter_work(session->waiter);

    if (work != NULL && work->place == WORK_PARKED)
        put(server->long_works, work, WORK_WRITING);
}

/* ---- for handlers */

static enum outcome refuse(struct context *context, void *state, void (*free_state)(void *))
{
    free_state(state);
    return context_status(context, DUEQ_NOMEM);
}

static enum outcome begin(struct context *context, void *state, void (*free_state)(void *),
                          size_t busy_key)
{
    struct long_works *works = context->server->long_works;
    struct session *session = context->session;
    struct long_work *work = calloc(1, sizeof(*work));
    enum outcome outcome;

    if (work == NULL)
        return refuse(context, state, free_state);
    *work = (struct long_work){.session = session,
                               .state = state,
                               .free_state = free_state,
                               .place = busy_key > 0 ? WORK_QUEUED : WORK_WRITING};
    if (busy_key > 0) {
        work->key = occupy(works, session->database, context_slice(context, busy_key));
        if (work->key == NULL) {
            free(work);
            return refuse(context, state, free_state);
        }
    }
    DL_APPEND(works->lists[work->place], work);
    works->count++;
    outcome = waiters_begin_work(context, work);
    if (outcome != OUTCOME_WAIT)
        long_work_release(context->server, work);
    return outcome;
}

enum outcome context_go_on(struct context *context, void *state, void (*free_state)(void *),
                           size_t busy_key)
{
    return context->waiter != NULL ? OUTCOME_WAIT : begin(context, state, free_state, busy_key);
}

void *context_state(const struct context *context)
{
    return context->waiter == NULL ? NULL : waiter_work(context->waiter)->state;
}

bool context_reply_waits(const struct context *context)
{
    return buffer_size(context->reply->out) >= UNREAD;
}

enum outcome context_go_on_when_read(struct context *context)
{
    put(context->server->long_works, waiter_work(context->waiter), WORK_PARKED);
    return OUTCOME_WAIT;
}

bool context_whole_is_bearable(struct context *context, uint64_t steps)
{
    if (steps <= LONG_WHOLE)
        return true;
    resp_errorf(context->reply,
                "ERR %llu elements are too much work for one step of a transaction: more than "
                "%d. Outside of one it is done bit by bit",
                (unsigned long long)steps, LONG_WHOLE);
    return false;
}
