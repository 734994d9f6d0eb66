/* The server: one loop, one store, its connections; and the turn, in which order is the
 * promise. Handlers see the accessors; the loop's own files see the rest. */
#ifndef DUEQ_SERVER_H
#define DUEQ_SERVER_H

#include "server/statistics/checkpoint_watch.h"
#include "server/net/client_memory.h"
#include "server/process/clock.h"
#include "server/config/config.h"
#include "server/statistics/latency.h"
#include "server/session/session.h"
#include "server/statistics/slowlog.h"
#include "storage/dueq.h"

#include <stdatomic.h>

struct event;
struct event_base;
struct connection;
struct long_works;
struct waiters;
struct watches;
struct pubsub;
struct listener;

struct server_stats {
    uint64_t connections_received, connections_rejected;
    uint64_t commands_processed, errors;
    uint64_t input_bytes, output_bytes;
    uint64_t turns;
    uint64_t blocked_clients;
    int64_t start_wall, start_monotonic; /* ms */
    uint64_t store_failures;
    uint64_t expired_keys;
};

struct server {
    struct config config;
    struct event_base *base;
    struct event *timer, *notice_event;
    struct event *stop_event, *hangup_event;
    int notice_fd;                /* eventfd: the store's threads write, the loop reads */
    _Atomic(bool) notice_pending; /* a write is under way: no second one needed */
    struct listener *listeners;
    struct dueq *store;   /* NULL while it is being reopened */
    char failure[320];    /* why it is */
    bool full_logged;     /* the log says that there is no room */
    int64_t reopen_at;    /* monotonic ms */
    int64_t commit_until; /* monotonic ms: how long a commit is tried again; 0: none is late */
    struct clock clock;
    bool clock_runs;           /* since the first opening of the store */
    int64_t last_housekeeping; /* when it was, on the monotonic clock: once a second */
    struct dueq_time now;
    struct session *sessions;       /* all, oldest first (utlist) */
    struct session *sessions_by_id; /* the same (uthash) */
    uint64_t session_count, next_session;
    struct connection *touched; /* have output of this turn */
    struct connection *gated;   /* have output that waits for an LSN */
    struct connection *resumed; /* have input to go on with */
    struct connection *doomed;  /* to be closed at the end of the turn */
    struct waiters *waiters;
    struct long_works *long_works;
    struct watches *watches;
    struct pubsub *pubsub;
    struct server_stats stats;
    struct slowlog slowlog;
    struct latency latency;
    struct checkpoint_watch checkpoints;
    struct client_memory client_memory;
    size_t held;                   /* connections whose next request waits for a pause to end */
    struct connection *first_held; /* of these: who waits longest goes on first */
    bool awaits_store;             /* one of them waits for a busy store and not for a pause */
    struct session *monitors;      /* those that MONITOR (utlist) */
    unsigned running;    /* commands under way, one within another: nothing is committed */
    int64_t pause_until; /* CLIENT PAUSE, on the queue's clock; 0: none */
    bool pause_ended;    /* by a command: those held go on in the next turn */
    bool pause_writes;   /* only those */
    bool stopping;       /* at the end of this turn */
    bool checkpoint_on_exit;
    bool stop_now; /* without waiting for clients that are owed replies */
    bool pidfile_written;
    bool checkpoint_wanted; /* BGSAVE: after the commit, when none is running */
    bool work_done;         /* this turn ran a command: not idle */
    int exit_status;
};

/* Runs until told to stop. Returns the exit status. */
int server_run(struct config *config);

/* ---- for handlers */

struct session *server_find_session(struct server *server, uint64_t id); /* O(1) */
/* At the end of this turn. now: without waiting for clients to take what they are owed. */
void server_shutdown(struct server *server, bool checkpoint, bool now);
/* Can the running server do what these options say? NULL: it can. Else the name of the one that
 * it cannot, with *error in Redis' words. */
const char *server_check_config(const struct server *server, const struct config *changed,
                                struct config_error *error);
/* Options that the running server must be told of were changed. */
void server_apply_config(struct server *server);
/* Holds back commands (`writes`: only those that may write) until a moment on the queue's
 * clock; 0: no longer. A pause under way is not made shorter or milder. */
void server_pause(struct server *server, int64_t until, bool writes);
bool server_pauses(const struct server *server, unsigned command_flags);
/* Brings `checkpoints` up to date. When the last one ended, unix s; before the first: the
 * start. */
int64_t server_last_save(struct server *server);
/* "" while the store is sound. */
const char *server_failure(const struct server *server);

/* ---- for the loop's own files */

/* A session that has its id, and one that goes away. O(1). */
void server_add_session(struct server *server, struct session *session);
void server_remove_session(struct server *server, struct session *session);
/* Reads the clocks: when something happens after a wait, and before what falls due is done. */
void server_update_clock(struct server *server);
/* Commits now what the batch holds, when it has grown large. Within a command (an EXEC that
 * runs those of others) nothing: what it does is one record. */
void server_commit_if_large(struct server *server);

#endif
