/* Checks the rights of a session's user before its command runs, and tells it and ACL LOG what
 * is refused. */
#ifndef DUEQ_PERMISSION_H
#define DUEQ_PERMISSION_H

#include "server/dispatch/context.h"

/* May the command run? False: NOPERM is written, counted and logged. A command that has waited
 * is checked again when it is woken, or has results to tell; one that works in slices is not,
 * because a part of its reply may have left: it counts as one that began while it was allowed.
 */
bool permission_given(struct context *context);

/* May the command use this key, which it has found in the data? flags: what it does with it, as
 * in key_specs.h. */
bool permission_covers_key(const struct context *context, struct dueq_slice key,
                           const char *flags);
/* The same. False: NOPERM is written, counted and logged. */
bool permission_for_key(struct context *context, struct dueq_slice key, const char *flags);

/* Counts a failed login and writes it to both logs. True: the peer has failed so often that its
 * reply is to come late (auth-delay). */
bool permission_note_failed_login(struct context *context, struct argument user);

#endif
