/* `dueq forward` to another dueq and to a real Redis: what arrives, while either side is cut
 * off or killed; what is acked and given back when. */
#include "tests/support/client/foreign_server.h"
#include "tests/support/client/forwarder.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { PATIENCE = 6000 /* times 10 ms */, MANY = 5000, GROUPS = 5, ROUNDS = 5 };

static struct foreign_server redis;
static redisContext *peer;
static int listener = -1, accepted = -1;

static int tear_down(void **state)
{
    forwarder_cleanup();
    if (peer != NULL)
        redisFree(peer);
    peer = NULL;
    close(accepted);
    close(listener);
    accepted = listener = -1;
    foreign_server_cleanup();
    return served_teardown(state);
}

#define forward_test(function)                                                                 \
    cmocka_unit_test_setup_teardown(function, served_setup, tear_down)

static void start_redis(void)
{
    redis_server_start(&redis, NULL);
    peer = foreign_server_client(&redis);
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

static void push_many(redisContext *client, int count, const char *format)
{
    for (int i = 0; i < count; i++)
        say(client, format, i, i, i % GROUPS);
    for (int i = 0; i < count; i++)
        expect_reply(client, "*");
}

/* A server with a socket, by which it is found again when it was restarted. */
static struct server_process *start_with_socket(void)
{
    struct server_process *server = server_process_new();

    server_process_option(server, "unixsocket", server->unixsocket);
    server_process_run(server);
    return server;
}

/* ---- what arrives */

static void jobs_come_to_another_dueq_under_their_ids(void **state)
{
    struct server_process *there = server_process_start("");
    redisContext *client = served_client(state), *target = client_open(there);

    expect(client, "*", "Q.PUSH t %b ID %b", "a\0\n", (size_t)3, "i\0\xff", (size_t)3);
    expect(client, "*", "Q.PUSH t x ID later DELAY 1h");
    assert_int_equal(
        forwarder_run(served_server(state),
                      words("t TO dueq://127.0.0.1:%d/up --prefix '' --once", there->port),
                      NULL),
        0);
    expect(client, "1", "Q.LEN t");
    expect(target, "[[\"i\\x00\\xff\" * \"a\\x00\\n\" 1]]", "Q.CLAIM up");
    expect(target, "[]", "Q.CLAIM up");
    client_close(target);
}

static void a_repeat_is_no_double_even_when_the_job_was_done_there(void **state)
{
    struct server_process *there = server_process_start("");
    redisContext *client = served_client(state), *target = client_open(there);
    const char *to =
        words("t TO 'dueq://127.0.0.1:%d/?group=dev7' --prefix dev7- --once", there->port);
    int64_t token;

    expect(client, "*", "Q.PUSH t x ID a");
    assert_int_equal(forwarder_run(served_server(state), to, NULL), 0);
    expect_field(target, "group", "\"dev7\"", "Q.GET t dev7-a");
    token = claim(target, "t", "dev7-a");
    expect(target, "1", "Q.ACK t dev7-a %lld", (long long)token);
    expect(client, "*", "Q.PUSH t x ID a");
    assert_int_equal(forwarder_run(served_server(state), to, NULL), 0);
    expect(client, "0", "Q.LEN t");
    expect(target, "0", "Q.LEN t ready");
    client_close(target);
}

static void jobs_come_to_a_list_and_a_stream_of_redis(void **state)
{
    redisContext *client = served_client(state);
    struct server_process *server = served_server(state);

    start_redis();
    push_many(client, 3, "Q.PUSH t body-%d ID id-%d");
    assert_int_equal(
        forwarder_run(server, words("t TO 'redis://127.0.0.1:%d?list=l' --once", redis.port),
                      NULL),
        0);
    expect(peer, "[\"body-0\" \"body-1\" \"body-2\"]", "LRANGE l 0 -1");
    push_many(client, 2, "Q.PUSH t body-%d ID id-%d");
    assert_int_equal(
        forwarder_run(server,
                      words("t 'redis://127.0.0.1:%d/3?left=%%6c%%20l' --once", redis.port),
                      NULL),
        0);
    expect(peer, "OK", "SELECT 3");
    expect(peer, "[\"body-1\" \"body-0\"]", "LRANGE %s 0 -1", "l l");
    push_many(client, 2, "Q.PUSH t body-%d ID id-%d");
    assert_int_equal(
        forwarder_run(server,
                      words("t TO 'redis://127.0.0.1:%d/3?stream=s' --once", redis.port), NULL),
        0);
    expect(peer,
           "[[\"*\" [\"topic\" \"t\" \"id\" \"id-0\" \"body\" \"body-0\"]] [\"*\" [\"topic\" "
           "\"t\" \"id\" \"id-1\" \"body\" \"body-1\"]]]",
           "XRANGE s - +");
    expect(client, "0", "Q.LEN t");
}

static void once_in_redis_leaves_no_double(void **state)
{
    redisContext *client = served_client(state);
    const char *to;

    start_redis();
    to = words("t TO 'redis://127.0.0.1:%d?list=l&once=1h' --prefix '' --once", redis.port);
    for (int i = 0; i < 2; i++) {
        expect(client, "*", "Q.PUSH t x ID a");
        assert_int_equal(forwarder_run(served_server(state), to, NULL), 0);
    }
    expect(peer, "1", "LLEN l");
    expect(client, "0", "Q.LEN t");
    /* A push that fails leaves no mark, by which the repeat would be taken for one. */
    expect(peer, "1", "DEL l");
    expect(peer, "OK", "SET l wrong");
    expect(client, "*", "Q.PUSH t x ID b");
    assert_int_equal(forwarder_run(served_server(state), to, NULL), 5);
    expect(peer, "1", "DEL l");
    assert_int_equal(forwarder_run(served_server(state), to, NULL), 0);
    expect(peer, "[\"x\"]", "LRANGE l 0 -1");
}

static void what_the_target_never_takes_is_a_failure_or_dead(void **state)
{
    struct server_process *there = server_process_start("");
    redisContext *client = served_client(state), *target = client_open(there);
    char to[200];

    expect(target, "OK", "Q.CONFIG SET t max-body 5");
    expect(client, "*", "Q.PUSH t too-long ID a BACKOFF 1h");
    expect(client, "*", "Q.PUSH t short ID b");
    snprintf(to, sizeof(to), "t TO dueq://127.0.0.1:%d --prefix p- --once --batch 2",
             there->port);
    assert_int_equal(forwarder_run(served_server(state), to, NULL), 3);
    expect(target, "1", "Q.LEN t");
    expect_field(client, "failures", "1", "Q.GET t a");
    expect_field(client, "error", "\"TOOBIG*\"", "Q.GET t a");
    expect(client, "*", "Q.RUN t a");
    strcat(to, " --refused dead");
    assert_int_equal(forwarder_run(served_server(state), to, NULL), 3);
    expect_field(client, "state", "\"dead\"", "Q.GET t a");
    client_close(target);
}

/* ---- cut off and back */

static void push_some(redisContext *client, int round, int from, int to)
{
    for (int i = from; i < to; i++)
        say(client, "Q.PUSH t body-%d ID %d-%d", i, round, i);
    for (int i = from; i < to; i++)
        expect_reply(client, "*");
}

/* The last job of a round comes after the kill: if all others were forwarded before it, it is
 * by this one that the forwarder sees that the target is away. */
static void a_target_that_is_killed_gets_each_job_once_it_is_back(void **state)
{
    struct server_process *there = start_with_socket();
    redisContext *client = served_client(state), *target;

    expect(client, "OK", "Q.CONFIG SET t crashes 1000000");
    forwarder_begin(
        served_server(state),
        words("t TO 'dueq+unix://%s?topic=up' --prefix '' --batch 20 --away-most 100ms",
              there->unixsocket));
    for (int round = 0; round < ROUNDS; round++) {
        push_some(client, round, 0, MANY / ROUNDS - 1);
        server_process_kill(there);
        push_some(client, round, MANY / ROUNDS - 1, MANY / ROUNDS);
        forwarder_await(served_server(state), "the target is away", round + 1);
        server_process_run(there);
        forwarder_await(served_server(state), "the target is back", round + 1);
    }
    await_number(client, "total-acked", MANY, "Q.STATS t");
    assert_int_equal(forwarder_end(SIGTERM), 0);
    target = client_open(there);
    assert_int_equal(ask_field(target, "total-pushed", "Q.STATS up"),
                     ask_field(target, "ready", "Q.STATS up"));
    expect_field(target, "ready", "5000", "Q.STATS up");
    expect(client, "0", "Q.LEN t");
    client_close(target);
}

static void connections_to_redis_that_are_cut_lose_nothing(void **state)
{
    redisContext *client = served_client(state), *killer;

    start_redis();
    killer = foreign_server_client(&redis);
    forwarder_begin(served_server(state),
                    words("t TO 'redis://127.0.0.1:%d?stream=s&once=1h' --prefix '' --batch 10 "
                          "--away-most 20ms",
                          redis.port));
    push_many(client, MANY, "Q.PUSH t body-%d ID %d");
    for (int i = 0; i < PATIENCE && ask_field(client, "total-acked", "Q.STATS t") < MANY; i++) {
        expect(killer, "*", "CLIENT KILL TYPE normal SKIPME yes");
        sleep_ms(10);
    }
    redisFree(killer);
    redisFree(peer);
    peer = foreign_server_client(&redis);
    expect(peer, "5000", "XLEN s");
    expect(client, "0", "Q.LEN t");
    assert_int_equal(forwarder_end(SIGTERM), 0);
}

static void a_forwarder_that_is_killed_begins_again_without_loss(void **state)
{
    struct server_process *there = start_with_socket();
    redisContext *client = served_client(state), *target = client_open(there);

    expect(client, "OK", "Q.CONFIG SET t crashes 1000000");
    push_many(client, MANY, "Q.PUSH t body-%d ID %d");
    for (int64_t acked = 0; acked < MANY;) {
        forwarder_begin(
            served_server(state),
            words("t TO 'dueq+unix://%s?topic=up' --prefix '' --batch 50", there->unixsocket));
        for (int i = 0; i < PATIENCE && ask_field(client, "total-acked", "Q.STATS t") == acked;
             i++)
            sleep_ms(1);
        forwarder_end(SIGKILL);
        acked = ask_field(client, "total-acked", "Q.STATS t");
    }
    assert_int_equal(ask_integer(target, "Q.LEN up ready"), MANY);
    expect_field(target, "total-pushed", "5000", "Q.STATS up");
    client_close(target);
}

/* A repeat follows the job itself, so numbers never go back. */
static void expect_order(int count)
{
    redisReply *reply = ask(peer, "LRANGE l 0 -1");
    int last[GROUPS];

    for (int i = 0; i < GROUPS; i++)
        last[i] = i - GROUPS;
    for (size_t i = 0; i < reply->elements; i++) {
        int number = atoi(reply->element[i]->str), *before = &last[number % GROUPS];

        if (number != *before && number != *before + GROUPS)
            fail_msg("%d follows %d", number, *before);
        *before = number;
    }
    freeReplyObject(reply);
    for (int i = 0; i < GROUPS; i++)
        assert_int_equal(last[i], count - GROUPS + i);
}

static void the_order_in_a_group_is_kept_whatever_is_cut_off(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    const int count = 500;

    start_redis();
    expect(client, "OK", "Q.CONFIG SET t crashes 1000000");
    expect(client, "OK", "Q.CONFIG SET t group-mode serial");
    push_many(client, count, "Q.PUSH t %d ID id-%d GROUP g%d");
    for (int round = 0; ask_field(client, "total-acked", "Q.STATS t") < count; round++) {
        int64_t before = ask_field(client, "total-acked", "Q.STATS t");

        forwarder_begin(
            server, words("t TO 'redis://127.0.0.1:%d?list=l' --away-most 20ms", redis.port));
        for (int i = 0;
             i < PATIENCE && ask_field(client, "total-acked", "Q.STATS t") < before + 50; i++) {
            if (i % 3 == 0)
                expect(peer, "*", "CLIENT KILL TYPE normal SKIPME yes");
            sleep_ms(10);
            if (ask_field(client, "total-acked", "Q.STATS t") == count)
                break;
        }
        forwarder_end(SIGKILL);
    }
    expect_order(count);
}

/* ---- a target that does what the test wants */

static int listen_somewhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);

    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 5), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    return ntohs(address.sin_port);
}

static void await_bytes(const char *text)
{
    char bytes[10000];
    size_t used = 0;

    for (bytes[0] = '\0'; strstr(bytes, text) == NULL;) {
        ssize_t got = read(accepted, bytes + used, sizeof(bytes) - 1 - used);

        if (got <= 0)
            fail_msg("no %s: %s", text, bytes);
        used += (size_t)got;
        bytes[used] = '\0';
    }
}

static void answer(const char *text)
{
    assert_int_equal(write(accepted, text, strlen(text)), strlen(text));
}

static void accept_forwarder(void)
{
    close(accepted);
    accepted = accept(listener, NULL, NULL);
    await_bytes("PING");
    answer("+PONG\r\n");
}

static void a_job_is_acked_when_it_is_confirmed_and_not_before(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);

    expect(client, "*", "Q.PUSH t first ID a");
    forwarder_begin(server, words("t TO 'redis://127.0.0.1:%d?list=l' --away-most 10ms",
                                  listen_somewhere()));
    accept_forwarder();
    await_bytes("first");
    expect_field(client, "state", "\"claimed\"", "Q.GET t a");
    shutdown(accepted, SHUT_RDWR); /* nobody knows what has become of it */
    accept_forwarder();
    await_bytes("first");
    expect_field(client, "state", "\"claimed\"", "Q.GET t a");
    expect_field(client, "failures", "0", "Q.GET t a");
    expect_field(client, "leases-expired", "0", "Q.GET t a");
    answer(":1\r\n");
    await_number(client, "total-acked", 1, "Q.STATS t");
    expect(client, "nil", "Q.GET t a");
    assert_int_equal(forwarder_end(SIGTERM), 0);
}

static void a_lease_is_extended_while_the_target_thinks(void **state)
{
    redisContext *client = served_client(state);
    int64_t first, due;

    expect(client, "*", "Q.PUSH t first ID a");
    forwarder_begin(served_server(state),
                    words("t TO 'redis://127.0.0.1:%d?list=l' --lease 1s", listen_somewhere()));
    accept_forwarder();
    await_bytes("first");
    first = due = ask_field(client, "due", "Q.GET t a");
    for (int i = 0; i < PATIENCE && due < first + 2000; i++) {
        sleep_ms(10);
        due = ask_field(client, "due", "Q.GET t a");
    }
    assert_true(due >= first + 2000);
    answer(":1\r\n");
    await_number(client, "total-acked", 1, "Q.STATS t");
    assert_int_equal(forwarder_end(SIGTERM), 0);
}

static void while_the_target_is_away_nothing_is_claimed(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);

    start_redis();
    redisFree(peer);
    peer = NULL;
    foreign_server_kill(&redis);
    push_many(client, 10, "Q.PUSH t body-%d ID %d");
    forwarder_begin(server, words("t TO 'redis://127.0.0.1:%d?list=l' --away-most 10ms "
                                  "--worker w",
                                  redis.port));
    forwarder_await(server, "the target is away", 1);
    assert_int_equal(forwarder_end(SIGTERM), 0);
    expect_field(client, "attempt", "0", "Q.GET t 0");
    forwarder_begin(server,
                    words("t TO 'redis://127.0.0.1:%d?list=l' --away-most 10ms", redis.port));
    forwarder_await(server, "the target is away", 2);
    redis_server_restart(&redis);
    await_number(client, "total-acked", 10, "Q.STATS t");
    assert_int_equal(forwarder_said(server, "is away"), 2); /* once in each run */
    forwarder_await(server, "the target is back", 1);
    assert_int_equal(forwarder_end(SIGTERM), 0);
}

static void a_signal_lets_finish_what_was_begun(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);

    expect(client, "*", "Q.PUSH t first ID a");
    forwarder_begin(server,
                    words("t TO 'redis://127.0.0.1:%d?list=l' --grace 1h", listen_somewhere()));
    accept_forwarder();
    await_bytes("first");
    forwarder_signal(SIGTERM);
    forwarder_await(server, "finishing what was begun", 1);
    expect(client, "*", "Q.PUSH t second ID b");
    answer(":1\r\n");
    assert_int_equal(forwarder_end(0), 0);
    expect(client, "nil", "Q.GET t a");
    expect_field(client, "attempt", "0", "Q.GET t b");
}

static void what_is_not_finished_in_time_is_given_back(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    int port = listen_somewhere();

    expect(client, "*", "Q.PUSH t first ID a");
    forwarder_begin(server, words("t TO 'redis://127.0.0.1:%d?list=l' --grace 1s", port));
    accept_forwarder();
    await_bytes("first");
    assert_int_equal(forwarder_end(SIGTERM), 0);
    expect_field(client, "state", "\"ready\"", "Q.GET t a");
    expect_field(client, "failures", "0", "Q.GET t a");
    expect_field(client, "leases-expired", "0", "Q.GET t a");

    forwarder_begin(server, words("t TO 'redis://127.0.0.1:%d?list=l' --grace 1h", port));
    accept_forwarder();
    await_bytes("first");
    forwarder_signal(SIGTERM);
    forwarder_await(server, "finishing what was begun", 2);
    assert_int_equal(forwarder_end(SIGINT), 0);
    expect_field(client, "state", "\"ready\"", "Q.GET t a");
    expect_field(client, "leases-expired", "0", "Q.GET t a");
}

/* ---- the server */

static void a_server_that_is_restarted_is_found_again(void **state)
{
    struct server_process *server = start_with_socket();
    redisContext *client = client_open(server);

    (void)state;
    start_redis();
    forwarder_begin(server, words("t TO 'redis://127.0.0.1:%d?list=l' --lease 1s", redis.port));
    expect(client, "*", "Q.PUSH t x ID a");
    await_number(client, "total-acked", 1, "Q.STATS t");
    client_close(client);
    server_process_kill(server);
    forwarder_await(server, "trying again", 1);
    server_process_run(server);
    client = client_open(server);
    expect(client, "*", "Q.PUSH t y ID b");
    await_number(client, "ready", 0, "Q.STATS t");
    await_number(client, "claimed", 0, "Q.STATS t");
    forwarder_await(server, "the server is back", 1);
    expect(peer, "[\"x\" \"y\"]", "LRANGE l 0 -1");
    assert_int_equal(forwarder_end(SIGTERM), 0);
    client_close(client);
}

static void a_rate_leaves_the_others_where_they_are(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);

    start_redis();
    push_many(client, 10, "Q.PUSH t body-%d ID %d");
    forwarder_begin(server,
                    words("t TO 'redis://127.0.0.1:%d?list=l' --rate 3/1d", redis.port));
    await_number(client, "total-acked", 3, "Q.STATS t");
    assert_int_equal(forwarder_end(SIGTERM), 0);
    expect(peer, "3", "LLEN l");
    expect_field(client, "attempt", "0", "Q.GET t 3");
}

static void a_user_without_the_right_is_told(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    const char *output;

    start_redis();
    expect(client, "OK", "ACL SETUSER reader on nopass +q.get ~*");
    assert_int_equal(forwarder_run(server,
                                   words("t TO 'redis://127.0.0.1:%d?list=l' --user reader "
                                         "--password-file /dev/null",
                                         redis.port),
                                   &output),
                     1);
    assert_int_equal(
        forwarder_run(server,
                      words("t TO 'redis://127.0.0.1:%d?list=l' --once --port 1", redis.port),
                      &output),
        4);
    assert_non_null(strstr(output, "trying again"));
}

static void what_is_wrong_is_said_before_anything_is_done(void **state)
{
    static const char *const wrong[] = {
        "t",
        "t TO ftp://x/",
        "t FROM dueq://x/t",
        "t TO dueq://",
        "t TO dueq://h:0/t --prefix p",
        "t TO dueq://h:65536/t --prefix p",
        "t TO 'dueq://h/%zz' --prefix p",
        "t TO 'dueq://h/t?list=x' --prefix p",
        "t TO 'dueq://h/t?window=soon' --prefix p",
        "t TO redis://h",
        "t TO 'redis://h?list=a&stream=b'",
        "t TO 'redis://h?list='",
        "t TO 'redis://h/x?list=a'",
        "t TO 'redis://h?list=a&maxlen=3'",
        "t TO 'redis://h?stream=a&maxlen=-3'",
        "t TO 'redis://h?list=a' --batch 0",
        "t TO 'redis://h?list=a' --batch 1001",
        "t TO 'redis://h?list=a' --rate 5",
        "t TO 'redis://h?list=a' --rate 0/1s",
        "t TO 'redis://h?list=a' --rate 1/0",
        "t TO 'redis://h?list=a' --rate 99999999999999999999/1s",
        "t TO 'redis://h?list=a' --lease 10ms",
        "t TO 'redis://h?list=a' --refused never",
        "t TO 'redis://h?list=a' --timeout 2d",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (forwarder_run(served_server(state), wrong[i], NULL) != 2)
            fail_msg("%s: no error", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        forward_test(jobs_come_to_another_dueq_under_their_ids),
        forward_test(a_repeat_is_no_double_even_when_the_job_was_done_there),
        forward_test(jobs_come_to_a_list_and_a_stream_of_redis),
        forward_test(once_in_redis_leaves_no_double),
        forward_test(what_the_target_never_takes_is_a_failure_or_dead),
        forward_test(a_target_that_is_killed_gets_each_job_once_it_is_back),
        forward_test(connections_to_redis_that_are_cut_lose_nothing),
        forward_test(a_forwarder_that_is_killed_begins_again_without_loss),
        forward_test(the_order_in_a_group_is_kept_whatever_is_cut_off),
        forward_test(a_job_is_acked_when_it_is_confirmed_and_not_before),
        forward_test(a_lease_is_extended_while_the_target_thinks),
        forward_test(while_the_target_is_away_nothing_is_claimed),
        forward_test(a_signal_lets_finish_what_was_begun),
        forward_test(what_is_not_finished_in_time_is_given_back),
        forward_test(a_server_that_is_restarted_is_found_again),
        forward_test(a_rate_leaves_the_others_where_they_are),
        forward_test(a_user_without_the_right_is_told),
        forward_test(what_is_wrong_is_said_before_anything_is_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
