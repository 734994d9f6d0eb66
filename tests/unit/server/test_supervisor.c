/* What a service manager is told, over a socket that the test owns. */
#include "server/process/supervisor.h"
#include "tests/support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static char *directory;
static int manager;
static char name[sizeof(((struct sockaddr_un *)NULL)->sun_path)];

/* A manager at the name, which begins with @ when it is abstract. */
static void listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));

    memcpy(address.sun_path, path, strlen(path));
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    assert_true(manager >= 0);
    assert_int_equal(bind(manager, (struct sockaddr *)&address, size), 0);
}

static int set_up(void **state)
{
    (void)state;
    directory = temp_dir_new();
    snprintf(name, sizeof(name), "%s/notify", directory);
    listen_at(name);
    setenv("NOTIFY_SOCKET", name, 1);
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(manager);
    temp_dir_remove(directory);
    return 0;
}

/* The next message; empty: none has come. */
static const char *heard(void)
{
    static char message[256];
    ssize_t size = recv(manager, message, sizeof(message) - 1, 0);

    message[size < 0 ? 0 : size] = '\0';
    return message;
}

static void begin_and_end_are_told(void **state)
{
    (void)state;
    supervisor_open();
    supervisor_ready();
    assert_string_equal(heard(), "READY=1");
    supervisor_stopping();
    assert_string_equal(heard(), "STOPPING=1");
    assert_string_equal(heard(), "");
}

static void an_abstract_socket_is_reached(void **state)
{
    (void)state;
    close(manager);
    snprintf(name, sizeof(name), "@dueq-test-%d", (int)getpid());
    listen_at(name);
    setenv("NOTIFY_SOCKET", name, 1);
    supervisor_open();
    supervisor_ready();
    assert_string_equal(heard(), "READY=1");
}

static void without_a_manager_nothing_happens(void **state)
{
    static const char *const wrong[] = {"", "/", "@", "relative", "/no/such/socket"};
    char long_name[300];

    (void)state;
    memset(long_name, '/', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        setenv("NOTIFY_SOCKET", wrong[i], 1);
        supervisor_open();
        supervisor_ready();
        supervisor_stopping();
    }
    setenv("NOTIFY_SOCKET", long_name, 1);
    supervisor_open();
    supervisor_ready();
    unsetenv("NOTIFY_SOCKET");
    supervisor_open();
    supervisor_ready();
    assert_string_equal(heard(), "");
}

static void signs_of_life_come_at_half_of_the_interval(void **state)
{
    (void)state;
    setenv("WATCHDOG_USEC", "6000000", 1);
    supervisor_open();
    supervisor_alive(500000);
    assert_string_equal(heard(), "WATCHDOG=1");
    supervisor_alive(502999);
    assert_string_equal(heard(), "");
    supervisor_alive(503000);
    assert_string_equal(heard(), "WATCHDOG=1");
}

/* The loop wakes for it: a watchdog of less than 2 s was served once a second. */
static void the_next_sign_of_life_is_known(void **state)
{
    (void)state;
    supervisor_open();
    assert_int_equal(supervisor_next(500000), INT64_MAX);
    setenv("WATCHDOG_USEC", "600000", 1);
    supervisor_open();
    assert_int_equal(supervisor_next(500000), 0);
    supervisor_alive(500000);
    assert_int_equal(supervisor_next(500000), 300);
    assert_int_equal(supervisor_next(500299), 1);
    assert_int_equal(supervisor_next(500400), 0);
    setenv("WATCHDOG_USEC", "1", 1);
    supervisor_open();
    supervisor_alive(500000);
    assert_int_equal(supervisor_next(500000), 1);
}

static void who_asks_for_no_signs_of_life_gets_none(void **state)
{
    static const char *const wrong[] = {"", "0", "-5", "x"};
    char other[32];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        setenv("WATCHDOG_USEC", wrong[i], 1);
        supervisor_open();
        supervisor_alive(1000);
    }
    snprintf(other, sizeof(other), "%d", (int)getpid() + 1);
    setenv("WATCHDOG_USEC", "6000000", 1);
    setenv("WATCHDOG_PID", other, 1);
    supervisor_open();
    supervisor_alive(1000);
    assert_string_equal(heard(), "");
}

/* A manager that reads nothing must not stop the loop. */
static void a_full_socket_delays_no_sign_of_life(void **state)
{
    (void)state;
    setenv("WATCHDOG_USEC", "2000", 1);
    supervisor_open();
    for (int64_t now = 1; now < 10000; now++)
        supervisor_alive(now);
    supervisor_stopping();
    assert_string_equal(heard(), "WATCHDOG=1");
}

#define supervisor_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static void give_sockets(long pid, const char *count, const char *names)
{
    char text[32];

    snprintf(text, sizeof(text), "%ld", pid);
    setenv("LISTEN_PID", text, 1);
    setenv("LISTEN_FDS", count, 1);
    setenv("LISTEN_FDNAMES", names, 1);
}

static void sockets_are_for_one_process_and_have_names(void **state)
{
    (void)state;
    give_sockets(getpid(), "3", "plain:tls:");
    assert_int_equal(supervisor_sockets(), 3);
    assert_string_equal(supervisor_socket_name(0), "plain");
    assert_string_equal(supervisor_socket_name(1), "tls");
    assert_string_equal(supervisor_socket_name(2), "");
    assert_string_equal(supervisor_socket_name(3), "");
    assert_null(getenv("LISTEN_FDS"));
    assert_int_equal(supervisor_sockets(), 0);
    give_sockets(getpid() + 1, "3", "");
    assert_int_equal(supervisor_sockets(), 0);
    give_sockets(getpid(), "-3", "");
    assert_int_equal(supervisor_sockets(), 0);
    give_sockets(getpid(), "99999999999", "");
    assert_in_range(supervisor_sockets(), 1, 64);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        supervisor_test(begin_and_end_are_told),
        supervisor_test(an_abstract_socket_is_reached),
        supervisor_test(without_a_manager_nothing_happens),
        supervisor_test(signs_of_life_come_at_half_of_the_interval),
        supervisor_test(the_next_sign_of_life_is_known),
        supervisor_test(who_asks_for_no_signs_of_life_gets_none),
        supervisor_test(a_full_socket_delays_no_sign_of_life),
        cmocka_unit_test(sockets_are_for_one_process_and_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
