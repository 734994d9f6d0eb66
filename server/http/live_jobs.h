/* What happens to the jobs of a topic, or of all, for a stream: a session of its user is
 * subscribed to the channels __queue__:topic:event, or to __queue__:*, so the user needs the
 * right to these, and loses the events with it. Of all topics it is told of those that the user
 * may read. */
#ifndef DUEQ_LIVE_JOBS_H
#define DUEQ_LIVE_JOBS_H

#include "server/http/live_stream.h"

struct acl_user;
struct live_jobs;

enum { LIVE_JOBS_MAX = 300 /* events that a stream is told in a second; more are counted */ };

/* Tells the stream when it is refused. NULL: no session or memory. */
struct live_jobs *live_jobs_new(struct live_stream *stream, struct acl_user *user);
/* NULL is fine. */
void live_jobs_free(struct live_jobs *jobs);
/* Once a second: tells of those that were left out. */
void live_jobs_second(struct live_jobs *jobs);

#endif
