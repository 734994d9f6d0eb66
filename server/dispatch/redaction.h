/* Hides passwords from MONITOR and SLOWLOG. */
#ifndef DUEQ_REDACTION_H
#define DUEQ_REDACTION_H

#include "server/dispatch/command.h"

/* The argument itself, or "(redacted)" where it may be a password. */
struct argument redaction_shown(const struct command *command, const struct request *request,
                                size_t index);

#endif
