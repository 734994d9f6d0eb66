/* `dueq top` against the real server: on a terminal, and for programs. */
#include "tests/support/client/client.h"
#include "tests/support/client/terminal_process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { PATIENCE_MS = 60000 };

static char output[200000];

static int tear_down(void **state)
{
    terminal_cleanup();
    return served_teardown(state);
}

#define top_test(function) cmocka_unit_test_setup_teardown(function, served_setup, tear_down)

/* ---- for programs */

/* Runs a line of the shell; $D is `dueq`. */
static int run_line(void **state, const char *line)
{
    struct server_process *server = served_server(state);
    char *binary = realpath(server_binary(), NULL);
    int status = run_shell(output, sizeof(output), "export DUEQ_PORT=%d D=%s; cd %s; %s",
                           server->port, binary, server->directory, line);

    free(binary);
    return status;
}

static void once_prints_a_table(void **state)
{
    redisContext *client = served_client(state);

    assert_int_equal(run_line(state, "$D top --once"), 0);
    assert_string_equal(output, "");
    expect(client, "\"a\"", "Q.PUSH mail hello ID a DELAY 24001h");
    expect(client, "\"b\"", "Q.PUSH mail hello ID b DELAY 24001h");
    expect(client, "\"w\"", "Q.PUSH mail hello ID w AFTER a b");
    expect(client, "\"c\"", "Q.PUSH %s hello ID c DELAY 24001h", "e\033[m");
    expect(client, "OK", "Q.PAUSE mail IN");
    assert_int_equal(run_line(state, "$D top --once | sed 's/ *$//'"), 0);
    assert_string_equal(output,
                        "TOPIC    READY  DELAYED  WAITING  CLAIMED  DEAD  OLDEST   NEXT  "
                        "PAUSED\n"
                        "e\\x1b[m      0        1        0        0     0          1000d\n"
                        "mail         0        2        1        0     0          1000d  in\n");
    assert_int_equal(run_line(state, "$D top --once --interval 100ms | grep mail | tr -s ' '"),
                     0);
    assert_non_null(strstr(output, " 0.0 0.0 in\n"));
}

static void json_is_an_object_for_each_topic(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"a\"", "Q.PUSH mail hello ID a AT 4102444800000");
    expect(client, "\"b\"", "Q.PUSH %b hello ID b AT 4102444800000", "\377", (size_t)1);
    expect(client, "OK", "Q.PAUSE mail OUT");
    assert_int_equal(run_line(state, "$D top --json"), 0);
    assert_string_equal(
        output,
        "{\"topic\":\"mail\",\"ready\":0,\"delayed\":1,\"waiting\":0,\"claimed\":0,\"dead\":0,"
        "\"oldest-ready-age\":0,\"next-due\":4102444800000,\"in-per-second\":null,"
        "\"out-per-second\":null,\"paused\":\"out\"}\n"
        "{\"topic\":{\"hex\":\"ff\"},\"ready\":0,\"delayed\":1,\"waiting\":0,\"claimed\":0,"
        "\"dead\":0,"
        "\"oldest-ready-age\":0,\"next-due\":4102444800000,\"in-per-second\":null,"
        "\"out-per-second\":null,\"paused\":null}\n");
    assert_int_equal(run_line(state, "$D top --json --interval 100ms | head -1"), 0);
    assert_non_null(strstr(output, "\"in-per-second\":0.0,\"out-per-second\":0.0"));
}

static void what_is_wrong_has_its_exit_status(void **state)
{
    assert_int_equal(run_line(state, "$D top </dev/null 2>&1 | cat"), 0);
    assert_non_null(strstr(output, "this is no terminal; --once prints the topics"));
    assert_int_equal(run_line(state, "$D top"), 2);
    assert_int_equal(run_line(state, "$D top mail --once"), 2);
    assert_int_equal(run_line(state, "$D top --once --interval 1ms"), 2);
    assert_int_equal(run_line(state, "$D top --once --interval 99999999999999999h"), 2);
    assert_int_equal(run_line(state, "$D top --once --port 1"), 4);
    expect(served_client(state), "OK", "CONFIG SET requirepass secret");
    assert_int_equal(run_line(state, "$D top --once"), 1);
    assert_int_equal(run_line(state, "DUEQ_PASSWORD=secret $D top --once"), 0);
}

/* ---- on a terminal */

static void begin_top(void **state, int rows, int columns, const char *before)
{
    terminal_begin(
        rows, columns,
        "export LC_ALL=C.UTF-8; export DUEQ_PORT=%d; %s exec %s top --interval 100ms",
        served_server(state)->port, before, server_binary());
}

/* What was painted since the screen was cleared last. */
static const char *screen(void)
{
    static const char cleared[] = "\033[H\033[2J";
    size_t size;
    const char *all = terminal_output(&size), *last = all, *next;

    while ((next = memmem(last, size - (size_t)(last - all), cleared, strlen(cleared))) != NULL)
        last = next + strlen(cleared);
    return last;
}

/* Has the screen painted anew, for otherwise only what changes is, until it has the text, or
 * shows the table without it. */
static void await_screen(const char *text, bool there)
{
    int64_t deadline = unix_ms() + PATIENCE_MS;

    while (unix_ms() < deadline) {
        terminal_type("\f");
        sleep_ms(100);
        if (there ? strstr(screen(), text) != NULL
                  : strstr(screen(), "TOPIC") != NULL && strstr(screen(), text) == NULL)
            return;
    }
    fail_at(__FILE__, __LINE__, "the screen %s \"%s\": %.4000s", there ? "lacks" : "still has",
            text, screen());
}

static void it_ends_well(int status)
{
    size_t size;

    assert_int_equal(terminal_end(), status);
    assert_non_null(strstr(terminal_output(&size), "\033[?1049l")); /* the other screen */
    assert_true(terminal_is_restored());
}

static void topics_are_shown_and_filtered(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"a\"", "Q.PUSH mail hello ID a");
    expect(client, "\"b\"", "Q.PUSH %s hello ID b", "evil\033[31m");
    begin_top(state, 24, 100, "");
    await_screen("mail", true);
    await_screen("evil\\x1b[31m", true);
    expect(client, "\"c\"", "Q.PUSH report hello ID c");
    await_screen("report", true);
    terminal_type("/ma");
    await_screen("report", false);
    await_screen("filter: ", true);
    terminal_type("\r");
    await_screen("(filtered)", true);
    await_screen("mail", true);
    terminal_type("q");
    it_ends_well(0);
}

static void details_name_workers_and_dead_jobs(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"a\"", "Q.PUSH mail hello ID a");
    expect(client, "OK", "Q.CONFIG SET mail retries 7");
    expect(client, "\"dead\"", "Q.NACK mail a %lld FATAL ERROR %s",
           (long long)claim(client, "mail", "a"), "no\033such user");
    expect(client, "\"b\"", "Q.PUSH mail hello ID b");
    expect(client, "[[\"b\" * \"hello\" 1]]", "Q.CLAIM mail WORKER alice");
    begin_top(state, 40, 100, "");
    await_screen("mail", true);
    terminal_type("\r");
    await_screen("retries: 7", true);
    await_screen("alice", true);
    await_screen("no\\x1bsuch user", true);
    terminal_type("q");
    await_screen("OLDEST", true);
    terminal_type("q");
    it_ends_well(0);
}

static void a_topic_is_paused_and_resumed(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"a\"", "Q.PUSH mail hello ID a");
    begin_top(state, 24, 100, "");
    await_screen("mail", true);
    terminal_type("p");
    await_screen("pause? (y/n)", true);
    terminal_type("n");
    expect_field(client, "paused", "nil", "Q.STATS mail");
    terminal_type("p");
    await_screen("pause? (y/n)", true);
    terminal_type("y");
    await_screen("The topic is paused.", true);
    expect_field(client, "paused", "\"all\"", "Q.STATS mail");
    terminal_type("p");
    await_screen("resume? (y/n)", true);
    terminal_type("y");
    await_screen("The pause has ended.", true);
    expect_field(client, "paused", "nil", "Q.STATS mail");
    terminal_type("q");
    it_ends_well(0);
}

/* ncurses gives each new size as a key, too. */
static void a_new_size_answers_no_question(void **state)
{
    expect(served_client(state), "\"a\"", "Q.PUSH mail hello ID a");
    begin_top(state, 24, 100, "");
    await_screen("mail", true);
    terminal_type("p");
    await_screen("pause? (y/n)", true);
    terminal_resize(24, 300);
    await_screen("pause? (y/n)", true);
    terminal_type("y");
    await_screen("The topic is paused.", true);
    terminal_type("q");
    it_ends_well(0);
}

static void it_takes_any_size(void **state)
{
    expect(served_client(state), "\"a\"", "Q.PUSH mail hello ID a");
    begin_top(state, 24, 100, "");
    await_screen("OLDEST", true);
    terminal_resize(5, 20);
    await_screen("OLDEST", false);
    await_screen("mail", true);
    terminal_resize(100, 300);
    await_screen("OLDEST", true);
    terminal_resize(1, 1);
    terminal_type("\fh");
    terminal_resize(24, 80);
    terminal_type("q");
    await_screen("CLAIMED", true);
    terminal_type("\3"); /* Ctrl-C */
    it_ends_well(0);
}

static void it_outlives_a_restart_of_the_server(void **state)
{
    struct server_process *server = served_server(state);
    char where[512]; /* its port is another one each time */

    expect(served_client(state), "\"a\"", "Q.PUSH mail hello ID a");
    server_process_stop(server);
    server_process_option(server, "unixsocket", server->unixsocket);
    server_process_run(server);
    snprintf(where, sizeof(where), "export DUEQ_UNIX='%s';", server->unixsocket);
    begin_top(state, 24, 100, where);
    await_screen("mail", true);
    server_process_kill(server);
    await_screen("no connection: ", true);
    await_screen("mail", true); /* as it was */
    server_process_run(server);
    await_screen("no connection: ", false);
    await_screen("mail", true);
    terminal_type("q");
    it_ends_well(0);
}

static void each_signal_gives_the_terminal_back(void **state)
{
    static const int signals[] = {SIGTERM, SIGHUP, SIGQUIT};

    expect(served_client(state), "\"a\"", "Q.PUSH mail hello ID a");
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        begin_top(state, 24, 100, "ulimit -c 0;");
        await_screen("mail", true);
        terminal_signal(signals[i]);
        it_ends_well(128 + signals[i]);
    }
}

static void a_silent_server_does_not_hold_up_the_end(void **state)
{
    expect(served_client(state), "\"a\"", "Q.PUSH mail hello ID a");
    begin_top(state, 24, 100, "");
    await_screen("mail", true);
    kill(served_server(state)->pid, SIGSTOP);
    terminal_type("\3");
    it_ends_well(0);
    kill(served_server(state)->pid, SIGCONT);
}

static void without_colours_there_are_none(void **state)
{
    size_t size;

    expect(served_client(state), "\"a\"", "Q.PUSH mail hello ID a");
    expect(served_client(state), "\"b\"", "Q.PUSH other hello ID b");
    begin_top(state, 24, 100, "");
    await_screen("\033[32m", true); /* a ready job of a topic that is not selected */
    terminal_type("q");
    it_ends_well(0);
    begin_top(state, 24, 100, "export NO_COLOR=1;");
    await_screen("mail", true);
    terminal_type("q");
    it_ends_well(0);
    assert_null(strstr(terminal_output(&size), "\033[32m"));
}

static void an_unknown_terminal_is_told(void **state)
{
    begin_top(state, 24, 100, "export TERM=nonsense;");
    terminal_await("TERM=xterm");
    assert_int_equal(terminal_end(), 1);
    assert_true(terminal_is_restored());
}

static void a_user_sees_what_he_may_read(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"a\"", "Q.PUSH mail hello ID a");
    expect(client, "\"b\"", "Q.PUSH secret hello ID b");
    expect(client, "OK", "ACL SETUSER ann on >pw ~mail +@all");
    begin_top(state, 24, 100, "export DUEQ_USER=ann DUEQ_PASSWORD=pw;");
    await_screen("no right to read", true);
    terminal_type("q");
    it_ends_well(0);
    assert_int_equal(
        run_line(state, "DUEQ_USER=ann DUEQ_PASSWORD=pw $D top --json | grep -c ."), 0);
    assert_string_equal(output, "1\n");
}

/* Each look asks about those that are seen and some others: all have figures in the end. */
static void ten_thousand_topics_are_fine(void **state)
{
    redisContext *client = served_client(state);

    for (int i = 0; i < 10000; i++)
        say(client, "Q.PUSH topic%05d hello ID a", i);
    for (int i = 0; i < 10000; i++)
        expect_reply(client, "\"a\"");
    expect(client, "\"b\"", "Q.PUSH topic07777 hello ID b");
    begin_top(state, 24, 100, "");
    await_screen("topic00003", true);
    terminal_type("G");
    await_screen("topic09999", true);
    terminal_type("gr");
    await_screen("topic07777", true);
    terminal_type("q");
    it_ends_well(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        top_test(once_prints_a_table),
        top_test(json_is_an_object_for_each_topic),
        top_test(what_is_wrong_has_its_exit_status),
        top_test(topics_are_shown_and_filtered),
        top_test(details_name_workers_and_dead_jobs),
        top_test(a_topic_is_paused_and_resumed),
        top_test(a_new_size_answers_no_question),
        top_test(it_takes_any_size),
        top_test(it_outlives_a_restart_of_the_server),
        top_test(each_signal_gives_the_terminal_back),
        top_test(a_silent_server_does_not_hold_up_the_end),
        top_test(without_colours_there_are_none),
        top_test(an_unknown_terminal_is_told),
        top_test(a_user_sees_what_he_may_read),
        top_test(ten_thousand_topics_are_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
