/* What a change of the users does to the clients that are logged in as them. */
#ifndef DUEQ_USER_SESSIONS_H
#define DUEQ_USER_SESSIONS_H

#include "server/acl/acl.h"
#include "server/server.h"

/* Cuts off all clients whose user is dead (acl_bury), which nobody is then; of the one that
 * asked for it (`self`, NULL: nobody) the reply leaves first. True: they are more than a turn
 * may cut off, and have all gone when server->killed is NULL; not without may_wait. O(clients).
 */
bool user_sessions_end(struct server *server, struct session *self, bool may_wait);
/* In each turn: frees some of the dead users. */
void user_sessions_turn(struct server *server);
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
/* All users are those of `loaded` from now on, which the server owns: clients of the default
 * user stay, those of others are cut off, as by user_sessions_end. O(clients + users). */
bool user_sessions_replace(struct server *server, struct acl *loaded, struct session *self,
                           bool may_wait);

#endif
