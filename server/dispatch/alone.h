/* A command that is alone with the store: it takes several turns, is one record of the journal
 * nevertheless, and nobody sees a part of it.
 *
 * An EXEC is one. Until it ends nothing is committed, no tick and no waiter runs, and requests
 * that need the store, or could change who may do what, wait. What does not need the store goes
 * on: connections come and go, PING, AUTH, PUBLISH, INFO, HTTP. Its slices follow each other
 * without anything else of the store between them, so they see what one step would see.
 *
 * It always ends. When its client goes away, or the server stops, the rest is done at once.
 * It is dropped when the store fails, with all that was not committed, and when its client goes
 * away while it only reads. */
#ifndef DUEQ_ALONE_H
#define DUEQ_ALONE_H

#include "server/dispatch/context.h"

/* ---- for handlers */

enum {
    ALONE_AFTER = 4000, /* steps that a command takes at once: some ms */
    ALONE_STEPS = 500   /* of a slice; a step is an argument, LONG_STEP_BYTES of one, or ... */
};
enum { ALONE_STEP_BYTES = 32 }; /* ... so many bytes of reply, or that monitors are shown */

/* Steps that may be taken now; after them alone_put_off. SIZE_MAX: all that is left. */
size_t alone_budget(const struct context *context);
/* Makes the command go on in a later slice, of the EXEC that it is in or its own. Its
 * long_work_state is a copy of the state then, made with malloc; free_state frees it. To be
 * called once. False: there is no memory for that; nothing is written, and the caller takes the
 * rest at once. */
bool alone_put_off(struct context *context, const void *state, size_t size,
                   void (*free_state)(void *));

/* The command, a long work that holds nothing (LONG_HOLDS_NOTHING), is alone from its next
 * slice on, until it ends or leaves. In an EXEC, which is alone: no-op. */
void alone_enter(struct context *context);
void alone_leave(struct context *context);
/* Is it, or the EXEC that it is in? */
bool alone_has(const struct context *context);

/* The command, which has changed nothing so far, goes on as one that begins in this slice: its
 * state is freed, it is alone no more, and it may become a long work that others see. */
void alone_begin_anew(struct context *context);
/* Is the command to do all that is left at once, because its client has gone or the server
 * stops? Not in an EXEC. */
bool alone_hurries(const struct context *context);
/* For a command that has changed nothing yet: true, with an error as its reply, when it would
 * have to hurry. */
bool alone_gives_up(struct context *context);

/* ---- for dispatch.c, waiters.c */

/* Does a slice of the session's command run, or is it yet to run? */
bool alone_is(const struct server *server, const struct session *session);
/* The command has its outcome. */
void alone_end(struct server *server, const struct session *session);
/* Drops it: nothing has been changed, or the store is given up. */
void alone_drop(struct server *server);
/* The session ends. True: while a slice of its own EXEC runs, so its waiter stays until the
 * rest is done, which is the next slice. */
bool alone_goes_on(struct server *server, const struct session *session);
/* To be called before the session's waiter is freed: what is left is done at once, unless it
 * only reads. */
void alone_finish(struct server *server, struct session *session);

/* ---- for the loop */

bool alone_runs(const struct server *server);
/* Must the request wait for the end of another client's command? */
bool alone_holds(const struct server *server, const struct session *session,
                 const struct request *request);
/* Slices, until the turn is long. */
void alone_turn(struct server *server);
/* The waiters have seen what it has changed: requests may run again. */
void alone_settled(struct server *server);
/* Does what is left at once. */
void alone_finish_all(struct server *server);

#endif
