#include "server/dispatch/alone.h"

#include "server/dispatch/long_work.h"
#include "server/server.h"
#include "server/session/session.h"
#include "server/session/waiters.h"
#include "storage/store.h"

#include <assert.h>

/* ---- for handlers */

size_t alone_budget(const struct context *context)
{
    const struct alone *alone = &context->server->alone;

    if (alone->hurries)
        return SIZE_MAX;
    if (context->nested != NULL)
        return context->nested->state != NULL ? ALONE_STEPS : ALONE_AFTER;
    return alone->session == context->session ? ALONE_STEPS : ALONE_AFTER;
}

bool alone_put_off(struct context *context, const void *state, size_t size,
                   void (*free_state)(void *))
{
    struct alone *alone = &context->server->alone;

    assert(alone->session == NULL || context->nested != NULL);
    if (!long_work_try(context, state, size, free_state))
        return false;
    if (context->nested == NULL)
        alone->session = context->session;
    return true;
}

void alone_enter(struct context *context)
{
    struct alone *alone = &context->server->alone;

    assert(alone->session == NULL || context->nested != NULL);
    if (context->nested == NULL)
        alone->session = context->session;
}

void alone_leave(struct context *context)
{
    if (context->nested == NULL)
        alone_end(context->server, context->session);
}

bool alone_has(const struct context *context)
{
    return context->nested != NULL || alone_is(context->server, context->session);
}

void alone_begin_anew(struct context *context)
{
    long_work_forget(context);
    alone_leave(context);
}

bool alone_hurries(const struct context *context)
{
    return context->nested == NULL && alone_is(context->server, context->session) &&
           context->server->alone.hurries;
}

bool alone_gives_up(struct context *context)
{
    if (!alone_hurries(context))
        return false;
    resp_error(context->reply, "ERR the server is about to stop, and nothing was changed");
    return true;
}

/* ---- its life */

bool alone_is(const struct server *server, const struct session *session)
{
    return server->alone.session == session;
}

bool alone_runs(const struct server *server)
{
    return server->alone.session != NULL;
}

void alone_drop(struct server *server)
{
    server->alone.session = NULL;
    server->alone.hurries = false;
}

/* Watches of other clients learn of the changes when the waiters are served. */
void alone_end(struct server *server, const struct session *session)
{
    if (server->alone.session != session)
        return;
    alone_drop(server);
    server->alone.settles = true;
}

void alone_settled(struct server *server)
{
    if (!server->alone.settles || server->alone.session != NULL)
        return;
    server->alone.settles = false;
    server->pause_ended = true; /* those that are held go on */
}

void alone_turn(struct server *server)
{
    do {
        waiters_run(server, server->alone.session);
        waiters_note_changes(server);
        if (server->store != NULL)
            store_prepare(server->store); /* or the commit would do it for all of it at once */
    } while (server->alone.session != NULL && server_part_may_go_on(server));
}

/* ---- requests of others */

/* What reads or writes keys and topics, or says who may do so. */
static bool meddles(const struct command *command)
{
    return command_needs_store(command) || command->key_specs != NULL ||
           (command->flags & (COMMAND_ADMIN | COMMAND_RUNS_QUEUE)) != 0;
}

bool alone_holds(const struct server *server, const struct session *session,
                 const struct request *request)
{
    const struct command *command;

    if (server->alone.session == NULL && !server->alone.settles)
        return false;
    command = command_find_request(request);
    if (command == NULL || !command_arity_fits(command, request->count))
        return false; /* it will fail */
    return meddles(command) &&
           (session->transaction == NULL || (command->flags & COMMAND_UNQUEUED));
}

static void finish(struct server *server, struct session *session)
{
    server->alone.hurries = true;
    waiters_run_rest(server, session);
    alone_end(server, session);
}

/* Nobody gets the reply, and it has no other effect. */
static bool is_for_nothing(const struct session *session)
{
    const struct command *command = command_find_request(waiters_request_of(session->waiter));

    return (command->flags & COMMAND_READONLY) != 0;
}

void alone_finish(struct server *server, struct session *session)
{
    if (server->alone.session != session)
        return;
    if (is_for_nothing(session))
        alone_end(server, session);
    else
        finish(server, session);
}

bool alone_goes_on(struct server *server, const struct session *session)
{
    if (server->alone.session != session || server->running == 0)
        return false;
    server->alone.hurries = true;
    return true;
}

void alone_finish_all(struct server *server)
{
    if (server->alone.session != NULL)
        finish(server, server->alone.session);
}
