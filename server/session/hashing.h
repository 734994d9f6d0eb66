/* Sessions that wait in a command for slow hashes: the thread of server/acl/hasher.h computes
 * them, and the command runs again when they are there. */
#ifndef DUEQ_HASHING_H
#define DUEQ_HASHING_H

#include "server/acl/hasher.h"
#include "server/dispatch/context.h"

/* False: too many wait, and the command must try again later. */
bool hashing_has_room(const struct context *context);
/* Gives the job away and makes the session wait for it; one that waits already goes on to wait.
 * Its deadline does not end that. Returns OUTCOME_WAIT, or OUTCOME_DONE with the error written.
 * Not within EXEC, and only when hashing_has_room. */
enum outcome hashing_wait(struct context *context, struct hash_job *job);
/* The job that is done; it lives until the wait ends. NULL: it is not done. */
const struct hash_job *hashing_result(const struct context *context);

/* ---- for the loop */

/* Runs the commands again whose hashes are there. O(1) each. */
void hashing_serve(struct server *server);
/* For waiters.c: the session's wait has ended. No-op when it does not wait for hashes. */
void hashing_end(struct server *server, struct session *session);

#endif
