/* The wire: inline commands, requests in parts, garbage, and false lengths. */
#include "tests/support/client/raw_client.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

static void inline_commands_work(void **state)
{
    struct raw_client raw;
    raw_open(&raw, served_server(state));
    raw_expect(&raw, "PONG", "PING");
    raw_send(&raw, "\r\n\r\n  PING\n", 11); /* empty lines are skipped, LF is enough */
    raw_expect_reply(&raw, "PONG");
    raw_expect(&raw, "\"a b\"", "Q.PUSH mail \"x\\x00y\" ID 'a b'");
    raw_expect(&raw, "[[\"a b\" 1 \"x\\x00y\" 1]]", "Q.CLAIM mail");
    raw_close(&raw);
}

static void unbalanced_quotes_are_an_error(void **state)
{
    struct raw_client raw;
    raw_open(&raw, served_server(state));
    raw_expect(&raw, "!ERR Protocol error: unbalanced quotes in request", "ECHO \"a");
    raw_expect_closed(&raw);
    raw_close(&raw);
}

static void empty_requests_are_skipped(void **state)
{
    struct raw_client raw;
    raw_open(&raw, served_server(state));
    raw_say(&raw, "*0\r\n*-1\r\n*1\r\n$4\r\nPING");
    raw_expect_reply(&raw, "PONG");
    raw_close(&raw);
}

static void garbage_gets_redis_error_and_a_closed_connection(void **state)
{
    static const struct {
        const char *bytes, *error;
    } lies[] = {
        {"*4294967295\r\n", "!ERR Protocol error: invalid multibulk length"},
        {"*3000000000\r\n", "!ERR Protocol error: invalid multibulk length"},
        {"*x\r\n", "!ERR Protocol error: invalid multibulk length"},
        {"*1\r\n$9223372036854775807\r\n", "!ERR Protocol error: invalid bulk length"},
        {"*1\r\n$99999999999999999999\r\n", "!ERR Protocol error: invalid bulk length"},
        {"*1\r\n$999999999999\r\n", "!ERR Protocol error: invalid bulk length"},
        {"*1\r\n$-1\r\n", "!ERR Protocol error: invalid bulk length"},
        {"*1\r\n$x\r\n", "!ERR Protocol error: invalid bulk length"},
        {"*1\r\nPING\r\n", "!ERR Protocol error: expected '$', got 'P'"},
        {"*1\r\n:1\r\n", "!ERR Protocol error: expected '$', got ':'"},
        {"*2\r\n*1\r\n$4\r\nPING\r\n", "!ERR Protocol error: expected '$', got '*'"},
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct raw_client raw;
        raw_open(&raw, served_server(state));
        raw_send(&raw, lies[i].bytes, strlen(lies[i].bytes));
        raw_expect_reply(&raw, lies[i].error);
        raw_expect_closed(&raw);
        raw_close(&raw);
    }
    expect(served_client(state), "PONG", "PING");
}

static void what_came_before_the_garbage_is_answered(void **state)
{
    struct raw_client raw;
    raw_open(&raw, served_server(state));
    raw_say(&raw, "Q.PUSH mail body ID a\r\nPING\r\n*1\r\nx");
    raw_expect_reply(&raw, "\"a\"");
    raw_expect_reply(&raw, "PONG");
    raw_expect_reply(&raw, "!ERR Protocol error: *");
    raw_expect_closed(&raw);
    raw_close(&raw);
    expect(served_client(state), "1", "Q.LEN mail");
}

static void an_endless_line_is_cut_off(void **state)
{
    static const char *const starts[] = {"ECHO ", "*", "*1\r\n$"};
    static char line[70000];
    memset(line, '1', sizeof(line));
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        struct raw_client raw;
        raw_open(&raw, served_server(state));
        raw_send(&raw, starts[i], strlen(starts[i]));
        raw_send(&raw, line, sizeof(line));
        raw_expect_reply(&raw, "!ERR Protocol error: *");
        raw_close(&raw);
    }
    expect(served_client(state), "PONG", "PING");
}

static void a_request_may_come_byte_by_byte(void **state)
{
    static const char request[] = "*5\r\n$6\r\nQ.PUSH\r\n$4\r\nmail\r\n$6\r\na\r\nb\r\n\r\n"
                                  "$2\r\nID\r\n$1\r\nx\r\nECHO hi\r\n";
    struct raw_client raw;
    raw_open(&raw, served_server(state));
    for (size_t i = 0; i < sizeof(request) - 1; i++) {
        raw_send(&raw, request + i, 1);
        if (i % 8 == 0)
            expect(served_client(state), "PONG", "PING"); /* other clients do not wait */
    }
    raw_expect_reply(&raw, "\"x\"");
    raw_expect_reply(&raw, "\"hi\"");
    raw_close(&raw);
}

static void a_request_broken_off_does_nothing(void **state)
{
    static const char request[] =
        "*5\r\n$6\r\nQ.PUSH\r\n$4\r\nmail\r\n$4\r\nbody\r\n$2\r\nID\r\n"
        "$1\r\nx\r\n";
    for (size_t size = 1; size < sizeof(request) - 1; size++) {
        struct raw_client raw;
        raw_open(&raw, served_server(state));
        raw_send(&raw, request, size);
        raw_close(&raw);
    }
    expect(served_client(state), "PONG", "PING");
    expect(served_client(state), "0", "Q.LEN mail");
}

static void random_bytes_do_no_harm(void **state)
{
    const char *given = getenv("SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)unix_ms();
    print_message("SEED=%u\n", seed);
    srandom(seed);
    for (int round = 0; round < 300; round++) {
        static const char alphabet[] = "*$\r\n0123456789-:PINGqQ. \"'\\x\0\xff";
        struct raw_client raw;
        char bytes[512];
        size_t size = (size_t)random() % sizeof(bytes);
        for (size_t i = 0; i < size; i++)
            bytes[i] = alphabet[(size_t)random() % (sizeof(alphabet) - 1)];
        raw_open(&raw, served_server(state));
        raw_send(&raw, bytes, size);
        raw_close(&raw);
    }
    expect(served_client(state), "PONG", "PING");
}

static void too_many_arguments_are_refused(void **state)
{
    struct raw_client raw;
    raw_open(&raw, served_server(state));
    raw_say(&raw, "*1048577");
    raw_expect_reply(&raw, "!ERR Protocol error: invalid multibulk length");
    raw_expect_closed(&raw);
    raw_close(&raw);
}

static void a_claimed_size_takes_no_memory(void **state)
{
    redisContext *client = served_client(state);
    struct raw_client raws[50];
    for (int i = 0; i < 50; i++) {
        raw_open(&raws[i], served_server(state));
        raw_say(&raws[i], "*2\r\n$4\r\nECHO\r\n$500000000\r\nx");
    }
    expect(client, "PONG", "PING");
    /* fifty requests have announced 500 MB each */
    assert_true(ask_info(client, "memory", "used_memory_rss") < 2000000000LL);
    for (int i = 0; i < 50; i++)
        raw_close(&raws[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(inline_commands_work),
        served_test(unbalanced_quotes_are_an_error),
        served_test(empty_requests_are_skipped),
        served_test(garbage_gets_redis_error_and_a_closed_connection),
        served_test(what_came_before_the_garbage_is_answered),
        served_test(an_endless_line_is_cut_off),
        served_test(a_request_may_come_byte_by_byte),
        served_test(a_request_broken_off_does_nothing),
        served_test(random_bytes_do_no_harm),
        served_test(too_many_arguments_are_refused),
        served_test(a_claimed_size_takes_no_memory),
    };
    return cmocka_run_group_tests_name("protocol", tests, NULL, NULL);
}
