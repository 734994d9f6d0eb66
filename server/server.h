/* The server: one loop, one store, the connections, and the turn, whose order keeps the promise
 * that a reply leaves after its record is durable. Handlers may read config, clock and
 * statistics; only the loop's own files change the rest. One thread. */
#ifndef DUEQ_SERVER_H
#define DUEQ_SERVER_H

#include "server/config/config.h"
#include "server/net/client_memory.h"
#include "server/net/throttle.h"
#include "server/net/weight.h"
#include "server/process/clock.h"
#include "server/session/session.h"
#include "server/statistics/checkpoint_watch.h"
#include "server/statistics/latency.h"
#include "server/statistics/server_stats.h"
#include "server/statistics/slowlog.h"
#include "server/statistics/turn_watch.h"
#include "server/session/bound_jobs.h"
#include "server/session/workers.h"
#include "storage/asks.h"
#include "storage/dueq.h"

#include <stdatomic.h>

struct acl;
struct event;
struct event_base;
struct connection;
struct long_works;
struct waiters;
struct watches;
struct pubsub;
struct listener;
struct tls_context;
struct http;
struct dashboard;
struct opening;

struct held {
    struct connection *first; /* the longest wait first */
    size_t count;
};

/* The command that is alone with the store: alone.h. */
struct alone {
    struct session *session; /* NULL: none */
    bool hurries;            /* it does at once what is left */
    bool settles;            /* one has ended, and its changes are yet to be seen by waiters */
};

/* sync_share.h */
struct sync_share {
    uint64_t since; /* usec: when this turn had changes that wait for a sync; 0: none */
    uint64_t took;  /* usec: the last turn */
    bool had_time;  /* before it the loop waited */
};

struct server {
    struct config config;
    struct event_base *base;
    struct event *timer, *notice_event;
    struct event *stop_event, *hangup_event, *state_event, *upgrade_event;
    struct event *clock_event;    /* the wall clock was set; NULL: that is not seen */
    int clock_fd;                 /* -1: none */
    int notice_fd;                /* eventfd: the store's threads write, the loop reads */
    _Atomic(bool) notice_pending; /* a write is under way: no second one needed */
    struct listener *listeners;
    struct tls_context *tls;     /* of new connections; NULL: there is no port for TLS */
    struct http *http;           /* NULL: none */
    struct dashboard *dashboard; /* NULL: it is off */
    struct dueq *store;          /* NULL while it is opened */
    struct opening *opening;     /* NULL: none runs */
    int64_t opening_since;       /* unix ms */
    bool loading;                /* until the first opening has ended: commands get -LOADING */
    char failure[320];           /* why the store is closed; "" while it is sound */
    bool full_logged;            /* the last line about room says that there is none */
    uint64_t compactions, compaction_failures; /* of the store, as far as the log knows them */
    enum dueq_status compaction_logged; /* the last line about one; DUEQ_OK: it succeeded */
    uint64_t backups, backup_failures;  /* likewise */
    uint64_t archive_gaps, archive_damaged;
    enum dueq_status archive_logged; /* the last line about it; DUEQ_OK: it works */
    int64_t reopen_at;               /* monotonic ms */
    int64_t commit_until; /* monotonic ms: end of the retries of a commit; 0: none fails */
    struct clock clock;
    uint64_t clock_renewed; /* usec; never later than it was read last */
    int64_t last_second;    /* monotonic ms */
    struct dueq_time now;
    struct session *sessions;       /* all, oldest first (utlist) */
    struct session *sessions_by_id; /* all (uthash) */
    uint64_t session_count, next_session;
    struct connection *touched; /* with output of this turn */
    struct sync_share share;
    struct connection *gated; /* with output that waits for an LSN */
    uint64_t gated_count;
    struct connection *resumed; /* with requests that may run */
    struct weights weights;     /* of all that clients send */
    struct connection *filling; /* with large values that are yet to be copied into replies */
    struct connection *killed;  /* to be doomed, some a turn */
    struct connection *doomed;  /* to be closed at the ends of turns */
    struct connection *shaking; /* whose handshake of TLS has not ended, oldest first */
    uint64_t shaking_count;
    struct session
        *unchecked;     /* the next to be looked at in this second; NULL: all have been */
    unsigned releases;  /* connections whose gates this turn has opened */
    bool releases_more; /* others may be open, too */
    struct waiters *waiters;
    struct long_works *long_works;
    struct alone alone;
    struct watches *watches;
    struct bound_jobs bound_jobs;
    struct workers workers;
    struct pubsub *pubsub;
    struct acl *acl;
    struct hasher *hasher; /* NULL: passwords of argon2id cannot be checked */
    struct server_stats stats;
    struct slowlog slowlog;
    struct turn_watch turn;
    struct latency latency;
    struct checkpoint_watch checkpoints;
    struct client_memory client_memory;
    struct held held[HOLDS]; /* connections whose next request is held back, by reason */
    struct throttle throttle;
    bool awaits_check;        /* one of them runs again: OUTCOME_AGAIN */
    bool awaits_store;        /* one of them waits for a busy store, not for a pause */
    struct session *monitors; /* those that MONITOR (utlist) */
    unsigned asks;            /* by the replies of commands that run: sum of enum asks */
    unsigned running;         /* depth of commands that run: no commit while it is above 0 */
    int64_t pause_until;      /* CLIENT PAUSE, on the queue's clock; 0: none */
    bool pause_ended;         /* by a command: held connections go on in the next turn */
    bool pause_writes;        /* the pause holds back writes only */
    bool stopping;            /* clients that are owed something get it, then it stops */
    bool stopped;             /* at the end of this turn */
    bool checkpoint_on_exit;
    bool upgrading;      /* then another program takes its place */
    bool stop_now;       /* without waiting for clients */
    bool input_is_cut;   /* of those that were there: what has not come by now is not read */
    int64_t grace_until; /* monotonic ms: when that happens */
    int64_t stop_until;  /* monotonic ms: the end of shutdown-timeout */
    bool checkpoint_given_up; /* it would have taken longer than that */
    bool pidfile_written;
    bool checkpoint_wanted; /* BGSAVE: after the commit, when none is running */
    bool work_done;         /* this turn ran a command: not idle */
    bool timer_fired;       /* this turn began by the timer, not by an event */
    int64_t awake_until;    /* monotonic ms: till then each second has a turn */
    int exit_status;
};

/* Runs until told to stop. Returns the exit status. */
int server_run(struct config *config);

/* Would the configuration do? Returns the exit status; the log says why not. */
int server_check(struct config *config);

/* ---- for handlers */

struct session *server_find_session(struct server *server, uint64_t id); /* O(1) */
/* Any thread: wakes the loop, which looks for what has been done for it. arg: the server. */
void server_wake(void *arg);
/* Begins to stop: what was accepted is settled and sent, for shutdown-timeout at most, while
 * the loop runs on. now: without waiting, at the end of this turn. */
void server_shutdown(struct server *server, bool checkpoint, bool now);
/* Ends that, and goes on. False: the server does not stop, or cannot but. */
bool server_abort_shutdown(struct server *server);
/* Takes over what can fail of these options: ports are opened and closed, certificates are
 * read; `reload`: also when their names are the same. NULL: they can all become those of the
 * server. Else the name of the option that cannot ("tls": one of those), *error is Redis' text,
 * and nothing has changed. */
const char *server_check_config(struct server *server, const struct config *changed,
                                bool reload, struct config_error *error);
/* *changed, which server_check_config has passed, is the configuration from now on; what was it
 * is freed. False: no memory, and nothing has changed. */
bool server_take_config(struct server *server, const struct config *changed);
/* Applies options that the store or the log must know. */
void server_apply_config(struct server *server);
/* The configuration file says now what the configuration is: a later reading is compared with
 * that. */
void server_config_saved(struct server *server);
/* Logs that requirepass has no effect, when that is so: after users were read from a file. */
void server_warn_of_users(const struct server *server);

/* Holds back commands (`writes`: only those that may write) until a time of the queue's clock,
 * ms; 0: ends the pause. A pause that runs is not made shorter or weaker. */
void server_pause(struct server *server, int64_t until, bool writes);
bool server_pauses(const struct server *server, unsigned command_flags);
/* Updates `checkpoints` and returns when the last one ended, unix s; before the first one: when
 * the server started. */
int64_t server_last_save(struct server *server);
/* Why the store is closed; "" while it is open, and before it was. */
const char *server_failure(const struct server *server);
/* How far the store is opened. False: it is not being opened. */
bool server_opening(const struct server *server, struct dueq_progress *ret_progress);

/* ---- for the loop's own files */

/* Adds a session, whose id is set, and removes one. O(1). */
void server_add_session(struct server *server, struct session *session);
void server_remove_session(struct server *server, struct session *session);
/* To be called by each event of the loop: the first one of a turn reads the clocks. O(1). */
void server_begin_turn(struct server *server);
/* To be called at the end of an event that has run requests: when the turn is long, events that
 * are left come in the next one. */
void server_end_event(struct server *server);
/* Has the present part of the turn, or the turn, taken so long that the rest is for the next
 * turn? Each part does at least something. */
bool server_part_is_long(const struct server *server);
/* False also outside of the loop. */
bool server_part_may_go_on(const struct server *server);
/* May a part that has done `done` of `most` steps do one more? Looks at the clock now and then.
 */
bool turn_may_go_on(const struct server *server, unsigned done, unsigned most);
/* Had it taken so long at the end of the last command? Costs nothing. */
bool server_part_was_long(const struct server *server);
/* Is the present part of the turn, and the turn, still so short that it may do more than it
 * must? False outside of the loop. */
bool server_has_time(const struct server *server);
/* Reads the clocks: after each wait of the loop, and before due work is done. */
void server_update_clock(struct server *server);
/* The same within a turn, unless they were read a moment ago, 0.1 ms at most; now: usec. */
void server_renew_clock(struct server *server, uint64_t now);
/* Commits a batch that has grown large before the end of the turn. Does nothing within a
 * command (an EXEC runs others): all its changes are one record. */
void server_commit_if_large(struct server *server);

#endif
