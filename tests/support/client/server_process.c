#include "tests/support/client/server_process.h"

#include "tests/support/temp_dir.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

enum {
    WORDS_MAX = 4 * SERVER_SETTINGS_MAX, /* on a command line */
    START_ATTEMPTS = 5,                  /* another program may take the free port first */
    PATIENCE_MS = 120000, /* for a start or a stop: only a hang takes that long */
    LOG_TAIL_BYTES = 4000
};

static struct server_process *live_servers;

static void pause_ms(long ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *format, ...)
{
    va_list values;
    char *result = NULL;
    va_start(values, format);
    if (vasprintf(&result, format, values) < 0)
        abort();
    va_end(values);
    return result;
}

int server_process_port(struct server_process *server, const char *option)
{
    int port = free_port();
    char text[16];

    snprintf(text, sizeof(text), "%d", port);
    server_process_option(server, option, text);
    return port;
}

const char *server_binary(void)
{
    const char *binary = getenv("DUEQ_BINARY");
    return binary && *binary ? binary : "build/dueq";
}

bool server_is_emulated(void)
{
    return getenv("DUEQ_EMULATED") != NULL;
}

bool server_starts_programs(void)
{
    return !server_is_emulated() && getenv("DUEQ_SANDBOX") == NULL;
}

static struct sockaddr_in local_address(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int free_port(void)
{
    struct sockaddr_in address = local_address(0);
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        fail_msg("no free port: %s", strerror(errno));
    close(fd);
    return ntohs(address.sin_port);
}

struct server_process *server_process_new(void)
{
    struct server_process *server = calloc(1, sizeof(*server));
    if (!server)
        abort();
    if (!live_servers)
        atexit(server_process_cleanup);
    server->directory = temp_dir_new();
    server->data = text("%s/data", server->directory);
    server->log = text("%s/log", server->directory);
    server->unixsocket = text("%s/socket", server->directory);
    server->next = live_servers;
    live_servers = server;
    server_process_option(server, "bind", "127.0.0.1");
    server_process_option(server, "dir", server->data);
    server_process_option(server, "segment-size", "1mb");
    return server;
}

static void set(struct server_setting *settings, const char *name, const char *value)
{
    size_t i = 0;
    while (i < SERVER_SETTINGS_MAX && settings[i].name && strcmp(settings[i].name, name) != 0)
        i++;
    if (i + 1 >= SERVER_SETTINGS_MAX)
        abort(); /* the list must end with an unused setting */
    if (!settings[i].name)
        settings[i].name = text("%s", name);
    free(settings[i].value);
    settings[i].value = text("%s", value);
}

void server_process_option(struct server_process *server, const char *name, const char *value)
{
    set(server->options, name, value);
}

void server_process_environment(struct server_process *server, const char *name,
                                const char *value)
{
    set(server->environment, name, value);
}

/* Splits the value into words, in place, and appends them to the list. */
static size_t add_words(char **words, size_t count, char *value)
{
    char *rest = NULL;
    if (!*value && count < WORDS_MAX)
        words[count++] = value;
    for (char *word = strtok_r(value, " ", &rest); word && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    return count;
}

/* Runs in the child process; never returns. */
static void become_server(struct server_process *server, pid_t parent)
{
    char *words[WORDS_MAX + 3] = {text("%s", server_binary()), text("server")};
    size_t count = 2;
    int log = open(server->log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    int nothing = open("/dev/null", O_RDONLY); /* not what whoever runs the tests types */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || log < 0 || nothing < 0)
        _exit(127);
    for (struct server_setting *option = server->options; option->name; option++) {
        if (count < WORDS_MAX)
            words[count++] = text("--%s", option->name);
        count = add_words(words, count, option->value);
    }
    if (getenv("DUEQ_SANDBOX") && count < WORDS_MAX) {
        words[count++] = text("--sandbox");
        words[count++] = text("yes");
    }
    words[count++] =
        text("--port"); /* last, because a configuration file may contain another port */
    words[count] = text("%d", server->port);
    dup2(nothing, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    for (struct server_setting *variable = server->environment; variable->name; variable++)
        setenv(variable->name, variable->value, 1);
    execv(words[0], words);
    perror(words[0]);
    _exit(127);
}

void server_process_launch(struct server_process *server)
{
    pid_t parent = getpid();
    assert_int_equal(server->pid, 0);
    server->port = free_port();
    mkdir(server->data, 0755);
    server->pid = fork();
    if (server->pid < 0)
        fail_msg("fork: %s", strerror(errno));
    if (server->pid == 0)
        become_server(server, parent);
}

static const char *option_of(const struct server_process *server, const char *name)
{
    for (const struct server_setting *option = server->options; option->name; option++)
        if (strcmp(option->name, name) == 0)
            return option->value;
    return NULL;
}

/* Any reply counts, also an error (NOAUTH, when a file has the password), but not -LOADING. */
static bool is_ready(int fd)
{
    char reply[2];
    return send(fd, "PING\r\n", 6, MSG_NOSIGNAL) == 6 &&
           recv(fd, reply, sizeof(reply), MSG_WAITALL) == sizeof(reply) &&
           memcmp(reply, "-L", 2) != 0;
}

static bool log_in(int fd, const char *password)
{
    char request[256], reply[5];
    int size = snprintf(request, sizeof(request), "AUTH %s\r\n", password);
    return send(fd, request, (size_t)size, MSG_NOSIGNAL) == size &&
           recv(fd, reply, sizeof(reply), MSG_WAITALL) == sizeof(reply);
}

/* While nobody listens, a connection within the machine may have its own port as its peer: it
 * would read its own request. */
static bool is_its_own_peer(int fd)
{
    struct sockaddr_in own = {0}, peer = {0};
    socklen_t own_size = sizeof(own), peer_size = sizeof(peer);
    return getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 &&
           getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0 &&
           own.sin_port == peer.sin_port;
}

static bool answers(const struct server_process *server)
{
    struct sockaddr_in address = local_address(server->port);
    struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    const char *password = option_of(server, "requirepass");
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    bool answered = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                    !is_its_own_peer(fd) && (!password || !*password || log_in(fd, password)) &&
                    is_ready(fd);
    close(fd);
    return answered;
}

static bool answers_in_time(struct server_process *server)
{
    for (int waited = 0; waited < PATIENCE_MS; waited += 2) {
        if (answers(server))
            return server_process_alive(server); /* else another program has answered */
        if (!server_process_alive(server))
            return false;
        pause_ms(2);
    }
    return false;
}

void server_process_run(struct server_process *server)
{
    for (int attempt = 0; attempt < START_ATTEMPTS; attempt++) {
        server_process_launch(server);
        if (answers_in_time(server))
            return;
        server_process_kill(server);
    }
    server_process_explain();
    fail_msg("the server %s does not start", server_binary());
}

struct server_process *server_process_start(const char *options)
{
    struct server_process *server = server_process_new();
    char *copy = text("%s", options), *rest = NULL;
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        name += strspn(name, " ");
        char *value = name + strcspn(name, " ");
        *value++ = '\0';
        server_process_option(server, name, value);
    }
    free(copy);
    server_process_run(server);
    return server;
}

static int exit_status(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void server_process_check(const struct server_process *server)
{
    char *line = text("%s check %s > /dev/null", server_binary(), server->data);

    assert_int_equal(system(line), 0);
    free(line);
}

bool server_process_alive(struct server_process *server)
{
    int status;
    if (server->pid == 0)
        return false;
    if (waitpid(server->pid, &status, WNOHANG) == 0)
        return true;
    server->pid = 0;
    return false;
}

int server_process_wait(struct server_process *server)
{
    int status = 0;
    for (int waited = 0; server->pid && waited < PATIENCE_MS; waited += 2) {
        if (waitpid(server->pid, &status, WNOHANG) == server->pid)
            server->pid = 0;
        else
            pause_ms(2);
    }
    if (server->pid) {
        server_process_explain();
        fail_msg("the server does not end");
    }
    return exit_status(status);
}

void server_process_stop(struct server_process *server)
{
    kill(server->pid, SIGTERM);
    int status = server_process_wait(server);
    if (status != 0) {
        server_process_explain();
        fail_msg("the server stopped with status %d", status);
    }
}

void server_process_kill(struct server_process *server)
{
    if (server->pid == 0)
        return;
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

char *server_process_path(const struct server_process *server, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", server->directory, name) < 0)
        abort();
    return path;
}

char *server_process_log(const struct server_process *server)
{
    struct stat status;
    int fd = open(server->log, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        return text("(no log)");
    char *log = calloc(1, (size_t)status.st_size + 1);
    if (!log || read(fd, log, (size_t)status.st_size) < 0)
        abort();
    close(fd);
    return log;
}

void server_process_explain(void)
{
    for (struct server_process *server = live_servers; server; server = server->next) {
        char *log = server_process_log(server);
        size_t size = strlen(log);
        const char *tail = size > LOG_TAIL_BYTES ? log + size - LOG_TAIL_BYTES : log;
        fprintf(stderr, "---- log of the server on port %d, %s\n%s----\n", server->port,
                server_process_alive(server) ? "running" : "ended", tail);
        free(log);
    }
}

static void forget(struct server_process *server)
{
    server_process_kill(server);
    for (size_t i = 0; i < SERVER_SETTINGS_MAX; i++) {
        free(server->options[i].name);
        free(server->options[i].value);
        free(server->environment[i].name);
        free(server->environment[i].value);
    }
    free(server->unixsocket);
    free(server->log);
    free(server->data);
    temp_dir_remove(server->directory);
    free(server);
}

/* For `make check-sandbox`: whatever the server asks of the system, it is to be allowed. */
static void check_refusals(const struct server_process *server)
{
    char *log = server_process_log(server);
    const char *line = strstr(log, "The sandbox refused");
    if (line && getenv("DUEQ_SANDBOX")) {
        fprintf(stderr, "ERROR: %.*s\n", (int)strcspn(line, "\n"), line);
        abort();
    }
    free(log);
}

void server_process_cleanup(void)
{
    while (live_servers) {
        struct server_process *server = live_servers;
        live_servers = server->next;
        check_refusals(server);
        forget(server);
    }
}

int run_shell(char *ret_output, size_t size, const char *format, ...)
{
    char *command = NULL, *with_errors;
    va_list values;
    size_t used = 0, got;
    va_start(values, format);
    if (vasprintf(&command, format, values) < 0)
        abort();
    va_end(values);
    with_errors = text("{ %s; } 2>&1", command);
    FILE *pipe = popen(with_errors, "re");
    if (!pipe)
        fail_msg("popen: %s", strerror(errno));
    while (used + 1 < size && (got = fread(ret_output + used, 1, size - 1 - used, pipe)) > 0)
        used += got;
    ret_output[used] = '\0';
    free(with_errors);
    free(command);
    return exit_status(pclose(pipe));
}

void expect_said(const char *output, const char *text)
{
    if (strstr(output, text) == NULL)
        fail_msg("no \"%s\" in: %s", text, output);
}
