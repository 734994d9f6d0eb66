/* A server that is not there, goes away or says no: every tool ends with the status that
 * docs/commandline.md tells, and says what to do. */
#include "tests/support/client/client.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { REFUSED = 1, MISUSED = 2, UNREACHABLE = 4 };

static char output[20000];

/* Words of a command line, without where the server is. */
static const char *const tools[] = {"backup x",    "bench push", "export -", "import /dev/null",
                                    "push mail x", "top --once", "ls"};
enum { TOOLS = sizeof(tools) / sizeof(tools[0]) };

#define expect_output(text)                                                                    \
    do {                                                                                       \
        if (strstr(output, text) == NULL)                                                      \
            fail_msg("%s: no \"%s\" in \"%s\"", __func__, text, output);                       \
    } while (0)

static int run_tool(const char *words, const char *where)
{
    return run_shell(output, sizeof(output), "%s %s %s 2>&1", server_binary(), words, where);
}

static void nobody_listens(void **state)
{
    char where[64];

    (void)state;
    snprintf(where, sizeof(where), "--port %d", free_port());
    for (size_t i = 0; i < TOOLS; i++) {
        assert_int_equal(run_tool(tools[i], where), UNREACHABLE);
        expect_output("Connection refused");
        expect_output("Does a server run there? --host and --port say where");
        assert_int_equal(run_tool(tools[i], "--unix /nonexistent"), UNREACHABLE);
        expect_output("--unix PATH says where");
        assert_int_equal(run_tool(tools[i], "--tls --port 1"), UNREACHABLE);
        expect_output("Does the port speak TLS");
    }
}

static void the_other_server_of_a_move_is_not_there(void **state)
{
    static const char *const moves[] = {
        "import redis://127.0.0.1:1", "export redis://127.0.0.1:1",
        "import redis://127.0.0.1:1 --layout auto", "import beanstalkd://127.0.0.1:1"};
    char where[64];

    snprintf(where, sizeof(where), "--port %d", served_server(state)->port);
    for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
        assert_int_equal(run_tool(moves[i], where), UNREACHABLE);
        expect_output("The URL says where");
    }
    assert_int_equal(run_tool("import redis://127.0.0.1:1 --json", where), UNREACHABLE);
    expect_output("\"status\":4");
}

/* Its own status, and the same sentence, whoever asks. A move that a login keeps from its
 * beginning has not begun. */
static void a_login_or_a_file_that_is_missing_is_no_lost_connection(void **state)
{
    char where[64];

    expect(served_client(state), "OK", "CONFIG SET requirepass secret");
    snprintf(where, sizeof(where), "--port %d", served_server(state)->port);
    for (size_t i = 0; i < TOOLS; i++) {
        bool moves = strstr(tools[i], "port ") != NULL; /* import, export */

        assert_int_equal(run_tool(tools[i], where), moves ? MISUSED : REFUSED);
        expect_output("NOAUTH");
        expect_output("set DUEQ_PASSWORD");
        assert_null(strstr(output, "Does a server run there"));
    }
    snprintf(where, sizeof(where), "--port %d --password-file /nonexistent",
             served_server(state)->port);
    for (size_t i = 0; i < TOOLS; i++) {
        assert_int_equal(run_tool(tools[i], where), MISUSED);
        expect_output("no password in /nonexistent: No such file");
        expect_output("whose first line is the password");
    }
    snprintf(where, sizeof(where), "--port %d --tls --cacert /nonexistent",
             served_server(state)->port);
    for (size_t i = 0; i < TOOLS; i++) {
        assert_int_equal(run_tool(tools[i], where), MISUSED);
        expect_output("TLS: the certificates of authorities");
    }
}

/* A server that answers so many requests with a word, and closes. */
static pid_t start_false_server(int *ret_port, const char *answer)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pid_t pid;

    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 100), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* with a test that has failed */
    for (int fd; pid == 0 && (fd = accept(listener, NULL, NULL)) >= 0; close(fd)) {
        char request[1024];

        if (read(fd, request, sizeof(request)) > 0 && answer[0] != '\0' &&
            write(fd, answer, strlen(answer)) > 0)
            (void)!read(fd, request, sizeof(request));
    }
    close(listener);
    return pid;
}

static void a_server_that_closes_is_told_as_such(void **state)
{
    int port, status;
    pid_t pid = start_false_server(&port, "");
    char where[64];

    (void)state;
    snprintf(where, sizeof(where), "--port %d", port);
    for (size_t i = 0; i < TOOLS; i++) {
        if (run_tool(tools[i], where) != UNREACHABLE)
            fail_msg("%s: %s", tools[i], output);
        expect_output("closed");
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
}

/* The backup is asked for, and nobody says any more how it goes. */
static void a_backup_whose_server_goes_away_is_not_known_to_have_failed(void **state)
{
    static const char running[] = "$24\r\nbackup_in_progress:0\r\n\r\n\r\n";
    int port, status;
    pid_t pid = start_false_server(&port, running);
    char where[64];

    (void)state;
    snprintf(where, sizeof(where), "--json --port %d", port);
    assert_int_equal(run_tool("backup x", where), UNREACHABLE);
    expect_output("Nobody knows how far it came");
    expect_output("backup_last_status in INFO journal");
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_listens),
        served_test(the_other_server_of_a_move_is_not_there),
        served_test(a_login_or_a_file_that_is_missing_is_no_lost_connection),
        cmocka_unit_test(a_server_that_closes_is_told_as_such),
        cmocka_unit_test(a_backup_whose_server_goes_away_is_not_known_to_have_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
