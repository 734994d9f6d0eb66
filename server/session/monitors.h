/* MONITOR: every request, as it is run, to those who asked to see it. */
#ifndef DUEQ_MONITORS_H
#define DUEQ_MONITORS_H

#include "server/dispatch/command.h"

/* From now on the session sees them; no longer. No-op when that is so already. */
void monitors_add(struct server *server, struct session *session);
void monitors_remove(struct server *server, struct session *session);

/* Shows the request of the context to all monitors. No-op without any; O(monitors). */
void monitors_show(const struct context *context);

#endif
