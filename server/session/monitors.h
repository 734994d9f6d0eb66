/* MONITOR: sessions that are shown every request when it runs. */
#ifndef DUEQ_MONITORS_H
#define DUEQ_MONITORS_H

#include "server/dispatch/context.h"

/* The session sees requests from now on, or no longer. No-op when that is so already. O(1). */
void monitors_add(struct server *server, struct session *session);
void monitors_remove(struct server *server, struct session *session);

/* Prepares the line of a large request that is about to run, a slice a call. False: it is to be
 * called again, in the next turn, before the request runs. True at once without monitors, for a
 * short request and in MULTI. */
bool monitors_prepare(const struct server *server, struct session *session,
                      const struct request *request);
/* Frees a line that was prepared. */
void monitors_forget(struct session *session);
/* Shows the request of the context to all monitors, with passwords removed. No-op without
 * monitors; O(monitors * bytes), and O(monitors) when the line is prepared. */
void monitors_show(const struct context *context);

#endif
