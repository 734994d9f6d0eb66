/* One import at a time from a server that gives its jobs away: two would take each other's
 * deletions for those of a worker. The lock is a key of the dueq that names the connection of
 * its owner, and holds as long as that one is open: whoever is killed leaves no lock. */
#ifndef DUEQ_IMPORT_LOCK_H
#define DUEQ_IMPORT_LOCK_H

#include "tools/move/peer.h"

enum { LOCK_NAME = 64 };

struct import_lock {
    char key[LOCK_NAME];
    bool held;
};

/* `what` and `which` name the server. False: another import has it, or the dueq has failed. */
bool import_lock_take(struct import_lock *lock, struct peer *to, const char *what,
                      const char *which);
void import_lock_release(struct import_lock *lock, struct peer *to);

#endif
