/* Names and other texts that a client gives its session. */
#ifndef DUEQ_SESSION_NAMES_H
#define DUEQ_SESSION_NAMES_H

#include "server/dispatch/command.h"

/* Gives the session a name, "" for none. False: the error is written. */
bool session_names_set(struct context *context, struct argument name);
/* Writes the error and answers false when the name is not valid. */
bool session_names_check(struct context *context, struct argument name);
/* A name as Redis allows it: printable, without spaces. */
bool session_names_valid(struct argument name);
/* Replaces an allocated text by a copy; NULL for an empty one. False: out of memory. */
bool session_names_replace(char **text, struct argument given);

#endif
