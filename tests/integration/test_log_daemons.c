/* Where the log goes besides the file: JSON lines, syslog, journald. */
#include "tests/support/client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { LINE = 8192 };

static int tear_down(void **state)
{
    (void)state;
    client_cleanup();
    server_process_cleanup();
    return 0;
}

/* A daemon that listens at a path of the server's directory. */
static int listen_at(const struct server_process *server, const char *name, char **ret_path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    *ret_path = server_process_path(server, name);
    assert_true(strlen(*ret_path) < sizeof(address.sun_path));
    strcpy(address.sun_path, *ret_path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* The first datagram that contains the text. */
static void await_line(int fd, const char *text, char *line)
{
    do {
        ssize_t size = recv(fd, line, LINE - 1, 0);

        assert_true(size > 0);
        line[size] = '\0';
    } while (strstr(line, text) == NULL);
}

static void syslog_gets_each_line(void **state)
{
    struct server_process *server = server_process_new();
    char *path, line[LINE], wanted[64];
    int fd = listen_at(server, "syslog", &path);

    (void)state;
    server_process_environment(server, "DUEQ_SYSLOG_SOCKET", path);
    server_process_option(server, "syslog-enabled", "yes");
    server_process_option(server, "syslog-ident", "queue");
    server_process_option(server, "syslog-facility", "local7");
    server_process_run(server);
    await_line(fd, "Ready to accept", line);
    assert_int_equal(strncmp(line, "<189>", 5), 0); /* 23 * 8, notice */
    snprintf(wanted, sizeof(wanted), " queue[%d]: Ready to accept", (int)server->pid);
    assert_non_null(strstr(line, wanted));
    server_process_stop(server);
    await_line(fd, "bye bye", line);
    close(fd);
    free(path);
}

static void journald_gets_fields(void **state)
{
    struct server_process *server = server_process_new();
    char *path, line[LINE], wanted[64];
    int fd = listen_at(server, "journal", &path);

    (void)state;
    server_process_environment(server, "DUEQ_JOURNALD_SOCKET", path);
    server_process_option(server, "journald-enabled", "yes");
    server_process_run(server);
    await_line(fd, "Ready to accept", line);
    assert_int_equal(strncmp(line, "MESSAGE=Ready to accept", 23), 0);
    snprintf(wanted, sizeof(wanted), "\nPRIORITY=5\nSYSLOG_IDENTIFIER=dueq\nSYSLOG_PID=%d\n",
             (int)server->pid);
    assert_non_null(strstr(line, wanted));
    server_process_stop(server);
    close(fd);
    free(path);
}

static void lines_are_json_when_wanted(void **state)
{
    struct server_process *server = server_process_start("log-format json");
    redisContext *client = client_open(server);
    char *log = server_process_log(server), *line;
    char wanted[64];

    (void)state;
    line = strstr(log, "Ready to accept");
    assert_non_null(line);
    while (line > log && line[-1] != '\n')
        line--;
    assert_int_equal(strncmp(line, "{\"time\":\"20", 11), 0);
    snprintf(wanted, sizeof(wanted),
             "Z\",\"level\":\"notice\",\"pid\":%d,\"message\":\"Ready to ", (int)server->pid);
    assert_non_null(strstr(line, wanted));
    assert_non_null(strstr(line, "\"}\n"));
    free(log);
    expect(client, "[\"log-format\" \"json\"]", "CONFIG GET log-format");
    expect(client, "OK", "CONFIG SET log-format text");
    client_close(client);
    server_process_stop(server);
    log = server_process_log(server);
    assert_non_null(strstr(log, " * dueq is down, bye bye\n"));
    free(log);
}

#define log_test(function) cmocka_unit_test_teardown(function, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {log_test(syslog_gets_each_line),
                                       log_test(journald_gets_fields),
                                       log_test(lines_are_json_when_wanted)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
