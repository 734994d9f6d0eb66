/* MONITOR: sessions that are shown every request when it runs. */
#ifndef DUEQ_MONITORS_H
#define DUEQ_MONITORS_H

#include "server/dispatch/context.h"

/* The session sees requests from now on, or no longer. No-op when that is so already. O(1). */
void monitors_add(struct server *server, struct session *session);
void monitors_remove(struct server *server, struct session *session);

/* Prepares the line of a large request that is about to run, and before an EXEC those of the
 * requests that it runs, a slice a call. False: it is to be called again, in the next turn,
 * before the request runs. True at once without monitors and for short requests. */
bool monitors_prepare(const struct server *server, struct session *session,
                      const struct request *request);
/* How many bytes of the request monitors_show is going to quote, as they are not prepared. */
size_t monitors_quote(const struct server *server, const struct request *request);
/* Shows the request of the context to all monitors, with passwords removed; cuts those off that
 * may not leave as much unread. No-op without monitors; O(monitors * bytes), and O(monitors)
 * when the line is prepared. */
void monitors_show(const struct context *context);

#endif
