/* Q.PUSH: what it accepts, what it refuses, and that a refused push changes nothing. */
#include "tests/support/client/client.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

static void a_push_replies_the_callers_id(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "\"order-17\"", "Q.PUSH mail hello ID order-17");
    expect(client, "1", "Q.LEN mail");
}

static void a_push_without_an_id_is_given_one_that_sorts_by_time(void **state)
{
    redisContext *client = served_client(state);
    char *previous = ask_string(client, "Q.PUSH mail body");
    for (int i = 0; i < 1000; i++) {
        char *id = ask_string(client, "Q.PUSH mail body");
        assert_true(strcmp(previous, id) < 0);
        free(previous);
        previous = id;
    }
    free(previous);
    expect(client, "1001", "Q.LEN mail");
}

static void an_id_that_the_server_gave_is_taken_too(void **state)
{
    redisContext *client = served_client(state);
    char *id = ask_string(client, "Q.PUSH mail body");
    expect(client, "!DUPLICATE *", "Q.PUSH mail other ID %s", id);
    expect_field(client, "body", "\"body\"", "Q.GET mail %s", id);
    free(id);
}

static void a_duplicate_changes_nothing(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "\"a\"", "Q.PUSH mail first ID a DELAY 1h PRIORITY 7 RETRIES 3");
    char *before = ask_text(client, "Q.GET mail a");
    expect(client, "!DUPLICATE *", "Q.PUSH mail second ID a PRIORITY 0");
    char *after = ask_text(client, "Q.GET mail a");
    expect_same_job(before, after);
    expect(client, "1", "Q.LEN mail");
    expect(client, "[]", "Q.CLAIM mail");
    free(before);
    free(after);
}

static void a_duplicate_is_refused_in_every_state(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "\"a\"", "Q.PUSH mail body ID a");
    int64_t token = claim(client, "mail", "a");
    expect(client, "!DUPLICATE *", "Q.PUSH mail body ID a");
    expect(client, "\"dead\"", "Q.NACK mail a %lld DEAD", (long long)token);
    expect(client, "!DUPLICATE *", "Q.PUSH mail body ID a");
    expect(client, "1", "Q.DEL mail a");
    expect(client, "\"a\"", "Q.PUSH mail body ID a");
}

static void the_same_id_in_two_topics_is_two_jobs(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "\"a\"", "Q.PUSH mail one ID a");
    expect(client, "\"a\"", "Q.PUSH sms two ID a");
    expect(client, "[[\"a\" * \"one\" 1]]", "Q.CLAIM mail");
    expect(client, "[[\"a\" * \"two\" 1]]", "Q.CLAIM sms");
}

static void a_delay_takes_every_suffix(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } delays[] = {{"600000", 600000}, {"600000ms", 600000}, {"600s", 600000},
                  {"10m", 600000},    {"2h", 7200000},      {"3d", 259200000}};
    redisContext *client = served_client(state);
    for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
        int64_t before = unix_ms();
        expect(client, "*", "Q.PUSH mail body ID %s DELAY %s", delays[i].text, delays[i].text);
        int64_t due = ask_field(client, "due", "Q.GET mail %s", delays[i].text);
        /* Test and server read their clocks at different times, so a second less is allowed. */
        assert_true(due >= before + delays[i].ms - 1000);
        assert_true(due <= unix_ms() + delays[i].ms + 1000);
        expect_field(client, "state", "*delayed*", "Q.GET mail %s", delays[i].text);
    }
}

/* The delay does not count from the last thing that the server did. */
static void a_delay_counts_from_the_push(void **state)
{
    enum { ROUNDING = 3 };
    redisContext *client = served_client(state);
    expect(client, "PONG", "PING");
    sleep_ms(300);
    int64_t before = unix_ms();
    expect(client, "\"a\"", "Q.PUSH mail body ID a DELAY 10s");
    assert_true(ask_field(client, "due", "Q.GET mail a") >= before + 10000 - ROUNDING);
}

static void bad_durations_are_refused(void **state)
{
    static const char *const bad[] = {"-1", "x", "1.5s", "5 s", "5w", "s", "99999999999999d",
                                      ""};
    static const char *const options[] = {"DELAY", "LEASE", "BACKOFF", "TTL"};
    redisContext *client = served_client(state);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++)
            expect(client, "!ERR *", "Q.PUSH mail body %s %s", options[k], bad[i]);
    }
    expect(client, "!ERR *", "Q.PUSH mail body BACKOFF 1s 1w");
    expect(client, "0", "Q.LEN mail");
}

static void at_in_the_past_is_now(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "\"a\"", "Q.PUSH mail body ID a AT 1");
    expect(client, "\"b\"", "Q.PUSH mail body ID b AT 0");
    expect(client, "[[\"a\" *] [\"b\" *]]", "Q.CLAIM mail COUNT 10");
}

static void at_in_the_future_is_that_moment(void **state)
{
    redisContext *client = served_client(state);
    long long at = unix_ms() + 3600000;
    expect(client, "\"a\"", "Q.PUSH mail body ID a AT %lld", at);
    assert_int_equal(ask_field(client, "due", "Q.GET mail a"), at);
    expect(client, "[]", "Q.CLAIM mail");
    expect(client, "\"b\"", "Q.PUSH mail soon ID b AT %lld", (long long)unix_ms() + 50);
    expect(client, "[[\"b\" * \"soon\" 1]]", "Q.CLAIM mail BLOCK 30s");
    assert_true(unix_ms() < at);
}

static void at_must_be_a_number(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "!ERR *", "Q.PUSH mail body AT tomorrow");
    expect(client, "!ERR *", "Q.PUSH mail body AT 1s");
}

static void options_are_kept_with_the_job(void **state)
{
    redisContext *client = served_client(state);
    expect(
        client, "\"a\"",
        "Q.PUSH mail body ttl 1d backoff 2s 8s retries 5 lease 90s priority 3 delay 1m id a");
    expect_field(client, "priority", "3", "Q.GET mail a");
    expect_field(client, "lease", "90000", "Q.GET mail a");
    expect_field(client, "retries", "5", "Q.GET mail a");
    expect_field(client, "backoff", "2000", "Q.GET mail a");
    expect_field(client, "backoff-max", "8000", "Q.GET mail a");
    expect_field(client, "ttl", "86400000", "Q.GET mail a");
}

static void defaults_are_those_of_the_readme(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "\"a\"", "Q.PUSH mail body ID a");
    expect_field(client, "priority", "128", "Q.GET mail a");
    expect_field(client, "lease", "60000", "Q.GET mail a");
    expect_field(client, "retries", "20", "Q.GET mail a");
    expect_field(client, "backoff", "1000", "Q.GET mail a");
    expect_field(client, "backoff-max", "3600000", "Q.GET mail a");
    expect_field(client, "ttl", "nil", "Q.GET mail a");
}

static void a_priority_is_0_to_255(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "\"low\"", "Q.PUSH mail body ID low PRIORITY 255");
    expect(client, "\"high\"", "Q.PUSH mail body ID high PRIORITY 0");
    expect(client, "!ERR *", "Q.PUSH mail body PRIORITY 256");
    expect(client, "!ERR *", "Q.PUSH mail body PRIORITY -1");
    expect(client, "!ERR value is not an integer or out of range",
           "Q.PUSH mail body PRIORITY high");
    expect(client, "2", "Q.LEN mail");
}

static void retries_must_be_a_count(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "!ERR *", "Q.PUSH mail body RETRIES -1");
    expect(client, "!ERR *", "Q.PUSH mail body RETRIES many");
    expect(client, "\"a\"", "Q.PUSH mail body ID a RETRIES 0");
}

static void unknown_and_broken_options_are_syntax_errors(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "!ERR syntax error", "Q.PUSH mail body FOO");
    expect(client, "!ERR syntax error", "Q.PUSH mail body FOO 1");
    expect(client, "!ERR syntax error", "Q.PUSH mail body ID");
    expect(client, "!ERR syntax error", "Q.PUSH mail body DELAY");
    expect(client, "!ERR syntax error", "Q.PUSH mail body DELAY 5s AT 17");
    expect(client, "!ERR syntax error", "Q.PUSH mail body DELAY 5s extra");
    expect(client, "!ERR syntax error", "Q.PUSH mail body BACKOFF 1s 2s 3s");
    expect(client, "0", "Q.LEN mail");
}

static void too_few_words_are_an_arity_error(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "!ERR wrong number of arguments for 'q.push' command", "Q.PUSH");
    expect(client, "!ERR wrong number of arguments for 'q.push' command", "Q.PUSH mail");
}

static void names_and_bodies_may_hold_any_byte(void **state)
{
    static const char topic[] = "to\0pic\r\n\xff",
                      id[] = "\0\r\n i\x80"
                             "d",
                      body[] = "\0\0*1\r\n$\xfe";
    redisContext *client = served_client(state);
    size_t topic_size = sizeof(topic) - 1, id_size = sizeof(id) - 1,
           body_size = sizeof(body) - 1;
    expect(client, "\"\\x00\\r\\n i\\x80d\"", "Q.PUSH %b %b ID %b", topic, topic_size, body,
           body_size, id, id_size);
    expect(client, "[[\"\\x00\\r\\n i\\x80d\" 1 \"\\x00\\x00*1\\r\\n$\\xfe\" 1]]", "Q.CLAIM %b",
           topic, topic_size);
    expect(client, "[\"to\\x00pic\\r\\n\\xff\"]", "Q.TOPICS");
    expect(client, "1", "Q.ACK %b %b 1", topic, topic_size, id, id_size);
}

static void names_that_begin_alike_are_told_apart(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "\"a\"", "Q.PUSH t 1 ID a");
    expect(client, "\"a\\x00\"", "Q.PUSH t 2 ID %b", "a\0", (size_t)2);
    expect(client, "\"a\"", "Q.PUSH %b 3 ID a", "t\0", (size_t)2);
    expect(client, "2", "Q.LEN t");
    expect(client, "1", "Q.LEN %b", "t\0", (size_t)2);
    expect_field(client, "body", "\"1\"", "Q.GET t a");
}

static void a_body_may_be_empty(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "\"a\"", "Q.PUSH mail %b ID a", "", (size_t)0);
    expect(client, "[[\"a\" * \"\" 1]]", "Q.CLAIM mail");
}

static void names_are_1_to_255_bytes(void **state)
{
    redisContext *client = served_client(state);
    char longest[256], longer[257];
    memset(longest, 'n', 255);
    memset(longer, 'n', 256);
    longest[255] = longer[256] = '\0';
    expect(client, "\"nnn*\"", "Q.PUSH %s body ID %s", longest, longest);
    expect(client, "[[\"nnn*\" * \"body\" 1]]", "Q.CLAIM %s", longest);
    expect(client, "!ERR *", "Q.PUSH %s body", longer);
    expect(client, "!ERR *", "Q.PUSH mail body ID %s", longer);
    expect(client, "!ERR *", "Q.PUSH %s body", "");
    expect(client, "!ERR *", "Q.PUSH mail body ID %s", "");
    expect(client, "0", "Q.LEN mail");
}

static void commands_and_options_know_no_case(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "\"a\"", "q.Push mail body iD a Delay 0");
    expect(client, "[[\"a\" * \"body\" 1]]", "q.claim mail count 1 lease 5s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(a_push_replies_the_callers_id),
        served_test(a_push_without_an_id_is_given_one_that_sorts_by_time),
        served_test(an_id_that_the_server_gave_is_taken_too),
        served_test(a_duplicate_changes_nothing),
        served_test(a_duplicate_is_refused_in_every_state),
        served_test(the_same_id_in_two_topics_is_two_jobs),
        served_test(a_delay_takes_every_suffix),
        served_test(a_delay_counts_from_the_push),
        served_test(bad_durations_are_refused),
        served_test(at_in_the_past_is_now),
        served_test(at_in_the_future_is_that_moment),
        served_test(at_must_be_a_number),
        served_test(options_are_kept_with_the_job),
        served_test(defaults_are_those_of_the_readme),
        served_test(a_priority_is_0_to_255),
        served_test(retries_must_be_a_count),
        served_test(unknown_and_broken_options_are_syntax_errors),
        served_test(too_few_words_are_an_arity_error),
        served_test(names_and_bodies_may_hold_any_byte),
        served_test(names_that_begin_alike_are_told_apart),
        served_test(a_body_may_be_empty),
        served_test(names_are_1_to_255_bytes),
        served_test(commands_and_options_know_no_case),
    };
    return cmocka_run_group_tests_name("push", tests, NULL, NULL);
}
