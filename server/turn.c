#include "server/turn.h"

#include "server/containers/gathered.h"
#include "server/containers/spent.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "server/each_second.h"
#include "server/ending.h"
#include "server/http/dashboard.h"
#include "server/acl/acl.h"
#include "server/net/connection.h"
#include "server/net/user_sessions.h"
#include "server/process/supervisor.h"
#include "server/reload.h"
#include "server/session/hashing.h"
#include "server/session/pubsub.h"
#include "server/session/waiters.h"
#include "server/session/watches.h"
#include "server/settle.h"
#include "server/store_life.h"
#include "server/sync_share.h"
#include "storage/store.h"

#include <assert.h>
#include <event2/event-config.h>
#include <event2/event.h>
#include <inttypes.h>
#include <utlist.h>

/* Machines with 32 bits have two kinds of time_t. */
_Static_assert(sizeof(time_t) == EVENT__SIZEOF_TIME_T,
               "libevent has another time_t: see _TIME_BITS in tools/cross/cross.mk");

enum {
    PART_USEC = 3000,   /* after that a part of a turn leaves the rest to the next turn */
    TURN_USEC = 4000,   /* after that of the whole turn, too, */
    HEAVY_USEC = 1000,  /* so long those who send much are served in a row */
    FRESH_USEC = 100,   /* so long the time of a turn is not read anew */
    SHORT_USEC = 500,   /* so long a part does what could also wait */
    PART_LEAST = 200,   /* as soon as it has had so much for itself */
    TICK_BUDGET = 2000, /* steps of background work in a turn at most */
    TICK_STEPS = 20,    /* of these, between two looks at the clock */
    CLOSES_MOST = 64,   /* connections that are closed in a turn: a millisecond */
    KILLS_MOST = 128,   /* that are doomed: half as long */
    FREES_MOST = 64,    /* blocks of what commands have gathered: 8 MiB */
    SPENT_MOST = 8,     /* parts of what is spent: a millisecond */
    LOOK_AFTER = 8,     /* of these, at the clock */
    COLLECTS_MOST = 8,  /* looks at the sockets before a commit that must be synced */
    SECOND_MS = 1000,
    QUIET_MS = 24 * 3600 * 1000,
    NEARER = 1024, /* a timer that is this part short of its end is armed again */
    NEARER_FROM_MS = 10000,
    COMMIT_RETRY_MS = 20,
    STOPPING_MS = 20 /* between looks whether clients have taken their replies */
};

/* ---- its time */

/* False: it has begun before. */
static bool begin_turn(struct server *server)
{
    uint64_t now;

    if (turn_watch_runs(&server->turn))
        return false;
    now = clock_usec();
    sync_share_begin(server, now);
    turn_watch_begin(&server->turn, now, clock_cpu_usec());
    return true;
}

/* The loop may have slept for hours: what an event notes as the time is that of the event. */
void server_begin_turn(struct server *server)
{
    if (!begin_turn(server))
        return;
    server_update_clock(server);
    server->clock_renewed = server->turn.began;
}

void server_renew_clock(struct server *server, uint64_t now)
{
    if (now - server->clock_renewed < FRESH_USEC)
        return;
    server_update_clock(server);
    server->clock_renewed = now;
}

static bool part_is_long_at(const struct server *server, uint64_t now)
{
    uint64_t used = now - server->turn.marked;

    return turn_watch_runs(&server->turn) &&
           (used >= PART_USEC || (used >= PART_LEAST && now - server->turn.began >= TURN_USEC));
}

bool server_part_is_long(const struct server *server)
{
    return part_is_long_at(server, clock_usec());
}

bool server_part_may_go_on(const struct server *server)
{
    return turn_watch_runs(&server->turn) && !server_part_is_long(server);
}

bool server_part_was_long(const struct server *server)
{
    const struct turn_watch *turn = &server->turn;

    return turn_watch_runs(turn) && turn->seen > turn->marked + PART_USEC;
}

bool server_has_time(const struct server *server)
{
    uint64_t now = clock_usec();

    return turn_watch_runs(&server->turn) && now - server->turn.marked < SHORT_USEC &&
           now - server->turn.began < PART_USEC;
}

bool turn_may_go_on(const struct server *server, unsigned done, unsigned most)
{
    return done < most && (done == 0 || done % LOOK_AFTER != 0 || !server_part_is_long(server));
}

/* Should the part end here? */
static bool has_enough(struct server *server)
{
    uint64_t now = clock_usec();

    return part_is_long_at(server, now) || sync_share_is_full(server, now);
}

void server_end_event(struct server *server)
{
    if (has_enough(server))
        event_base_loopbreak(server->base);
}

static void end_part(struct server *server, enum turn_part part)
{
    turn_watch_mark(&server->turn, part, clock_usec());
}

void turn_note_latency(struct server *server, enum latency_event event, uint64_t began)
{
    latency_note(&server->latency, event, clock_usec() - began,
                 server->config.latency_threshold, server->now.wall / 1000);
}

void server_update_clock(struct server *server)
{
    if (clock_update(&server->clock, clock_read(), &server->now))
        log_write(LOG_WARNING,
                  "The wall clock jumped by %" PRId64
                  " ms. Delays and leases are not affected; "
                  "jobs with AT follow it",
                  server->clock.last_jump);
    if (server->store != NULL)
        dueq_keep_timeline(server->store, &server->clock.line);
}

/* ---- its parts */

/* Ten thousand peers can go in one moment, and to close a socket takes 15 us. */
static void close_some(struct server *server)
{
    for (unsigned closed = 0;
         server->doomed != NULL && turn_may_go_on(server, closed, CLOSES_MOST); closed++)
        connection_free(server->doomed);
}

static void doom_some(struct server *server)
{
    for (unsigned doomed = 0; server->killed != NULL && !alone_runs(server) &&
                              turn_may_go_on(server, doomed, KILLS_MOST);
         doomed++)
        connection_doom_killed(server);
}

/* A million elements take a hundred MiB, and to give these back 6 ms. */
static void free_some(struct server *server)
{
    if (watches_have_dropped(server->watches))
        watches_free_some(server->watches);
    for (unsigned freed = 0; spent_any() && turn_may_go_on(server, freed, SPENT_MOST); freed++)
        spent_free_some();
    for (unsigned freed = 0;
         gathered_has_released() && turn_may_go_on(server, freed, FREES_MOST); freed++)
        gathered_free_one();
}

/* What clients leave, and what commands have left. */
static void clear_some(struct server *server)
{
    if (client_memory_turn(server))
        return; /* that was enough for a turn */
    doom_some(server);
    close_some(server);
    free_some(server);
}

void turn_close_doomed(struct server *server)
{
    while (server->killed != NULL)
        connection_doom_killed(server);
    while (server->doomed != NULL)
        connection_free(server->doomed);
}

static bool may_tick(const struct server *server)
{
    return server->store != NULL && !alone_runs(server) &&
           dueq_drains(server->store) == DUEQ_OK &&
           dueq_pressure(server->store) < DUEQ_PRESSURE_MOST;
}

/* True: more work is due. */
static bool tick(struct server *server)
{
    uint64_t began = clock_usec();
    unsigned steps = 0;
    bool more;

    do {
        more = dueq_tick(server->store, server->now, TICK_STEPS);
        steps += TICK_STEPS;
    } while (more && steps < TICK_BUDGET && !server_part_is_long(server));
    turn_note_latency(server, LATENCY_TICK, began);
    return more;
}

/* Connections whose next request is held back go on, in order of arrival: when a pause has
 * ended, a key is free again, or the store may be less busy. */
static void resume_held(struct server *server)
{
    const struct held *held = &server->held[HOLD_EVENT];
    struct connection *connection;
    bool goes_on = long_works_freed(server) || server->pause_ended || server->awaits_store ||
                   server->awaits_check;

    server->pause_ended = false; /* another may have begun in the same turn */
    server->awaits_store = server->awaits_check = false;
    if (server->pause_until > 0 && server->pause_until <= server->now.now) {
        server->pause_until = 0;
        goes_on = true;
    }
    if (!goes_on || held->count == 0)
        return;
    connection = held->first->held_prev; /* from the last: each is put before the others */
    for (size_t left = held->count; left > 0; left--) {
        struct connection *before = connection->held_prev;

        connection_mark_resumed(connection);
        connection = before;
    }
}

static void resume(struct server *server, struct connection *connection)
{
    DL_DELETE2(server->resumed, connection, resumed_prev, resumed_next);
    connection->is_resumed = false;
    connection_go_on(connection);
}

/* The first whose next request is not held back; NULL. */
static struct connection *first_free(const struct server *server)
{
    struct connection *connection;

    DL_FOREACH2(server->resumed, connection, resumed_next)
        if (connection->hold == HOLD_NONE)
            return connection;
    return NULL;
}

/* Runs requests of connections that have read more than they could run; each connection once,
 * and not all of them when it takes long. Those that were held come first, in each turn again
 * as long as a value is being checked, and may be thousands: one of the others runs
 * nevertheless. */
static void resume_some(struct server *server)
{
    struct connection *last = server->resumed == NULL ? NULL : server->resumed->resumed_prev,
                      *connection;
    uint64_t began = clock_usec();
    bool all_held = true;

    while ((connection = server->resumed) != NULL) {
        all_held = all_held && connection->hold != HOLD_NONE;
        resume(server, connection);
        if (connection == last)
            return;
        if (has_enough(server) || clock_usec() - began >= HEAVY_USEC)
            break;
    }
    connection = all_held ? first_free(server) : NULL;
    if (connection != NULL)
        resume(server, connection);
}

/* Nothing reaches a socket before its record is durable. So the order is: all work of this
 * turn, the commit, the gates, then output whose records are durable. */
void turn_finish(struct server *server)
{
    bool more = false, committed;
    uint64_t lsn;

    assert(server->running == 0);
    server->stats.turns++;
    begin_turn(server);
    end_part(server, TURN_EVENTS);
    server_update_clock(server);
    supervisor_alive(server->clock.last.monotonic);
    each_second_do(server);
    end_part(server, TURN_SECOND);
    resume_held(server);
    throttle_turn(server);
    resume_some(server);
    end_part(server, TURN_RESUMED);
    pubsub_turn(server);
    hashing_serve(server);
    long_works_turn(server);
    end_part(server, TURN_WORKS);
    if (may_tick(server)) {
        bound_jobs_turn(server);
        more = tick(server);
    }
    end_part(server, TURN_TICK);
    waiters_serve(server);
    waiters_expire(server);
    alone_settled(server);
    if (server->stopping && !alone_runs(server))
        ending_tell_waiters(server);
    end_part(server, TURN_WAITERS);
    committed = settle_commit(server, &lsn);
    end_part(server, TURN_COMMIT);
    if (committed)
        settle_gate(server, lsn);
    else if (alone_runs(server))
        settle_gate_storeless(server);
    settle_release_some(server); /* what is durable, also when there was no room to commit */
    end_part(server, TURN_RELEASE);
    connections_fill(server);
    clear_some(server);
    if (!alone_runs(server)) {
        user_sessions_turn(server);
        reload_turn(server);
    }
    end_part(server, TURN_FILL);
    store_life_check(server);
    if (!alone_runs(server))
        store_life_checkpoint(server);
    if (server->store != NULL && !alone_runs(server))
        dueq_maintain(server->store, !server->work_done && !more);
    end_part(server, TURN_STORE);
    sync_share_end(server);
    turn_watch_end(&server->turn, clock_cpu_usec());
    if (server->work_done && server->dashboard != NULL)
        dashboard_note_work(server);
    if (server->work_done || !server->timer_fired)
        each_second_stay(server);
    server->work_done = server->timer_fired = false;
    server->releases = 0;
}

/* ---- when the next one begins */

/* The wall clock, which jobs with AT follow, may be slewed while a timer runs: a long one ends
 * a little earlier, and the rest is measured anew. */
static int64_t nearer(int64_t wait)
{
    return wait < NEARER_FROM_MS ? wait : wait - wait / NEARER;
}

/* ms until a turn must begin without an event. */
static int64_t next_turn(struct server *server)
{
    int64_t wait = each_second_is_wanted(server) ? SECOND_MS : QUIET_MS, next;

    if (server->resumed != NULL || server->filling != NULL || server->awaits_check ||
        server->releases_more || server->killed != NULL || server->doomed != NULL ||
        pubsub_is_busy(server) || server->acl->dead != NULL || reload_is_busy(server) ||
        server->unchecked != NULL || gathered_has_released() || spent_any() ||
        watches_have_dropped(server->watches))
        return 0;
    if (may_tick(server) && bound_jobs_is_busy(&server->bound_jobs))
        return 0;
    if (may_tick(server)) {
        next = nearer(dueq_next_tick(server->store, server->now));
        wait = next < wait ? next : wait;
    }
    if (server->stopping)
        wait = wait < STOPPING_MS ? wait : STOPPING_MS;
    if (server->commit_until > 0)
        wait = wait < COMMIT_RETRY_MS ? wait : COMMIT_RETRY_MS;
    next = supervisor_next(server->clock.last.monotonic);
    wait = next < wait ? next : wait;
    next = throttle_next(server);
    wait = next < wait ? next : wait;
    next = long_works_next(server);
    wait = next < wait ? next : wait;
    next = waiters_next(server->waiters, server->now.now);
    wait = next < wait ? next : wait;
    if (server->pause_ended && server->held[HOLD_EVENT].count > 0)
        return 0;
    if (server->pause_until > 0) {
        next = server->pause_until - server->now.now;
        wait = next < wait ? next : wait;
    }
    return wait < 0 ? 0 : wait;
}

/* Ends with a ms, not that long after now: what is due in the next ms is due when it begins.
 * True: nothing is due at once. */
static bool arm_timer(struct server *server)
{
    int64_t wait = next_turn(server) * 1000;
    struct timeval until;

    if (wait > 0)
        wait -= server->clock.wall_usec % 1000;
    until = (struct timeval){(time_t)(wait / 1000000), (suseconds_t)(wait % 1000000)};
    event_add(server->timer, &until);
    return wait > 0;
}

/* ---- events */

/* While several clients change something, more may have sent requests meanwhile: with theirs in
 * the same record half the syncs do. But when the sync thread has nothing to do, others than
 * those who wait for it send meanwhile. A client that is alone waits for nobody. */
void turn_run_events(struct server *server)
{
    size_t before = 0;

    if (arm_timer(server))
        sync_share_await(server);
    event_base_loop(server->base, EVLOOP_ONCE);
    for (unsigned i = 0; i < COLLECTS_MOST && sync_share_bytes(server) > before &&
                         sync_share_is_open(server) && !server->stopping && !has_enough(server);
         i++) {
        before = sync_share_bytes(server);
        event_base_loop(server->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    }
}
