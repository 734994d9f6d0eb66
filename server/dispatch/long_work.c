#include "server/dispatch/long_work.h"

#include "protocol/number.h"
#include "server/acl/hasher.h"
#include "server/containers/seeded_table.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/context.h"
#include "server/dispatch/key_specs.h"
#include "server/server.h"
#include "server/session/session_output.h"
#include "server/session/transaction.h"
#include "server/session/waiters.h"
#include "storage/dueq.h"
#include "storage/keys/state/changes.h"
#include "storage/keys/keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
    STORING_MAX = 8, /* works that store and take turns; others wait for one of them to end */
    RESTARTS = 3,    /* of a work, after which SWAPDB no longer puts it off */
    BEHIND_MS = 1,   /* until the next look whether the checkpoint has caught up */
    UNREAD = 1 << 20 /* bytes of a reply written in pieces that may be unread */
};

/* A key that works hold. */
struct busy_key {
    UT_hash_handle hh;
    size_t works;
    bool is_awaited;  /* by a request that will write it: no more works begin before that */
    bool insists;     /* one of the works has begun again so often that SWAPDB waits, too */
    uint64_t changes; /* since the first work holds it */
    unsigned database;
    size_t name_size;
    char name[];
};

/* The list that a work is in, which says when it runs. */
enum work_list {
    WORK_QUEUED,  /* it stores, and waits until fewer others do */
    WORK_STORING, /* it stores, and takes turns */
    WORK_WRITING, /* it does not store, and takes turns */
    WORK_PARKED,  /* too much of its reply is unread */
    WORK_RESTING, /* a file of users is being written, by a thread */
    WORK_BARRED,  /* a request waits to write one of its keys, which it does not hold yet */
    WORK_LISTS
};

struct long_work {
    struct session *session;
    void *state; /* NULL: barred, or about to begin anew */
    void (*free_state)(void *);
    size_t bytes; /* that the state holds */
    enum work_list list;
    bool is_whole;   /* the reply leaves at the end */
    bool sets_aside; /* and is set aside before each slice */
    bool keeps_time; /* long_work_keep_time */
    struct dueq_time time;
    uint64_t seen;   /* changes of its keys of which the handler knows ... */
    uint64_t looked; /* ... when there had been so many of all keys */
    unsigned restarts;
    struct long_work *prev, *next;
    size_t key_count;
    struct busy_key **keys; /* the same key may occur several times */
};

struct long_works {
    struct long_work *lists[WORK_LISTS];
    size_t storing, count;
    struct busy_key *busy[KEYS_DATABASES_MAX];
    uint64_t flushes[KEYS_DATABASES_MAX]; /* changes of all their keys, while some are busy */
    size_t busy_count;
    uint64_t changes; /* of busy keys and of databases, ever */
    bool freed;       /* a key became free: requests that wait to write it run first */
    bool unbarred;    /* the same; after them, barred works that will hold it */
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

    assert(database < KEYS_DATABASES_MAX);
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
    assert(key == NULL || key->works > 0);
    if (key == NULL || --key->works > 0)
        return;
    HASH_DEL(works->busy[key->database], key);
    free(key);
    works->busy_count--;
    works->freed = works->unbarred = true;
}

void long_works_note(struct server *server, const struct keys_change *change)
{
    struct long_works *works = server->long_works;
    struct busy_key *key;

    if (works == NULL || works->busy_count == 0)
        return;
    if (change->flushed) {
        works->flushes[change->database]++;
        works->changes++;
        return;
    }
    key = find_busy(works, change->database, change->name);
    if (key != NULL) {
        key->changes++;
        works->changes++;
    }
}

bool long_works_freed(struct server *server)
{
    bool freed = server->long_works->freed;

    server->long_works->freed = false;
    return freed;
}

/* ---- requests that must wait */

struct holding {
    const struct long_works *works;
    const struct request *request;
    unsigned database;
    bool held;
};

/* Of a specification's flags the first says what is done with the key itself. */
static bool does(const char *flags, size_t flags_size, const char *what)
{
    return flags_size >= 2 && memcmp(flags, what, 2) == 0;
}

/* A request that only reads the key goes on, unless another request already waits to write it:
 * the first may become a long work that holds the key. */
static void hold_key(void *arg, size_t index, const char *flags, size_t flags_size)
{
    struct holding *holding = arg;
    struct argument name = holding->request->arguments[index];
    struct busy_key *key =
        find_busy(holding->works, holding->database, dueq_slice(name.data, name.size));
    bool reads = does(flags, flags_size, "RO");

    if (key == NULL || (reads && !key->is_awaited))
        return;
    key->is_awaited = true;
    holding->held = true;
}

/* SWAPDB names no key. */
static void hold_database(struct holding *holding, unsigned database)
{
    for (struct busy_key *key = holding->works->busy[database]; key != NULL;
         key = key->hh.next) {
        key->is_awaited |= key->insists;
        holding->held |= key->insists;
    }
}

static bool parse_database(struct argument argument, unsigned *ret_database)
{
    int64_t number;

    if (!number_parse_integer(argument.data, argument.size, &number) || number < 0 ||
        number >= KEYS_DATABASES_MAX)
        return false;
    *ret_database = (unsigned)number;
    return true;
}

/* What is written in another database than the session's. */
static void hold_elsewhere(struct holding *holding)
{
    const struct argument *words = holding->request->arguments;
    size_t count = holding->request->count;
    unsigned database;

    if (argument_is(words[0], "swapdb")) {
        for (size_t i = 1; i < count; i++)
            if (parse_database(words[i], &database))
                hold_database(holding, database);
    } else if (argument_is(words[0], "copy")) {
        for (size_t i = 3; i + 1 < count; i++)
            if (argument_is(words[i], "db") && parse_database(words[i + 1], &database)) {
                holding->database = database;
                hold_key(holding, 2, "OW", 2);
            }
    }
}

static bool holds(const struct long_works *works, unsigned database,
                  const struct request *request)
{
    const struct command *command = command_find(request->arguments[0]);
    struct holding holding = {works, request, database, false};

    if (command == NULL || !(command->flags & COMMAND_WRITE) ||
        !command_arity_fits(command, request->count))
        return false;
    if (command->key_specs != NULL)
        key_specs_find(command->key_specs, request, hold_key, &holding);
    hold_elsewhere(&holding);
    return holding.held;
}

/* The database of the commands after a SELECT; a SELECT that will fail changes nothing. */
static void follow_select(const struct server *server, const struct request *request,
                          unsigned *database)
{
    unsigned number;

    if (request->count == 2 && argument_is(request->arguments[0], "select") &&
        parse_database(request->arguments[1], &number) && number < server->config.databases)
        *database = number;
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
    return command != NULL && (command->flags & COMMAND_RUNS_QUEUE) &&
           holds_transaction(server, session);
}

/* ---- the keys of a work */

struct gathering {
    struct long_works *works;
    const struct request *request;
    unsigned database;
    enum long_hold hold;
    size_t count;
    bool is_awaited, failed;
    struct long_work *work; /* NULL: they are only counted and looked at */
};

static void gather_key(void *arg, size_t index, const char *flags, size_t flags_size)
{
    struct gathering *gathering = arg;
    struct argument argument = gathering->request->arguments[index];
    struct dueq_slice name = dueq_slice(argument.data, argument.size);
    struct busy_key *key;

    if (gathering->failed ||
        (gathering->hold == LONG_HOLDS_SOURCES && does(flags, flags_size, "OW")))
        return;
    if (gathering->work == NULL) {
        key = find_busy(gathering->works, gathering->database, name);
        gathering->is_awaited |= key != NULL && key->is_awaited;
        gathering->count++;
        return;
    }
    assert(gathering->work->key_count < gathering->count);
    key = occupy(gathering->works, gathering->database, name);
    gathering->failed = key == NULL;
    if (key != NULL)
        gathering->work->keys[gathering->work->key_count++] = key;
}

static void gather(struct gathering *gathering, const struct context *context)
{
    if (gathering->hold >= LONG_HOLDS_SOURCES && context->command->key_specs != NULL)
        key_specs_find(context->command->key_specs, context->request, gather_key, gathering);
}

static void leave_keys(struct long_works *works, struct long_work *work)
{
    for (size_t i = 0; i < work->key_count; i++)
        leave_key(works, work->keys[i]);
    free(work->keys);
    work->keys = NULL;
    work->key_count = 0;
}

static uint64_t changes_of(const struct long_works *works, const struct long_work *work)
{
    uint64_t changes = works->flushes[work->session->database];

    for (size_t i = 0; i < work->key_count; i++)
        changes += work->keys[i]->changes;
    return changes;
}

/* From now on they are not new to the work. */
static void see_changes(const struct long_works *works, struct long_work *work)
{
    work->seen = changes_of(works, work);
    work->looked = works->changes;
}

static bool has_new_changes(const struct long_works *works, const struct long_work *work)
{
    return work->looked != works->changes && work->seen != changes_of(works, work);
}

/* Holds all keys. False: out of memory, and none is held. */
static bool hold_keys(struct context *context, struct long_work *work,
                      struct gathering *gathering)
{
    struct long_works *works = context->server->long_works;

    if (gathering->count > 0) {
        work->keys = calloc(gathering->count, sizeof(struct busy_key *));
        if (work->keys == NULL)
            return false;
    }
    gathering->work = work;
    gather(gathering, context);
    if (gathering->failed) {
        leave_keys(works, work);
        return false;
    }
    see_changes(works, work);
    return true;
}

/* ---- which of them runs */

static void move(struct long_works *works, struct long_work *work, enum work_list list)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is in that list */
    DL_DELETE(works->lists[work->list], work);
    works->storing -= work->list == WORK_STORING;
    work->list = list;
    DL_APPEND(works->lists[list], work);
    works->storing += list == WORK_STORING;
}

void long_work_release(struct server *server, struct long_work *work)
{
    struct long_works *works = server->long_works;

    if (work == NULL)
        return;
    assert(works->count > 0 && (work->list != WORK_STORING || works->storing > 0));
    DL_DELETE(works->lists[work->list], work);
    works->storing -= work->list == WORK_STORING;
    works->count--;
    session_drop_reply(work->session);
    if (work->key_count > 0)
        waiters_resume(server);
    leave_keys(works, work);
    if (work->state != NULL)
        work->free_state(work->state);
    free(work);
}

/* Works store no faster than the checkpoint empties a memtable: when both are full, the loop
 * stops. Without room the checkpoint may never end, and the command replies with that error. */
static bool is_behind(const struct server *server)
{
    struct dueq *store = server->store;

    return store != NULL && dueq_is_behind(store) && dueq_room(store, 0) == DUEQ_OK;
}

/* Runs a slice of the first work of the list and puts it at the end. The work can end before
 * the slice, with its client, or in it. Before that all works learn what has changed: another
 * one, or the end of what was alone, may have come in between. Nothing runs beside what is
 * alone then. */
static void run_first_work(struct server *server, enum work_list list)
{
    struct long_work **works = server->long_works->lists, *work;
    struct session *session;

    if (works[list] != NULL)
        waiters_serve(server);
    work = works[list];
    if (work == NULL || alone_runs(server))
        return;
    session = work->session;
    move(server->long_works, work, list);
    session_check_peer(session);
    if (session->waiter != NULL)
        waiters_run(server, session);
}

/* Requests that wait to write a free key have run before; a key that is still awaited bars the
 * work again. */
static void unbar(struct long_works *works)
{
    if (!works->unbarred || works->freed)
        return;
    works->unbarred = false;
    while (works->lists[WORK_BARRED] != NULL)
        move(works, works->lists[WORK_BARRED], WORK_WRITING);
}

/* The thread wakes the loop when it has written. */
static bool may_rested_run(const struct server *server)
{
    return server->long_works->lists[WORK_RESTING] != NULL &&
           !hasher_is_writing(server->hasher);
}

static void run_slices(struct server *server)
{
    struct long_works *works = server->long_works;

    unbar(works);
    while (may_rested_run(server))
        move(works, works->lists[WORK_RESTING], WORK_WRITING);
    run_first_work(server, WORK_WRITING);
    if (alone_runs(server))
        return;
    while (works->storing < STORING_MAX && works->lists[WORK_QUEUED] != NULL)
        move(works, works->lists[WORK_QUEUED], WORK_STORING);
    if (!is_behind(server))
        run_first_work(server, WORK_STORING);
}

/* Slices are short enough for a disk that is slow, so several fit into most turns. */
void long_works_turn(struct server *server)
{
    if (server->long_works->count == 0)
        return;
    if (alone_runs(server)) {
        alone_turn(server);
        return;
    }
    do
        run_slices(server);
    while (!alone_runs(server) && long_works_next(server) == 0 && server_has_time(server));
}

int64_t long_works_next(const struct server *server)
{
    const struct long_works *works = server->long_works;

    if (works->lists[WORK_WRITING] != NULL || may_rested_run(server) ||
        (works->freed && server->held[HOLD_EVENT].count > 0) ||
        (works->unbarred && works->lists[WORK_BARRED] != NULL))
        return 0;
    if (works->lists[WORK_STORING] == NULL && works->lists[WORK_QUEUED] == NULL)
        return DUEQ_NEVER;
    return is_behind(server) ? BEHIND_MS : 0;
}

void long_works_drained(struct server *server, struct session *session)
{
    struct long_work *work = session->waiter == NULL ? NULL : waiters_work_of(session->waiter);

    if (work != NULL && work->list == WORK_PARKED)
        move(server->long_works, work, WORK_WRITING);
}

/* ---- for handlers */

/* Frees the work, whose state is already freed. */
static enum outcome refuse(struct context *context, struct long_work *work)
{
    free(work);
    return context_status(context, DUEQ_NOMEM);
}

static enum work_list first_list(const struct context *context, enum long_hold hold)
{
    return hold >= LONG_HOLDS_SOURCES && (context->command->flags & COMMAND_WRITE)
               ? WORK_QUEUED
               : WORK_WRITING;
}

/* Gives the work its state and keys, or bars it; false: out of memory, the state is freed. */
static bool equip(struct context *context, struct long_work *work, void *state,
                  void (*free_state)(void *), enum long_hold hold)
{
    struct gathering gathering = {.works = context->server->long_works,
                                  .request = context->request,
                                  .database = context->session->database,
                                  .hold = hold};

    gather(&gathering, context);
    work->list = gathering.is_awaited ? WORK_BARRED : first_list(context, hold);
    work->is_whole = hold != LONG_STREAMS;
    work->keeps_time = hold >= LONG_HOLDS_SOURCES;
    work->time = context->now;
    work->free_state = free_state;
    if (!gathering.is_awaited && hold_keys(context, work, &gathering)) {
        work->state = state;
        return true;
    }
    free_state(state);
    return gathering.is_awaited;
}

/* For a session without a work: the command runs for the first time, or was blocked. */
static enum outcome begin(struct context *context, void *state, void (*free_state)(void *),
                          enum long_hold hold)
{
    struct long_works *works = context->server->long_works;
    struct long_work *work = calloc(1, sizeof(*work));
    enum outcome outcome;

    if (work == NULL) {
        free_state(state);
        return refuse(context, NULL);
    }
    work->session = context->session;
    if (!equip(context, work, state, free_state, hold))
        return refuse(context, work);
    DL_APPEND(works->lists[work->list], work);
    works->count++;
    outcome = waiters_begin_work(context, work);
    if (outcome != OUTCOME_WAIT)
        long_work_release(context->server, work);
    return outcome;
}

/* The work was barred, and its handler has run again. */
static enum outcome begin_anew(struct context *context, struct long_work *work, void *state,
                               void (*free_state)(void *), enum long_hold hold)
{
    struct long_works *works = context->server->long_works;
    bool equipped;

    DL_DELETE(works->lists[work->list], work); /* the list of barred works */
    equipped = equip(context, work, state, free_state, hold);
    DL_APPEND(works->lists[work->list], work);
    return equipped ? OUTCOME_WAIT : context_status(context, DUEQ_NOMEM);
}

static struct long_work *work_of(const struct context *context)
{
    return context->waiter == NULL ? NULL : waiters_work_of(context->waiter);
}

void nested_work_release(struct nested_work *nested)
{
    if (nested->state != NULL)
        nested->free_state(nested->state);
    *nested = (struct nested_work){.state = NULL};
}

static enum outcome continue_nested(struct nested_work *nested, void *state,
                                    void (*free_state)(void *))
{
    assert(nested->state == NULL || nested->state == state);
    nested->state = state;
    nested->free_state = free_state;
    return OUTCOME_WAIT;
}

enum outcome long_work_continue(struct context *context, void *state,
                                void (*free_state)(void *), enum long_hold hold)
{
    struct long_work *work = work_of(context);

    assert(state != NULL && free_state != NULL);
    if (context->nested != NULL)
        return continue_nested(context->nested, state, free_state);
    if (work == NULL)
        return begin(context, state, free_state, hold);
    if (work->state == NULL)
        return begin_anew(context, work, state, free_state, hold);
    return OUTCOME_WAIT;
}

/* NULL: out of memory. */
static void *copy_of(const void *state, size_t size)
{
    void *copy = malloc(size);

    if (copy != NULL)
        memcpy(copy, state, size);
    return copy;
}

/* Begins a work that holds no key. False: out of memory. */
static bool try_work(struct context *context, void *state, void (*free_state)(void *))
{
    struct long_works *works = context->server->long_works;
    struct long_work *work = calloc(1, sizeof(*work));

    if (work == NULL)
        return false;
    *work = (struct long_work){.session = context->session,
                               .state = state,
                               .free_state = free_state,
                               .list = WORK_WRITING,
                               .is_whole = true,
                               .keeps_time = true,
                               .time = context->now};
    see_changes(works, work);
    works->count++;
    if (!waiters_try_work(context, work)) {
        works->count--;
        free(work);
        return false;
    }
    DL_APPEND(works->lists[WORK_WRITING], work);
    return true;
}

bool long_work_try(struct context *context, const void *state, size_t size,
                   void (*free_state)(void *))
{
    void *copy = copy_of(state, size);

    assert(context->waiter == NULL);
    if (copy == NULL)
        return false;
    if (context->nested != NULL)
        return continue_nested(context->nested, copy, free_state) == OUTCOME_WAIT;
    if (try_work(context, copy, free_state))
        return true;
    free(copy);
    return false;
}

void *long_work_state(const struct context *context)
{
    const struct long_work *work = work_of(context);

    if (context->nested != NULL)
        return context->nested->state;
    return work == NULL ? NULL : work->state;
}

void *long_work_state_of(const struct context *context, void (*free_state)(void *))
{
    const struct long_work *work = work_of(context);

    if (context->nested != NULL)
        return context->nested->free_state == free_state ? context->nested->state : NULL;
    return work == NULL || work->free_state != free_state ? NULL : work->state;
}

void long_work_forget(struct context *context)
{
    struct long_work *work = work_of(context);
    void **state = context->nested != NULL ? &context->nested->state : &work->state;

    (context->nested != NULL ? context->nested->free_state : work->free_state)(*state);
    *state = NULL;
}

static void note_restart(struct long_work *work)
{
    if (++work->restarts >= RESTARTS)
        for (size_t i = 0; i < work->key_count; i++)
            work->keys[i]->insists = true;
}

void long_work_restarts(const struct context *context)
{
    struct long_work *work = work_of(context);

    if (work != NULL)
        note_restart(work);
}

bool long_work_keys_changed(const struct context *context)
{
    const struct long_works *works = context->server->long_works;
    struct long_work *work = work_of(context);
    bool changed;

    if (work == NULL)
        return false;
    changed = has_new_changes(works, work);
    if (work->looked != works->changes)
        see_changes(works, work);
    if (changed)
        note_restart(work);
    return changed;
}

void long_work_keep_time(struct context *context)
{
    struct long_work *work = work_of(context);

    if (work == NULL || work->state == NULL || !work->keeps_time)
        return;
    if (has_new_changes(context->server->long_works, work))
        work->time = context->now;
    else
        context->now = work->time;
}

size_t long_work_reply_begin(const struct context *context)
{
    size_t begin = session_reply_begin(context->session);

    return context->nested == NULL ? begin : begin + context->nested->begin;
}

void long_work_set_reply_aside(struct context *context)
{
    if (context->nested == NULL && context->session->waiter != NULL)
        waiters_work_of(context->session->waiter)->sets_aside = true;
}

void long_work_restore_reply(struct context *context)
{
    if (context->nested == NULL)
        session_restore_reply(context->session);
}

bool long_work_sets_reply_aside(const struct long_work *work)
{
    return work->sets_aside;
}

bool long_work_is_whole(const struct long_work *work)
{
    return work->is_whole;
}

bool long_work_reply_is_unread(const struct context *context)
{
    return context->nested == NULL && buffer_size(context->reply->out) >= UNREAD;
}

enum outcome long_work_continue_when_read(struct context *context)
{
    assert(context->waiter != NULL && waiters_work_of(context->waiter) != NULL);
    move(context->server->long_works, waiters_work_of(context->waiter), WORK_PARKED);
    return OUTCOME_WAIT;
}

enum outcome long_work_continue_when_written(struct context *context)
{
    assert(context->waiter != NULL && waiters_work_of(context->waiter) != NULL);
    move(context->server->long_works, waiters_work_of(context->waiter), WORK_RESTING);
    return OUTCOME_WAIT;
}

bool long_work_fits(struct context *context, uint64_t steps)
{
    if (context->may_wait || steps <= LONG_WHOLE)
        return true;
    resp_errorf(context->reply,
                "ERR %llu elements are too much work for one step of a transaction: more than "
                "%d. Outside of one it is done bit by bit",
                (unsigned long long)steps, LONG_WHOLE);
    return false;
}

void long_work_state_holds(struct context *context, size_t bytes)
{
    if (context->waiter == NULL)
        return;
    waiters_work_of(context->waiter)->bytes = bytes;
    session_account(context->session);
}

size_t long_work_bytes(const struct long_work *work)
{
    return work == NULL ? 0 : work->bytes;
}
