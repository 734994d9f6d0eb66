#include "tests/support/client/foreign_server.h"

#include "tests/support/client/client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { SERVERS = 8, PATIENCE_MS = 60000, START_ATTEMPTS = 5 };

static pid_t running[SERVERS];

static void remember(pid_t pid)
{
    for (size_t i = 0; i < SERVERS; i++)
        if (running[i] == 0) {
            running[i] = pid;
            return;
        }
    fail_msg("too many servers");
}

static void forget(pid_t pid)
{
    for (size_t i = 0; i < SERVERS; i++)
        if (running[i] == pid)
            running[i] = 0;
}

/* Runs in the child; never returns. */
static void become(const char **words, pid_t parent)
{
    int nothing = open("/dev/null", O_RDWR);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    dup2(nothing, 0);
    dup2(nothing, 1);
    dup2(nothing, 2);
    execvp(words[0], (char **)(uintptr_t)words);
    _exit(127);
}

int foreign_server_socket(const struct foreign_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* False: it has ended, as when another program took the port first. */
static bool await_listening(struct foreign_server *server)
{
    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        int fd = foreign_server_socket(server);

        if (fd >= 0) {
            close(fd);
            return true;
        }
        if (waitpid(server->pid, NULL, WNOHANG) == server->pid)
            return false;
        sleep_ms(10);
    }
    return false;
}

void foreign_server_start(struct foreign_server *server, const char **words, const char **port)
{
    static char text[16];
    pid_t parent = getpid();
    bool keeps = server->port != 0;

    for (int i = 0; i < START_ATTEMPTS; i++) {
        if (server->port == 0)
            server->port = free_port();
        snprintf(text, sizeof(text), "%d", server->port);
        *port = text;
        server->pid = fork();
        if (server->pid == 0)
            become(words, parent);
        if (await_listening(server)) {
            remember(server->pid);
            return;
        }
        server->port = keeps ? server->port : 0;
    }
    fail_msg("%s does not start: tools/bootstrap installs it", words[0]);
}

static void start_redis_server(struct foreign_server *server, const char *password)
{
    const char *words[] = {"redis-server",
                           "--port",
                           NULL,
                           "--bind",
                           "127.0.0.1",
                           "--save",
                           "",
                           "--enable-debug-command",
                           "yes",
                           password == NULL ? NULL : "--requirepass",
                           password,
                           NULL};

    foreign_server_start(server, words, &words[2]);
}

void redis_server_start(struct foreign_server *server, const char *password)
{
    server->port = 0;
    start_redis_server(server, password);
}

void redis_server_restart(struct foreign_server *server)
{
    start_redis_server(server, NULL);
}

/* The socket stays open here, so its port is nobody else's however slowly Python starts. */
static int open_hook(struct foreign_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    static int fd = -1;

    if (server->port != 0)
        return fd;
    if (fd >= 0)
        close(fd);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 100) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        fail_msg("no socket for the webhook");
    server->port = ntohs(address.sin_port);
    return fd;
}

void webhook_start(struct foreign_server *server, const char *directory,
                   const char *certificate, const char *key)
{
    const char *words[] = {
        "python3", "tests/support/client/webhook.py", "3", directory, certificate, key, NULL};
    int fd = open_hook(server);
    pid_t parent = getpid();

    server->pid = fork();
    if (server->pid == 0) {
        if (fd == 3)
            fcntl(3, F_SETFD, 0);
        else
            dup2(fd, 3);
        become(words, parent);
    }
    remember(server->pid);
}

/* With a port of the command line it lets everybody in. */
void mosquitto_start(struct foreign_server *server, const char *configuration)
{
    static const char script[] = "{ echo listener $0 127.0.0.1; cat $1; } >$1.whole && "
                                 "exec /usr/sbin/mosquitto -c $1.whole";
    const char *words[] = {"sh", "-c", script, NULL, configuration, NULL};

    foreign_server_start(server, words, &words[3]);
}

void beanstalkd_start(struct foreign_server *server)
{
    const char *words[] = {"beanstalkd", "-l", "127.0.0.1", "-p", NULL, NULL};

    server->port = 0;
    foreign_server_start(server, words, &words[4]);
}

void foreign_server_kill(struct foreign_server *server)
{
    if (server->pid <= 0)
        return;
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    forget(server->pid);
    server->pid = 0;
}

void foreign_server_cleanup(void)
{
    for (size_t i = 0; i < SERVERS; i++)
        if (running[i] > 0) {
            kill(running[i], SIGKILL);
            waitpid(running[i], NULL, 0);
            running[i] = 0;
        }
}

redisContext *foreign_server_client(const struct foreign_server *server)
{
    redisContext *client = redisConnect("127.0.0.1", server->port);

    if (client == NULL || client->err != 0)
        fail_msg("no connection to port %d", server->port);
    return client;
}
