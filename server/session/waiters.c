#include "server/session/waiters.h"

#include "server/containers/given_request.h"
#include "server/containers/request_copy.h"
#include "server/containers/seeded_table.h"
#include "server/containers/small_blocks.h"
#include "server/containers/spent.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "server/session/hashing.h"
#include "server/session/notifications.h"
#include "server/session/session_output.h"
#include "server/session/watches.h"

#include "storage/keys/state/changes.h"
#include "storage/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct wait_queue;

/* Names that sessions wait for belong to a space: the keys of a database, the topics with their
 * jobs, or with the events that they keep. */
enum { SPACE_TOPICS = KEYS_DATABASES_MAX, SPACE_EVENTS, SPACES };

enum {
    TYPES = KEYS_HASH + 1,
    LARGE_REQUEST = 64 * 1024, /* bytes */
    SWEEP_QUEUES = 256,        /* served in one call, after a whole database has changed */
    SERVES = 256,  /* commands that run again for topics, in one turn: a millisecond */
    ANSWERS = 1000 /* lines that ended waits are answered with: as long */
};

/* A waiter's entry in the queue of one name. */
struct wait_entry {
    struct wait_queue *queue; /* NULL: it has left, or the waiter names the queue twice */
    struct waiter *waiter;
    struct wait_entry *prev, *next;
};

/* The waiters of one topic or key, in order of arrival, by the type that the key must have for
 * them (KEYS_NONE: a topic). */
struct wait_queue {
    UT_hash_handle hh;
    struct wait_queue *older, *newer; /* of its space */
    struct wait_entry *entries[TYPES];
    struct wait_entry *next; /* the next to be served, while the queue is being served */
    size_t entry_count;
    unsigned space;
    bool pinned; /* the queue is being served and must not be freed */
    bool again;  /* meanwhile its name has changed */
    size_t name_size;
    char name[];
};

/* One allocation: the waiter, its entries, its arguments and their bytes. The entries of one
 * that joins its queues in slices are another, and the memory of a large request is what its
 * reader had. */
struct waiter {
    struct spent spent;      /* it has gone, but has yet to leave many queues */
    struct waiters *waiters; /* whose it is */
    struct session *session; /* NULL: it has gone */
    struct wheel_timer timer;
    int64_t deadline;
    int64_t since;          /* when it began, on the queue's clock */
    uint64_t after;         /* it waits for events after this number */
    enum keys_type type;    /* of the keys it waits for; KEYS_NONE: topics */
    bool takes_for_good;    /* COMMAND_TAKES_FOR_GOOD */
    bool is_woken;          /* it runs again because this name has changed: */
    size_t changed_index;   /* the first of its names that changed */
    struct long_work *work; /* it waits for its next slice; NULL: it is blocked */
    struct job_waits *jobs; /* it waits for their ends; NULL: not for jobs */
    struct request request;
    struct resp_given *given;   /* its memory; NULL: it is a copy */
    size_t entry_count, joined; /* joined: so many entries have been in their queues */
    struct wait_entry *entries;
};

struct wait_queues {
    struct wait_queue *shards[TABLE_SHARDS];
    struct wait_queue *first;
};

struct waiters {
    struct wait_queues queues[SPACES];
    struct wait_queue *sweep[SPACES]; /* the next queue to serve; NULL: no sweep */
    bool put_off[SPACES]; /* one of its waiters would write a key that a long work holds */
    struct job_watches jobs;
    struct wheel wheel;
    struct wait_queue *cut; /* of a topic: it is pinned, and is served on in the next turn */
    struct wait_queue *events_cut; /* the same of SPACE_EVENTS */
    size_t count, departing;       /* departing: gone, but in queues */
    size_t answers, serves;        /* of this turn */
    bool is_cut;                   /* more is left than a turn may do */
    uint64_t steps;
};

size_t waiters_count(const struct waiters *waiters)
{
    return waiters->count;
}

uint64_t waiters_steps(const struct waiters *waiters)
{
    return waiters->steps + waiters->jobs.steps;
}

static struct wait_entry *entries_inside(struct waiter *waiter)
{
    return (struct wait_entry *)(void *)(waiter + 1);
}

static size_t memory_of(const struct waiter *waiter)
{
    return sizeof(*waiter) + waiter->entry_count * sizeof(struct wait_entry) +
           (waiter->given == NULL ? request_copy_size(&waiter->request) : 0);
}

const struct request *waiters_request_of(const struct waiter *waiter)
{
    return &waiter->request;
}

size_t waiters_request_bytes(const struct waiter *waiter)
{
    return memory_of(waiter) + (waiter->jobs == NULL ? 0 : job_waits_bytes(waiter->jobs)) +
           (waiter->given == NULL ? 0 : given_request_bytes(waiter->given));
}

/* ---- queues */

static void free_queue(struct wait_queue *queue)
{
    small_block_free(queue, sizeof(*queue) + queue->name_size);
}

static void free_queue_if_unused(struct waiters *waiters, struct wait_queue *queue)
{
    if (queue->entry_count > 0 || queue->pinned)
        return;
    if (waiters->sweep[queue->space] == queue)
        waiters->sweep[queue->space] = queue->newer;
    SHARDS_DELETE(waiters->queues[queue->space].shards, queue);
    DL_DELETE2(waiters->queues[queue->space].first, queue, older, newer);
    free_queue(queue);
}

static void unpin(struct waiters *waiters, struct wait_queue *queue)
{
    queue->next = NULL;
    queue->pinned = false;
    free_queue_if_unused(waiters, queue);
}

struct waiters *waiters_new(int64_t now)
{
    struct waiters *waiters = calloc(1, sizeof(*waiters));

    if (waiters != NULL)
        wheel_init(&waiters->wheel, now);
    return waiters;
}

void waiters_free(struct waiters *waiters)
{
    while (waiters != NULL && waiters->departing > 0)
        spent_free_some();
    if (waiters != NULL && waiters->cut != NULL)
        unpin(waiters, waiters->cut);
    if (waiters != NULL && waiters->events_cut != NULL)
        unpin(waiters, waiters->events_cut);
    free(waiters);
}

void waiters_start_clock(struct waiters *waiters, int64_t now)
{
    assert(wheel_next(&waiters->wheel) == WHEEL_NEVER); /* long work has no deadline */
    wheel_init(&waiters->wheel, now);
}

static struct wait_queue *find_queue(struct waiters *waiters, unsigned space,
                                     struct dueq_slice name)
{
    struct wait_queue *queue;

    SHARDS_FIND(waiters->queues[space].shards, name.data, name.size, queue);
    return queue;
}

static struct wait_queue *open_queue(struct waiters *waiters, unsigned space,
                                     struct dueq_slice name)
{
    struct wait_queue *queue = find_queue(waiters, space, name);

    if (queue != NULL)
        return queue;
    queue = small_block_new(sizeof(*queue) + name.size);
    if (queue == NULL)
        return NULL;
    queue->space = space;
    queue->name_size = name.size;
    if (name.size > 0)
        memcpy(queue->name, name.data, name.size);
    SHARDS_ADD(waiters->queues[space].shards, queue->name, queue->name_size, queue);
    if (seeded_table_holds(queue)) {
        DL_APPEND2(waiters->queues[space].first, queue, older, newer);
        return queue;
    }
    free_queue(queue);
    return NULL;
}

/* serve_queue goes on with the next entry when its next one leaves. */
static void leave_queue(struct waiters *waiters, struct wait_entry *entry)
{
    struct wait_queue *queue = entry->queue;

    if (queue == NULL)
        return;
    entry->queue = NULL;
    if (queue->next == entry)
        queue->next = entry->next;
    assert(queue->entry_count > 0);
    DL_DELETE(queue->entries[entry->waiter->type], entry);
    queue->entry_count--;
    free_queue_if_unused(waiters, queue);
}

/* Leaves up to `most` of them, the last ones first. */
static void leave_some(struct waiters *waiters, struct waiter *waiter, size_t most)
{
    for (; waiter->joined > 0 && most > 0; most--)
        leave_queue(waiters, &waiter->entries[--waiter->joined]);
}

static void leave_queues(struct waiters *waiters, struct waiter *waiter)
{
    leave_some(waiters, waiter, SIZE_MAX);
}

/* ---- its memory */

static void free_waiter(struct waiter *waiter)
{
    size_t entries = waiter->entry_count * sizeof(struct wait_entry), size = memory_of(waiter);

    if (waiter->entries != entries_inside(waiter)) {
        spent_memory(waiter->entries, entries);
        size -= entries;
    }
    given_request_free(waiter->given);
    spent_memory(waiter, size);
}

static bool leave_later(struct spent *spent)
{
    struct waiter *waiter = (struct waiter *)(void *)spent;

    leave_some(waiter->waiters, waiter, SPENT_PARTS);
    if (waiter->joined > 0)
        return false;
    waiter->waiters->departing--;
    free_waiter(waiter);
    return true;
}

/* It leaves its queues, later when these are many. */
static void part_with(struct waiter *waiter)
{
    waiter->session = NULL;
    waiter->waiters->departing++;
    if (!leave_later(&waiter->spent))
        spent_add(&waiter->spent, leave_later);
}

/* ---- waiting */

/* A deadline beyond the wheel's horizon is armed again when the wheel gets there. */
static void arm(struct waiters *waiters, struct waiter *waiter)
{
    if (waiter->deadline != DUEQ_NEVER &&
        !wheel_arm(&waiters->wheel, &waiter->timer, waiter->deadline))
        wheel_arm(&waiters->wheel, &waiter->timer, wheel_horizon(&waiters->wheel) - 1);
}

/* What the store has taken over would have to be copied. */
static bool is_whole(const struct context *context)
{
    for (size_t i = 0; i < context->loan_count; i++)
        if (context->loans[i].memory == NULL)
            return false;
    return true;
}

/* A large request stays where it is, and its memory is taken when the command has run. */
static bool keeps_memory(const struct context *context)
{
    return context->reader != NULL && request_copy_size(context->request) >= LARGE_REQUEST &&
           resp_reader_has(context->reader, context->request) && is_whole(context);
}

/* NULL: out of memory. */
static struct waiter *make_waiter(size_t size, bool large)
{
    struct waiter *waiter = calloc(1, size);

    if (waiter == NULL || !large)
        return waiter;
    waiter->given = calloc(1, sizeof(*waiter->given));
    if (waiter->given != NULL)
        return waiter;
    free(waiter);
    return NULL;
}

static struct waiter *new_waiter(const struct context *context, enum keys_type type,
                                 size_t topics)
{
    const struct request *request = context->request;
    bool large = keeps_memory(context);
    size_t size = sizeof(struct waiter) + topics * sizeof(struct wait_entry) +
                  (large ? 0 : request_copy_size(request));
    struct waiter *waiter = make_waiter(size, large);

    if (waiter == NULL)
        return NULL;
    waiter->waiters = context->server->waiters;
    waiter->session = context->session;
    waiter->entries = entries_inside(waiter);
    waiter->type = type;
    waiter->takes_for_good = (context->command->flags & COMMAND_TAKES_FOR_GOOD) != 0;
    waiter->entry_count = topics;
    waiter->request = large ? *request : request_copy(request, waiter->entries + topics);
    return waiter;
}

void waiters_take(struct session *session, struct resp_reader *reader)
{
    struct waiter *waiter = session->waiter;

    if (waiter != NULL && waiter->given != NULL && waiter->given->arguments == NULL)
        resp_reader_give(reader, waiter->given);
}

struct resp_large *waiters_large(const struct waiter *waiter, size_t *ret_count)
{
    *ret_count = waiter->given == NULL ? 0 : waiter->given->large_count;
    return waiter->given == NULL ? NULL : waiter->given->large;
}

/* A waiter has one entry in each queue, also when it names it twice: its entry is then the
 * last. False: out of memory. */
static bool join_queue(struct waiters *waiters, struct waiter *waiter, unsigned space,
                       struct dueq_slice name)
{
    struct wait_queue *queue = open_queue(waiters, space, name);
    struct wait_entry *entry = &waiter->entries[waiter->joined];
    struct wait_entry **entries = queue == NULL ? NULL : &queue->entries[waiter->type];

    waiters->steps++;
    if (queue == NULL)
        return false;
    waiter->joined++;
    *entry = (struct wait_entry){.waiter = waiter};
    if (*entries != NULL && (*entries)->prev->waiter == waiter)
        return true;
    entry->queue = queue;
    DL_APPEND(*entries, entry);
    queue->entry_count++;
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

    assert(context->session->waiter == NULL);
    waiter->deadline = deadline;
    waiter->since = context->now.now;
    arm(waiters, waiter);
    context->session->waiter = waiter;
    waiters->count++;
    count_blocked(context->server);
    return OUTCOME_WAIT;
}

static enum outcome refuse_wait(struct context *context, struct waiter *waiter)
{
    if (waiter != NULL) {
        leave_queues(context->server->waiters, waiter);
        free_waiter(waiter);
    }
    return context_status(context, DUEQ_NOMEM);
}

static enum outcome wait_for_names(struct context *context, unsigned space,
                                   const struct dueq_slice *names, size_t count,
                                   int64_t deadline)
{
    struct waiter *waiter;

    assert(count > 0);
    if (context->waiter != NULL)
        return OUTCOME_WAIT; /* it keeps its entries */
    waiter = new_waiter(context, KEYS_NONE, count);
    for (size_t i = 0; waiter != NULL && i < count; i++)
        if (!join_queue(context->server->waiters, waiter, space, names[i]))
            return refuse_wait(context, waiter);
    return waiter == NULL ? refuse_wait(context, NULL) : begin_wait(context, waiter, deadline);
}

enum outcome waiters_wait_for_topics(struct context *context, const struct dueq_slice *topics,
                                     size_t count, int64_t deadline)
{
    return wait_for_names(context, SPACE_TOPICS, topics, count, deadline);
}

enum outcome waiters_wait_for_events(struct context *context, struct dueq_slice topic,
                                     uint64_t after, int64_t deadline)
{
    bool begins = context->waiter == NULL;
    enum outcome outcome = wait_for_names(context, SPACE_EVENTS, &topic, 1, deadline);

    if (outcome == OUTCOME_WAIT && begins)
        context->session->waiter->after = after;
    return outcome;
}

uint64_t waiters_after(const struct waiter *waiter)
{
    return waiter->after;
}

/* Names of the session's database. False: out of memory. */
static bool join_keys(struct context *context, struct waiter *waiter, size_t first,
                      size_t budget)
{
    size_t left = waiter->entry_count - waiter->joined;
    size_t end = left > budget ? waiter->joined + budget : waiter->entry_count;

    while (waiter->joined < end)
        if (!join_queue(waiter->waiters, waiter, context->session->database,
                        context_slice(context, first + waiter->joined)))
            return false;
    return true;
}

/* The command, which was between two slices, is blocked. */
static enum outcome turn_to_wait(struct context *context, int64_t deadline)
{
    struct server *server = context->server;
    struct waiter *waiter = context->session->waiter;

    long_work_release(server, waiter->work);
    waiter->work = NULL;
    waiter->is_woken = false;
    waiter->deadline = deadline;
    arm(waiter->waiters, waiter);
    count_blocked(server);
    alone_end(server, context->session);
    return OUTCOME_WAIT;
}

/* Each is written when it joins its queue: all of a million together take 15 ms. False: out of
 * memory. */
static bool make_entries(struct waiter *waiter, enum keys_type type, size_t count)
{
    if (waiter->entry_count > 0)
        return true;
    waiter->entries = malloc(count * sizeof(struct wait_entry));
    if (waiter->entries == NULL) {
        waiter->entries = entries_inside(waiter);
        return false;
    }
    waiter->entry_count = count;
    waiter->type = type;
    return true;
}

/* A command that is not alone, because it was barred, must not miss a change meanwhile. */
static enum outcome wait_in_slices(struct context *context, enum keys_type type, size_t first,
                                   size_t count, int64_t deadline)
{
    struct waiter *waiter = context->session->waiter;
    bool alone = alone_is(context->server, context->session);

    if (!make_entries(waiter, type, count) ||
        !join_keys(context, waiter, first, alone ? alone_budget(context) : SIZE_MAX))
        return context_status(context, DUEQ_NOMEM);
    return waiter->joined < count ? OUTCOME_WAIT : turn_to_wait(context, deadline);
}

enum outcome waiters_wait_for_keys(struct context *context, enum keys_type type, size_t first,
                                   size_t count, int64_t deadline)
{
    struct waiter *waiter;

    if (context->waiter != NULL && count > 0 && context->waiter->work != NULL)
        return wait_in_slices(context, type, first, count, deadline);
    if (context->waiter != NULL)
        return OUTCOME_WAIT;
    waiter = new_waiter(context, type, count);
    if (waiter == NULL || !join_keys(context, waiter, first, SIZE_MAX))
        return refuse_wait(context, waiter);
    return begin_wait(context, waiter, deadline);
}

void waiters_set_deadline(struct context *context, int64_t deadline)
{
    struct waiter *waiter = context->session->waiter;

    assert(context->waiter == waiter && waiter->work == NULL);
    wheel_cancel(&context->server->waiters->wheel, &waiter->timer);
    waiter->deadline = deadline;
    arm(context->server->waiters, waiter);
}

static enum dueq_status join_jobs(struct context *context, struct job_waits *jobs, size_t first,
                                  size_t count)
{
    struct job_watches *watches = &context->server->waiters->jobs;
    enum dueq_status status = DUEQ_OK;

    job_watches_note_ends(watches, context->store);
    for (size_t i = 0; status == DUEQ_OK && i < count; i++)
        if (job_waits_state(jobs, i) == JOB_WAIT_OPEN)
            status = job_waits_join(watches, context->store, jobs, i, context_slice(context, 1),
                                    context_slice(context, first + i));
    return status;
}

enum outcome waiters_wait_for_jobs(struct context *context, struct job_waits *jobs,
                                   size_t first, size_t count, int64_t deadline)
{
    enum dueq_status status = join_jobs(context, jobs, first, count);
    struct waiter *waiter = NULL;

    if (status == DUEQ_OK) {
        waiter = new_waiter(context, KEYS_NONE, 0);
        status = waiter == NULL ? DUEQ_NOMEM : DUEQ_OK;
    }
    if (status != DUEQ_OK) {
        job_waits_free(&context->server->waiters->jobs, context->store, jobs);
        return context_status(context, status);
    }
    waiter->jobs = jobs;
    return begin_wait(context, waiter, deadline);
}

int64_t waiters_since(const struct waiter *waiter)
{
    return waiter == NULL ? DUEQ_NEVER : waiter->since;
}

const struct job_waits *waiters_jobs_of(const struct waiter *waiter)
{
    return waiter->jobs;
}

/* A blocked waiter has found something to do: it leaves the queues and works in slices. */
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

bool waiters_try_work(struct context *context, struct long_work *work)
{
    struct waiter *waiter = new_waiter(context, KEYS_NONE, 0);

    if (waiter == NULL)
        return false;
    waiter->work = work;
    begin_wait(context, waiter, DUEQ_NEVER);
    return true;
}

struct long_work *waiters_work_of(const struct waiter *waiter)
{
    return waiter->work;
}

bool waiters_is_blocked(const struct session *session)
{
    return session->waiter != NULL && session->waiter->work == NULL;
}

bool waiters_is_woken(const struct context *context)
{
    return context->waiter != NULL && context->waiter->is_woken;
}

void waiters_select_changed(const struct context *context, size_t *first, size_t *count)
{
    if (!waiters_is_woken(context))
        return;
    *first += context->waiter->changed_index;
    *count = 1;
}

static void release(struct server *server, struct waiter *waiter)
{
    alone_finish(server, waiter->session);
    assert(waiter->session->waiter == waiter && server->waiters->count > 0);
    wheel_cancel(&server->waiters->wheel, &waiter->timer);
    waiter->session->waiter = NULL;
    hashing_end(server, waiter->session);
    server->waiters->count--;
    long_work_release(server, waiter->work);
    job_waits_free(&server->waiters->jobs, server->store, waiter->jobs);
    count_blocked(server);
    part_with(waiter);
}

void waiters_cancel(struct server *server, struct session *session)
{
    if (session->waiter != NULL && !alone_goes_on(server, session))
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

void waiters_run_rest(struct server *server, struct session *session)
{
    server->waiters->steps++;
    session_run(session, &session->waiter->request, session->waiter, false);
}

/* The first waiter to serve: for a key, the first that waits for its type. NULL: none. */
static struct wait_entry *entries_to_serve(struct server *server,
                                           const struct wait_queue *queue)
{
    struct keys_view view = {store_keys(server->store), queue->space, server->now};
    struct keys_info info;

    if (keys_info(&view, dueq_slice(queue->name, queue->name_size), &info) != DUEQ_OK)
        return NULL;
    return queue->entries[info.type];
}

static bool serve_entry(struct server *server, struct wait_entry *entry)
{
    struct waiter *waiter = entry->waiter;
    struct session *session = waiter->session;
    bool served;

    if (session == NULL) {
        leave_queue(waiter->waiters, entry);
        return true;
    }
    if (waiter->takes_for_good || session->is_inside) {
        session_check_blocked_peer(session);
        if (session->waiter == NULL)
            return true;
    }
    if (entry->queue->space < SPACE_TOPICS &&
        long_works_hold(server, session, &waiter->request)) {
        server->waiters->put_off[entry->queue->space] = true;
        return false;
    }
    waiter->is_woken = true;
    waiter->changed_index = (size_t)(entry - waiter->entries);
    served = rerun_command(server, waiter, false);
    if (served || waiter->work != NULL)
        return true;
    waiter->is_woken = false;
    return false;
}

/* May a command of a topic's waiter run again in this turn? A thousand jobs may fall due for as
 * many waiters; each of them may take a thousand. */
static bool may_serve(struct server *server)
{
    struct waiters *waiters = server->waiters;

    waiters->is_cut =
        waiters->serves >= SERVES || (waiters->serves > 0 && server_part_is_long(server));
    return !waiters->is_cut;
}

/* One that finds nothing shows that the next ones would find nothing either. */
static void serve_topic(struct server *server, struct wait_queue *queue)
{
    struct waiters *waiters = server->waiters;
    struct wait_entry *entry;

    while ((entry = queue->entries[KEYS_NONE]) != NULL) {
        if (!may_serve(server)) {
            waiters->cut = queue;
            return;
        }
        waiters->serves++;
        if (!serve_entry(server, entry))
            break;
    }
    unpin(waiters, queue);
}

/* Each waits for events after a number of its own, and takes them from nobody. */
static void serve_events(struct server *server, struct wait_queue *queue)
{
    struct waiters *waiters = server->waiters;
    struct wait_entry *entry;

    while (queue->next != NULL || queue->again) {
        if (queue->next == NULL) {
            queue->again = false;
            queue->next = queue->entries[KEYS_NONE];
            continue;
        }
        if (!may_serve(server)) {
            waiters->events_cut = queue;
            return;
        }
        entry = queue->next;
        queue->next = entry->next;
        waiters->serves++;
        serve_entry(server, entry);
    }
    unpin(waiters, queue);
}

static void serve_key(struct server *server, struct wait_queue *queue)
{
    struct wait_entry *entry;

    queue->next = entries_to_serve(server, queue);
    while ((entry = queue->next) != NULL) {
        queue->next = entry->next;
        serve_entry(server, entry);
        if (entries_to_serve(server, queue) == NULL)
            break;
    }
    unpin(server->waiters, queue);
}

/* Serves the waiters in order. One that finds nothing keeps its entry; one that is served has
 * left the queue. */
static void serve_queue(struct server *server, struct wait_queue *queue)
{
    server->waiters->steps++;
    queue->pinned = true;
    queue->again = true; /* from its first waiter on */
    if (queue->space == SPACE_TOPICS)
        serve_topic(server, queue);
    else if (queue->space == SPACE_EVENTS)
        serve_events(server, queue);
    else
        serve_key(server, queue);
}

static void serve_name(struct server *server, unsigned space, struct dueq_slice name)
{
    struct wait_queue *queue =
        server->waiters->count == 0 ? NULL : find_queue(server->waiters, space, name);

    if (queue != NULL && queue->pinned)
        queue->again = true;
    else if (queue != NULL)
        serve_queue(server, queue);
}

/* What the reserve of a full disk, or that of a memtable, has no room for waits. */
static bool may_write(const struct server *server)
{
    return server->store != NULL && dueq_drains(server->store) != DUEQ_FULL &&
           dueq_pressure(server->store) < DUEQ_PRESSURE_MOST;
}

/* A claim writes, so jobs that become ready in a pause of writes are claimed after it. */
static bool may_claim(const struct server *server)
{
    return may_write(server) && !server_pauses(server, COMMAND_WRITE);
}

/* False: there is no more to serve, or not in this turn. */
static bool serve_next_topic(struct server *server)
{
    struct wait_queue *queue = server->waiters->cut;
    struct dueq_slice topic;

    server->waiters->is_cut = false;
    if (server->store == NULL || (queue == NULL && !store_has_signal(server->store)) ||
        !may_claim(server) || !may_serve(server))
        return false;
    server->waiters->cut = NULL;
    if (queue != NULL)
        serve_topic(server, queue);
    else if (dueq_next_signal(server->store, &topic) == DUEQ_OK)
        serve_name(server, SPACE_TOPICS, topic);
    else
        return false;
    return true;
}

/* The same of events: nothing is written for them. */
static bool serve_next_events(struct server *server)
{
    struct waiters *waiters = server->waiters;
    struct wait_queue *queue = waiters->events_cut;
    struct dueq_slice topic;

    if (server->store == NULL)
        return false;
    store_watch_events(server->store, waiters->queues[SPACE_EVENTS].first != NULL);
    if (queue != NULL) {
        if (!may_serve(server))
            return false;
        waiters->events_cut = NULL;
        serve_events(server, queue);
        return true;
    }
    if (store_next_events(server->store, &topic) != DUEQ_OK)
        return false;
    serve_name(server, SPACE_EVENTS, topic);
    return true;
}

/* All keys of the database may have changed: its waiters are served again, a few queues a call.
 * Not when the database is empty. */
static void begin_sweep(struct server *server, unsigned space)
{
    server->waiters->sweep[space] = keys_count(store_keys(server->store), space) == 0
                                        ? NULL
                                        : server->waiters->queues[space].first;
}

void waiters_resume(struct server *server)
{
    for (unsigned space = 0; space < SPACE_TOPICS; space++)
        if (server->waiters->put_off[space]) {
            server->waiters->put_off[space] = false;
            begin_sweep(server, space);
        }
}

/* A queue may be freed while it is served. */
static void sweep(struct server *server, unsigned space, unsigned *budget)
{
    struct waiters *waiters = server->waiters;

    while (*budget > 0 && waiters->sweep[space] != NULL) {
        struct wait_queue *queue = waiters->sweep[space];

        waiters->sweep[space] = queue->newer;
        if (!queue->pinned)
            serve_queue(server, queue);
        --*budget;
    }
}

static void sweep_databases(struct server *server)
{
    unsigned budget = SWEEP_QUEUES;

    for (unsigned space = 0; space < SPACES && server->waiters->count > 0; space++)
        sweep(server, space, &budget);
}

static bool is_sweeping(const struct waiters *waiters)
{
    for (unsigned space = 0; space < SPACES; space++)
        if (waiters->sweep[space] != NULL)
            return true;
    return false;
}

static void note_change(struct server *server, const struct keys_change *change)
{
    watches_note(server, change);
    long_works_note(server, change);
}

static void serve_change(struct server *server, const struct keys_change *change)
{
    note_change(server, change);
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

/* Does somebody wait for the key, or for one of those that may have changed? */
static bool is_awaited(const struct server *server, const struct keys_change *change)
{
    if (change->flushed)
        return server->waiters->queues[change->database].first != NULL;
    return find_queue(server->waiters, change->database, change->name) != NULL;
}

void waiters_note_changes(struct server *server)
{
    struct keys_change change;

    while (server->store != NULL &&
           changes_look(store_keys(server->store), &change) == DUEQ_OK &&
           !is_awaited(server, &change) && next_change(server, &change))
        note_change(server, &change);
}

/* Serving makes changes, which come later in the same log. */
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

/* Answers a wait that has ended: with a line for each job, or with one. */
static void answer(struct server *server, struct waiter *waiter, bool timed_out)
{
    server->waiters->answers += waiter->jobs == NULL ? 1 : job_waits_count(waiter->jobs);
    rerun_command(server, waiter, timed_out);
}

static bool may_answer(const struct server *server)
{
    const struct waiters *waiters = server->waiters;

    return waiters->answers < ANSWERS &&
           (waiters->answers == 0 || !server_part_is_long(server));
}

/* All ends are noted before the first command runs: it may wait for another job with the id of
 * one that has ended. */
static void serve_ends(struct server *server)
{
    struct waiters *waiters = server->waiters;
    struct session *session;

    job_watches_note_ends(&waiters->jobs, server->store);
    while (may_answer(server) && (session = job_watches_next(&waiters->jobs)) != NULL)
        answer(server, session->waiter, false);
}

void waiters_serve(struct server *server)
{
    if (alone_runs(server))
        return;
    do
        while (serve_next_topic(server) || serve_next_events(server))
            ;
    while (serve_changes(server));
    if (server->waiters->count > 0 && may_write(server))
        sweep_databases(server);
    if (server->store == NULL)
        return;
    serve_ends(server);
    notifications_publish_jobs(server);
}

void waiters_expire(struct server *server)
{
    struct waiters *waiters = server->waiters;

    while (!alone_runs(server) && may_answer(server)) {
        struct wheel_timer *timer = wheel_expire(&waiters->wheel, server->now.now);
        struct waiter *waiter;

        if (timer == NULL && wheel_next(&waiters->wheel) > server->now.now)
            break;
        if (timer == NULL)
            continue;
        waiter = (struct waiter *)(void *)((char *)timer - offsetof(struct waiter, timer));
        if (waiter->deadline > server->now.now)
            arm(waiters, waiter);
        else
            answer(server, waiter, true);
    }
    waiters->answers = waiters->serves = 0;
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

/* What is cut is served in the next turn, unless there is no store by then: is_cut tells. */
int64_t waiters_next(const struct waiters *waiters, int64_t now)
{
    int64_t next = wheel_next(&waiters->wheel);

    if (is_sweeping(waiters) || waiters->is_cut || job_watches_any(&waiters->jobs))
        return 0;
    if (next == WHEEL_NEVER)
        return DUEQ_NEVER;
    return next > now ? next - now : 0;
}
