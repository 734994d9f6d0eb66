/* Commands whose work grows with what is stored and not with their request: they go on in later
 * turns, a slice in each turn, and other clients are served between the slices.
 *
 * The handler of such a command does what is short at once. For what is long it makes a state
 * and calls long_work_continue; from then on it runs again in later turns, with the same
 * arguments and the state as long_work_state, does about LONG_STEPS steps a run, and answers
 * OUTCOME_WAIT until its reply is written. In an EXEC its slices are slices of that, which is
 * alone with the store (alone.h): no key changes between them. But what it writes is one record
 * of the journal then: more than LONG_WHOLE steps of that are an error.
 *
 * A request of another client that would write a key which a work holds waits until the work
 * ends; requests and works that only read the key go on. While a request waits for a key, no
 * work begins that would hold it: its handler runs again, without a state, when the key is
 * free. So does one whose client was blocked (BLMOVE). A change that names no key (FLUSHALL, an
 * expiry) happens all the same: long_work_keys_changed. SWAPDB does, too, but it waits for a
 * work that has begun again a few times. When a client goes away, its work ends before the next
 * slice. CLIENT PAUSE holds requests back and not a work that has begun: as in Redis, a command
 * that came before the pause is done. */
#ifndef DUEQ_LONG_WORK_H
#define DUEQ_LONG_WORK_H

#include "server/dispatch/context.h"
#include "storage/keys/state/changes.h"

struct long_work;
struct long_works;

enum {
    LONG_STEPS = 1000,            /* of a slice: elements looked at, copied or written */
    LONG_ENOUGH = 4 * LONG_STEPS, /* work of at most so many is done at once */
    LONG_WHOLE = 1000000,
    /* An element is one more step for so many of its bytes: to copy them, most of all into
     * memory that is new to the process, takes as long as to look for an element. */
    LONG_STEP_BYTES = 512,
    LONG_ENOUGH_BYTES = LONG_ENOUGH * LONG_STEP_BYTES
};

/* Which of the keys that the command's key_specs find, in the session's database, other clients
 * cannot write until the work ends; and when the reply leaves. */
enum long_hold {
    LONG_STREAMS,       /* nothing, and what is written of the reply leaves after each slice */
    LONG_HOLDS_NOTHING, /* the reply leaves as a whole; so with the next two */
    LONG_HOLDS_SOURCES, /* all keys but those that it only overwrites (OW) */
    LONG_HOLDS_KEYS     /* all of them */
};

struct long_works *long_works_new(void); /* NULL: out of memory */
void long_works_free(struct long_works *works);

/* ---- for handlers */

/* Makes the command go on in later turns. The first call takes over the state: free_state frees
 * it when the command has answered or its client is gone. Before the first call nothing of the
 * reply may be written, except with LONG_STREAMS. Returns OUTCOME_WAIT, or OUTCOME_DONE with
 * the error written. A command that stores (COMMAND_WRITE) and holds keys first waits until few
 * others do; all other works take turns from the start. Cost: O(keys). */
enum outcome long_work_continue(struct context *context, void *state,
                                void (*free_state)(void *), enum long_hold hold);
/* NULL: the command runs for the first time, or starts again. */
void *long_work_state(const struct context *context);
/* The same of a command that may have states of several kinds, one after the other: NULL, too,
 * when the state is not one that free_state frees. */
void *long_work_state_of(const struct context *context, void (*free_state)(void *));
/* For alone.c, wide.c and CONFIG GET: as long_work_continue, but the work holds no key, and may
 * have written a part of its reply. Its state is a copy of `size` bytes of `state`, made with
 * malloc; free_state frees it. False: out of memory; nothing is written. */
bool long_work_try(struct context *context, const void *state, size_t size,
                   void (*free_state)(void *));
/* For alone.c: frees the state. The next long_work_continue begins anew. */
void long_work_forget(struct context *context);
/* True once after each possible change of a key that the work holds. The work then begins from
 * its start, or a part of it does. */
bool long_work_keys_changed(const struct context *context);
/* For dispatch.c: a slice of what holds keys, or is alone with the store, sees the keys of the
 * moment when that began, or when a change was the last time new to it. So a key that expires
 * meanwhile is there until it is reclaimed, which is a change. */
void long_work_keep_time(struct context *context);
/* The work begins from its start, because a key that it holds has changed: to be called where
 * long_work_keys_changed does not say so. After the third time SWAPDB waits for it. */
void long_work_restarts(const struct context *context);
/* Where the command's reply begins in context->reply, the slices before included: to take it
 * back, or to put its header there. */
size_t long_work_reply_begin(const struct context *context);
/* After long_work_continue: from now on the reply that is written so far is set aside before
 * each slice, so that the handler may reply something else. long_work_restore_reply puts it
 * back; the handler calls it before it writes anything, or not at all. */
void long_work_set_reply_aside(struct context *context);
void long_work_restore_reply(struct context *context);
/* Instead of long_work_continue when the reply is written in pieces, and the client has to read
 * before there is more: the command runs again when its output has left. */
enum outcome long_work_continue_when_read(struct context *context);
/* The same until no file of users is being written (hasher_is_writing). */
enum outcome long_work_continue_when_written(struct context *context);
/* Is so much of the reply unread that no more of it should be written? */
bool long_work_reply_is_unread(const struct context *context);
/* Says how many bytes the state holds: they count as the client's. A client is closed when all
 * hold too much, and this ends its work before the next slice. */
void long_work_state_holds(struct context *context, size_t bytes);
/* False, with the error written: more than LONG_WHOLE steps within an EXEC. */
bool long_work_fits(struct context *context, uint64_t steps);

/* ---- for an EXEC */

/* The long work of one of its commands. All zero: there is none. */
struct nested_work {
    void *state;
    void (*free_state)(void *);
    size_t begin; /* of the command's reply, in bytes from that of the EXEC */
};

void nested_work_release(struct nested_work *nested);

/* ---- for the loop */

/* One slice of one of them, in turn; more while the turn of the loop is short. */
void long_works_turn(struct server *server);
/* ms until there is a slice to run; DUEQ_NEVER. */
int64_t long_works_next(const struct server *server);
/* To be called when the session's output has left. */
void long_works_drained(struct server *server, struct session *session);
/* Must the request wait, because it may write a key that a work holds? */
bool long_works_hold(const struct server *server, const struct session *session,
                     const struct request *request);
/* To be called when a key may have another value; `flushed`: all keys of the database. */
void long_works_note(struct server *server, const struct keys_change *change);
/* True once after a key has become free. */
bool long_works_freed(struct server *server);
size_t long_works_count(const struct long_works *works);

/* ---- for waiters.c */

/* Ends the work and frees its state. NULL: no-op. */
void long_work_release(struct server *server, struct long_work *work);
/* The bytes that its state holds; NULL: 0. */
size_t long_work_bytes(const struct long_work *work);
/* Does the reply leave as a whole? And is it set aside before each slice? */
bool long_work_is_whole(const struct long_work *work);
bool long_work_sets_reply_aside(const struct long_work *work);

#endif
