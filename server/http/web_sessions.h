/* The logins of the dashboard. A cookie of 256 random bits stands for a user; a second secret,
 * which only the page itself knows, must come with each request that may change something. Kept
 * in RAM only, by the hash of the cookie. A login ends when it was not used for a while, after
 * some hours in any case, and when its user is deleted, turned off, or gets other passwords. */
#ifndef DUEQ_WEB_SESSIONS_H
#define DUEQ_WEB_SESSIONS_H

#include "protocol/http_head.h"
#include "server/acl/acl.h"
#include "server/acl/acl_hash.h"

enum {
    WEB_SESSIONS_MAX = 1024,        /* with one more, that which was used least recently ends */
    WEB_SESSIONS_OF_USER_MAX = 64,  /* the same, of one user */
    WEB_IDLE_MS = 60 * 60 * 1000,   /* unused for so long, it ends; */
    WEB_LIFE_MS = 12 * WEB_IDLE_MS, /* and after that, however it is used */
    WEB_SECRET_SIZE = 64            /* lower-case digits, 4 bits each */
};

struct web_session {
    UT_hash_handle hh;
    char key[ACL_HASH_SIZE];         /* SHA-256 of the cookie */
    char csrf[WEB_SECRET_SIZE + 1];  /* the second secret */
    uint64_t number;                 /* another one for each */
    uint64_t credentials;            /* of the user, when it logged in */
    int64_t made, used;              /* monotonic ms */
    bool is_passwordless;            /* nobody was asked for a password */
    struct web_session *prev, *next; /* by last use (utlist) */
    size_t name_size;
    char name[]; /* of the user */
};

/* Zeros: none. */
struct web_sessions {
    struct web_session *by_key;
    struct web_session *oldest; /* that was used least recently (utlist) */
    size_t count;
    uint64_t made;
};

void web_sessions_release(struct web_sessions *sessions);

/* A login of that user, whose password is known to be right if it needs one. ret_cookie:
 * WEB_SECRET_SIZE + 1 bytes. NULL: no memory or random numbers. */
struct web_session *web_sessions_add(struct web_sessions *sessions, const struct acl_user *user,
                                     int64_t now, char *ret_cookie);
/* The login of that cookie, which is in use now. NULL: there is none, or it has ended. */
struct web_session *web_sessions_find(struct web_sessions *sessions, struct http_part cookie,
                                      const struct acl *acl, int64_t now);
/* The same by its number. O(sessions). */
struct web_session *web_sessions_of(struct web_sessions *sessions, uint64_t number,
                                    const struct acl *acl, int64_t now);
/* Its user; never NULL of one that was just found. */
struct acl_user *web_session_user(const struct web_session *session, const struct acl *acl);
bool web_session_has_csrf(const struct web_session *session, struct http_part token);
void web_sessions_end(struct web_sessions *sessions, struct web_session *session);

#endif
