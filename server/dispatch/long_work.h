/* Commands whose work grows with what is stored and not with their request: they go on in later
 * turns, a slice at a time, while everybody else is served between.
 *
 * The handler of such a command does what is short at once. For what is long it makes a state
 * and calls long_work_continue; from then on it runs again in later turns, with the same
 * arguments and the state as long_work_state, does about LONG_STEPS steps a run, and answers
 * OUTCOME_WAIT until its reply is written. In an EXEC (may_wait false) nothing can go on later:
 * the whole is done at once, up to LONG_WHOLE steps, and refused beyond.
 *
 * Others' requests that would write a key which it holds wait until it ends; those that read it
 * go on, and so do long works that only read. Once somebody waits for a key, no work begins
 * that would hold it: its handler runs anew, without a state, when the key is free. What has no
 * key to name (FLUSHALL, an expiry) and what was served meanwhile changes the key all the same:
 * long_work_keys_changed. A client that goes away ends its work before the next slice. */
#ifndef DUEQ_LONG_WORK_H
#define DUEQ_LONG_WORK_H

#include "server/dispatch/command.h"

struct keys_change;
struct long_work;
struct long_works;

enum {
    LONG_STEPS = 1000,            /* of a slice: elements looked at, copied or written */
    LONG_ENOUGH = 4 * LONG_STEPS, /* what takes no more is done at once */
    LONG_WHOLE = 1000000
};

/* What others shall not write meanwhile, of the keys that the command's key_specs find, in the
 * session's database; and when the reply leaves. */
enum long_hold {
    LONG_STREAMS,       /* nothing, and what is written of the reply leaves after each slice */
    LONG_HOLDS_NOTHING, /* the reply leaves as a whole, as with those below */
    LONG_HOLDS_SOURCES, /* all but keys that it only overwrites (OW) */
    LONG_HOLDS_KEYS     /* all of them */
};

struct long_works *long_works_new(void); /* NULL: out of memory */
void long_works_free(struct long_works *works);

/* ---- for handlers */

/* Makes the command go on in later turns; the first time takes the state over, which is freed
 * by free_state when the command has answered or its client is gone. Nothing of the reply may
 * have been written then, but for LONG_STREAMS. Returns OUTCOME_WAIT, or OUTCOME_DONE with the
 * error written. A command that stores (COMMAND_WRITE) and holds something waits until few
 * others do; the others take turns from the start. Cost: the keys. */
enum outcome long_work_continue(struct context *context, void *state,
                                void (*free_state)(void *), enum long_hold hold);
/* NULL: the command runs for the first time, or anew. */
void *long_work_state(const struct context *context);
/* True once after one of the keys that it holds may have changed, by whatever. */
bool long_work_keys_changed(const struct context *context);
/* Where the command's reply begins in context->reply, the slices before included: to take it
 * back, or to put its header there. */
size_t long_work_reply_begin(const struct context *context);
/* After long_work_continue: before each slice what is written of the reply is put by, so that
 * the handler may reply something else; context_take_up_reply puts it back, as the first thing
 * that is done with the reply. */
void context_put_reply_by(struct context *context);
void context_take_up_reply(struct context *context);
/* Instead of long_work_continue when the reply is written in pieces, and the client has to read
 * before there is more: the command runs again when its output has left. */
enum outcome long_work_continue_when_read(struct context *context);
/* Is so much of the reply unread that no more of it should be written? */
bool long_work_reply_is_unread(const struct context *context);
/* The state holds so many bytes, which count as the client's. It goes when clients hold too
 * much, and this ends the work before its next slice. */
void context_state_holds(struct context *context, size_t bytes);
/* False, with the error written: more than LONG_WHOLE steps within an EXEC. */
bool long_work_fits_transaction(struct context *context, uint64_t steps);

/* ---- for the loop */

/* One slice of one of them, in turn. */
void long_works_turn(struct server *server);
/* ms until there is a slice to run; DUEQ_NEVER. */
int64_t long_works_next(const struct server *server);
/* The session's output has left. */
void long_works_drained(struct server *server, struct session *session);
/* Has the request to wait because it may write a key that is busy? */
bool long_works_hold(const struct server *server, const struct session *session,
                     const struct request *request);
/* A key may be another value now; name.size 0 with `flushed`: all keys of the database. */
void long_works_note(struct server *server, const struct keys_change *change);
/* True once after a key has become free. */
bool long_works_freed(struct server *server);
size_t long_works_count(const struct long_works *works);

/* ---- for waiters.c: NULL is fine */
void long_work_release(struct server *server, struct long_work *work);
/* What its state holds. */
size_t long_work_bytes(const struct long_work *work);
/* Does the reply wait for its end? And is it put by between the slices? */
bool long_work_is_whole(const struct long_work *work);
bool long_work_puts_by(const struct long_work *work);

#endif
