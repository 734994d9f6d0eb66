/* `dueq forward` to a real MQTT broker, mosquitto: what subscribers get, also after the broker
 * or the forwarder was killed. */
#include "tests/support/client/foreign_server.h"
#include "tests/support/client/forwarder.h"
#include "tests/support/client/program_process.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { PATIENCE = 6000 /* times 10 ms */, MANY = 1000 };

static struct foreign_server broker;
static char output[1 << 20], configuration[600];

static int tear_down(void **state)
{
    forwarder_cleanup();
    foreign_server_cleanup();
    return served_teardown(state);
}

#define forward_test(function)                                                                 \
    cmocka_unit_test_setup_teardown(function, served_setup, tear_down)

/* With these lines as its configuration; root's directories are closed to its own user. */
static void start_broker(void **state, const char *lines)
{
    char text[600];
    char *path = server_process_path(served_server(state), "broker");

    snprintf(text, sizeof(text), "user root\n%s\n", lines);
    write_file(path, text);
    snprintf(configuration, sizeof(configuration), "%s", path);
    free(path);
    broker.port = 0;
    mosquitto_start(&broker, configuration);
}

/* As printf; valid until the next call. */
static const char *words(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *words(const char *format, ...)
{
    static char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return text;
}

/* What is retained under the topic, as mosquitto_sub prints it in this format. */
static const char *retained(const char *topic, const char *format)
{
    assert_int_equal(run_shell(output, sizeof(output),
                               "mosquitto_sub -V 5 -q 1 -p %d -t '%s' -C 1 -W 30 -F '%s'",
                               broker.port, topic, format),
                     0);
    return output;
}

static void a_job_is_a_message_with_its_id(void **state)
{
    redisContext *client = served_client(state);

    start_broker(state, "allow_anonymous true");
    expect(client, "*", "Q.PUSH t %s ID %s", "21.5 C", "a b%");
    assert_int_equal(forwarder_run(served_server(state),
                                   words("t TO 'mqtt://127.0.0.1:%d/dev/7?retain' --once "
                                         "--prefix p-",
                                         broker.port),
                                   NULL),
                     0);
    expect(client, "0", "Q.LEN t");
    assert_string_equal(retained("dev/7", "%t %q %P %p"),
                        "dev/7 1 dueq-id:p-a%20b%25 dueq-topic:t 21.5 C\n");
    expect(client, "*", "Q.PUSH t %s ID b", "old");
    assert_int_equal(forwarder_run(served_server(state),
                                   words("t TO 'mqtt://127.0.0.1:%d/old?retain&v=3.1.1' --once",
                                         broker.port),
                                   NULL),
                     0);
    assert_string_equal(retained("old", "%t %p"), "old old\n");
}

/* The broker keeps all messages for a subscriber that is away. */
static void all_jobs_arrive_although_the_forwarder_is_killed(void **state)
{
    redisContext *client = served_client(state);
    struct server_process *server = served_server(state);

    start_broker(state, "allow_anonymous true\nmax_queued_messages 0");
    assert_int_equal(run_shell(output, sizeof(output),
                               "mosquitto_sub -p %d -q 1 -i reader -c -t up -E", broker.port),
                     0);
    expect(client, "OK", "Q.CONFIG SET t crashes 1000000");
    for (int i = 0; i < MANY; i++)
        say(client, "Q.PUSH t %d ID %d", i, i);
    for (int i = 0; i < MANY; i++)
        expect_reply(client, "*");
    for (int64_t acked = 0; acked < MANY;) {
        forwarder_begin(server, words("t TO mqtt://127.0.0.1:%d/up --batch 20", broker.port));
        for (int i = 0;
             i < PATIENCE && ask_field(client, "total-acked", "Q.STATS t") < acked + MANY / 5 &&
             ask_field(client, "total-acked", "Q.STATS t") < MANY;
             i++)
            sleep_ms(2);
        forwarder_end(SIGKILL);
        acked = ask_field(client, "total-acked", "Q.STATS t");
    }
    expect(client, "*", "Q.PUSH t end");
    assert_int_equal(
        forwarder_run(server, words("t TO mqtt://127.0.0.1:%d/up --once", broker.port), NULL),
        0);
    assert_int_equal(
        run_shell(output, sizeof(output),
                  "cd %s; mosquitto_sub -p %d -q 1 -i reader -c -t up >got & p=$!; "
                  "until grep -qx end %s/got 2>/dev/null; do sleep 0.05; done; "
                  "kill $p; sort -u %s/got | wc -l",
                  server->directory, broker.port, server->directory, server->directory),
        0);
    assert_int_equal(atoi(output), MANY + 1);
}

static void a_broker_that_is_away_is_waited_for(void **state)
{
    redisContext *client = served_client(state);
    struct server_process *server = served_server(state);

    start_broker(state, "allow_anonymous true");
    foreign_server_kill(&broker);
    expect(client, "*", "Q.PUSH t x ID a");
    assert_int_equal(
        forwarder_run(server, words("t TO mqtt://127.0.0.1:%d/up --once", broker.port), NULL),
        5);
    expect_field(client, "attempt", "0", "Q.GET t a");
    forwarder_begin(server,
                    words("t TO mqtt://127.0.0.1:%d/up?retain --away-most 20ms", broker.port));
    forwarder_await(server, "the target is away", 1);
    mosquitto_start(&broker, configuration);
    await_number(client, "total-acked", 1, "Q.STATS t");
    assert_string_equal(retained("up", "%p"), "x\n");
    /* Nothing is to be sent, and it is found out all the same. */
    foreign_server_kill(&broker);
    forwarder_await(server, "the target is away", 2);
    mosquitto_start(&broker, configuration);
    expect(client, "*", "Q.PUSH t y ID b");
    await_number(client, "total-acked", 2, "Q.STATS t");
    assert_int_equal(forwarder_end(SIGTERM), 0);
}

static void push_many(redisContext *client, int count)
{
    for (int i = 0; i < count; i++)
        say(client, "Q.PUSH t %d ID %d", i, i);
    for (int i = 0; i < count; i++)
        expect_reply(client, "*");
}

/* What was in flight is sent again when it is back, and nothing counts as a failure. */
static void a_broker_that_is_killed_with_messages_in_flight_gets_them_again(void **state)
{
    redisContext *client = served_client(state);
    struct server_process *server = served_server(state);

    start_broker(state, "allow_anonymous true");
    expect(client, "*", "Q.PUSH t first");
    forwarder_begin(
        server,
        words("t TO mqtt://127.0.0.1:%d/up?retain --batch 200 --away-most 20ms", broker.port));
    await_number(client, "total-acked", 1, "Q.STATS t");
    kill(broker.pid, SIGSTOP); /* it takes what is sent, and confirms nothing */
    push_many(client, MANY);
    for (int i = 0; i < PATIENCE && ask_field(client, "claimed", "Q.STATS t") < 100; i++)
        sleep_ms(10);
    assert_in_range(ask_field(client, "claimed", "Q.STATS t"), 100, MANY);
    foreign_server_kill(&broker);
    forwarder_await(server, "the target is away", 1);
    await_number(client, "claimed", 0, "Q.STATS t");
    expect_field(client, "dead", "0", "Q.STATS t");
    mosquitto_start(&broker, configuration);
    await_number(client, "total-acked", MANY + 1, "Q.STATS t");
    expect_field(client, "total-lapsed", "0", "Q.STATS t");
    assert_int_equal(forwarder_end(SIGTERM), 0);
    expect(client, "0", "Q.LEN t");
    assert_true(strlen(retained("up", "%p")) > 1);
}

static void two_forwarders_share_a_topic(void **state)
{
    redisContext *client = served_client(state);
    struct server_process *server = served_server(state);
    char url[100], port[16];
    pid_t second;

    start_broker(state, "allow_anonymous true\nmax_queued_messages 0");
    assert_int_equal(run_shell(output, sizeof(output),
                               "mosquitto_sub -p %d -q 1 -i reader -c -t up -E", broker.port),
                     0);
    push_many(client, MANY);
    snprintf(url, sizeof(url), "mqtt://127.0.0.1:%d/up", broker.port);
    snprintf(port, sizeof(port), "%d", server->port);
    second = program_begin((const char *const[]){"forward", "t", "TO", url, "--once", "--batch",
                                                 "10", "--port", port, NULL});
    assert_int_equal(forwarder_run(server, words("t TO %s --once --batch 10", url), NULL), 0);
    assert_int_equal(program_end(second), 0);
    expect(client, "0", "Q.LEN t");
    assert_int_equal(run_shell(output, sizeof(output),
                               "mosquitto_sub -p %d -q 1 -i reader -c -t up -C %d -W 60 | sort "
                               "| uniq | wc -l",
                               broker.port, MANY),
                     0);
    assert_int_equal(atoi(output), MANY);
}

static void a_login_is_of_the_url_and_a_file(void **state)
{
    redisContext *client = served_client(state);
    struct server_process *server = served_server(state);
    char lines[600];

    assert_int_equal(run_shell(output, sizeof(output),
                               "cd %s && echo secret >password && touch users && "
                               "mosquitto_passwd -b users ann secret",
                               server->directory),
                     0);
    snprintf(lines, sizeof(lines), "allow_anonymous false\npassword_file %s/users",
             server->directory);
    start_broker(state, lines);
    expect(client, "*", "Q.PUSH t x ID a");
    assert_int_equal(
        forwarder_run(server, words("t TO mqtt://127.0.0.1:%d/up --once", broker.port), NULL),
        5);
    assert_int_equal(forwarder_run(server,
                                   words("t TO mqtt://ann@127.0.0.1:%d/up --once "
                                         "--target-password-file password",
                                         broker.port),
                                   NULL),
                     0);
    expect(client, "0", "Q.LEN t");
}

static void what_is_wrong_is_said_before_anything_is_done(void **state)
{
    static const char *const wrong[] = {
        "mqtt://h",           "mqtt://h/",
        "mqtt://h/a/#",       "mqtt://h/+/b",
        "mqtt://h:0/t",       "'mqtt://h/t?v=4'",
        "'mqtt://h/t?qos=1'", "mqtt://h/t --target-password-file none"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (forwarder_run(served_server(state), words("t TO %s --once", wrong[i]), NULL) != 2)
            fail_msg("%s: no error", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        forward_test(a_job_is_a_message_with_its_id),
        forward_test(all_jobs_arrive_although_the_forwarder_is_killed),
        forward_test(a_broker_that_is_away_is_waited_for),
        forward_test(a_broker_that_is_killed_with_messages_in_flight_gets_them_again),
        forward_test(two_forwarders_share_a_topic),
        forward_test(a_login_is_of_the_url_and_a_file),
        forward_test(what_is_wrong_is_said_before_anything_is_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
