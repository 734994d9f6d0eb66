#include "server/upgrade.h"

#include "server/http/http.h"
#include "server/inheritance.h"
#include "server/net/listener.h"
#include "server/process/handover.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PATIENCE_S = 60, /* for the answer of the new program */
    SAYS_MOST = 64 * 1024,
    END_MS = 10, /* between looks whether it has ended, when it has closed its output */
    END_LOOKS = PATIENCE_S * 1000 / END_MS
};

static struct {
    struct event *event;
    int fd;
    int pid;        /* 0: no answer is awaited */
    char text[512]; /* what it has printed so far */
    size_t size;
    size_t said; /* bytes, with those that `text` has no room for */
    unsigned looks;
} answer;

static void forget(void)
{
    if (answer.event != NULL)
        event_free(answer.event);
    answer.event = NULL;
    close(answer.fd);
    answer.pid = 0;
}

void upgrade_end(void)
{
    if (answer.pid == 0)
        return;
    kill(answer.pid, SIGKILL);
    while (waitpid(answer.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    forget();
}

static void make_room(struct server *server)
{
    if (!inheritance_leave(server)) {
        log_write(LOG_WARNING,
                  "No upgrade: options and users that are not saved would be lost: "
                  "out of memory or descriptors");
        return;
    }
    log_write(LOG_NOTICE, "Upgrade: %s takes the place of this program", handover_program());
    server->upgrading = true;
    listeners_rest(server);
    http_rest(server);
    server_shutdown(server, true, false);
}

void upgrade_cancel(struct server *server)
{
    if (!server->upgrading)
        return;
    server->upgrading = false;
    listeners_go_on(server);
    http_go_on(server);
}

static void conclude(struct server *server, bool good, const char *why)
{
    upgrade_end();
    if (good && !server->stopping)
        make_room(server);
    else
        log_write(LOG_WARNING, "No upgrade: %s %s: %.*s", handover_program(), why,
                  (int)answer.size, answer.text);
}

/* It has closed its output, so it is about to end; or it goes to the background. */
static void on_look(evutil_socket_t fd, short what, void *arg)
{
    int status = 0;
    pid_t pid = waitpid(answer.pid, &status, WNOHANG);

    (void)fd;
    (void)what;
    server_begin_turn(arg);
    if (pid != 0) {
        forget();
        conclude(arg, pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0,
                 "would not start");
    } else if (++answer.looks > END_LOOKS)
        conclude(arg, false, "does not end");
}

static void await_end(struct server *server)
{
    static const struct timeval pause = {0, END_MS * 1000};

    event_free(answer.event);
    answer.event = event_new(server->base, -1, EV_PERSIST, on_look, server);
    if (answer.event == NULL || event_add(answer.event, &pause) != 0)
        conclude(server, false, "is not waited for, out of memory");
}

static void note(const char *text, size_t size)
{
    size_t room = sizeof(answer.text) - 1 - answer.size;
    size_t taken = size < room ? size : room;

    memcpy(answer.text + answer.size, text, taken);
    answer.size += taken;
    answer.said += size;
}

static void on_answer(evutil_socket_t fd, short what, void *arg)
{
    struct server *server = arg;
    char text[512];
    ssize_t got;

    server_begin_turn(server);
    if (!(what & EV_READ)) {
        conclude(server, false, "has not answered");
        return;
    }
    got = read(fd, text, sizeof(text));
    if (got > 0)
        note(text, (size_t)got);
    if (answer.said > SAYS_MOST)
        conclude(server, false, "would not start");
    else if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        await_end(server);
}

/* NULL: it may begin. */
static const char *why_not(const struct server *server)
{
    if (server->config.sandbox)
        return "with sandbox yes no program can be started; restart, with sockets of the "
               "service manager no connection is refused meanwhile";
    if (server->config.is_from_stdin)
        return "the configuration came from standard input";
    if (server->stopping)
        return "the server stops";
    if (server->loading)
        return "the server is loading";
    return server->store == NULL ? "the store has failed: neither program could open it" : NULL;
}

void upgrade_begin(struct server *server)
{
    static const struct timeval patience = {PATIENCE_S, 0};
    const char *why = why_not(server);

    if (answer.pid != 0)
        return;
    answer.size = answer.said = answer.looks = 0;
    answer.fd = why == NULL ? handover_start_check(&answer.pid) : -1;
    if (answer.fd < 0) {
        answer.pid = 0;
        log_write(LOG_WARNING, "No upgrade: %s%s%s", why == NULL ? handover_program() : why,
                  why == NULL ? ": " : "", why == NULL ? strerror(errno) : "");
        return;
    }
    answer.event = event_new(server->base, answer.fd, EV_READ | EV_PERSIST, on_answer, server);
    if (answer.event == NULL || event_add(answer.event, &patience) != 0)
        conclude(server, false, "is not waited for, out of memory");
}
