/* Fills the disk or the map of a server, and waits for room. */
#ifndef DUEQ_FULL_DISK_H
#define DUEQ_FULL_DISK_H

#include "tests/support/client/client.h"

/* Pushes jobs of 1,000 bytes into the topic "mail" until the server answers -FULL. Returns how
 * many it accepted. Ids are numbers from `first` on. */
int push_until_full(redisContext *client, int first);
/* Waits until a push is accepted; it goes into the topic "fresh". */
void await_room(redisContext *client);
/* Waits until the server has made its spare segment and its reserve; then the disk can fill. */
void await_spare(const struct server_process *server);

#endif
