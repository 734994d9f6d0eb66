/* Names and other texts that a client sets for its session. */
#ifndef DUEQ_SESSION_NAMES_H
#define DUEQ_SESSION_NAMES_H

#include "server/dispatch/context.h"

/* Sets the name of the session, "": none. False: the error is written. */
bool session_names_set(struct context *context, struct argument name);
/* Writes the error and answers false when the name is not valid. */
bool session_names_check(struct context *context, struct argument name);
/* Is it printable ASCII without spaces, as Redis wants? */
bool session_names_valid(struct argument name);
/* Replaces *text, which is allocated or NULL, by a copy; NULL when `given` is empty. False: out
 * of memory, nothing is changed. */
bool session_names_replace(char **text, struct argument given);

#endif
