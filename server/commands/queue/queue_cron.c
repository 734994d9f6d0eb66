/* Recurring jobs: Q.CRON SET, GET, DEL, LIST, PAUSE, RESUME, NEXT, RUN. An entry belongs to its
 * topic: who may not use that may not use the entry, whatever its name is. */
#include "server/dispatch/command_list.h"

#include "server/acl/acl_user.h"
#include "server/commands/queue/push_options.h"
#include "server/commands/queue/reply_fields.h"
#include "server/dispatch/docs/command_help.h"
#include "server/dispatch/long_work.h"
#include "server/dispatch/permission.h"
#include "server/session/session.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_MOST = 1000, LIST_LOOKS = 300, NEXT_MOST = 100 };

#define TO_READ   "RO,access"
#define TO_CHANGE "RW,update"
#define TO_PUSH   "RW,insert"

/* ---- entries that are there */

/* False: there is none, or the user may not use it: then *ret_refused, and the error is
 * written. */
static bool find(struct context *context, const char *flags, struct dueq_cron *ret_cron,
                 struct dueq_cron_state *ret_state, bool *ret_refused)
{
    enum dueq_status status;

    *ret_refused = true;
    if (!arguments_name(context, 2, "name"))
        return false;
    status = dueq_cron_get(context->store, context_slice(context, 2), ret_cron, ret_state);
    *ret_refused =
        !context_check_status(context, status) ||
        (status == DUEQ_OK && !permission_for_key(context, ret_cron->push.topic, flags));
    return status == DUEQ_OK && !*ret_refused;
}

/* ---- SET */

enum { TIMES = 1 }; /* a group: EVERY or SPEC */

static const char *const catchups[] = {"none", "one", "all", NULL};
static const char *const overlaps[] = {"queue", "skip", NULL};

struct cron_form {
    struct dueq_cron cron;
    unsigned catchup, overlap;
    bool timed;
};

static bool read_every(struct context *context, size_t *at,
                       const struct argument_option *option, void *form)
{
    struct cron_form *cron = form;

    (void)option;
    cron->timed = true;
    return arguments_duration(context, (*at)++, &cron->cron.every);
}

static bool read_spec(struct context *context, size_t *at, const struct argument_option *option,
                      void *form)
{
    struct cron_form *cron = form;

    (void)option;
    cron->timed = true;
    cron->cron.spec = context_slice(context, (*at)++);
    if (cron->cron.spec.size > 0)
        return true;
    resp_error(context->reply, "ERR the spec is empty");
    return false;
}

static const struct argument_option options[] = {
    {"every", OPTION_CUSTOM, .group = TIMES, .values = 1, .read = read_every},
    {"spec", OPTION_CUSTOM, .group = TIMES, .values = 1, .read = read_spec},
    {"tz", OPTION_BYTES(struct cron_form, cron.zone)},
    {"jitter", OPTION_DURATION(struct cron_form, cron.jitter)},
    {"catchup", OPTION_CHOICE(struct cron_form, catchup), .words = catchups},
    {"overlap", OPTION_CHOICE(struct cron_form, overlap), .words = overlaps},
    {.name = NULL}};

/* Its own options and those of the push stand in any order. */
static bool read_options(struct context *context, struct cron_form *form)
{
    size_t at = 5, before;

    do {
        before = at;
        if (!argument_options_read_leading(context, &at, options, form) ||
            !push_options_read_leading(context, &at, PUSH_OPTIONS_FOR_CRON, &form->cron.push))
            return false;
    } while (at > before && at < context_count(context));
    if (at == context_count(context) && form->timed)
        return push_options_fit(context, &form->cron.push);
    context_syntax_error(context);
    return false;
}

static void begin_form(const struct context *context, struct cron_form *form)
{
    *form = (struct cron_form){.timed = false};
    dueq_cron_init(&form->cron);
    form->cron.name = context_slice(context, 2);
    form->cron.push.topic = context_slice(context, 3);
    form->cron.push.body = context_slice(context, 4);
}

static void write_next(struct context *context, const struct dueq_cron_state *state)
{
    if (state->paused)
        resp_null(context->reply);
    else
        resp_integer(context->reply, state->next);
}

static enum outcome set(struct context *context, const struct dueq_cron *cron)
{
    struct dueq_cron_state state;
    struct dueq_cron now;
    struct dueq_error error;
    enum dueq_status status;

    error.text[0] = '\0';
    status = dueq_cron_set(context->store, cron, context->now, &error);
    if (status != DUEQ_OK && error.text[0] != '\0') {
        resp_errorf(context->reply, "ERR %s", error.text);
        return OUTCOME_DONE;
    }
    if (status == DUEQ_OK)
        status = dueq_cron_get(context->store, cron->name, &now, &state);
    if (status != DUEQ_OK)
        return context_status(context, status);
    write_next(context, &state);
    return OUTCOME_DONE;
}

static enum outcome run_set(struct context *context)
{
    struct dueq_cron_state state;
    struct dueq_cron old;
    struct cron_form form;
    bool refused;

    if (!arguments_name(context, 3, "topic"))
        return OUTCOME_DONE;
    find(context, TO_CHANGE, &old, &state, &refused);
    begin_form(context, &form);
    if (refused || !read_options(context, &form))
        return OUTCOME_DONE;
    form.cron.catchup = (enum dueq_catchup)form.catchup;
    form.cron.overlap = (enum dueq_overlap)form.overlap;
    return set(context, &form.cron);
}

/* ---- GET, LIST */

static void write_times(struct resp_writer *reply, const struct dueq_cron *cron)
{
    write_number_or_nil(reply, "every", cron->every, cron->every > 0);
    write_bytes_or_nil(reply, "spec", cron->spec);
    write_bytes_or_nil(reply, "tz", cron->zone);
}

static void write_job(struct resp_writer *reply, const struct dueq_push *push)
{
    write_bytes(reply, "body", push->body);
    write_bytes_or_nil(reply, "group", push->group);
    write_number_or_nil(reply, "weight", push->weight, push->group.size > 0);
    write_number(reply, "priority", push->priority);
    write_number_or_nil(reply, "lease", push->lease, push->lease >= 0);
    write_number_or_nil(reply, "retries", push->retries, push->retries >= 0);
    write_number_or_nil(reply, "crashes", push->crashes, push->crashes >= 0);
    write_number_or_nil(reply, "backoff", push->backoff, push->backoff >= 0);
    write_number_or_nil(reply, "backoff-max", push->backoff_max, push->backoff_max >= 0);
    write_number_or_nil(reply, "backoff-jitter", push->jitter, push->jitter >= 0);
    resp_string(reply, "backoff-steps");
    resp_array(reply, push->step_count);
    for (size_t i = 0; i < push->step_count; i++)
        resp_integer(reply, push->steps[i]);
    write_number_or_nil(reply, "ttl", push->ttl, push->ttl >= 0);
}

/* Why what is due does not fire. */
static void write_failure(struct resp_writer *reply, enum dueq_status failure)
{
    resp_string(reply, "error");
    if (failure == DUEQ_OK)
        resp_null(reply);
    else if (failure == DUEQ_NOTFOUND)
        resp_string(reply, "the time zone cannot be read");
    else
        resp_string(reply, dueq_status_text(failure));
}

enum { STATE_FIELDS = 8, JOB_FIELDS = 12, TIMES_FIELDS = 3 };

static void write_counts(struct context *context, const struct dueq_cron_state *state)
{
    struct resp_writer *reply = context->reply;

    write_number(reply, "paused", state->paused);
    resp_string(reply, "next");
    write_next(context, state);
    write_number_or_nil(reply, "last", state->last, state->last > 0);
    write_bytes_or_nil(reply, "last-id", dueq_slice(state->last_id, strlen(state->last_id)));
    write_number(reply, "fired", (int64_t)state->fired);
    write_number(reply, "missed", (int64_t)state->missed);
    write_number(reply, "overlapped", (int64_t)state->overlapped);
    write_failure(reply, state->failure);
}

static enum outcome run_get(struct context *context)
{
    struct resp_writer *reply = context->reply;
    struct dueq_cron_state state;
    struct dueq_cron cron;
    bool refused;

    if (!find(context, TO_READ, &cron, &state, &refused)) {
        if (!refused)
            resp_null(reply);
        return OUTCOME_DONE;
    }
    resp_map(reply, 5 + TIMES_FIELDS + JOB_FIELDS + STATE_FIELDS);
    write_bytes(reply, "name", cron.name);
    write_bytes(reply, "topic", cron.push.topic);
    write_times(reply, &cron);
    write_number(reply, "jitter", cron.jitter);
    resp_string(reply, "catchup");
    resp_string(reply, dueq_catchup_name(cron.catchup));
    resp_string(reply, "overlap");
    resp_string(reply, dueq_overlap_name(cron.overlap));
    write_job(reply, &cron.push);
    write_counts(context, &state);
    return OUTCOME_DONE;
}

struct list_form {
    struct dueq_slice after;
    int64_t count;
};

static const struct argument_option list_options[] = {
    {"after", OPTION_NAME(struct list_form, after, "name")},
    {"count", OPTION_INTEGER(struct list_form, count),
     .rule = INTEGER_RANGE(1, LIST_MOST, RANGE_TEXT(1, 1000))},
    {.name = NULL}};

/* False: the entry is not listed: the user may not use its topic. */
static bool write_entry(struct context *context, const struct dueq_cron *cron,
                        const struct dueq_cron_state *state)
{
    if (!permission_covers_key(context, cron->push.topic, TO_READ))
        return false;
    resp_map(context->reply, 2 + TIMES_FIELDS + STATE_FIELDS);
    write_bytes(context->reply, "name", cron->name);
    write_bytes(context->reply, "topic", cron->push.topic);
    write_times(context->reply, cron);
    write_counts(context, state);
    return true;
}

/* Entries that the user may not see are passed over, so that a page is full or the last one: of
 * ten thousand entries one may be the user's. */
struct listing {
    char name[DUEQ_NAME_MAX]; /* the last one looked at */
    size_t name_size, wanted, written;
    bool is_over;
};

static enum dueq_status list_some(struct context *context, struct listing *listing,
                                  unsigned looks)
{
    for (; looks > 0 && !listing->is_over; looks--) {
        struct dueq_slice name = dueq_slice(listing->name, listing->name_size);
        struct dueq_cron_state state;
        struct dueq_cron cron;
        enum dueq_status status = dueq_cron_after(context->store, name, &name);

        if (status == DUEQ_OK)
            status = dueq_cron_get(context->store, name, &cron, &state);
        if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
            return status;
        if (status == DUEQ_OK) {
            listing->name_size = name.size;
            memcpy(listing->name, name.data, name.size);
            listing->written += write_entry(context, &cron, &state);
        }
        listing->is_over = status == DUEQ_NOTFOUND || listing->written == listing->wanted;
    }
    return DUEQ_OK;
}

/* The first slice is all for most. Else what it has written is written again by the next ones,
 * as nothing may be there before the long work. */
static enum outcome list_later(struct context *context, const struct listing *begin,
                               size_t mark)
{
    struct listing *listing = malloc(sizeof(*listing));

    buffer_truncate(context->reply->out, mark);
    if (listing == NULL)
        return context_status(context, DUEQ_NOMEM);
    *listing = *begin;
    return long_work_continue(context, listing, free, LONG_HOLDS_NOTHING);
}

static enum outcome list_on(struct context *context, struct listing *listing,
                            const struct listing *begin, size_t mark)
{
    enum dueq_status status = list_some(context, listing, LIST_LOOKS);

    if (status != DUEQ_OK) {
        buffer_truncate(context->reply->out, mark);
        return context_status(context, status);
    }
    if (!listing->is_over)
        return begin == NULL ? OUTCOME_WAIT : list_later(context, begin, mark);
    resp_deferred_array(context->reply, mark, listing->written);
    return OUTCOME_DONE;
}

static enum outcome run_list(struct context *context)
{
    struct list_form form = {.count = LIST_MOST};
    struct listing *going_on = long_work_state(context), begin = {.written = 0}, listing;

    if (going_on != NULL)
        return list_on(context, going_on, NULL, long_work_reply_begin(context));
    if (!argument_options_read(context, 2, list_options, &form))
        return OUTCOME_DONE;
    begin.wanted = (size_t)form.count;
    begin.name_size = form.after.size;
    if (form.after.size > 0)
        memcpy(begin.name, form.after.data, form.after.size);
    listing = begin;
    return list_on(context, &listing, &begin, resp_deferred(context->reply));
}

/* ---- the others */

/* 1; 0: there is no such entry. */
static enum outcome tell(struct context *context, enum dueq_status status)
{
    if (status == DUEQ_INVALID) {
        resp_error(context->reply, "ERR the time zone of the recurring job cannot be read");
        return OUTCOME_DONE;
    }
    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    return context_reply_integer(context, status == DUEQ_OK);
}

/* Nobody can tell whose topic it is. */
static bool may_delete_damaged(const struct context *context)
{
    struct dueq_cron_state state;
    struct dueq_cron cron;

    return context->session->user->unrestricted &&
           dueq_cron_get(context->store, context_slice(context, 2), &cron, &state) ==
               DUEQ_CORRUPT;
}

static enum outcome run_del(struct context *context)
{
    struct dueq_cron_state state;
    struct dueq_cron cron;
    bool refused;

    if (!may_delete_damaged(context) && !find(context, TO_CHANGE, &cron, &state, &refused))
        return refused ? OUTCOME_DONE : tell(context, DUEQ_NOTFOUND);
    return tell(context, dueq_cron_del(context->store, context_slice(context, 2)));
}

static enum outcome pause(struct context *context, bool paused)
{
    struct dueq_cron_state state;
    struct dueq_cron cron;
    bool refused;

    if (!find(context, TO_CHANGE, &cron, &state, &refused))
        return refused ? OUTCOME_DONE : tell(context, DUEQ_NOTFOUND);
    return tell(context, dueq_cron_pause(context->store, context_slice(context, 2), paused,
                                         context->now));
}

static enum outcome run_pause(struct context *context)
{
    return pause(context, true);
}

static enum outcome run_resume(struct context *context)
{
    return pause(context, false);
}

static enum outcome run_next(struct context *context)
{
    int64_t times[NEXT_MOST], count;
    struct dueq_cron_state state;
    struct dueq_cron cron;
    size_t found;
    bool refused;
    enum dueq_status status;

    if (!arguments_integer(context, 3, INTEGER_RANGE(1, NEXT_MOST, RANGE_TEXT(1, 100)), &count))
        return OUTCOME_DONE;
    if (!find(context, TO_READ, &cron, &state, &refused)) {
        if (!refused)
            resp_null_array(context->reply);
        return OUTCOME_DONE;
    }
    status = dueq_cron_next(context->store, context_slice(context, 2), context->now,
                            (size_t)count, times, &found);
    if (status != DUEQ_OK)
        return tell(context, status);
    resp_array(context->reply, found);
    for (size_t i = 0; i < found; i++)
        resp_integer(context->reply, times[i]);
    return OUTCOME_DONE;
}

/* nil: the job of the firing before is still there. */
static enum outcome run_run(struct context *context)
{
    struct dueq_pushed pushed;
    struct dueq_cron_state state;
    struct dueq_cron cron;
    bool refused;
    enum dueq_status status;

    if (!find(context, TO_PUSH, &cron, &state, &refused)) {
        if (!refused)
            resp_error(context->reply, "NOENTRY no such recurring job");
        return OUTCOME_DONE;
    }
    status = dueq_cron_run(context->store, context_slice(context, 2), context->now, &pushed);
    if (status == DUEQ_WRONGSTATE)
        resp_null(context->reply);
    else if (status != DUEQ_OK)
        return context_status(context, status);
    else
        resp_slice(context->reply, pushed.id);
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command cron_subcommands[] = {
    {.name = "del",
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Remove a recurring job; the jobs that it has pushed stay",
     .complexity = "O(log(N))",
     .syntax = "name",
     .categories = "queue",
     .run = run_del},
    {.name = "get",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .group = "queue",
     .since = "1.0.0",
     .summary = "A recurring job: its times, its job, and what happened so far",
     .complexity = "O(log(N))",
     .syntax = "name",
     .categories = "queue",
     .run = run_get},
    {.name = "help",
     .arity = 2,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Show helpful text about the different subcommands",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "queue",
     .run = run_container_help},
    {.name = "list",
     .arity = -2,
     .flags = COMMAND_READONLY,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Recurring jobs in the order of their names, with their next times",
     .complexity = "O(M*log(N)) with M the number of entries returned",
     .syntax = "[AFTER name] [COUNT 1-1000]",
     .categories = "queue",
     .run = run_list},
    {.name = "next",
     .arity = 4,
     .flags = COMMAND_READONLY,
     .group = "queue",
     .since = "1.0.0",
     .summary = "The next times of a recurring job",
     .complexity = "O(M) with M the number of times",
     .syntax = "name 1-100",
     .categories = "queue",
     .run = run_next},
    {.name = "pause",
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Stop a recurring job until Q.CRON RESUME",
     .complexity = "O(log(N))",
     .syntax = "name",
     .categories = "queue",
     .run = run_pause},
    {.name = "resume",
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Let a recurring job go on from its next time",
     .complexity = "O(log(N))",
     .syntax = "name",
     .categories = "queue",
     .run = run_resume},
    {.name = "run",
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .group = "queue",
     .since = "1.0.0",
     .summary = "Push the job of a recurring job now; its next time stays",
     .complexity = "O(log(N))",
     .syntax = "name",
     .categories = "queue",
     .run = run_run},
    {.name = "set",
     .arity = -7,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {3, 3, 1},
     .key_specs = "RW,insert@3/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Push a job again and again: every so often, or at times as cron has them",
     .complexity = "O(log(N))",
     .syntax = "name topic body <EVERY duration|SPEC spec> [TZ zone] [JITTER duration] "
               "[CATCHUP NONE|ONE|ALL] [OVERLAP SKIP|QUEUE] [PRIORITY 0-255] [LEASE duration] "
               "[RETRIES count] [CRASHES count] "
               "[BACKOFF <duration [max]|FIXED duration|EXP base max [JITTER percent]|"
               "STEPS duration [duration ...]>] [TTL duration] [GROUP group] [WEIGHT 1-1000]",
     .categories = "queue",
     .run = run_set},
    {.name = NULL}};

static const struct command entries[] = {{.name = "q.cron",
                                          .arity = -2,
                                          .group = "queue",
                                          .since = "1.0.0",
                                          .summary = "A container for recurring jobs",
                                          .complexity = "Depends on subcommand.",
                                          .syntax = "",
                                          .subcommands = cron_subcommands},
                                         {.name = NULL}};

COMMANDS(queue_cron, entries)
