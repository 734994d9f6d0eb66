/* The users of the server, from the lines of the configuration or from aclfile. */
#ifndef DUEQ_USERS_H
#define DUEQ_USERS_H

#include "server/server.h"

/* Makes server->acl. False: the log says why. */
bool users_open(struct server *server);
/* Is there what acl-password-hash asks for? False: *ret_why, static, says why not. */
bool users_can_hash(const struct config *config, const char **ret_why);

#endif
