/* What the server knows of one client, apart from its socket. Handlers see this. */
#ifndef DUEQ_SESSION_H
#define DUEQ_SESSION_H

#include "server/containers/seeded_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command;
struct server;
struct subscription;
struct transaction;
struct waiter;
struct watch;

/* Whether it is there: one state, which connection.c alone changes, and only forward. */
enum session_life {
    SESSION_OPEN,
    SESSION_CLOSING, /* runs and is sent nothing new; closes when its output has left */
    SESSION_GONE     /* is sent nothing at all; closes at the end of the turn */
};

struct session {
    uint64_t id;
    char address[64]; /* ip:port or path:0 */
    char local_address[64];
    int fd;             /* for CLIENT LIST only */
    char *name;         /* NULL: none */
    char *library_name; /* CLIENT SETINFO; NULL: none */
    char *library_version;
    char user[64]; /* "default" */
    bool authenticated;
    int protocol; /* 2 or 3 */
    unsigned database;
    int64_t created; /* monotonic ms */
    int64_t active;  /* monotonic ms of the last request */
    const struct command *last_command;

    struct waiter *waiter;                 /* blocked in a command; NULL: not */
    struct transaction *transaction;       /* since MULTI; NULL: none */
    struct watch *watches;                 /* newest first */
    bool watch_broken;                     /* something watched has changed */
    struct subscription *subscriptions[3]; /* by enum pubsub_kind, oldest first */
    size_t subscription_count[3];
    bool monitors;                               /* MONITOR */
    struct session *monitor_next, *monitor_prev; /* list of all that do (utlist) */
    bool no_evict;
    bool no_touch;       /* CLIENT NO-TOUCH: what it looks at is not used */
    bool reply_off;      /* CLIENT REPLY OFF */
    unsigned reply_skip; /* CLIENT REPLY SKIP: replies still to be dropped */

    enum session_life life;

    struct session *next, *prev; /* list of all sessions, in order of id (utlist) */
    UT_hash_handle by_id;        /* table of the same */
};

/* The session ends: it waits, watches, listens and queues no more. May be called again. */
void session_leave(struct server *server, struct session *session);
void session_release(struct session *session); /* what it holds is freed */

static inline size_t session_subscriptions(const struct session *session)
{
    return session->subscription_count[0] + session->subscription_count[1] +
           session->subscription_count[2];
}

/* Wants no reply to what it says now; messages it wants all the same. */
static inline bool session_is_silent(const struct session *session)
{
    return session->reply_off || session->reply_skip > 0;
}

/* A RESP2 client with subscriptions: it could not tell a reply from a message. */
static inline bool session_listens(const struct session *session)
{
    return session->protocol == 2 && session_subscriptions(session) > 0;
}

#endif
