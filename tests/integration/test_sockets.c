/* Where the server listens: addresses, ports, the unix socket; and how that changes while it
 * runs. */
#include "tests/support/client/client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

#define BIND_FAILED                                                                            \
    "!ERR CONFIG SET failed (possibly related to argument 'bind') - Failed to bind to "        \
    "specified addresses."
#define PORT_FAILED                                                                            \
    "!ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen "         \
    "on this port. Check server logs."

static bool answers(const char *host, int port)
{
    char output[256];
    run_shell(output, sizeof(output), "timeout 60 redis-cli -h %s -p %d PING 2>&1", host, port);
    return strcmp(output, "PONG\n") == 0;
}

static bool answers_noauth(int port)
{
    char output[256];
    run_shell(output, sizeof(output), "timeout 60 redis-cli -p %d PING 2>&1", port);
    return strstr(output, "NOAUTH") != NULL;
}

/* A socket that listens there, as another program's would. */
static int take_port(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static void the_port_changes_and_clients_stay(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    int port = free_port();
    expect(client, "OK", "CONFIG SET port %d", port);
    expect(client, "PONG", "PING");
    assert_true(answers("127.0.0.1", port));
    assert_false(answers("127.0.0.1", server->port));
    expect(client, "OK", "CONFIG SET port 0");
    assert_false(answers("127.0.0.1", port));
    expect(client, "OK", "CONFIG SET port %d", server->port);
    assert_true(answers("127.0.0.1", server->port));
}

static void a_port_that_is_taken_changes_nothing(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    int taken = free_port(), fd = take_port(taken);
    char port[64];
    expect(client, PORT_FAILED, "CONFIG SET maxclients 77 port %d", taken);
    snprintf(port, sizeof(port), "[\"port\" \"%d\"]", server->port);
    expect(client, port, "CONFIG GET port");
    expect(client, "[\"maxclients\" \"10000\"]", "CONFIG GET maxclients");
    assert_true(answers("127.0.0.1", server->port));
    close(fd);
    expect(client, "OK", "CONFIG SET port %d", taken);
    assert_true(answers("127.0.0.1", taken));
}

/* The inode of the socket that listens at the port on 127.0.0.1; a new one has another. */
static unsigned long socket_at(int port)
{
    char text[64];
    run_shell(text, sizeof(text),
              "awk '$2 == \"0100007F:%04X\" && $4 == \"0A\" {print $10}' /proc/net/tcp", port);
    unsigned long inode = strtoul(text, NULL, 10);
    assert_int_not_equal(inode, 0);
    return inode;
}

/* A user without rights could not open a port below 1024 again. */
static void a_change_that_fails_leaves_the_sockets_open(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    int taken = free_port(), fd = take_port(taken);
    unsigned long before = socket_at(server->port);
    expect(client, PORT_FAILED, "CONFIG SET port %d", taken);
    assert_int_equal(socket_at(server->port), before);
    expect(client, BIND_FAILED, "CONFIG SET bind %s", "127.0.0.2 192.0.2.1");
    assert_int_equal(socket_at(server->port), before);
    assert_false(answers("127.0.0.2", server->port));
    expect(client, BIND_FAILED, "CONFIG SET bind %s", "* 192.0.2.1");
    assert_true(answers("127.0.0.1", server->port));
    assert_false(answers("127.0.0.2", server->port));
    close(fd);
}

static void bind_changes_from_one_to_all_and_back(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    assert_false(answers("127.0.0.2", server->port));
    expect(client, "OK", "CONFIG SET bind %s protected-mode no", "* -::*");
    assert_true(answers("127.0.0.1", server->port));
    assert_true(answers("127.0.0.2", server->port));
    expect(client, "OK", "CONFIG SET bind %s", "127.0.0.1 127.0.0.2");
    assert_true(answers("127.0.0.2", server->port));
    assert_false(answers("127.0.0.3", server->port));
    expect(client, "OK", "CONFIG SET bind %s", "");
    assert_false(answers("127.0.0.1", server->port));
    expect(client, "OK", "CONFIG SET bind 127.0.0.1");
    assert_true(answers("127.0.0.1", server->port));
}

static void the_machine_may_lack_an_address_after_a_minus(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    expect(client, "OK", "CONFIG SET bind %s", "127.0.0.2 -192.0.2.1");
    assert_true(answers("127.0.0.2", server->port));
    expect(client, BIND_FAILED, "CONFIG SET bind %s", "127.0.0.3 192.0.2.1");
    expect(client, BIND_FAILED, "CONFIG SET bind nosuch");
    assert_true(answers("127.0.0.2", server->port));
    assert_false(answers("127.0.0.3", server->port));
    expect(client, "*'bind') - Too many bind addresses specified.", "CONFIG SET bind %s",
           "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17");
}

static void it_listens_on_ipv6(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("bind 127.0.0.1 ::1");
    if (access("/proc/net/if_inet6", F_OK) != 0)
        skip();
    assert_true(answers("::1", server->port));
    assert_true(answers("127.0.0.1", server->port));
}

static void a_server_without_any_socket_ends(void **state)
{
    (void)state;
    char output[4096];
    struct server_process *server = server_process_new();
    assert_int_equal(run_shell(output, sizeof(output), "timeout 60 %s server --port 0 --dir %s",
                               server_binary(), server->data),
                     1);
    assert_non_null(strstr(output, "Configured to not listen anywhere, exiting."));
}

static void the_unix_socket_has_its_group(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    gid_t group = geteuid() == 0 ? 12345 : getegid();
    char output[4096], number[16];
    struct stat found;
    snprintf(number, sizeof(number), "%u", (unsigned)group);
    server_process_option(server, "unixsocket", server->unixsocket);
    server_process_option(server, "unixsocketgroup", number);
    server_process_option(server, "unixsocketperm", "760");
    server_process_run(server);
    assert_int_equal(stat(server->unixsocket, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0760);
    assert_int_equal(found.st_gid, group);
    server_process_stop(server);
    assert_int_equal(run_shell(output, sizeof(output),
                               "timeout 60 %s server --port 0 --dir %s --unixsocket %s "
                               "--unixsocketgroup no-such-group",
                               server_binary(), server->data, server->unixsocket),
                     1);
    assert_non_null(strstr(output, "no-such-group"));
    assert_int_not_equal(access(server->unixsocket, F_OK), 0);
}

/* Its name does not say that its clients are on this machine. */
static void protected_mode_lets_clients_of_any_unix_socket_in(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    char *here = getcwd(NULL, 0), *binary = realpath(server_binary(), NULL);
    assert_non_null(binary);
    setenv("DUEQ_BINARY", binary, 1); /* it is started in another directory */
    free(binary);
    server_process_option(server, "unixsocket", "by-name.sock");
    assert_non_null(here);
    assert_int_equal(chdir(server->directory), 0);
    server_process_run(server);
    redisContext *client = client_open_unix("by-name.sock");
    expect(client, "PONG", "PING");
    char *line = ask_text(client, "CLIENT LIST");
    assert_non_null(strstr(line, " flags=U "));
    free(line);
    client_close(client);
    server_process_stop(server);
    assert_int_equal(chdir(here), 0);
    free(here);
}

static bool is_loading(redisContext *client)
{
    char *answer = ask_text(client, "PING");
    bool loads = strncmp(answer, "!LOADING", 8) == 0;
    free(answer);
    return loads;
}

/* The manager's socket, as descriptor 3 of the server; LISTEN_PID is the pid of the server. */
static void a_service_manager_may_open_the_sockets(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    char output[4096];
    int port = free_port(), fd = take_port(port);
    struct server_process there = {.port = port};
    fcntl(fd, F_SETFD, 0);
    assert_int_equal(run_shell(output, sizeof(output),
                               "{ LISTEN_FDS=1 LISTEN_FDNAMES=redis timeout 60 sh -c "
                               "'LISTEN_PID=$$ exec %s server --port %d --dir %s' 3<&%d "
                               ">%s 2>&1 & }",
                               server_binary(), free_port(), server->data, fd, server->log),
                     0);
    close(fd);
    redisContext *client = client_open(&there); /* it waits until the server accepts */
    while (is_loading(client))
        sleep_ms(10);
    expect(client, "PONG", "PING");
    say(client, "SHUTDOWN NOSAVE");
    expect_closed(client);
}

static void a_service_manager_may_keep_the_password(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    char output[256];
    assert_int_equal(run_shell(output, sizeof(output),
                               "mkdir %s/secrets && echo 'se cret' >%s/secrets/requirepass",
                               server->directory, server->directory),
                     0);
    char *secrets = server_process_path(server, "secrets");
    server_process_environment(server, "CREDENTIALS_DIRECTORY", secrets);
    server_process_launch(server);
    for (int i = 0; i < 3000 && !answers_noauth(server->port); i++)
        sleep_ms(10);
    redisContext *client = client_open(server);
    expect(client, "!NOAUTH*", "PING");
    expect(client, "OK", "AUTH %s", "se cret");
    free(secrets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(the_port_changes_and_clients_stay),
        served_test(a_port_that_is_taken_changes_nothing),
        served_test(a_change_that_fails_leaves_the_sockets_open),
        served_test(bind_changes_from_one_to_all_and_back),
        served_test(the_machine_may_lack_an_address_after_a_minus),
        serving_test(it_listens_on_ipv6),
        serving_test(a_server_without_any_socket_ends),
        serving_test(the_unix_socket_has_its_group),
        serving_test(protected_mode_lets_clients_of_any_unix_socket_in),
        serving_test(a_service_manager_may_open_the_sockets),
        serving_test(a_service_manager_may_keep_the_password),
    };
    return cmocka_run_group_tests_name("sockets", tests, NULL, NULL);
}
