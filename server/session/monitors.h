/* MONITOR: sessions that are shown every request when it runs. */
#ifndef DUEQ_MONITORS_H
#define DUEQ_MONITORS_H

#include "server/dispatch/context.h"

/* The session sees requests from now on, or no longer. No-op when that is so already. O(1). */
void monitors_add(struct server *server, struct session *session);
void monitors_remove(struct server *server, struct session *session);

/* Shows the request of the context to all monitors, with passwords removed. No-op without
 * monitors; O(monitors * bytes). */
void monitors_show(const struct context *context);

#endif
