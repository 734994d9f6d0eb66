/* What the server knows of one client, apart from its connection. Handlers see this. */
#ifndef DUEQ_SESSION_H
#define DUEQ_SESSION_H

#include "server/acl/acl_check.h"
#include "server/containers/seeded_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bound_job;
struct command;
struct hash_job;
struct server;
struct subscriber;
struct transaction;
struct waiter;
struct watcher;
struct worker;

/* Only connection.c changes this state, and only forward. */
enum session_life {
    SESSION_OPEN,
    SESSION_CLOSING, /* nothing new runs or is sent; closes when the output has left */
    SESSION_GONE     /* nothing is sent; closes at the end of the turn */
};

struct session {
    uint64_t id;
    char address[64]; /* ip:port or path:0 */
    char local_address[64];
    bool is_unix;       /* its socket is a unix socket: a client of this machine */
    bool is_inside;     /* its peer is in this process, and serves a client of its own: that one
                           may have gone first */
    int fd;             /* for CLIENT LIST only */
    char *name;         /* NULL: none */
    char *library_name; /* CLIENT SETINFO; NULL: none */
    char *library_version;
    struct acl_user *user; /* of server->acl; before login the default one */
    bool authenticated;
    uint64_t credentials;   /* of the user, when it logged in; 0: it has not */
    struct acl_memo rights; /* of the present request, which may wait (permission.h) */
    bool is_late;           /* it came when the server was about to stop: most commands wait */
    bool awaits_stop;       /* it has sent SHUTDOWN, and runs nothing more */
    int protocol;           /* 2 or 3 */
    unsigned database;
    int64_t created; /* monotonic ms */
    int64_t active;  /* monotonic ms of the last request */
    const struct command *last_command;

    struct hash_job *hashing; /* it waits for slow hashes (hashing.h); NULL: it does not */
    int login_stage;          /* of a login that waits: enum login_stage in login.c */
    struct waiter *waiter;    /* in a command that has not ended; NULL: none */
    struct transaction *transaction; /* since MULTI; NULL: none */
    struct watcher *watcher;         /* NULL: it watches no key */
    bool watch_broken;               /* a watched key has changed */
    struct subscriber *subscriber;   /* what has its subscriptions (pubsub.c); NULL: none yet */
    size_t subscription_count[3];    /* by enum pubsub_kind */
    bool monitors;                   /* MONITOR */
    struct session *monitor_next, *monitor_prev; /* list of all monitors (utlist) */
    struct monitor_text *monitor_text;           /* of its request; NULL: none is prepared */
    struct bound_job *bound_jobs; /* the oldest first (utlist); see bound_jobs.h */
    size_t bound_count, bound_bytes;
    struct worker *worker; /* the name that it claimed under last; NULL: it has not */
    struct session *worker_next, *worker_prev; /* list of the worker's sessions (utlist) */
    bool no_evict;
    bool no_touch;       /* CLIENT NO-TOUCH: its reads do not count as use of a key */
    bool reply_off;      /* CLIENT REPLY OFF */
    unsigned reply_skip; /* CLIENT REPLY SKIP: replies still to be dropped */

    bool ends_after_wait; /* it closes when the reply to its waiting command is written */

    enum session_life life;

    struct session *next, *prev; /* list of all sessions by id (utlist) */
    UT_hash_handle by_id;        /* table of all sessions (uthash) */
};

/* Ends everything that the session waits for, watches, subscribes to, monitors and queues. May
 * be called again. O(these). */
void session_leave(struct server *server, struct session *session);
/* It becomes what a new one is: the default user, logged in if that needs no password. */
void session_log_out(const struct server *server, struct session *session);
/* Frees the strings that the session owns. */
void session_release(struct session *session);

static inline size_t session_subscriptions(const struct session *session)
{
    return session->subscription_count[0] + session->subscription_count[1] +
           session->subscription_count[2];
}

/* The client wants no reply to the present request. It still gets messages. */
static inline bool session_is_silent(const struct session *session)
{
    return session->reply_off || session->reply_skip > 0;
}

/* A RESP2 client with subscriptions could not distinguish a reply from a message, so most
 * commands are refused. */
static inline bool session_listens(const struct session *session)
{
    return session->protocol == 2 && session_subscriptions(session) > 0;
}

#endif
