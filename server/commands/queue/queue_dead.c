/* Q.DEAD: lists, counts, redrives and purges the dead jobs of a topic. */
#include "server/dispatch/command_list.h"

#include "server/commands/queue/reply_fields.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/long_work.h"

#include <stdlib.h>

enum { LIST_USUAL = 100, LIST_MOST = 10000 };

enum action { ACTION_LIST, ACTION_COUNT, ACTION_REDRIVE, ACTION_PURGE };
static const char *const actions[] = {"list", "count", "redrive", "purge", NULL};

struct dead {
    unsigned action;
    int64_t limit; /* DUEQ_DEFAULT: none is given */
    struct dueq_dead query;
    struct dueq_dead_progress progress;
};

/* ---- reading */

static bool read_rate(struct context *context, size_t *at, const struct argument_option *option,
                      void *form)
{
    struct dead *dead = form;

    (void)option;
    return arguments_integer(
               context, (*at)++,
               INTEGER_RANGE(1, DUEQ_RATE_MAX,
                             "ERR RATE is out of range, must be between 1 and 1000000"),
               &dead->query.rate) &&
           arguments_duration(context, (*at)++, &dead->query.period);
}

static const struct argument_option options[] = {
    {"match", OPTION_BYTES(struct dead, query.match)},
    {"error", OPTION_BYTES(struct dead, query.error)},
    {"older", OPTION_DURATION(struct dead, query.older)},
    {"limit", OPTION_INTEGER(struct dead, limit),
     .rule = INTEGER_BOUND(1, INT64_MAX, "ERR LIMIT must be 1 or more")},
    {"dryrun", OPTION_FLAG(struct dead, query.dry_run)},
    {"to", OPTION_NAME(struct dead, query.to, "topic")},
    {"rate", OPTION_CUSTOM, .values = 2, .read = read_rate},
    {.name = NULL}};

/* Writes the error and answers false when an option is given that the action does not have. */
static bool check_options(struct context *context, const struct dead *dead)
{
    const char *error = NULL;

    if (dead->action != ACTION_REDRIVE && dead->query.to.size > 0)
        error = "ERR TO is an option of REDRIVE only";
    else if (dead->action != ACTION_REDRIVE && dead->query.rate > 0)
        error = "ERR RATE is an option of REDRIVE only";
    else if (dead->action < ACTION_REDRIVE && dead->query.dry_run)
        error = "ERR DRYRUN is an option of REDRIVE and PURGE only";
    else if (dead->action == ACTION_LIST && dead->limit > LIST_MOST)
        error = "ERR LIMIT of LIST is out of range, must be between 1 and 10000";
    if (error != NULL)
        resp_error(context->reply, error);
    return error == NULL;
}

static bool read_dead(struct context *context, struct dead *dead)
{
    static const enum dueq_dead_action what[] = {[ACTION_LIST] = DUEQ_DEAD_LOOK,
                                                 [ACTION_COUNT] = DUEQ_DEAD_LOOK,
                                                 [ACTION_REDRIVE] = DUEQ_DEAD_REDRIVE,
                                                 [ACTION_PURGE] = DUEQ_DEAD_PURGE};

    *dead = (struct dead){.limit = DUEQ_DEFAULT};
    dueq_dead_init(&dead->query);
    if (!arguments_name(context, 1, "topic") ||
        !arguments_choice(context, 2, actions, &dead->action) ||
        !argument_options_read(context, 3, options, dead) || !check_options(context, dead))
        return false;
    dead->query.topic = context_slice(context, 1);
    dead->query.action = what[dead->action];
    if (dead->limit == DUEQ_DEFAULT && dead->action == ACTION_LIST)
        dead->limit = LIST_USUAL;
    if (dead->limit != DUEQ_DEFAULT)
        dead->query.limit = (uint64_t)dead->limit;
    return true;
}

/* ---- replying */

static bool write_job(void *arg, const struct dueq_job *job)
{
    struct resp_writer *reply = ((struct context *)arg)->reply;

    resp_map(reply, 8);
    write_bytes(reply, "id", job->id);
    write_bytes_or_nil(reply, "error", job->error);
    write_number(reply, "died", job->due);
    write_number(reply, "pushed", job->pushed);
    write_number(reply, "attempt", job->attempt);
    write_number(reply, "failures", job->failures);
    write_number(reply, "leases-expired", job->leases_expired);
    write_attempts(reply, job);
    return !reply->out->overflowed;
}

/* One step; jobs of a list are written. */
static enum dueq_status walk(struct context *context, struct dead *dead, unsigned budget)
{
    return dueq_dead(context->store, &dead->query, context->now, budget,
                     dead->action == ACTION_LIST ? write_job : NULL, context, &dead->progress);
}

static enum outcome reply_counts(struct context *context, const struct dead *dead)
{
    if (dead->action != ACTION_REDRIVE)
        return context_reply_integer(context, (int64_t)dead->progress.found);
    resp_array(context->reply, 2);
    resp_integer(context->reply, (int64_t)dead->progress.found);
    return context_reply_integer(context, (int64_t)dead->progress.skipped);
}

/* Writes the error in place of the reply so far. */
static enum outcome fail(struct context *context, size_t mark, enum dueq_status status)
{
    buffer_truncate(context->reply->out, mark);
    return context_status(context, status);
}

/* ---- in slices */

static enum outcome run_slice(struct context *context, struct dead *dead,
                              struct dueq_dead_progress *kept)
{
    size_t mark = long_work_reply_begin(context);
    enum dueq_status status;

    dead->progress = *kept;
    if (dead->action == ACTION_LIST && !kept->begun)
        resp_reserved(context->reply);
    status = walk(context, dead, LONG_STEPS);
    *kept = dead->progress;
    if (status != DUEQ_OK)
        return fail(context, mark, status);
    if (!dead->progress.is_over)
        return OUTCOME_WAIT;
    if (dead->action != ACTION_LIST)
        return reply_counts(context, dead);
    resp_reserved_array(context->reply, mark, dead->progress.found);
    return OUTCOME_DONE;
}

/* Goes on where the first part has stopped; a list begins again, as nothing of its reply may be
 * written yet. */
static enum outcome continue_later(struct context *context, const struct dead *dead)
{
    struct dueq_dead_progress *kept = calloc(1, sizeof(*kept));

    if (kept == NULL)
        return context_status(context, DUEQ_NOMEM);
    if (dead->action != ACTION_LIST)
        *kept = dead->progress;
    return long_work_continue(context, kept, free, LONG_HOLDS_NOTHING);
}

/* ---- at once */

static bool changes_jobs(const struct dead *dead)
{
    return dead->query.action != DUEQ_DEAD_LOOK && !dead->query.dry_run;
}

/* In an EXEC everything is done, or nothing: it is tried out first. */
static bool try_out(struct context *context, const struct dead *dead)
{
    struct dead trial = *dead;
    enum dueq_status status;

    trial.query.dry_run = true;
    status = walk(context, &trial, LONG_WHOLE / 4);
    if (status == DUEQ_OK &&
        !long_work_fits(context, trial.progress.is_over ? 0 : LONG_WHOLE + 1))
        return false;
    if (status == DUEQ_OK && trial.progress.bytes > 0)
        status = dueq_reserve_room(context->store, trial.progress.bytes);
    if (status != DUEQ_OK)
        context_status(context, status);
    return status == DUEQ_OK;
}

static enum outcome run_at_once(struct context *context, struct dead *dead)
{
    size_t begin = buffer_size(context->reply->out), mark = begin;
    enum dueq_status status;

    if (dead->action == ACTION_LIST)
        mark = resp_deferred(context->reply);
    status = walk(context, dead, LONG_ENOUGH);
    if (status != DUEQ_OK)
        return fail(context, begin, status);
    if (!dead->progress.is_over) {
        buffer_truncate(context->reply->out, begin);
        return continue_later(context, dead);
    }
    if (dead->action != ACTION_LIST)
        return reply_counts(context, dead);
    resp_deferred_array(context->reply, mark, dead->progress.found);
    return OUTCOME_DONE;
}

static enum outcome run_q_dead(struct context *context)
{
    struct dead dead;

    if (!read_dead(context, &dead))
        return OUTCOME_DONE;
    if (long_work_state(context) != NULL)
        return run_slice(context, &dead, long_work_state(context));
    if (!context->may_wait && changes_jobs(&dead) && !try_out(context, &dead))
        return OUTCOME_DONE;
    return run_at_once(context, &dead);
}

/* The topic, and each TO: a value of another option may be the same word. */
static bool find_keys(const struct request *request, command_key_fn fn, void *arg)
{
    static const char from[] = "RW,access,update", to[] = "RW,insert";

    fn(arg, 1, from, sizeof(from) - 1);
    for (size_t at = 3; at < request->count;) {
        struct argument word = request->arguments[at];

        if (argument_is(word, "to") && at + 1 < request->count)
            fn(arg, at + 1, to, sizeof(to) - 1);
        at += argument_is(word, "dryrun") ? 1 : argument_is(word, "rate") ? 3 : 2;
    }
    return true;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "q.dead",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_MOVABLEKEYS,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0 RW,insert@TO^3/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "List, count, redrive or purge the dead jobs of a topic",
     .complexity = "O(N*log(M)) with N the number of dead jobs that are looked at",
     .syntax = "topic <LIST|COUNT|REDRIVE|PURGE> [MATCH pattern] [ERROR pattern] "
               "[OLDER duration] [LIMIT count] [DRYRUN] [TO other] [RATE count duration]",
     .categories = "queue",
     .run = run_q_dead,
     .find_keys = find_keys},
    {.name = NULL}};

COMMANDS(queue_dead, entries)
