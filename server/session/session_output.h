/* What the server does with a session's client, without knowing its connection: runs requests
 * for it and writes to it. Implemented by server/net/. All calls are O(1) but for the command
 * that runs and the bytes that are written; none of them frees the session. */
#ifndef DUEQ_SESSION_OUTPUT_H
#define DUEQ_SESSION_OUTPUT_H

#include "server/dispatch/context.h"

/* Runs the request; the reply goes to the session's output. `waiter` is not NULL when the
 * session waits in this request, `timed_out` when its deadline has passed. Answers what the
 * handler answered; OUTCOME_DONE when the client was cut off meanwhile. */
enum outcome session_run(struct session *session, const struct request *request,
                         const struct waiter *waiter, bool timed_out);
/* A wait or a pause is over: the session goes on, in this turn or the next one, with the
 * requests that are already read. */
void session_resume(struct session *session);
/* Before a slice of a long command: when the peer has closed and nothing is left to run, the
 * session is closed, which ends the command. */
void session_check_peer(struct session *session);
/* The same for a blocked session: is it still there to take what cannot be given back? */
void session_check_blocked_peer(struct session *session);
/* What the session holds has changed in size: counts it anew, and cuts off the largest clients
 * when all of them together hold too much. */
void session_account(struct session *session);

/* Appends what CLIENT LIST shows of it. */
void session_describe(struct session *session, struct buffer *text);

/* Writes an error as the reply to a request of the session. */
void session_reply_error(struct session *session, const char *text);

/* Around a message that the client did not ask for: a publication, a line of MONITOR. The
 * writer is valid until session_push_end. A message for a client whose command is running
 * comes before the reply, or after it when the reply has begun. */
struct resp_writer *session_push_begin(struct session *session);
void session_push_end(struct session *session);

/* ---- replies that are written in several turns */

/* Bytes of output before the reply of the command that runs. */
size_t session_reply_begin(const struct session *session);
/* Puts back the part of the reply that was set aside before the slice. No-op when nothing
 * was. */
void session_restore_reply(struct session *session);
/* Removes the part of a reply that is written so far: the reply will have no end. */
void session_drop_reply(struct session *session);

#endif
