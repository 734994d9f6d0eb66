/* What SIGHUP reads again: the log file is opened anew, certificates are read, options and
 * users too if their files have changed. A file with an error in it changes nothing. Only the
 * loop's own files include this. */
#ifndef DUEQ_RELOAD_H
#define DUEQ_RELOAD_H

#include "server/server.h"

/* Keeps what the configuration was read as: only what its files say anew is taken over later,
 * so that CONFIG SET outlives the signal. */
void reload_begin(const struct config *config);
/* NULL: out of memory. */
const struct config *reload_last_read(void);
/* Reads again; the log says what has changed, and what needs a restart. Blocks for the
 * configuration; the users are read in this turn and later ones. */
void reload_run(struct server *server);
/* In each turn: reads some of the users. O(1) when none are left. */
void reload_turn(struct server *server);
/* Is there more of that to do in the next turn? */
bool reload_is_busy(const struct server *server);
void reload_end(void);

#endif
