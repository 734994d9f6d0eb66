/* Claimed jobs that have to do with the connection that claimed them: the lease ends with it
 * (BOUND), or it is told when the job is cancelled (NOTIFY). In RAM only: after a restart they
 * are jobs under a plain lease. What has become of a job meanwhile is not noticed here: a token
 * says whether the claim still counts. */
#ifndef DUEQ_BOUND_JOBS_H
#define DUEQ_BOUND_JOBS_H

#include "storage/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bound_job;
struct server;
struct session;

enum {
    BOUND_ENDS = 1, /* the lease ends with the connection */
    BOUND_TELLS = 2 /* the client is told of a cancel */
};

#define BOUND_JOBS_MAX 100000 /* of a session, or some more */

struct bound_jobs {
    struct bound_job *by_token; /* (uthash) */
    struct bound_job
        *loose; /* their connections are gone: their leases are to be ended (utlist) */
};

/* The session has claimed the job. flags: BOUND_*. Looks at two older jobs of the session and
 * forgets those whose claim has ended, so that it holds at most some more than it has under
 * lease. False: out of memory. O(1). */
bool bound_jobs_add(struct server *server, struct session *session, struct dueq_slice topic,
                    struct dueq_slice id, int64_t token, unsigned flags);
/* The connection ends: what is bound to it is given back in the next turns. While the server
 * stops the leases stay: the worker goes on, and finds the server again. O(jobs of the
 * session). */
void bound_jobs_leave(struct server *server, struct session *session);
/* Ends some leases of connections that are gone. To be called when the store takes changes. */
void bound_jobs_turn(struct server *server);
/* All of them are jobs under a plain lease from now on: before the store is opened anew, as it
 * may have lost claims, and before the end. */
void bound_jobs_forget(struct server *server);
static inline bool bound_jobs_is_busy(const struct bound_jobs *jobs)
{
    return jobs->loose != NULL;
}
/* Has a client asked for messages? If not, nobody needs to know the token of a cancelled job.
 */
static inline bool bound_jobs_any(const struct bound_jobs *jobs)
{
    return jobs->by_token != NULL;
}
/* The claim of that token is cancelled: the client that has it gets the push message
 * "cancelled", topic, id, token, if it asked for that and speaks RESP3. O(1). */
void bound_jobs_tell_cancelled(struct server *server, struct dueq_slice topic, int64_t token);

#endif
