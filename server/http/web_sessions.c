#include "server/http/web_sessions.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

_Static_assert((int)WEB_SECRET_SIZE == (int)ACL_HASH_SIZE,
               "acl_hash_is_same compares so many digits");

void web_sessions_end(struct web_sessions *sessions, struct web_session *session)
{
    DL_DELETE(sessions->oldest, session);
    if (seeded_table_holds(session))
        HASH_DEL(sessions->by_key, session);
    sessions->count--;
    acl_hash_forget(session->csrf, sizeof(session->csrf));
    free(session);
}

void web_sessions_release(struct web_sessions *sessions)
{
    while (sessions->oldest != NULL)
        web_sessions_end(sessions, sessions->oldest);
}

/* ---- what is still good */

struct acl_user *web_session_user(const struct web_session *session, const struct acl *acl)
{
    struct acl_user *user = acl_find(acl, dueq_slice(session->name, session->name_size));

    return user != NULL && user->enabled && user->credentials == session->credentials ? user
                                                                                      : NULL;
}

static bool is_good(const struct web_session *session, const struct acl *acl, int64_t now)
{
    return now - session->used < WEB_IDLE_MS && now - session->made < WEB_LIFE_MS &&
           web_session_user(session, acl) != NULL;
}

static void note_use(struct web_sessions *sessions, struct web_session *session, int64_t now)
{
    session->used = now;
    DL_DELETE(sessions->oldest, session);
    DL_APPEND(sessions->oldest, session);
}

static struct web_session *use(struct web_sessions *sessions, struct web_session *session,
                               const struct acl *acl, int64_t now)
{
    if (session == NULL)
        return NULL;
    if (is_good(session, acl, now)) {
        note_use(sessions, session, now);
        return session;
    }
    web_sessions_end(sessions, session);
    return NULL;
}

/* ---- making one */

static bool is_of(const struct web_session *session, const struct acl_user *user)
{
    return session->name_size == user->name_size &&
           memcmp(session->name, user->name, user->name_size) == 0;
}

static void make_room(struct web_sessions *sessions, const struct acl_user *user, int64_t now)
{
    struct web_session *session, *oldest = NULL;
    size_t count = 0;

    while (sessions->oldest != NULL && now - sessions->oldest->used >= WEB_IDLE_MS)
        web_sessions_end(sessions, sessions->oldest);
    DL_FOREACH(sessions->oldest, session) {
        if (!is_of(session, user))
            continue;
        oldest = oldest == NULL ? session : oldest;
        count++;
    }
    if (count >= WEB_SESSIONS_OF_USER_MAX)
        web_sessions_end(sessions, oldest);
    else if (sessions->count >= WEB_SESSIONS_MAX)
        web_sessions_end(sessions, sessions->oldest);
}

static struct web_session *new_session(const struct acl_user *user, char *ret_cookie)
{
    struct web_session *session = calloc(1, sizeof(*session) + user->name_size + 1);

    if (session == NULL)
        return NULL;
    if (!acl_hash_random(ret_cookie, WEB_SECRET_SIZE) ||
        !acl_hash_random(session->csrf, WEB_SECRET_SIZE)) {
        free(session);
        return NULL;
    }
    ret_cookie[WEB_SECRET_SIZE] = '\0';
    acl_hash(dueq_slice(ret_cookie, WEB_SECRET_SIZE), session->key);
    session->name_size = user->name_size;
    memcpy(session->name, user->name, user->name_size);
    session->credentials = user->credentials;
    session->is_passwordless = user->no_password;
    return session;
}

struct web_session *web_sessions_add(struct web_sessions *sessions, const struct acl_user *user,
                                     int64_t now, char *ret_cookie)
{
    struct web_session *session = new_session(user, ret_cookie);

    if (session == NULL)
        return NULL;
    make_room(sessions, user, now);
    session->made = session->used = now;
    session->number = ++sessions->made;
    DL_APPEND(sessions->oldest, session);
    sessions->count++;
    HASH_ADD(hh, sessions->by_key, key, sizeof(session->key), session);
    if (seeded_table_holds(session))
        return session;
    web_sessions_end(sessions, session);
    return NULL;
}

/* ---- finding one */

struct web_session *web_sessions_find(struct web_sessions *sessions, struct http_part cookie,
                                      const struct acl *acl, int64_t now)
{
    struct web_session *session;
    char key[ACL_HASH_SIZE];

    if (cookie.data == NULL || cookie.size != WEB_SECRET_SIZE)
        return NULL;
    acl_hash(dueq_slice(cookie.data, cookie.size), key);
    HASH_FIND(hh, sessions->by_key, key, sizeof(key), session);
    return use(sessions, session, acl, now);
}

struct web_session *web_sessions_of(struct web_sessions *sessions, uint64_t number,
                                    const struct acl *acl, int64_t now)
{
    struct web_session *session;

    DL_FOREACH(sessions->oldest, session)
        if (session->number == number)
            return use(sessions, session, acl, now);
    return NULL;
}

bool web_session_has_csrf(const struct web_session *session, struct http_part token)
{
    return token.data != NULL && token.size == WEB_SECRET_SIZE &&
           acl_hash_is_same(session->csrf, token.data);
}
