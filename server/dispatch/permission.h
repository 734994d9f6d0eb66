/* Checks the rights of a session's user before its command runs, and tells it and ACL LOG what
 * is refused. */
#ifndef DUEQ_PERMISSION_H
#define DUEQ_PERMISSION_H

#include "server/dispatch/context.h"

enum permission {
    PERMISSION_GIVEN,
    PERMISSION_REFUSED, /* NOPERM is written, counted and logged */
    PERMISSION_LATER    /* many names and many patterns: the request is to run again, as after
                           OUTCOME_AGAIN, and the check goes on */
};

/* May the command run? A command that has waited is checked again when it is woken, or has
 * results to tell, and a command of an EXEC when that runs, if any user has changed meanwhile;
 * one that works in slices is not, because a part of its reply may have left: it counts as one
 * that began while it was allowed. */
enum permission permission_check(struct context *context);

/* May the command use this key, which it has found in the data? flags: what it does with it, as
 * in key_specs.h. */
bool permission_covers_key(const struct context *context, struct dueq_slice key,
                           const char *flags);
/* The same. False: NOPERM is written, counted and logged. */
bool permission_for_key(struct context *context, struct dueq_slice key, const char *flags);

/* It may not: writes NOPERM, counts and logs it. */
void permission_deny_key(struct context *context, struct dueq_slice key);

/* Counts a failed login and writes it to both logs. True: the peer has failed so often that its
 * reply is to come late (auth-delay). */
bool permission_note_failed_login(struct context *context, struct argument user);

#endif
