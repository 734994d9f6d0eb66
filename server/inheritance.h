/* What has changed while the server runs and is in no file: options (CONFIG SET) and users (ACL
 * SETUSER). An upgrade hands it over: a password that nobody has saved must not be gone then.
 * As after SIGHUP, what the files say anew since they were read counts more. Only the loop's
 * own files include this. */
#ifndef DUEQ_INHERITANCE_H
#define DUEQ_INHERITANCE_H

#include "server/server.h"

/* ---- for the program that leaves */

/* Keeps it for the next program, instead of what was kept before. False: out of memory, and
 * what was kept before stays. O(options + users). */
bool inheritance_leave(const struct server *server);

/* ---- for the program that takes over: no-ops when there is nothing */

/* To be called when the configuration was read. False: the log says why. */
bool inheritance_take_options(struct server *server);
/* To be called when the users were read. False: the log says why. */
bool inheritance_take_users(struct server *server);

#endif
