/* MONITOR: every request, as it is run, to those who asked to see it. */
#ifndef DUEQ_SERVER_MONITORS_H
#define DUEQ_SERVER_MONITORS_H

#include "server/command.h"

/* Shows the request of the context to all monitors. No-op without any. */
void monitors_show(const struct context *context);

#endif
