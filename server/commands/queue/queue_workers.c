/* Workers and the jobs that they hold: Q.WORKERS, Q.RELEASE. Nothing is counted with each
 * claim: both walk over the claimed jobs, topic by topic, in slices. */
#include "server/dispatch/command_list.h"

#include "server/acl/acl_check.h"
#include "server/commands/queue/reply_fields.h"
#include "server/containers/gathered.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/long_work.h"
#include "server/server.h"
#include "server/session/session.h"

#include <stdlib.h>
#include <string.h>

/* A slice is some 2 ms: a lease that ends writes several records. */
enum { LOOKS = 500, ENDS = 100, STEPS_A_JOB = 4, GATHERED = 100, WRITES = 500 };

/* ---- walking over claimed jobs */

struct holder {
    uint64_t held;
    int64_t oldest; /* unix ms: its first claim that has not ended */
};

/* Workers by name; the score of a name is its place in the array. There may be a million: a
 * table that moves all of them at once, or frees each by itself, would be seen by others. */
struct holders {
    struct gathered names;
    struct holder *array;
    size_t room;
};

struct walk {
    bool one_topic, in_topic, is_over, failed;
    uint8_t topic_size;
    char topic[DUEQ_NAME_MAX];
    char cursor[DUEQ_CURSOR_SIZE];
    int64_t began; /* unix ms; what is claimed later is not meant */
    struct dueq_slice worker;
    struct holders holders; /* Q.WORKERS, and: */
    bool is_listed, is_written;
    size_t next;       /* holder that is written next */
    uint64_t released; /* Q.RELEASE, and: */
    size_t gathered;
    struct {
        int64_t token;
        uint8_t id_size;
        char id[DUEQ_NAME_MAX];
    } jobs[GATHERED];
};

static void free_walk(void *state)
{
    struct walk *walk = state;

    gathered_release(&walk->holders.names);
    free(walk->holders.array);
    free(walk);
}

static struct dueq_slice topic_of(const struct walk *walk)
{
    return dueq_slice(walk->topic, walk->topic_size);
}

/* DUEQ_NOTFOUND: no other topic has claimed jobs. */
static enum dueq_status enter_topic(struct context *context, struct walk *walk,
                                    unsigned *budget)
{
    struct dueq_slice name;
    enum dueq_status status =
        walk->one_topic
            ? DUEQ_NOTFOUND
            : dueq_claimed_topic_after(context->store, topic_of(walk), budget, &name);

    if (status != DUEQ_OK && status != DUEQ_BUSY)
        return status;
    memmove(walk->topic, name.data, name.size);
    walk->topic_size = (uint8_t)name.size;
    walk->in_topic = status == DUEQ_OK;
    strcpy(walk->cursor, "0");
    return DUEQ_OK;
}

/* A topic that was dropped meanwhile has no more of them. */
static enum dueq_status scan_topic(struct context *context, struct walk *walk, size_t count,
                                   dueq_job_fn fn)
{
    struct dueq_scan scan = {.topic = topic_of(walk),
                             .state = DUEQ_CLAIMED,
                             .by_due = true,
                             .from = INT64_MIN,
                             .to = INT64_MAX,
                             .count = count};
    struct dueq_slice cursor = dueq_slice(walk->cursor, strlen(walk->cursor));
    char next[DUEQ_CURSOR_SIZE] = "0";
    enum dueq_status status =
        dueq_scan(context->store, &scan, cursor, context->now, fn, walk, next);

    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        return status;
    memcpy(walk->cursor, next, sizeof(next));
    walk->in_topic = strcmp(next, "0") != 0;
    if (!walk->in_topic && walk->one_topic)
        walk->is_over = true;
    return DUEQ_OK;
}

/* One step: to the next topic, or over some jobs of this one. */
static enum dueq_status step(struct context *context, struct walk *walk, size_t count,
                             dueq_job_fn fn, unsigned *budget)
{
    enum dueq_status status;

    if (walk->in_topic) {
        status = scan_topic(context, walk, count, fn);
        *budget -= count < *budget ? (unsigned)count : *budget;
        return walk->failed ? DUEQ_NOMEM : status;
    }
    status = enter_topic(context, walk, budget);
    if (status == DUEQ_NOTFOUND)
        walk->is_over = true;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* topic: its argument; 0: all topics. NULL: the error is written. */
static struct walk *new_walk(struct context *context, size_t topic)
{
    struct walk *walk = calloc(1, sizeof(*walk));
    struct dueq_slice name;

    if (walk == NULL) {
        context_status(context, DUEQ_NOMEM);
        return NULL;
    }
    walk->began = context->now.wall;
    strcpy(walk->cursor, "0");
    if (topic == 0)
        return walk;
    name = context_slice(context, topic);
    memcpy(walk->topic, name.data, name.size);
    walk->topic_size = (uint8_t)name.size;
    walk->one_topic = walk->in_topic = true;
    return walk;
}

/* Each slice sees whether the walk is over. */
static enum outcome run_walk(struct context *context, size_t topic,
                             enum outcome (*run_slice)(struct context *context,
                                                       struct walk *walk, unsigned budget))
{
    struct walk *walk = long_work_state(context);
    struct dueq_topic_stats total;
    enum outcome outcome;

    if (walk != NULL)
        return run_slice(context, walk, LOOKS);
    if (!context->may_wait &&
        dueq_total_stats(context->store, context->now, &total) == DUEQ_OK &&
        !long_work_fits(context, total.counts[DUEQ_CLAIMED] * STEPS_A_JOB))
        return OUTCOME_DONE;
    walk = new_walk(context, topic);
    if (walk == NULL)
        return OUTCOME_DONE;
    outcome = run_slice(context, walk, LOOKS);
    if (outcome == OUTCOME_WAIT)
        return long_work_continue(context, walk, free_walk, LONG_HOLDS_NOTHING);
    free_walk(walk);
    return outcome;
}

/* ---- Q.WORKERS */

static bool make_room(struct holders *holders)
{
    size_t room = holders->room == 0 ? 64 : holders->room * 2;
    struct holder *grown;

    if (holders->names.count < holders->room)
        return true;
    grown = realloc(holders->array, room * sizeof(*grown));
    if (grown == NULL)
        return false;
    holders->array = grown;
    holders->room = room;
    return true;
}

/* NULL: out of memory. */
static struct holder *open_holder(struct walk *walk, struct dueq_slice name)
{
    struct holders *holders = &walk->holders;
    const struct gathered_item *item = gathered_find(&holders->names, name);
    size_t place = holders->names.count;

    if (item != NULL)
        return holders->array + (size_t)item->score;
    if (!make_room(holders) || gathered_add(&holders->names, name, (double)place, true) == NULL)
        return NULL;
    holders->array[place] = (struct holder){.oldest = INT64_MAX};
    return holders->array + place;
}

static size_t holder_bytes(const struct holders *holders)
{
    return holders->names.memory + holders->room * sizeof(*holders->array);
}

static bool count_job(void *arg, const struct dueq_job *job)
{
    struct walk *walk = arg;
    struct holder *holder;

    if (job->worker.size == 0)
        return true;
    holder = open_holder(walk, job->worker);
    if (holder == NULL) {
        walk->failed = true;
        return false;
    }
    holder->held++;
    if (job->claimed_at < holder->oldest)
        holder->oldest = job->claimed_at;
    return true;
}

static void write_worker(struct context *context, struct dueq_slice name,
                         const struct holder *holder)
{
    const struct worker *worker = workers_find(&context->server->workers, name);
    struct resp_writer *reply = context->reply;
    struct worker_view view = {.address = ""};
    int64_t oldest = 0;

    if (worker != NULL)
        view = workers_view(context->server, worker);
    if (holder->held > 0)
        oldest = context->now.wall > holder->oldest ? context->now.wall - holder->oldest : 0;
    resp_map(reply, 7);
    write_bytes(reply, "name", name);
    write_bytes_or_nil(reply, "address", dueq_slice(view.address, strlen(view.address)));
    write_number(reply, "connections", (int64_t)view.connections);
    write_number(reply, "held", (int64_t)holder->held);
    write_number_or_nil(reply, "oldest-lease", oldest, holder->held > 0);
    write_number(reply, "rate", (int64_t)view.claims);
    write_number_or_nil(reply, "last-seen", context->now.wall - view.idle, worker != NULL);
}

/* Those that hold jobs come first; of a topic there are these only. In one slice: the list
 * changes. */
static bool list_workers(struct context *context, struct walk *walk)
{
    const struct workers *workers = &context->server->workers;
    const struct worker *worker = NULL;

    while (!walk->one_topic && (worker = workers_next(workers, worker)) != NULL)
        if (open_holder(walk, workers_name(worker)) == NULL)
            return false;
    walk->is_listed = true;
    return true;
}

static enum outcome write_workers(struct context *context, struct walk *walk, size_t most)
{
    const struct gathered *names = &walk->holders.names;

    if (!walk->is_written) {
        resp_array(context->reply, names->count);
        walk->is_written = true;
    }
    for (; most > 0 && walk->next < names->count; most--) {
        write_worker(context, gathered_bytes(names->slots[walk->next].item),
                     walk->holders.array + walk->next);
        walk->next++;
    }
    return walk->next == names->count ? OUTCOME_DONE : OUTCOME_WAIT;
}

/* What is too much for one slice is written in slices of its own. */
static enum outcome look_for_workers(struct context *context, struct walk *walk,
                                     unsigned budget)
{
    while (!walk->is_over && budget > 0) {
        enum dueq_status status = step(context, walk, GATHERED, count_job, &budget);

        if (status != DUEQ_OK)
            return context_status(context, status);
    }
    long_work_state_holds(context, holder_bytes(&walk->holders));
    if (!walk->is_over)
        return OUTCOME_WAIT;
    if (!walk->is_listed) {
        if (!list_workers(context, walk))
            return context_status(context, DUEQ_NOMEM);
        if (walk->holders.names.count > WRITES)
            return OUTCOME_WAIT;
    }
    return write_workers(context, walk, WRITES);
}

static enum outcome run_q_workers(struct context *context)
{
    size_t topic = context_count(context) > 1 ? 1 : 0;

    if (context_count(context) > 2)
        return context_arity_error(context);
    if (topic > 0 && !arguments_name(context, topic, "topic"))
        return OUTCOME_DONE;
    return run_walk(context, topic, look_for_workers);
}

/* ---- Q.RELEASE */

static bool gather_job(void *arg, const struct dueq_job *job)
{
    struct walk *walk = arg;

    if (!dueq_slice_equal(job->worker, walk->worker) || job->claimed_at > walk->began)
        return true;
    walk->jobs[walk->gathered].token = job->token;
    walk->jobs[walk->gathered].id_size = (uint8_t)job->id.size;
    memcpy(walk->jobs[walk->gathered++].id, job->id.data, job->id.size);
    return true;
}

static enum dueq_status end_leases(struct context *context, struct walk *walk,
                                   struct dueq_slice topic)
{
    enum dueq_status status = DUEQ_OK;

    for (size_t i = 0; i < walk->gathered && status == DUEQ_OK; i++) {
        status = dueq_end_lease(context->store, topic,
                                dueq_slice(walk->jobs[i].id, walk->jobs[i].id_size),
                                walk->jobs[i].token, context->now);
        walk->released += status == DUEQ_OK;
    }
    walk->gathered = 0;
    return status;
}

static enum outcome release_some(struct context *context, struct walk *walk, unsigned budget)
{
    walk->worker = context_slice(context, 2);
    if (walk->worker.size > DUEQ_WORKER_MAX)
        walk->worker.size = DUEQ_WORKER_MAX;
    while (!walk->is_over && budget > 0) {
        char name[DUEQ_NAME_MAX];
        struct dueq_slice topic = topic_of(walk);
        enum dueq_status status;

        memcpy(name, walk->topic, walk->topic_size);
        topic.data = name;
        status = step(context, walk, GATHERED, gather_job, &budget);
        if (status == DUEQ_OK) {
            unsigned ends = (unsigned)walk->gathered * (LOOKS / ENDS);

            budget -= ends < budget ? ends : budget;
            status = end_leases(context, walk, topic);
        }
        if (status != DUEQ_OK)
            return context_status(context, status);
    }
    return walk->is_over ? context_reply_integer(context, (int64_t)walk->released)
                         : OUTCOME_WAIT;
}

struct release {
    struct dueq_slice topic;
};

static const struct argument_option release_options[] = {
    {"topic", OPTION_NAME(struct release, topic, "topic")}, {.name = NULL}};

/* Without a topic all of them are meant. False: the error is written. */
static bool may_release(struct context *context, const struct release *release)
{
    if (release->topic.size > 0 || context->session->user->unrestricted ||
        acl_check_changes_all(context->session->user, context->command, context->request))
        return true;
    resp_error(context->reply,
               "NOPERM this user has no permissions to change all topics: name one");
    return false;
}

static enum outcome run_q_release(struct context *context)
{
    struct release release = {.topic = {NULL, 0}};

    if (!arguments_is(context, 1, "worker"))
        return context_syntax_error(context);
    if (!arguments_name(context, 2, "worker") ||
        !argument_options_read(context, 3, release_options, &release) ||
        !may_release(context, &release))
        return OUTCOME_DONE;
    return run_walk(context, release.topic.size > 0 ? context_count(context) - 1 : 0,
                    release_some);
}

static bool find_release_keys(const struct request *request, command_key_fn fn, void *arg)
{
    static const char flags[] = "RW,access,update";

    for (size_t at = 4; at < request->count; at += 2)
        fn(arg, at, flags, sizeof(flags) - 1);
    return true;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "q.workers",
     .arity = -1,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary =
         "The workers that have a name: what they hold, how much they claim, where they are",
     .complexity = "O(C*log(N)) with C the number of claimed jobs",
     .syntax = "[topic]",
     .categories = "queue",
     .run = run_q_workers},
    {.name = "q.release",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_MOVABLEKEYS,
     .key_specs = "RW,access,update@TOPIC^3/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "End the leases of a worker that is lost",
     .complexity = "O(C*log(N)) with C the number of claimed jobs",
     .syntax = "<WORKER name> [TOPIC topic]",
     .categories = "queue",
     .run = run_q_release,
     .find_keys = find_release_keys},
    {.name = NULL}};

COMMANDS(queue_workers, entries)
