#include "server/net/user_sessions.h"

#include "server/acl/acl_check.h"
#include "server/net/connection.h"
#include "server/session/pubsub.h"

#include <utlist.h>

/* As CLIENT KILL does it: another client stops waiting and listening at once. */
static void cut_off(struct server *server, struct session *session, const struct session *self)
{
    if (session->life == SESSION_GONE)
        return;
    if (session == self) {
        connection_close(connection_of(session));
        return;
    }
    connection_doom(connection_of(session));
    session_leave(server, session);
}

void user_sessions_end(struct server *server, const struct acl_user *user, struct session *self)
{
    struct session *session;

    DL_FOREACH(server->sessions, session) {
        if (session->user != user)
            continue;
        session->user = acl_default(server->acl);
        session->authenticated = false;
        cut_off(server, session, self);
    }
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
        if (!session->authenticated && session->life == SESSION_OPEN) {
            session->authenticated = true;
            connection_limit_input(connection_of(session));
        }
}
