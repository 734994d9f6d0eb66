/* Commands whose work grows with what is stored and not with their request: they go on in later
 * turns, a slice at a time, while everybody else is served between.
 *
 * The handler of such a command does what is short at once. For what is long it makes a state
 * and calls context_go_on; from then on it runs again in later turns, with the same arguments
 * and the state as context_state, does about LONG_STEPS steps a run, and answers OUTCOME_WAIT
 * until its reply is written. In an EXEC (may_wait false) nothing can go on later: the whole is
 * done at once, up to LONG_WHOLE steps, and refused beyond. */
#ifndef DUEQ_SERVER_LONG_WORK_H
#define DUEQ_SERVER_LONG_WORK_H

#include "server/command.h"

struct long_work;
struct long_works;

enum {
    LONG_STEPS = 1000,            /* of a slice: elements looked at, copied or written */
    LONG_ENOUGH = 4 * LONG_STEPS, /* what takes no more is done at once */
    LONG_WHOLE = 1000000
};

struct long_works *long_works_new(void); /* NULL: out of memory */
void long_works_free(struct long_works *works);

/* ---- for handlers */

/* Makes the command go on in later turns; the first time takes the state over, which is freed
 * by free_state when the command has answered or its client is gone. busy_key: the argument
 * that names a key of the session's database which others shall not write meanwhile: their
 * requests wait; 0: none. Returns OUTCOME_WAIT, or OUTCOME_DONE with the error written. */
enum outcome context_go_on(struct context *context, void *state, void (*free_state)(void *),
                           size_t busy_key);
/* NULL: the command runs for the first time. */
void *context_state(const struct context *context);
/* Instead of context_go_on when the reply is written in pieces, and the client has to read
 * before there is more: the command runs again when its output has left. */
enum outcome context_go_on_when_read(struct context *context);
/* Is so much of the reply unread that no more of it should be written? */
bool context_reply_waits(const struct context *context);
/* False, with the error written: more than LONG_WHOLE steps within an EXEC. */
bool context_whole_is_bearable(struct context *context, uint64_t steps);

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
/* True once after a key has become free. */
bool long_works_freed(struct server *server);
size_t long_works_count(const struct long_works *works);

/* ---- for waiters.c: NULL is fine */
void long_work_release(struct server *server, struct long_work *work);

#endif
