/* RESP3: replies that differ from RESP2, and replies that must not. */
#include "tests/support/client/raw_client.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

static void greet(struct raw_client *raw, void **state)
{
    raw_open(raw, served_server(state));
    raw_expect(
        raw,
        "{\"server\": \"redis\" \"version\": \"7.0.15\" \"proto\": 3 \"id\": * \"mode\": "
        "\"standalone\" \"role\": \"master\" \"modules\": []}",
        "HELLO 3");
}

static void jobs_are_arrays_as_in_resp2(void **state)
{
    struct raw_client raw;
    greet(&raw, state);
    raw_expect(&raw, "\"a\"", "Q.PUSH mail body ID a");
    raw_say(&raw, "Q.CLAIM mail");
    raw_expect_bytes(&raw, "*1\r\n*4\r\n$1\r\na\r\n:1\r\n$4\r\nbody\r\n:1\r\n");
    raw_expect(&raw, "[]", "Q.CLAIM mail");
    raw_expect(&raw, "1", "Q.ACK mail a 1");
    raw_expect(&raw, "\"b\"", "Q.PUSH mail body ID b");
    raw_expect(&raw, "[[\"mail\" \"b\" 2 \"body\" 1]]", "Q.MCLAIM 2 none mail");
    raw_expect(&raw, "\"ready\"", "Q.NACK mail b 2 DELAY 0");
    raw_close(&raw);
}

static void every_null_is_the_null(void **state)
{
    struct raw_client raw;
    greet(&raw, state);
    raw_say(&raw, "Q.CLAIM mail BLOCK 10");
    raw_expect_bytes(&raw, "_\r\n");
    raw_say(&raw, "Q.GET mail none");
    raw_expect_bytes(&raw, "_\r\n");
    raw_say(&raw, "CLIENT GETNAME");
    raw_expect_bytes(&raw, "_\r\n");
    raw_close(&raw);
}

static void resp2_has_two_nulls(void **state)
{
    struct raw_client raw;
    raw_open(&raw, served_server(state));
    raw_say(&raw, "Q.CLAIM mail BLOCK 10");
    raw_expect_bytes(&raw, "*-1\r\n");
    raw_say(&raw, "CLIENT GETNAME");
    raw_expect_bytes(&raw, "$-1\r\n");
    raw_close(&raw);
}

static void get_and_stats_are_maps(void **state)
{
    struct raw_client raw;
    greet(&raw, state);
    raw_expect(&raw, "\"a\"", "Q.PUSH mail body ID a PRIORITY 5");
    raw_expect(&raw,
               "{\"id\": \"a\" \"state\": \"ready\" \"body\": \"body\" \"due\": * "
               "\"attempt\": 0 *\"priority\": 5 *\"error\": _*}",
               "Q.GET mail a");
    raw_expect(&raw, "{*\"ready\": 1*\"total-pushed\": 1*}", "Q.STATS mail");
    raw_expect(&raw, "{*\"next-due\": _*}", "Q.STATS none");
    raw_expect(&raw, "[\"mail\"]", "Q.TOPICS");
    raw_close(&raw);
}

static void server_texts_are_verbatim(void **state)
{
    struct raw_client raw;
    greet(&raw, state);
    raw_expect(&raw, "txt:\"# Server\\r\\n*\"", "INFO server");
    raw_expect(&raw, "txt:\"id=*resp=3*\\n\"", "CLIENT LIST");
    raw_expect(&raw, "txt:\"id=*\\n\"", "CLIENT INFO");
    raw_close(&raw);
}

static void config_and_docs_are_maps(void **state)
{
    struct raw_client raw;
    greet(&raw, state);
    raw_expect(&raw, "{\"maxclients\": \"10000\"}", "CONFIG GET maxclients");
    raw_expect(&raw, "{\"q.push\": {\"summary\": *\"arguments\": *}}", "COMMAND DOCS q.push");
    raw_expect(&raw, "[[\"q.push\" -3 ~[*write*] 1 1 1 ~[*@write*] ~[*] ~[{*}] ~[]]]",
               "COMMAND INFO q.push");
    raw_close(&raw);
}

static void hello_2_goes_back(void **state)
{
    struct raw_client raw;
    greet(&raw, state);
    raw_expect(&raw, "[\"server\" *]", "HELLO 2");
    raw_expect(&raw, "nil", "Q.GET mail none");
    raw_expect(&raw, "{*}", "HELLO 3");
    raw_expect(&raw, "!NOPROTO *", "HELLO 4");
    raw_expect(&raw, "_", "Q.GET mail none");
    raw_close(&raw);
}

static void errors_are_simple_errors(void **state)
{
    struct raw_client raw;
    greet(&raw, state);
    raw_expect(&raw, "!ERR syntax error", "Q.CLAIM mail FOO");
    raw_expect(&raw, "!ERR unknown command *", "NOSUCH");
    raw_close(&raw);
}

static void a_waiter_keeps_its_protocol(void **state)
{
    struct raw_client raw;
    greet(&raw, state);
    raw_say(&raw, "Q.CLAIM mail BLOCK 0");
    raw_say(&raw, "Q.GET mail none");
    expect(served_client(state), "*", "Q.PUSH mail body ID a");
    raw_expect_reply(&raw, "[[\"a\" 1 \"body\" 1]]");
    raw_expect_reply(&raw, "_");
    raw_close(&raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(jobs_are_arrays_as_in_resp2), served_test(every_null_is_the_null),
        served_test(resp2_has_two_nulls),         served_test(get_and_stats_are_maps),
        served_test(server_texts_are_verbatim),   served_test(config_and_docs_are_maps),
        served_test(hello_2_goes_back),           served_test(errors_are_simple_errors),
        served_test(a_waiter_keeps_its_protocol),
    };
    return cmocka_run_group_tests_name("resp3", tests, NULL, NULL);
}
