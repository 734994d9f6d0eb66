/* The end of the server: what was accepted is settled and sent, then everything is closed. */
#ifndef DUEQ_ENDING_H
#define DUEQ_ENDING_H

#include "server/server.h"

/* Between two turns: while the server is about to stop, closes the clients that are owed
 * nothing more, and notes in server->stopped that it is time. No-op else. */
void ending_turn(struct server *server);
/* Ends all waits as their time-outs would: who is blocked hears nothing new. */
void ending_tell_waiters(struct server *server);
/* After the last turn, or a start that has failed. Frees all but the loop's events. */
void ending_run(struct server *server);
/* When nothing catches signals any more: one of them that came since the last turn calls an
 * upgrade off. */
void ending_look_again(struct server *server);

#endif
