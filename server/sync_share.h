/* How the requests of many clients come to share a sync. Each sync and each turn wakes threads,
 * here and in the clients, which costs more than a short request does. */
#ifndef DUEQ_SYNC_SHARE_H
#define DUEQ_SYNC_SHARE_H

#include "server/server.h"

/* A turn begins: before the watch of turns is told so. now: usec. */
void sync_share_begin(struct server *server, uint64_t now);

/* Does the turn so far have changes of several clients that wait for a sync? */
bool sync_share_is_open(const struct server *server);
/* Bytes of changes since the last commit. */
size_t sync_share_bytes(const struct server *server);
/* Should these be committed now? */
bool sync_share_is_full(struct server *server, uint64_t now);
/* It ends: before the watch of turns is told so. */
void sync_share_end(struct server *server);

/* Before the loop looks at its sockets, when nothing else is due: lets many clients send for a
 * moment, if what they ask for will wait for a sync anyway. */
void sync_share_await(const struct server *server);

#endif
