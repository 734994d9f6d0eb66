/* What a change of the users does to the clients that are logged in as them. */
#ifndef DUEQ_USER_SESSIONS_H
#define DUEQ_USER_SESSIONS_H

#include "server/acl/acl.h"
#include "server/server.h"

/* Cuts off all clients of a user, which nobody is then; of the one that asked for it (`self`,
 * NULL: nobody) the reply leaves first. O(clients). */
void user_sessions_end(struct server *server, const struct acl_user *user,
                       struct session *self);
/* Cuts off those that listen to what the user may not hear any more. O(clients +
 * subscriptions). */
void user_sessions_recheck(struct server *server, const struct acl_user *user,
                           struct session *self);
/* The clients of one user become those of another, which takes its place. O(clients). */
void user_sessions_move(struct server *server, const struct acl_user *from,
                        struct acl_user *to);
/* The default user may have come to need no login: clients that have not logged in are served.
 */
void user_sessions_admit(struct server *server);

#endif
