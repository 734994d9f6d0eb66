#include "server/net/user_sessions.h"

#include "server/acl/acl_check.h"
#include "server/net/connection.h"
#include "server/session/pubsub.h"

#include <utlist.h>

enum {
    AT_ONCE = 100, /* clients that are cut off in one turn; others by connection_doom_killed */
    FREES_MOST = 100 /* users in a turn */
};

/* As CLIENT KILL does it: another client stops waiting and listening at once. */
static void cut_off(struct server *server, struct session *session, const struct session *self)
{
    if (session->life == SESSION_GONE)
        return;
    if (session == self && session->waiter != NULL) {
        session->ends_after_wait = true;
        return;
    }
    if (session == self) {
        connection_close(connection_of(session));
        return;
    }
    connection_doom(connection_of(session));
    session_leave(server, session);
}

/* Clients whose user is dead. *ret_with_self: `self` is one of them. */
static size_t count_dead(const struct server *server, const struct session *self,
                         bool *ret_with_self)
{
    const struct session *session;
    size_t count = 0;

    *ret_with_self = false;
    DL_FOREACH(server->sessions, session)
        if (session->user->is_dead) {
            count++;
            *ret_with_self |= session == self;
        }
    return count;
}

/* Those that are cut off later keep their user, who may do nothing. */
bool user_sessions_end(struct server *server, struct session *self, bool may_wait)
{
    bool with_self, later = count_dead(server, self, &with_self) > AT_ONCE;
    struct session *session;

    later = later && may_wait && !with_self;
    DL_FOREACH(server->sessions, session) {
        if (!session->user->is_dead)
            continue;
        if (later && session->life != SESSION_GONE) {
            connection_kill(connection_of(session));
            continue;
        }
        session->user = acl_default(server->acl);
        session->authenticated = false;
        cut_off(server, session, self);
    }
    return later;
}

void user_sessions_turn(struct server *server)
{
    if (server->killed == NULL)
        acl_free_dead(server->acl, FREES_MOST);
}

struct hearing {
    const struct acl_user *user;
    bool is_pattern, allowed;
};

static void check_name(void *arg, struct dueq_slice name)
{
    struct hearing *hearing = arg;

    hearing->allowed =
        hearing->allowed && acl_check_channel(hearing->user, name, hearing->is_pattern);
}

static bool may_hear_all(const struct session *session)
{
    struct hearing hearing = {.user = session->user, .allowed = true};

    for (int kind = 0; kind < PUBSUB_KINDS; kind++) {
        hearing.is_pattern = kind == PUBSUB_PATTERN;
        pubsub_each_of(session, (enum pubsub_kind)kind, check_name, &hearing);
    }
    return hearing.allowed;
}

void user_sessions_recheck(struct server *server, const struct acl_user *user,
                           struct session *self)
{
    struct session *session;

    if (user->root.all_channels)
        return;
    DL_FOREACH(server->sessions, session)
        if (session->user == user && session_subscriptions(session) > 0 &&
            !may_hear_all(session))
            cut_off(server, session, self);
}

void user_sessions_move(struct server *server, const struct acl_user *from, struct acl_user *to)
{
    struct session *session;

    DL_FOREACH(server->sessions, session)
        if (session->user == from)
            session->user = to;
}

void user_sessions_admit(struct server *server)
{
    struct session *session;

    if (acl_wants_login(server->acl))
        return;
    DL_FOREACH(server->sessions, session)
        if (!session->authenticated && session->life == SESSION_OPEN &&
            !session->user->is_dead) {
            session->authenticated = true;
            connection_limit_input(connection_of(session));
        }
}

bool user_sessions_replace(struct server *server, struct acl *loaded, struct session *self,
                           bool may_wait)
{
    struct acl *acl = server->acl;
    bool later;

    acl_bury_all(acl);
    user_sessions_move(server, acl_default(acl), acl_default(loaded));
    acl_hand_over(acl, loaded);
    server->acl = loaded;
    acl_free(acl);
    later = user_sessions_end(server, self, may_wait);
    user_sessions_recheck(server, acl_default(loaded), self);
    user_sessions_admit(server);
    return later;
}
