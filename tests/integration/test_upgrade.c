/* SIGUSR2: a new program takes the place of the server, in the same process and with the same
 * sockets; one that is missing or refuses to start changes nothing. */
#include "tests/support/client/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

enum { WAIT_MS = 120000 /* only a hang takes that long */ };

/* The servers of this file run a copy of the binary, which a test can replace. */
static char real[4096], copy[4096];

static size_t count_in_log(const struct server_process *server, const char *words)
{
    char *log = server_process_log(server);
    size_t count = 0;
    for (const char *at = log; (at = strstr(at, words)) != NULL; at += strlen(words))
        count++;
    free(log);
    return count;
}

static void install(const char *source)
{
    char output[1024];
    int status = run_shell(output, sizeof(output), "cp '%s' '%s.new' && mv '%s.new' '%s'",
                           source, copy, copy, copy);
    if (status != 0)
        fail_at(__FILE__, __LINE__, "%s", output);
}

static void install_script(const char *text)
{
    char path[sizeof(copy) + 8];
    snprintf(path, sizeof(path), "%s.new", copy);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", text);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(rename(path, copy), 0);
}

static struct server_process *server_new(void)
{
    struct server_process *server = server_process_new();
    char *path = server_process_path(server, "program");
    snprintf(copy, sizeof(copy), "%s", path);
    free(path);
    install(real);
    setenv("DUEQ_BINARY", copy, 1);
    return server;
}

static struct server_process *start(void)
{
    struct server_process *server = server_new();
    server_process_run(server);
    return server;
}

/* Returns when the words are in the log once more, or the server has ended. */
static void await_signalled(struct server_process *server, int signal, const char *words)
{
    size_t before = count_in_log(server, words);
    assert_int_equal(kill(server->pid, signal), 0);
    for (int tries = 0; count_in_log(server, words) == before && server_process_alive(server);
         tries++) {
        if (tries == WAIT_MS)
            fail_msg("not in the log: %s", words);
        sleep_ms(1);
    }
}

static void signal_until(struct server_process *server, const char *words)
{
    await_signalled(server, SIGUSR2, words);
    assert_true(server_process_alive(server));
}

static void upgrade(struct server_process *server)
{
    signal_until(server, "Ready to accept connections on port");
}

/* Starts the copy by a script, which adds to its name and its arguments. */
static void start_by(struct server_process *server, const char *command)
{
    char *path = server_process_path(server, "start");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/bash\n%s\n", command);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
    setenv("DUEQ_BINARY", path, 1);
    server_process_run(server);
    setenv("DUEQ_BINARY", copy, 1);
    free(path);
}

static void configure(struct server_process *server, const char *text)
{
    char *config = server_process_path(server, "server.conf");
    FILE *file = fopen(config, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    server_process_option(server, "config", config);
    free(config);
}

/* ---- it works */

static void the_new_program_has_pid_sockets_and_jobs(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    char file[64] = "", *pidfile = server_process_path(server, "pid");
    int http = server_process_port(server, "http-port");
    struct stat before, after;
    server_process_option(server, "unixsocket", server->unixsocket);
    server_process_option(server, "pidfile", pidfile);
    server_process_run(server);
    redisContext *client = client_open(server);
    expect(client, "*", "Q.PUSH mail body ID a");
    expect(client, "*", "Q.PUSH mail body ID b");
    int64_t token = claim(client, "mail", "a");
    assert_int_equal(stat(server->unixsocket, &before), 0);
    for (int i = 0; i < 3; i++)
        upgrade(server);
    client = client_open(server);
    expect(client, "1", "Q.ACK mail a %lld", (long long)token);
    expect(client, "[[\"b\" * \"body\" 1]]", "Q.CLAIM mail");
    expect(client_open_unix(server->unixsocket), "PONG", "PING");
    assert_int_equal(stat(server->unixsocket, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(run_shell(file, sizeof(file), "curl -s http://127.0.0.1:%d/readyz", http),
                     0);
    assert_string_equal(file, "ready\n");
    FILE *pid = fopen(pidfile, "r");
    assert_non_null(pid);
    assert_non_null(fgets(file, sizeof(file), pid));
    fclose(pid);
    assert_int_equal(atoi(file), server->pid);
    server_process_stop(server);
    assert_int_equal(access(server->unixsocket, F_OK), -1);
    assert_int_equal(access(pidfile, F_OK), -1);
    free(pidfile);
}

struct knocking {
    struct sockaddr_storage address;
    socklen_t size;
    atomic_bool ends;
    unsigned asked, refused, unanswered;
};

/* Connects again and again, and asks once by each connection. */
static void *knock(void *arg)
{
    struct knocking *knocking = arg;
    while (!atomic_load(&knocking->ends)) {
        int fd = socket(knocking->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct timeval patience = {.tv_sec = WAIT_MS / 1000};
        char reply[7];
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        knocking->asked++;
        if (connect(fd, (struct sockaddr *)&knocking->address, knocking->size) != 0)
            knocking->refused++;
        else if (send(fd, "PING\r\n", 6, MSG_NOSIGNAL) != 6 ||
                 recv(fd, reply, 7, MSG_WAITALL) != 7)
            knocking->unanswered++;
        close(fd);
    }
    return NULL;
}

/* On a machine that is very busy, one that has connected may be too late with its request. */
static void no_connection_is_refused(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    struct knocking doors[2] = {0};
    struct sockaddr_in *port = (void *)&doors[0].address;
    struct sockaddr_un *path = (void *)&doors[1].address;
    pthread_t threads[2];
    server_process_option(server, "unixsocket", server->unixsocket);
    server_process_run(server);
    *port = (struct sockaddr_in){.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                 .sin_port = htons((uint16_t)server->port)};
    doors[0].size = sizeof(*port);
    path->sun_family = AF_UNIX;
    snprintf(path->sun_path, sizeof(path->sun_path), "%s", server->unixsocket);
    doors[1].size = sizeof(*path);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, knock, &doors[i]), 0);
    for (int i = 0; i < 5; i++)
        upgrade(server);
    for (int i = 0; i < 2; i++) {
        atomic_store(&doors[i].ends, true);
        pthread_join(threads[i], NULL);
        assert_true(doors[i].asked > 0);
        assert_int_equal(doors[i].refused, 0);
        assert_true(doors[i].unanswered < doors[i].asked / 10 + 1);
    }
}

static void nothing_is_lost_and_no_client_meets_an_error(void **state)
{
    (void)state;
    struct server_process *server = start();
    redisContext *client = client_open(server);
    int64_t pushed = 0;
    for (int i = 0; i < 5; i++) {
        size_t before = count_in_log(server, "Ready to accept");
        assert_int_equal(kill(server->pid, SIGUSR2), 0);
        do {
            for (int j = 0; j < 20; j++)
                say(client, "Q.PUSH mail body");
            for (int j = 0; j < 20; j++)
                expect_reply(client, "\"*\"");
            pushed += 20;
        } while (count_in_log(server, "Ready to accept") == before);
    }
    assert_int_equal(ask_integer(client, "Q.LEN mail"), pushed);
}

static void who_waits_hears_nothing_new_and_asks_again(void **state)
{
    (void)state;
    struct server_process *server = start();
    redisContext *client = client_open(server), *waiter = client_open(server);
    say(waiter, "Q.CLAIM mail BLOCK 0");
    await_blocked(client, 1);
    upgrade(server);
    expect_reply(waiter, "nil");
    say(waiter, "Q.CLAIM mail BLOCK 0");
    await_blocked(client, 1);
    expect(client, "*", "Q.PUSH mail body ID a");
    expect_reply(waiter, "[[\"a\" * \"body\" 1]]");
}

/* Many of them, and what they are. */
static void clients_stay_what_they_are(void **state)
{
    enum { CLIENTS = 500 };
    (void)state;
    struct server_process *server = start();
    redisContext *client = client_open(server), *bob = client_open(server), *many[CLIENTS];
    expect(client, "OK", "ACL SETUSER bob on >one ~* &* +@all");
    expect(client, "OK", "CLIENT SETNAME first");
    expect(client, "OK", "SELECT 7");
    expect(client, "OK", "CLIENT NO-EVICT on");
    int64_t id = ask_integer(client, "CLIENT ID");
    expect(bob, "OK", "AUTH bob one");
    for (int i = 0; i < CLIENTS; i++)
        many[i] = client_open(server);
    upgrade(server);
    char *line = ask_string(client, "CLIENT INFO");
    assert_non_null(strstr(line, " name=first "));
    assert_non_null(strstr(line, " db=7 "));
    assert_non_null(strstr(line, " flags=e "));
    assert_true(ask_integer(client, "CLIENT ID") > id + CLIENTS);
    expect(client, "0", "CLIENT UNBLOCK %lld", (long long)id);
    expect(bob, "\"bob\"", "ACL WHOAMI"); /* no file has that user */
    for (int i = 0; i < CLIENTS; i++)
        expect(many[i], "PONG", "PING");
    expect(client_open(server), "PONG", "PING");
    free(line);
}

/* Names are of any length, and a path may have spaces: none of them is taken for what comes
 * after it. */
static void no_client_becomes_another_user(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    char *path = server_process_path(server, "a b"), name[401], text[8192];
    snprintf(text, sizeof(text),
             "user alice on >one ~* &* +@connection +acl|whoami\n"
             "user admin on >two ~* &* +@all\nunixsocket \"%s\"\n",
             path);
    configure(server, text);
    server_process_run(server);
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    redisContext *clients[] = {client_open(server), client_open_unix(path)};
    for (size_t i = 0; i < 2; i++) {
        expect(clients[i], "OK", "AUTH alice one");
        expect(clients[i], "OK", "CLIENT SETINFO LIB-NAME admin");
        expect(clients[i], "OK", "CLIENT SETINFO LIB-VER admin");
    }
    expect(clients[0], "OK", "CLIENT SETNAME %s", name);
    upgrade(server);
    for (size_t i = 0; i < 2; i++)
        expect(clients[i], "\"alice\"", "ACL WHOAMI");
    char *kept = ask_string(clients[0], "CLIENT GETNAME");
    assert_string_equal(kept, name);
    char *line = ask_string(clients[1], "CLIENT INFO");
    assert_non_null(strstr(line, path));
    free(line);
    free(kept);
    free(path);
}

/* Of two there is a place for one, and the user of the first is gone. */
static void who_gets_the_place_of_another_stays_what_it_is(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    configure(server, "user alice on >one ~* &* +@connection +acl|whoami\n"
                      "user bob on >two ~* &* +@all\n");
    server_process_run(server);
    redisContext *bob = client_open(server), *alice = client_open(server);
    expect(bob, "OK", "AUTH bob two");
    expect(alice, "OK", "AUTH alice one");
    expect(bob, "OK", "CONFIG SET maxclients 1");
    configure(server, "user alice on >one ~* &* +@connection +acl|whoami\n");
    upgrade(server);
    expect(alice, "\"alice\"", "ACL WHOAMI");
}

/* Somebody has tidied up. */
static void a_socket_file_that_is_gone_is_made_again(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    server_process_option(server, "unixsocket", server->unixsocket);
    server_process_option(server, "unixsocketperm", "700");
    server_process_run(server);
    assert_int_equal(unlink(server->unixsocket), 0);
    upgrade(server);
    expect(client_open_unix(server->unixsocket), "PONG", "PING");
    assert_int_equal(count_in_log(server, "starting, pid"), 2);
}

/* Messages and transactions are of one program: these clients connect again. */
static void who_has_more_than_a_connection_is_closed(void **state)
{
    (void)state;
    struct server_process *server = start();
    redisContext *listener = client_open(server), *multi = client_open(server),
                 *half = client_open(server);
    expect(listener, "[\"subscribe\" \"news\" 1]", "SUBSCRIBE news");
    expect(multi, "OK", "MULTI");
    assert_int_equal(send(half->fd, "*2\r\n$3\r\nGET\r\n", 13, 0), 13);
    upgrade(server);
    expect_closed(listener);
    expect_closed(multi);
    expect_closed(half);
}

static void sockets_follow_the_configuration(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    char *path = server_process_path(server, "server.conf");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    server_process_option(server, "config", path);
    server_process_run(server);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "unixsocket %s\n", server->unixsocket);
    fclose(file);
    upgrade(server);
    expect(client_open_unix(server->unixsocket), "PONG", "PING");
    file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    upgrade(server);
    expect(client_open(server), "PONG", "PING");
    free(path);
}

static void the_service_manager_hears_of_it(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *path = server_process_path(server, "notify"), said[4][256] = {{0}};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    server_process_environment(server, "NOTIFY_SOCKET", path);
    server_process_run(server);
    upgrade(server);
    for (int i = 0; i < 3; i++)
        assert_true(recv(fd, said[i], sizeof(said[i]) - 1, 0) > 0);
    assert_string_equal(said[0], "READY=1");
    assert_non_null(strstr(said[1], "RELOADING=1\nMONOTONIC_USEC="));
    assert_string_equal(said[2], "READY=1");
    close(fd);
    free(path);
}

static const char socket_program[] =
    "import os, signal, socket, sys, time\n"
    "program, directory = sys.argv[1:]\n"
    "door = socket.create_server(('127.0.0.1', 0))\n"
    "child = os.fork()\n"
    "if child == 0:\n"
    "    os.dup2(door.fileno(), 3)\n"
    "    os.set_inheritable(3, True)\n"
    "    os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))\n"
    "    os.execv(program, [program, 'server', '--dir', directory, '--port', '0'])\n"
    "def ask():\n"
    "    client = socket.create_connection(door.getsockname())\n"
    "    client.sendall(b'PING\\r\\n')\n"
    "    return client.recv(100)\n"
    "while ask() != b'+PONG\\r\\n':\n"
    "    pass\n"
    "for i in range(3):\n"
    "    os.kill(child, signal.SIGUSR2)\n"
    "    for j in range(50):\n"
    "        ask()\n"
    "        time.sleep(0.01)\n"
    "assert ask() != b''\n"
    "os.kill(child, signal.SIGTERM)\n"
    "assert os.waitpid(child, 0)[1] == 0\n";

static void the_sockets_of_the_service_manager_stay(void **state)
{
    (void)state;
    char output[4096];
    struct server_process *server = server_new();
    char *path = server_process_path(server, "sockets.py");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(socket_program, file);
    fclose(file);
    int status = run_shell(output, sizeof(output), "timeout 60 python3 -B '%s' '%s' '%s'", path,
                           copy, server->data);
    if (status != 0 || strstr(output, "Listening on") == NULL)
        fail_at(__FILE__, __LINE__, "%s", output);
    free(path);
}

/* ---- what no file has */

/* A server without its password would be open. */
static void a_password_that_is_not_saved_stays(void **state)
{
    (void)state;
    struct server_process *server = start();
    redisContext *client = client_open(server);
    expect(client, "OK", "CONFIG SET requirepass %s slowlog-max-len 5", "one \"two\"\n");
    for (int i = 0; i < 2; i++) {
        upgrade(server);
        redisContext *other = client_open(server);
        expect(other, "!NOAUTH*", "PING");
        expect(other, "OK", "AUTH %s", "one \"two\"\n");
        expect_option(other, "slowlog-max-len", "5");
        expect(client, "PONG", "PING");
    }
    expect(client, "OK", "CONFIG SET requirepass %s", "");
    upgrade(server);
    expect(client_open(server), "PONG", "PING");
}

static void users_that_are_not_saved_stay(void **state)
{
    (void)state;
    struct server_process *server = start();
    redisContext *client = client_open(server);
    expect(client, "OK", "ACL SETUSER bob on >two ~a* %s &c +@read (~b* +set)", "%R~r*");
    expect(client, "OK", "ACL SETUSER %s on nopass ~%s +get", "a\"#", "k\\'");
    expect(client, "OK", "ACL SETUSER default >one");
    char *before = ask_text(client, "ACL LIST");
    for (int i = 0; i < 2; i++) {
        upgrade(server);
        expect(client_open(server), "!NOAUTH*", "PING");
        redisContext *bob = client_open(server);
        expect(bob, "OK", "AUTH bob two");
        expect(bob, "!NOPERM*", "SET a1 x");
        char *now = ask_text(client, "ACL LIST");
        assert_string_equal(now, before);
        free(now);
    }
    free(before);
}

static void what_the_files_say_anew_counts_more(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    char *path = server_process_path(server, "server.conf");
    write_file(path, "slowlog-max-len 6\nrequirepass one\nuser bob on >two\n");
    server_process_option(server, "config", path);
    server_process_run(server);
    redisContext *client = client_open(server);
    expect(client, "OK", "AUTH one");
    expect(client, "OK", "CONFIG SET slowlog-max-len 7 maxclients 500 requirepass three");
    expect(client, "OK", "ACL SETUSER bob off");
    upgrade(server);
    expect_option(client, "slowlog-max-len", "7");
    expect(client_open(server), "!WRONGPASS*", "AUTH bob two");
    write_file(path, "slowlog-max-len 8\nrequirepass one\nuser bob on >two\n");
    signal_until(server, "starting, pid");
    client = client_open(server);
    expect(client, "OK", "AUTH three");
    expect_option(client, "slowlog-max-len", "8");
    expect_option(client, "maxclients", "500");
    write_file(path, "slowlog-max-len 8\nrequirepass four\nuser bob on >two\n");
    upgrade(server);
    client = client_open(server);
    expect(client, "!WRONGPASS*", "AUTH three");
    expect(client, "!WRONGPASS*", "AUTH bob two");
    expect(client, "OK", "AUTH four");
    write_file(path, "requirepass four\nuser bob on >five\n");
    upgrade(server);
    expect(client_open(server), "OK", "AUTH bob five");
    free(path);
}

static void reload(struct server_process *server)
{
    await_signalled(server, SIGHUP, "SIGHUP: all");
}

/* SIGHUP after an upgrade: the files have not changed since the upgrade. */
static void a_reload_afterwards_takes_nothing_back(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    char *path = server_process_path(server, "server.conf");
    write_file(path, "slowlog-max-len 6\n");
    server_process_option(server, "config", path);
    server_process_run(server);
    redisContext *client = client_open(server);
    expect(client, "OK", "CONFIG SET slowlog-max-len 7");
    upgrade(server);
    reload(server);
    expect_option(client, "slowlog-max-len", "7");
    expect(client, "OK", "CONFIG REWRITE");
    expect(client, "OK", "CONFIG SET slowlog-max-len 9");
    reload(server);
    expect_option(client, "slowlog-max-len", "9");
    expect(client, "OK", "ACL SETUSER bob on");
    upgrade(server);
    expect_option(client, "slowlog-max-len", "9");
    expect(client, "*bob*", "ACL USERS");
    expect(client, "OK", "CONFIG REWRITE");
    expect(client, "OK", "ACL SETUSER bob off");
    upgrade(server);
    expect(client, "[\"user bob off *", "ACL LIST");
    free(path);
}

static void users_of_a_file_stay_as_they_are_until_it_changes(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    char *path = server_process_path(server, "users.acl");
    write_file(path, "user bob on >two +@all\nuser eve on >three +@all\n");
    server_process_option(server, "aclfile", path);
    server_process_run(server);
    redisContext *client = client_open(server), *eve = client_open(server);
    expect(eve, "OK", "AUTH eve three");
    expect(client, "OK", "ACL SETUSER bob off");
    upgrade(server);
    expect(client_open(server), "!WRONGPASS*", "AUTH bob two");
    expect(client, "OK", "ACL SETUSER bob >four");
    expect(client, "OK", "ACL SAVE");
    expect(client, "OK", "ACL SETUSER bob on");
    upgrade(server);
    expect(client_open(server), "OK", "AUTH bob four");
    expect(eve, "\"eve\"", "ACL WHOAMI");
    write_file(path, "user bob on >five +@all\n");
    upgrade(server);
    expect(client_open(server), "OK", "AUTH bob five");
    expect_closed(eve);
    free(path);
}

static void a_program_that_comes_back_has_them_too(void **state)
{
    (void)state;
    struct server_process *server = start();
    char text[8192];
    redisContext *client = client_open(server);
    expect(client, "OK", "CONFIG SET requirepass one");
    expect(client, "OK", "ACL SETUSER bob on >two");
    snprintf(text, sizeof(text), "[ $1 = check-config ] && exit 0\nexec '%s' \"$@\" --foo",
             real);
    install_script(text);
    upgrade(server);
    expect(client_open(server), "!NOAUTH*", "PING");
    expect(client_open(server), "OK", "AUTH bob two");
    expect(client, "PONG", "PING");
}

/* ---- clients that do not read */

enum { OWED = 32 * 1024 * 1024 };

static redisContext *open_with_big(struct server_process *server)
{
    redisContext *reader = client_open(server);
    char last[16];
    snprintf(last, sizeof(last), "%d", OWED - 1);
    expect(reader, "*", "SETRANGE big %s x", last);
    return reader;
}

static redisContext *open_owed(struct server_process *server)
{
    redisContext *reader = open_with_big(server);
    say(reader, "GET big");
    return reader;
}

static void expect_owed(redisContext *reader)
{
    redisReply *reply = NULL;
    assert_int_equal(redisGetReply(reader, (void **)&reply), REDIS_OK);
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_int_equal(reply->len, OWED);
    assert_int_equal(reply->str[OWED - 1], 'x');
    freeReplyObject(reply);
}

static void replies_that_are_not_read_are_left_to_the_next_program(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    server_process_option(server, "shutdown-timeout", "3600");
    server_process_run(server);
    redisContext *readers[3];
    for (int i = 0; i < 3; i++)
        readers[i] = open_owed(server);
    for (int i = 0; i < 2; i++)
        upgrade(server);
    for (int i = 0; i < 3; i++) {
        expect_owed(readers[i]);
        expect(readers[i], "PONG", "PING");
    }
}

/* Its requests cannot run, because it does not read. They come in one piece: else the last ones
 * wait in the socket, which the next program gets. */
static void who_reads_nothing_and_wants_more_does_not_stop_the_upgrade(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    server_process_option(server, "shutdown-timeout", "3600");
    server_process_run(server);
    redisContext *reader = open_with_big(server);
    int is_sent = 0;
    redisAppendCommand(reader, "GET big");
    redisAppendCommand(reader, "GET big");
    redisAppendCommand(reader, "PING");
    while (!is_sent)
        assert_int_equal(redisBufferWrite(reader, &is_sent), REDIS_OK);
    redisContext *client = client_open(server);
    upgrade(server);
    assert_int_equal(count_in_log(server, "the upgrade does not wait until it reads"), 1);
    expect(client, "PONG", "PING");
}

/* ---- it does not */

static void expect_unmoved(struct server_process *server, redisContext *client, const char *why)
{
    size_t before = count_in_log(server, "starting, pid");
    signal_until(server, why);
    expect(client, "PONG", "PING");
    assert_int_equal(count_in_log(server, "starting, pid"), before);
}

static void a_program_that_would_not_start_changes_nothing(void **state)
{
    (void)state;
    struct server_process *server = start();
    redisContext *client = client_open(server);
    install_script("echo this is not dueq; exit 1");
    expect_unmoved(server, client, "would not start: this is not dueq");
    install_script("kill -9 $$");
    expect_unmoved(server, client, "would not start: ");
    install("/dev/null");
    chmod(copy, 0755);
    expect_unmoved(server, client, "No upgrade: ");
    chmod(copy, 0644);
    expect_unmoved(server, client, "Permission denied");
    assert_int_equal(remove(copy), 0);
    expect_unmoved(server, client, "No such file or directory");
    install(real);
    upgrade(server);
    expect(client_open(server), "PONG", "PING");
}

static void a_broken_configuration_changes_nothing(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    char *path = server_process_path(server, "server.conf");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    server_process_option(server, "config", path);
    server_process_run(server);
    redisContext *client = client_open(server);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("aclfile /nowhere/users.acl\n", file);
    fclose(file);
    expect_unmoved(server, client, "would not start: ");
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("memtable-size much\n", file);
    fclose(file);
    expect_unmoved(server, client, "memtable-size much");
    free(path);
}

/* It says that it would start, and does not: the program of before, which has no name any more,
 * takes the place back. */
static void the_old_program_comes_back(void **state)
{
    static const char *const failing[] = {"--foo", "--bind 1.2.3.4", "--dir /dev/null/data"};
    (void)state;
    struct server_process *server = start();
    char text[8192];
    redisContext *client = client_open(server);
    expect(client, "*", "Q.PUSH mail body ID a");
    for (size_t i = 0; i < sizeof(failing) / sizeof(failing[0]); i++) {
        size_t before = count_in_log(server, "starting, pid");
        snprintf(text, sizeof(text), "[ $1 = check-config ] && exit 0\nexec '%s' \"$@\" %s",
                 real, failing[i]);
        install_script(text);
        upgrade(server);
        expect(client, "1", "Q.LEN mail");
        expect(client_open(server), "1", "Q.LEN mail");
        assert_true(count_in_log(server, "starting, pid") > before);
    }
    install(real);
    upgrade(server);
    expect(client_open(server), "1", "Q.LEN mail");
    server_process_stop(server);
}

static void a_program_that_is_no_program_after_all(void **state)
{
    (void)state;
    struct server_process *server = start();
    char text[8192];
    expect(client_open(server), "*", "Q.PUSH mail body ID a");
    snprintf(text, sizeof(text), "rm '%s'", copy); /* checked, and gone */
    install_script(text);
    upgrade(server);
    expect(client_open(server), "1", "Q.LEN mail");
}

static void fail_and_come_back(struct server_process *server)
{
    char text[8192];
    snprintf(text, sizeof(text), "[ $1 = check-config ] && exit 0\nexec '%s' \"$@\" --foo",
             real);
    install_script(text);
    upgrade(server);
    expect(client_open(server), "PONG", "PING");
    install(real);
    upgrade(server);
    expect(client_open(server), "PONG", "PING");
}

/* The shell has found it, so its name is no path: that of a program which is gone is no path
 * either. */
static void a_program_without_a_path_comes_back(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    char text[8192];
    snprintf(text, sizeof(text), "exec -a dueq '%s' \"$@\"", copy);
    start_by(server, text);
    fail_and_come_back(server);
}

static void odd_arguments_come_back(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    char text[8192];
    snprintf(text, sizeof(text), "exec '%s' \"$@\" --requirepass '' --syslog-ident 'a  b'",
             copy);
    start_by(server, text);
    fail_and_come_back(server);
}

/* It closes its output, and stays; or it never stops to talk. */
static void an_odd_check_holds_up_nobody(void **state)
{
    (void)state;
    struct server_process *server = start();
    redisContext *client = client_open(server);
    install_script("exec yes");
    expect_unmoved(server, client, "would not start: y");
    install_script("exec >&- 2>&-\nexec sleep 1000000");
    assert_int_equal(kill(server->pid, SIGUSR2), 0);
    for (int i = 0; i < 100; i++) {
        expect(client, "PONG", "PING");
        sleep_ms(1);
    }
    server_process_stop(server);
}

static void with_a_sandbox_it_is_refused(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    server_process_option(server, "sandbox", "yes");
    server_process_run(server);
    expect_unmoved(server, client_open(server), "No upgrade: with sandbox yes");
}

/* After the last look at clients: the old program tells the service manager, which is busy. */
static void a_sigterm_at_the_last_moment_wins(void **state)
{
    (void)state;
    struct server_process *server = server_new();
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *path = server_process_path(server, "notify"), said[256];
    char *pidfile = server_process_path(server, "pid");
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int full = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    server_process_environment(server, "NOTIFY_SOCKET", path);
    server_process_option(server, "pidfile", pidfile);
    server_process_run(server);
    while (sendto(full, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&address, sizeof(address)) ==
           1)
        ;
    signal_until(server, "takes the place of this program");
    sleep_ms(300); /* or it is not the last moment */
    assert_int_equal(kill(server->pid, SIGTERM), 0);
    for (int i = 0; i < 3; i++)
        assert_true(recv(fd, said, sizeof(said), 0) > 0);
    assert_int_equal(server_process_wait(server), 0);
    assert_int_equal(count_in_log(server, "starting, pid"), 1);
    assert_int_equal(access(pidfile, F_OK), -1);
    close(full);
    close(fd);
    free(pidfile);
    free(path);
}

static int set_up(void **state)
{
    (void)state;
    return realpath(server_binary(), real) == NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(the_new_program_has_pid_sockets_and_jobs),
        serving_test(no_connection_is_refused),
        serving_test(nothing_is_lost_and_no_client_meets_an_error),
        serving_test(who_waits_hears_nothing_new_and_asks_again),
        serving_test(clients_stay_what_they_are),
        serving_test(no_client_becomes_another_user),
        serving_test(who_gets_the_place_of_another_stays_what_it_is),
        serving_test(a_socket_file_that_is_gone_is_made_again),
        serving_test(who_has_more_than_a_connection_is_closed),
        serving_test(sockets_follow_the_configuration),
        serving_test(the_service_manager_hears_of_it),
        serving_test(the_sockets_of_the_service_manager_stay),
        serving_test(a_password_that_is_not_saved_stays),
        serving_test(users_that_are_not_saved_stay),
        serving_test(what_the_files_say_anew_counts_more),
        serving_test(a_reload_afterwards_takes_nothing_back),
        serving_test(users_of_a_file_stay_as_they_are_until_it_changes),
        serving_test(a_program_that_comes_back_has_them_too),
        serving_test(replies_that_are_not_read_are_left_to_the_next_program),
        serving_test(who_reads_nothing_and_wants_more_does_not_stop_the_upgrade),
        serving_test(a_program_that_would_not_start_changes_nothing),
        serving_test(a_broken_configuration_changes_nothing),
        serving_test(the_old_program_comes_back),
        serving_test(a_program_that_is_no_program_after_all),
        serving_test(a_program_without_a_path_comes_back),
        serving_test(odd_arguments_come_back),
        serving_test(an_odd_check_holds_up_nobody),
        serving_test(with_a_sandbox_it_is_refused),
        serving_test(a_sigterm_at_the_last_moment_wins),
    };
    if (!server_starts_programs()) {
        print_message("no upgrade can be tested: this server starts no programs\n");
        return 0;
    }
    return cmocka_run_group_tests_name("upgrade", tests, set_up, NULL);
}
