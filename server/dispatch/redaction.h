/* What MONITOR and SLOWLOG do not show: passwords. */
#ifndef DUEQ_REDACTION_H
#define DUEQ_REDACTION_H

#include "server/dispatch/command.h"

/* The argument as it may be shown: itself, or "(redacted)". */
struct argument redaction_shown(const struct command *command, const struct request *request,
                                size_t index);

#endif
