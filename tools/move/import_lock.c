#include "tools/move/import_lock.h"

#include "server/process/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWNER = 64, TRIES = 10 };

/* "ID NAME" of a connection: an id alone may be that of another one after a restart. */
static bool name_ourselves(struct peer *to, char *owner)
{
    char name[OWNER / 2];
    long long id;

    snprintf(name, sizeof(name), "import-%016" PRIx64, random_number());
    peer_say_text(to, "CLIENT", "SETNAME", name, (const char *)NULL);
    if (!peer_settle(to, 0))
        return false;
    peer_say_text(to, "CLIENT", "ID", (const char *)NULL);
    id = peer_take_integer(to);
    snprintf(owner, OWNER, "%lld %s", id, name);
    return !to->failed;
}

/* Is that connection open? True, too, if we may not know. */
static bool is_open(struct peer *to, const char *owner)
{
    char id[OWNER], name[OWNER + 16];
    const char *blank = strchr(owner, ' ');
    redisReply *reply;
    bool open;

    if (blank == NULL)
        return true;
    snprintf(id, sizeof(id), "%.*s", (int)(blank - owner), owner);
    snprintf(name, sizeof(name), " name=%s ", blank + 1);
    peer_say_text(to, "CLIENT", "LIST", "ID", id, (const char *)NULL);
    reply = peer_hear(to);
    if (reply == NULL)
        return true;
    open = reply->type == REDIS_REPLY_ERROR ||
           (reply->str != NULL && strstr(reply->str, name) != NULL);
    freeReplyObject(reply);
    return open;
}

/* False: somebody else has it, or failed. */
static bool is_free(struct import_lock *lock, struct peer *to)
{
    char owner[OWNER], why[ONLINE_WHY];
    redisReply *reply;

    peer_say_text(to, "WATCH", lock->key, (const char *)NULL);
    if (!peer_settle(to, 0))
        return false;
    peer_say_text(to, "GET", lock->key, (const char *)NULL);
    reply = peer_take(to);
    if (reply == NULL)
        return false;
    snprintf(owner, sizeof(owner), "%s", reply->str == NULL ? "" : reply->str);
    freeReplyObject(reply);
    if (owner[0] == '\0' || !is_open(to, owner))
        return !to->failed;
    snprintf(why, sizeof(why),
             "another import from this server runs, over the connection %.40s; if not, remove "
             "the key %.60s",
             owner, lock->key);
    return peer_fail(to, why);
}

bool import_lock_take(struct import_lock *lock, struct peer *to, const char *what,
                      const char *which)
{
    char owner[OWNER];

    snprintf(lock->key, sizeof(lock->key), "dueq:import:%.16s:%.24s", what, which);
    if (!name_ourselves(to, owner))
        return false;
    for (int i = 0; i < TRIES && !lock->held && is_free(lock, to); i++) {
        redisReply *reply;

        peer_say_text(to, "MULTI", (const char *)NULL);
        peer_say_text(to, "SET", lock->key, owner, "EX", "86400", (const char *)NULL);
        peer_say_text(to, "EXEC", (const char *)NULL);
        reply = peer_settle(to, 1) ? peer_take(to) : NULL;
        lock->held = reply != NULL && reply->type == REDIS_REPLY_ARRAY;
        freeReplyObject(reply);
    }
    return lock->held || peer_fail(to, "another import begins at the same time");
}

void import_lock_release(struct import_lock *lock, struct peer *to)
{
    if (!lock->held || to->failed)
        return;
    peer_say_text(to, "DEL", lock->key, (const char *)NULL);
    peer_settle(to, 0);
    lock->held = false;
}
