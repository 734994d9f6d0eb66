#include "server/dispatch/dispatch.h"

#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "server/dispatch/permission.h"
#include "server/server.h"
#include "server/session/monitors.h"
#include "server/session/transaction.h"
#include "server/session/waiters.h"
#include "server/statistics/command_stats.h"
#include "storage/keys/state/access.h"
#include "storage/keys/keys.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    SHOWN_ARGUMENTS = 128, /* bytes of an unknown command's arguments in its error */
    RECORDS_MOST = 1024,   /* bytes that an argument can add to the store beside its own */
    RECORD_LEAST = 128     /* what it adds in most cases: an EXEC may have millions */
};

/* ---- finding the command */

/* Redis' own text: the name, and arguments until 128 bytes are shown. */
static void unknown_command(struct context *context)
{
    const struct request *request = context->request;
    char shown[SHOWN_ARGUMENTS * 2 + 16] = "";
    size_t used = 0;

    for (size_t i = 1; i < request->count && used < SHOWN_ARGUMENTS; i++)
        used += (size_t)snprintf(shown + used, sizeof(shown) - used, "'%.*s' ",
                                 (int)(SHOWN_ARGUMENTS - used), request->arguments[i].data);
    resp_errorf(context->reply, "ERR unknown command '%.128s', with args beginning with: %s",
                request->arguments[0].data, shown);
}

/* The first words of an HTTP request, read as commands: a web page can make a browser send one,
 * and its body would come next. */
static bool is_http(struct argument name)
{
    return argument_is(name, "post") || argument_is(name, "host:");
}

static enum outcome cut_off_http(const struct context *context)
{
    log_write_limited(LOG_WARNING,
                      "Possible SECURITY ATTACK detected. It looks like somebody is sending "
                      "POST or Host: commands to dueq. This is likely due to an attacker "
                      "attempting to use Cross Protocol Scripting to compromise your dueq "
                      "instance. Connection from %s aborted.",
                      context->session->address);
    return OUTCOME_CLOSE;
}

/* Sets context->command, to a subcommand where one is named. False: the error is written. */
static bool find_command(struct context *context)
{
    const struct request *request = context->request;
    const struct command *command = command_find(request->arguments[0]);

    if (command == NULL) {
        unknown_command(context);
        return false;
    }
    context->command = command;
    if (command->subcommands == NULL || request->count == 1)
        return true;
    command = command_find_sub(command, request->arguments[1]);
    if (command == NULL) {
        context_unknown_subcommand(context);
        return false;
    }
    context->command = command;
    return true;
}

/* Redis' text, which clients look for: they try again. */
static const char loading_error[] = "LOADING Redis is loading the dataset in memory";

static bool fails_for_loading(const struct server *server, unsigned flags)
{
    return server->loading && !(flags & COMMAND_LOADING);
}

/* The flags of what the request runs, with those of the queued commands for an EXEC. 0: it will
 * fail for its form or before login. */
static unsigned request_flags(const struct session *session, const struct request *request)
{
    const struct command *command = command_find_request(request);

    if (command == NULL || !command_arity_fits(command, request->count) ||
        (!session->authenticated && !(command->flags & COMMAND_NO_AUTH)))
        return 0;
    if ((command->flags & COMMAND_RUNS_QUEUE) && session->transaction != NULL)
        return command->flags | transaction_flags(session->transaction);
    return command->flags;
}

bool dispatch_is_paused(const struct server *server, const struct session *session,
                        const struct request *request)
{
    unsigned flags = request_flags(session, request);

    return flags != 0 && !fails_for_loading(server, flags) && server_pauses(server, flags);
}

bool dispatch_is_late(const struct session *session, const struct request *request)
{
    unsigned flags = request_flags(session, request);

    return session->is_late && flags != 0 && !(flags & (COMMAND_ALLOW_BUSY | COMMAND_STALE));
}

unsigned dispatch_write_flags(const struct session *session, const struct request *request)
{
    unsigned flags = request_flags(session, request);

    if (session->transaction != NULL && !(flags & COMMAND_RUNS_QUEUE))
        return 0;
    return flags & (COMMAND_WRITE | COMMAND_DENYOOM);
}

/* ---- may it run? */

static bool is_exec(const struct context *context)
{
    return (context->command->flags & COMMAND_RUNS_QUEUE) &&
           context->session->transaction != NULL;
}

/* An EXEC needs what the commands in it need: it runs as a whole or not at all. */
static unsigned wanted_flags(const struct context *context)
{
    return context->command->flags |
           (is_exec(context) ? transaction_flags(context->session->transaction) : 0);
}

static bool wants_store(const struct context *context)
{
    return is_exec(context) ? transaction_needs_store(context->session->transaction)
                            : command_needs_store(context->command);
}

static const char protected_error[] =
    "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", "
    "you "
    "can run it from a local connection, otherwise you need to set this option in the "
    "configuration file, and then restart the server.";

/* The error for a command that the session may not run now. NULL: it may. */
static const char *forbidden(const struct context *context)
{
    const struct session *session = context->session;
    unsigned flags = context->command->flags;

    if ((flags & COMMAND_PROTECTED) && !context->server->config.enable_debug_command)
        return protected_error;
    if (!session->authenticated && !(flags & COMMAND_NO_AUTH))
        return "NOAUTH Authentication required.";
    if (session->transaction != NULL && (flags & COMMAND_NO_MULTI))
        return "ERR Command not allowed inside a transaction";
    return NULL;
}

/* The bytes that a request may add to the store: its arguments, and for each of them records
 * with keys. A command that can add more asks for room itself. */
static size_t growth(const struct context *context)
{
    const struct request *request = context->request;
    const struct transaction *transaction = context->session->transaction;

    if (is_exec(context))
        return transaction_bytes(transaction) + transaction_count(transaction) * RECORDS_MOST +
               transaction_arguments(transaction) * RECORD_LEAST;
    return request->bytes + request->count * RECORDS_MOST;
}

/* proto-max-bulk-len may be greater than what the store keeps as one value. */
static bool is_too_large(const struct request *request)
{
    if (request->bytes > DUEQ_BODY_MAX)
        for (size_t i = 0; i < request->count; i++)
            if (request->arguments[i].size > DUEQ_BODY_MAX)
                return true;
    return false;
}

/* False: the error is written. */
static bool finds_room(struct context *context)
{
    enum dueq_status status;

    if (is_too_large(context->request))
        status = DUEQ_TOOBIG;
    else if (is_exec(context))
        /* room cannot end between two commands of the EXEC */
        status = dueq_reserve_room(context->store, growth(context));
    else
        status = dueq_room(context->store, growth(context));
    if (status != DUEQ_OK)
        context_status(context, status);
    return status == DUEQ_OK;
}

/* Can the store run the command? False: the error is written. */
static bool store_allows(struct context *context)
{
    if (context->store == NULL && wants_store(context) && !context->server->loading) {
        resp_errorf(context->reply,
                    "MISCONF dueq cannot use its store (%s). It is reopened every second; "
                    "nothing that was acknowledged is lost",
                    server_failure(context->server));
        return false;
    }
    if (context->store == NULL)
        return true;
    if (wanted_flags(context) & COMMAND_DENYOOM)
        return finds_room(context);
    if ((wanted_flags(context) & COMMAND_WRITE) && dueq_drains(context->store) == DUEQ_FULL) {
        resp_error(context->reply, "FULL there is no room, and what was set aside for claims, "
                                   "acks and deletes is used up: free some of the disk");
        return false;
    }
    return true;
}

/* After the rights. False: the error is written. */
static bool allows_now(struct context *context)
{
    const struct command *command = context->command;

    if (!store_allows(context))
        return false;
    if (session_listens(context->session) && !(command->flags & COMMAND_SUBSCRIBED)) {
        resp_errorf(
            context->reply,
            "ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT "
            "/ RESET are allowed in this context",
            command_full_name(command));
        return false;
    }
    if (fails_for_loading(context->server, command->flags)) {
        resp_error(context->reply, loading_error);
        return false;
    }
    return true;
}

/* The order is Redis': a client that is not logged in gets errors for a bad name or arity, and
 * no other. The commands of an EXEC were checked when they were queued; the rights of their
 * user may have changed since. */
static enum permission admit(struct context *context)
{
    enum permission permission;
    const char *why;

    if (context->queued)
        return permission_check(context);
    if (alone_is(context->server, context->session))
        return PERMISSION_GIVEN; /* it has begun */
    if (!command_arity_fits(context->command, context_count(context))) {
        context_arity_error(context);
        return PERMISSION_REFUSED;
    }
    why = forbidden(context);
    if (why != NULL) {
        resp_error(context->reply, why);
        return PERMISSION_REFUSED;
    }
    permission = permission_check(context);
    if (permission == PERMISSION_GIVEN && !allows_now(context))
        permission = PERMISSION_REFUSED;
    return permission;
}

/* ---- MULTI */

static bool is_queued(const struct context *context)
{
    return context->session->transaction != NULL && !context->queued &&
           !(context->command->flags & COMMAND_UNQUEUED);
}

static enum outcome queue(struct context *context)
{
    enum dueq_status status = transaction_queue(context->session->transaction, context);

    if (status != DUEQ_OK)
        return context_status(context, status);
    resp_simple(context->reply, "QUEUED");
    return OUTCOME_DONE;
}

/* A request that cannot be queued makes EXEC abort. */
static void fail_transaction(struct context *context)
{
    if (context->session->transaction != NULL && !context->queued)
        transaction_fail(context->session->transaction);
}

void dispatch_abort_exec(struct context *context, size_t mark)
{
    struct buffer *out = context->reply->out;
    char text[512];
    const char *why = text;

    snprintf(text, sizeof(text), "%.*s", (int)(buffer_size(out) - mark - 3),
             buffer_content(out) + mark + 1);
    if (strncmp(why, "ERR ", 4) == 0)
        why += 4;
    buffer_truncate(out, mark);
    transaction_end(context);
    resp_errorf(context->reply, "EXECABORT Transaction discarded because of: %s", why);
}

/* ---- running it */

static bool replied_error(const struct context *context, size_t mark)
{
    const struct buffer *out = context->reply->out;

    return buffer_size(out) > mark && buffer_content(out)[mark] == '-';
}

/* Monitors are shown a command when it begins, whether it waits or not, and an EXEC after what
 * it runs. */
static bool is_shown(const struct context *context, bool begins, enum outcome outcome)
{
    return (context->command->flags & COMMAND_RUNS_QUEUE) ? outcome != OUTCOME_WAIT : begins;
}

/* A command that waits is one call, which is recorded when it ends. */
static void note_run(const struct context *context, struct command_stats *stats, uint64_t began,
                     bool begins, enum outcome outcome)
{
    uint64_t now = clock_usec(), usec = now - began;
    bool fast = context->command->flags & COMMAND_FAST;

    if (is_shown(context, begins, outcome))
        monitors_show(context);
    stats->calls += begins;
    stats->usec += usec;
    turn_watch_command(&context->server->turn, context->command, usec, now);
    if (outcome == OUTCOME_WAIT)
        return;
    command_stats_time(stats, usec);
    latency_note(&context->server->latency, fast ? LATENCY_FAST_COMMAND : LATENCY_COMMAND, usec,
                 context->server->config.latency_threshold, context->now.wall / 1000);
    if (!(context->command->flags & COMMAND_SKIP_SLOWLOG))
        slowlog_note(context, usec);
}

static unsigned key_use(const struct context *context)
{
    unsigned flags = context->command->flags, use = 0;

    if ((flags & COMMAND_TOUCHES) ||
        (!(flags & COMMAND_NO_TOUCH) && !context->session->no_touch))
        use |= ACCESS_TOUCH;
    if ((flags & (COMMAND_READONLY | COMMAND_LOOKS_UP)) && long_work_state(context) == NULL &&
        !context->again)
        use |= ACCESS_COUNT; /* once, not for each slice */
    return use;
}

/* A command that only reads fails for damage that it passed over. A command that writes checks
 * each status itself, and its reply may contain what it has removed. */
static void notice_damage(struct context *context)
{
    if (context->failed == DUEQ_OK && (context->command->flags & COMMAND_READONLY) &&
        dueq_damage(context->store)[0] != '\0')
        context->failed = DUEQ_CORRUPT;
}

/* An error replaces the whole reply, because a reply cannot contain one in its middle. */
static enum outcome finish_failure(struct context *context, size_t mark, enum outcome outcome)
{
    if (context->failed == DUEQ_OK ||
        (outcome == OUTCOME_WAIT && context->waiter == NULL && context->nested == NULL))
        return outcome;
    buffer_truncate(context->reply->out, mark);
    context_tell_failure(context);
    return outcome == OUTCOME_WAIT ? OUTCOME_DONE : outcome;
}

/* Can the command run again from the start, in a later turn? */
static bool may_run_again(const struct context *context)
{
    return context->may_wait && context->waiter == NULL &&
           (context->command->flags & (COMMAND_READONLY | COMMAND_READS_FIRST)) != 0;
}

/* The same of a slice. */
static bool may_slice_again(const struct context *context)
{
    return context->waiter != NULL && long_work_state(context) != NULL &&
           (context->command->flags & COMMAND_READS_ANEW) != 0;
}

static enum outcome slice_again(struct context *context, size_t mark)
{
    buffer_recover(context->reply->out, mark);
    context->failed = DUEQ_OK;
    return OUTCOME_WAIT;
}

/* It has met a large value that is still being checked, whatever it has made of that. */
static enum outcome run_again(struct context *context, size_t mark, enum outcome outcome)
{
    if (alone_is(context->server, context->session))
        alone_drop(context->server); /* it only reads */
    if (outcome == OUTCOME_WAIT)
        waiters_cancel(context->server, context->session);
    buffer_recover(context->reply->out, mark);
    context->failed = DUEQ_OK;
    return OUTCOME_AGAIN;
}

/* What the reply of a command that was about no topic asks for. One that is about the queue may
 * tell of any topic. */
static unsigned asks_without_topic(const struct context *context)
{
    if ((context->command->flags & COMMAND_RUNS_QUEUE) && context->server->asks != 0)
        return 0; /* what its commands ask for */
    return strcmp(context->command->group, "queue") == 0 ? ASKS_MODE | ASKS_ALWAYS : ASKS_MODE;
}

/* The reply to one that controls a transaction tells nothing about the store. */
static void note_asks(const struct context *context)
{
    unsigned flags = context->command->flags;
    unsigned asks = context->store == NULL ? 0 : store_settle(context->store);

    if ((flags & COMMAND_STORELESS) ||
        ((flags & COMMAND_UNQUEUED) && !(flags & COMMAND_RUNS_QUEUE)))
        return;
    context->server->asks |= asks == 0 ? asks_without_topic(context) : asks;
}

static enum outcome run(struct context *context, size_t mark)
{
    bool uses_keys = context->store != NULL &&
                     (context->command->flags & (COMMAND_READONLY | COMMAND_WRITE)) != 0;
    bool slices_again = uses_keys && may_slice_again(context);
    enum outcome outcome;

    if (uses_keys) {
        access_begin(store_keys(context->store), key_use(context), context->now.now);
        dueq_forget_damage(context->store);
        if (may_run_again(context) || slices_again)
            dueq_begin_slices(context->store);
    }
    if (context->store != NULL)
        store_settle(context->store); /* what came before is not of this command */
    long_work_keep_time(context);
    context->server->running++;
    outcome = context->command->run(context);
    context->server->running--;
    note_asks(context);
    if (uses_keys) {
        access_end(store_keys(context->store));
        if (may_run_again(context) && dueq_end_slices(context->store))
            return run_again(context, mark, outcome);
        if (slices_again && dueq_end_slices(context->store))
            return slice_again(context, mark);
        notice_damage(context);
    }
    return finish_failure(context, mark, outcome);
}

/* It neither was blocked nor is this a slice. */
static bool runs_first(const struct context *context)
{
    return context->waiter == NULL &&
           (context->nested == NULL || context->nested->state == NULL);
}

/* When a command begins that runs now, usec. */
static uint64_t beginning(const struct server *server)
{
    return server->turn.in_row ? server->turn.seen : clock_usec();
}

static enum outcome admit_and_run(struct context *context, size_t mark)
{
    struct command_stats *stats = command_stats_of(context->command);
    bool begins = runs_first(context);
    enum permission permission = admit(context);
    enum outcome outcome;
    uint64_t began;

    if (permission == PERMISSION_LATER)
        return OUTCOME_AGAIN;
    if (permission == PERMISSION_REFUSED) {
        stats->rejected++;
        fail_transaction(context);
        if ((context->command->flags & COMMAND_RUNS_QUEUE))
            dispatch_abort_exec(context, mark);
        return OUTCOME_DONE;
    }
    if (is_queued(context))
        return queue(context);
    began = beginning(context->server);
    outcome = run(context, mark);
    if (outcome == OUTCOME_AGAIN)
        return outcome;
    note_run(context, stats, began, begins, outcome);
    stats->failed += replied_error(context, mark);
    return outcome;
}

enum outcome dispatch_command(struct context *context)
{
    size_t mark =
        runs_first(context) ? buffer_size(context->reply->out) : long_work_reply_begin(context);
    struct server_stats *stats = &context->server->stats;
    enum outcome outcome = OUTCOME_DONE;

    assert(context->request->count > 0 && context->session != NULL);
    stats->commands_processed += runs_first(context) && !context->again;
    if (find_command(context)) {
        context->session->last_command = context->command;
        outcome = admit_and_run(context, mark);
    } else {
        fail_transaction(context);
        if (is_http(context->request->arguments[0])) {
            buffer_truncate(context->reply->out, mark);
            outcome = cut_off_http(context);
        }
    }
    if (outcome != OUTCOME_WAIT && !context->queued)
        alone_end(context->server, context->session);
    if (replied_error(context, mark)) {
        stats->errors++;
        error_stats_count(buffer_content(context->reply->out) + mark,
                          buffer_size(context->reply->out) - mark);
    }
    return outcome;
}
