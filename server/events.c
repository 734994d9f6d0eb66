#include "server/events.h"

#include "server/info/info.h"
#include "server/process/stop_signals.h"
#include "server/reload.h"
#include "server/settle.h"
#include "server/upgrade.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { TIMER_SLACK_NSEC = 1000 };

/* Only begins a turn, which does the work: on a busy server the timer never fires. */
static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct server *server = arg;

    (void)fd;
    (void)what;
    server->timer_fired = true;
    server_begin_turn(server);
}

static void on_clock_set(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    server_begin_turn(arg);
    clock_watch_again(fd);
}

static void on_store_notice(evutil_socket_t fd, short what, void *arg)
{
    struct server *server = arg;
    uint64_t count;

    (void)what;
    server_begin_turn(server);
    if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        log_write(LOG_WARNING, "eventfd: %s", strerror(errno));
    /* In this order: a notice suppressed before this line is handled by the release below, one
     * after it writes again. In the other order a write could be lost while the flag is set,
     * and no notice would ever come. */
    atomic_store(&server->notice_pending, false);
    settle_release_some(server);
}

static void on_hangup(evutil_socket_t signal, short what, void *arg)
{
    struct server *server = arg;

    (void)signal;
    (void)what;
    server_begin_turn(server);
    if (server->stopping)
        log_reopen();
    else
        reload_run(server);
}

static void on_upgrade_signal(evutil_socket_t signal, short what, void *arg)
{
    (void)signal;
    (void)what;
    server_begin_turn(arg);
    upgrade_begin(arg);
}

static void on_state_signal(evutil_socket_t signal, short what, void *arg)
{
    (void)signal;
    (void)what;
    server_begin_turn(arg);
    info_log(arg);
}

static void on_stop_signal(evutil_socket_t fd, short what, void *arg)
{
    struct server *server = arg;
    uint64_t count;

    (void)what;
    server_begin_turn(server);
    if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        log_write(LOG_WARNING, "eventfd: %s", strerror(errno));
    log_write(LOG_NOTICE, "Received SIG%s, shutting down",
              stop_signals_caught() == SIGTERM ? "TERM" : "INT");
    if (server->stopping)
        upgrade_cancel(server);
    else
        server_shutdown(server, true, false);
}

static bool add_event(struct server *server, struct event **event, int fd, short what,
                      event_callback_fn callback)
{
    *event = event_new(server->base, fd, what | EV_PERSIST, callback, server);
    return *event != NULL && event_add(*event, NULL) == 0;
}

/* Timers are exact to the microsecond; by default epoll waits up to a ms longer, and other
 * calls 50 usec. */
static struct event_base *new_base(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NSEC);
    if (config == NULL)
        return NULL;
    if (event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER) == 0)
        base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

bool events_open(struct server *server)
{
    int stop_fd = stop_signals_open();

    server->base = new_base();
    server->notice_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    server->clock_fd = clock_watch_open(); /* without it each second has a turn */
    if (server->base == NULL || server->notice_fd < 0 || stop_fd < 0)
        return false;
    server->timer = evtimer_new(server->base, on_timer, server);
    signal(SIGPIPE, SIG_IGN);
    return server->timer != NULL &&
           add_event(server, &server->notice_event, server->notice_fd, EV_READ,
                     on_store_notice) &&
           add_event(server, &server->stop_event, stop_fd, EV_READ, on_stop_signal) &&
           add_event(server, &server->hangup_event, SIGHUP, EV_SIGNAL, on_hangup) &&
           add_event(server, &server->state_event, SIGUSR1, EV_SIGNAL, on_state_signal) &&
           add_event(server, &server->upgrade_event, SIGUSR2, EV_SIGNAL, on_upgrade_signal) &&
           (server->clock_fd < 0 ||
            add_event(server, &server->clock_event, server->clock_fd, EV_READ, on_clock_set));
}

void events_close(struct server *server)
{
    struct event *events[] = {server->timer,        server->notice_event, server->stop_event,
                              server->hangup_event, server->state_event,  server->upgrade_event,
                              server->clock_event};

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        if (events[i] != NULL)
            event_free(events[i]);
    if (server->base != NULL)
        event_base_free(server->base);
    close(server->notice_fd);
    if (server->clock_fd >= 0)
        close(server->clock_fd);
    stop_signals_close();
}
