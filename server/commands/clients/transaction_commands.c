/* MULTI, EXEC, DISCARD, WATCH, UNWATCH. An EXEC is alone with the store from its first command
 * to its last one, and is one record of the journal: all of it survives a power cut, or
 * nothing. */
#include "server/commands/wide.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/dispatch.h"
#include "server/dispatch/long_work.h"
#include "server/dispatch/permission.h"
#include "server/server.h"
#include "server/session/monitors.h"
#include "server/session/session.h"
#include "server/session/session_output.h"
#include "server/session/transaction.h"
#include "server/session/watches.h"

#include <stdlib.h>

enum {
    WATCH_STEPS = 4, /* a watch, as its table may be far too large for the caches */
    LOOK_AFTER = 8   /* commands, at the clock */
};

static enum outcome run_multi(struct context *context)
{
    struct session *session = context->session;

    if (session->transaction != NULL) {
        resp_error(context->reply, "ERR MULTI calls can not be nested");
        return OUTCOME_DONE;
    }
    session->transaction = transaction_new();
    if (session->transaction == NULL)
        return context_status(context, DUEQ_NOMEM);
    return context_ok(context);
}

/* An EXEC that runs. One of many commands takes several turns: alone.h. */
struct execution {
    struct transaction *transaction; /* NULL: the watches are being checked */
    size_t next;                     /* of its commands, or the one that has a long work */
    struct nested_work nested;
    struct dueq_time began; /* the time for all of them */
    bool stops;             /* was the server about to? */
};

static void free_execution(void *state)
{
    struct execution *execution = state;

    nested_work_release(&execution->nested);
    transaction_free(execution->transaction);
    free(execution);
}

/* Runs a command of it, or a slice of one. */
static enum outcome run_command(struct context *context, struct execution *execution, size_t at)
{
    struct transaction *transaction = execution->transaction;
    struct context inner = *context;
    enum outcome outcome;

    inner.request = transaction_request(transaction, at);
    inner.may_wait = false;
    inner.queued = true;
    inner.rights = transaction_rights(transaction);
    inner.nested = &execution->nested;
    inner.failed = DUEQ_OK;
    inner.waiter = NULL;
    inner.reader = NULL;
    inner.now = execution->began;
    inner.stops = execution->stops;
    inner.monitor_text = transaction_text(transaction, at);
    inner.loans = transaction_loans(transaction, at, &inner.loan_count);
    if (context->store != NULL)
        dueq_lend(context->store, inner.loans, inner.loan_count);
    outcome = dispatch_command(&inner);
    if (context->store != NULL)
        dueq_lend(context->store, NULL, 0);
    return outcome;
}

/* Of the command that is next, without its reply. What is lent to the store is not copied. */
static size_t steps_of(const struct context *context, const struct execution *execution)
{
    const struct request *request =
        transaction_request(execution->transaction, execution->next);
    size_t bytes = request->bytes, count;
    const struct dueq_loan *loans =
        transaction_loans(execution->transaction, execution->next, &count);

    for (size_t i = 0; i < count; i++)
        bytes -= loans[i].memory != NULL ? loans[i].size : 0;
    return request->count + bytes / LONG_STEP_BYTES +
           monitors_quote(context->server, request) / ALONE_STEP_BYTES;
}

/* Returns its steps: of a long work enough for a slice, as its slices are that long. */
static size_t run_next(struct context *context, struct execution *execution)
{
    struct transaction *transaction = execution->transaction;
    size_t before = buffer_size(context->reply->out), at = execution->next, after;
    size_t steps = steps_of(context, execution);

    if (execution->nested.state == NULL)
        execution->nested.begin = before - session_reply_begin(context->session);
    if (run_command(context, execution, at) == OUTCOME_WAIT && execution->nested.state != NULL)
        return ALONE_AFTER;
    nested_work_release(&execution->nested);
    transaction_forget(transaction, at);
    execution->next++;
    after = buffer_size(context->reply->out);
    return steps + (after > before ? (after - before) / ALONE_STEP_BYTES : 0);
}

/* Some commands cost more than their steps: a key may be on a page that is new to the process.
 */
static bool takes_long(const struct context *context, size_t done, size_t budget)
{
    return done > 0 && done % LOOK_AFTER == 0 && budget < SIZE_MAX &&
           server_part_is_long(context->server);
}

/* True: all have run. */
static bool run_some(struct context *context, struct execution *execution, size_t budget)
{
    size_t count = transaction_count(execution->transaction), steps = 0;

    for (size_t done = 0; execution->next < count && steps < budget; done++) {
        if (takes_long(context, done, budget))
            break;
        steps += run_next(context, execution);
    }
    context->session->last_command = context->command;
    return execution->next == count;
}

static enum outcome go_on(struct context *context, struct execution *execution)
{
    return run_some(context, execution, alone_budget(context)) ? OUTCOME_DONE : OUTCOME_WAIT;
}

/* Would the queued command do something? False: the error is written. */
static bool foresees(struct context *inner)
{
    enum dueq_status status;

    if (inner->command == NULL || inner->command->foresee == NULL)
        return true;
    if (permission_check(inner) == PERMISSION_REFUSED) /* first: the status tells of a job */
        return false;
    status = inner->command->foresee(inner);
    if (status != DUEQ_OK)
        resp_errorf(inner->reply, "ERR %s", context_status_text(status));
    return status == DUEQ_OK;
}

/* What follows from a job that is no longer the client's, or that its user may not change, must
 * not be done: false, with the error written. */
static bool foresees_success(struct context *context)
{
    const struct transaction *transaction = context->session->transaction;

    if (!transaction_foresees(transaction) || context->store == NULL)
        return true;
    for (size_t i = 0; i < transaction_count(transaction); i++) {
        struct context inner = *context;

        inner.request = transaction_request(transaction, i);
        inner.command = command_find_request(inner.request);
        inner.queued = true;
        inner.rights = transaction_rights(transaction);
        if (!foresees(&inner))
            return false;
    }
    return true;
}

/* Takes the queue off the session first: a queued command may end the session's transaction. */
static void take_queue(struct context *context, struct execution *execution)
{
    struct session *session = context->session;

    execution->transaction = session->transaction;
    session->transaction = NULL;
    watches_drop(context->server, session);
    resp_array(context->reply, transaction_count(execution->transaction));
}

static enum outcome execute(struct context *context, struct execution *execution)
{
    take_queue(context, execution);
    if (!run_some(context, execution, alone_budget(context))) {
        if (alone_put_off(context, execution, sizeof(*execution), free_execution))
            return OUTCOME_WAIT;
        run_some(context, execution, SIZE_MAX);
    }
    transaction_free(execution->transaction);
    return OUTCOME_DONE;
}

/* Its watches are intact. False: the error is written, and it has ended. */
static bool may_execute(struct context *context, size_t mark)
{
    if (foresees_success(context))
        return true;
    dispatch_abort_exec(context, mark);
    return false;
}

static enum outcome abort_exec(struct context *context)
{
    resp_null_array(context->reply);
    transaction_end(context);
    return OUTCOME_DONE;
}

/* Of a hundred thousand watches a part is checked in each slice. */
static enum outcome go_on_checking(struct context *context, struct execution *execution)
{
    size_t mark = buffer_size(context->reply->out);

    if (alone_hurries(context))
        return abort_exec(context);
    switch (watches_check(context->server, context->session, ALONE_STEPS)) {
    case WATCHES_UNKNOWN:
        return OUTCOME_WAIT;
    case WATCHES_BROKEN:
        return abort_exec(context);
    case WATCHES_INTACT:
        break;
    }
    if (!may_execute(context, mark))
        return OUTCOME_DONE;
    take_queue(context, execution);
    return go_on(context, execution);
}

static enum outcome check_and_execute(struct context *context)
{
    struct execution execution = {.began = context->now, .stops = context->stops};
    size_t mark = buffer_size(context->reply->out);
    enum watches_state state;

    if (watches_count(context->session) > alone_budget(context) &&
        alone_put_off(context, &execution, sizeof(execution), free_execution))
        return OUTCOME_WAIT;
    state = watches_check(context->server, context->session, SIZE_MAX);
    if (state == WATCHES_BROKEN)
        return abort_exec(context);
    return may_execute(context, mark) ? execute(context, &execution) : OUTCOME_DONE;
}

static enum outcome run_exec(struct context *context)
{
    struct session *session = context->session;
    struct execution *execution = long_work_state(context);

    if (execution != NULL)
        return execution->transaction == NULL ? go_on_checking(context, execution)
                                              : go_on(context, execution);
    if (session->transaction == NULL) {
        resp_error(context->reply, "ERR EXEC without MULTI");
        return OUTCOME_DONE;
    }
    if (!transaction_failed(session->transaction))
        return check_and_execute(context);
    resp_error(context->reply, "EXECABORT Transaction discarded because of previous errors.");
    transaction_end(context);
    return OUTCOME_DONE;
}

static enum outcome run_discard(struct context *context)
{
    if (context->session->transaction == NULL) {
        resp_error(context->reply, "ERR DISCARD without MULTI");
        return OUTCOME_DONE;
    }
    transaction_end(context);
    return context_ok(context);
}

/* Watches of which others break one meanwhile go on: EXEC aborts in any case. */
static bool watch_one(struct context *context, struct wide *wide)
{
    return watches_add(context->server, context->session, context_slice(context, wide->at)) ||
           context_check_status(context, DUEQ_NOMEM);
}

static enum outcome run_watch(struct context *context)
{
    static const struct wide_form form = {.first = 1,
                                          .stride = 1,
                                          .weight = WATCH_STEPS,
                                          .lets_others = true,
                                          .take = watch_one,
                                          .end = wide_end_ok};

    if (context->session->transaction != NULL) {
        resp_error(context->reply, "ERR WATCH inside MULTI is not allowed");
        return OUTCOME_DONE;
    }
    if (context->session->watch_broken && !wide_has_begun(context))
        return context_ok(context); /* EXEC aborts in any case */
    return wide_run(context, &form);
}

static enum outcome run_unwatch(struct context *context)
{
    watches_drop(context->server, context->session);
    return context_ok(context);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "multi",
     .arity = 1,
     .flags = COMMAND_UNQUEUED | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE |
              COMMAND_FAST | COMMAND_ALLOW_BUSY,
     .group = "transactions",
     .since = "1.2.0",
     .summary = "Mark the start of a transaction block",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "transaction",
     .run = run_multi},
    {.name = "exec",
     .arity = 1,
     .flags = COMMAND_RUNS_QUEUE | COMMAND_UNQUEUED | COMMAND_NOSCRIPT | COMMAND_LOADING |
              COMMAND_STALE | COMMAND_SKIP_SLOWLOG,
     .group = "transactions",
     .since = "1.2.0",
     .summary = "Execute all commands issued after MULTI",
     .complexity = "Depends on commands in the transaction",
     .syntax = "",
     .categories = "transaction",
     .run = run_exec},
    {.name = "discard",
     .arity = 1,
     .flags = COMMAND_UNQUEUED | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE |
              COMMAND_FAST | COMMAND_ALLOW_BUSY,
     .group = "transactions",
     .since = "2.0.0",
     .summary = "Discard all commands issued after MULTI",
     .complexity = "O(N), when N is the number of queued commands",
     .syntax = "",
     .categories = "transaction",
     .run = run_discard},
    {.name = "watch",
     .arity = -2,
     .flags = COMMAND_UNQUEUED | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE |
              COMMAND_FAST | COMMAND_ALLOW_BUSY,
     .keys = {1, -1, 1},
     .key_specs = "RO@1/r-1:1:0",
     .group = "transactions",
     .since = "2.2.0",
     .summary = "Watch the given keys to determine execution of the MULTI/EXEC block",
     .complexity = "O(1) for every key.",
     .syntax = "key [key ...]",
     .categories = "transaction",
     .run = run_watch},
    {.name = "unwatch",
     .arity = 1,
     .flags =
         COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE | COMMAND_FAST | COMMAND_ALLOW_BUSY,
     .group = "transactions",
     .since = "2.2.0",
     .summary = "Forget about all watched keys",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "transaction",
     .run = run_unwatch},
    {.name = NULL}};

COMMANDS(transaction, entries)
