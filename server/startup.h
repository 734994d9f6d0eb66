/* The start of the server, in the order in which rights are given up. */
#ifndef DUEQ_STARTUP_H
#define DUEQ_STARTUP_H

#include "server/server.h"

/* Opens everything; the store may be loading yet when it returns. False: the log says why. */
bool startup_run(struct server *server);
/* Would it open what the configuration names, but for ports and the store? Opens files, and no
 * more. False: the log says why. */
bool startup_check(struct server *server);
/* The first opening of the store has ended well: clients are served. */
void startup_end(struct server *server);

#endif
