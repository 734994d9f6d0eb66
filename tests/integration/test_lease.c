/* Leases, tokens, acks, nacks, retries, backoff, time to live. The tests wait in the server
 * (BLOCK), so nothing depends on the speed of the machine. */
#include "tests/support/client/client.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

/* Waits until the job is in that state. */
static void await_state(redisContext *client, const char *id, const char *wanted)
{
    for (int waited = 0; waited < 60000; waited++) {
        redisReply *reply = ask(client, "Q.GET mail %s", id);
        bool there = strcmp(reply_field(reply, "state")->str, wanted) == 0;
        freeReplyObject(reply);
        if (there)
            return;
        sleep_ms(1);
    }
    fail_at(__FILE__, __LINE__, "'%s' never became %s", id, wanted);
}

static void an_acked_job_is_gone(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    int64_t token = claim(client, "mail", "a");
    expect(client, "1", "Q.ACK mail a %lld", (long long)token);
    expect(client, "nil", "Q.GET mail a");
    expect(client, "0", "Q.LEN mail");
    expect(client, "0", "Q.ACK mail a %lld", (long long)token);
    expect(client, "\"a\"", "Q.PUSH mail again ID a");
}

static void several_acks_count_those_that_held(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 1; i <= 4; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%d", i);
        expect(client, "*", "Q.PUSH mail body ID %s", id);
        assert_int_equal(claim(client, "mail", id), i);
    }
    expect(client, "2", "Q.ACK mail 1 1 2 17 none 3 4 4");
    expect(client, "nil", "Q.GET mail 1");
    expect_field(client, "state", "\"claimed\"", "Q.GET mail 2");
    expect(client, "1", "Q.ACK mail 2 2 2 2");
    expect(client, "1", "Q.LEN mail");
}

static void acks_come_in_pairs_of_id_and_number(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    claim(client, "mail", "a");
    expect(client, "!ERR wrong number of arguments for 'q.ack' command", "Q.ACK mail a");
    expect(client, "!ERR wrong number of arguments for 'q.ack' command", "Q.ACK mail a 1 b");
    expect(client, "!ERR value is not an integer or out of range", "Q.ACK mail a x");
    expect(client, "!ERR value is not an integer or out of range", "Q.ACK mail a 1 b x");
    expect(client, "1",
           "Q.LEN mail claimed"); /* the first pair was acked, the bad one was not */
}

static void a_token_from_before_the_last_claim_is_stale(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    expect(client, "[[\"a\" 1 *]]", "Q.CLAIM mail LEASE 20");
    expect(client, "[[\"a\" 2 *]]", "Q.CLAIM mail BLOCK 60s LEASE 1h");
    expect(client, "!STALE *", "Q.ACK mail a 1");
    expect(client, "!STALE *", "Q.NACK mail a 1");
    expect(client, "!STALE *", "Q.EXTEND mail a 1 1h");
    expect(client, "!STALE *", "Q.ACK mail a 3");
    expect(client, "!STALE *", "Q.ACK mail a 0");
    expect(client, "1", "Q.ACK mail a 2");
}

static void a_late_ack_with_nobody_in_between_is_accepted(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    expect(client, "[[\"a\" 1 *]]", "Q.CLAIM mail LEASE 20");
    await_state(client, "a", "ready");
    expect(client, "1", "Q.ACK mail a 1");
    expect(client, "[]", "Q.CLAIM mail");
}

static void expired_leases_have_a_limit_of_their_own(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "OK", "CONFIG SET queue-crashes 2");
    expect(client, "*", "Q.PUSH mail body ID a RETRIES 0");
    for (int attempt = 1; attempt <= 3; attempt++) {
        char pattern[64];
        snprintf(pattern, sizeof(pattern), "[[\"a\" %d \"body\" %d]]", attempt, attempt);
        expect(client, pattern, "Q.CLAIM mail BLOCK 60s LEASE 10");
    }
    await_state(client, "a", "dead");
    expect_field(client, "error", "\"crashed: 3 leases expired\"", "Q.GET mail a");
    expect(client, "nil", "Q.CLAIM mail BLOCK 30");
    expect_field(client, "total-expired", "3", "Q.STATS mail");
}

static void extend_moves_the_end_of_the_lease(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    int64_t token = claim(client, "mail", "a");
    int64_t before = unix_ms();
    int64_t end = ask_integer(client, "Q.EXTEND mail a %lld 2h", (long long)token);
    assert_true(end >= before + 7200000 - 1000 && end <= unix_ms() + 7200000 + 1000);
    end = ask_integer(client, "Q.EXTEND mail a %lld 20", (long long)token);
    assert_true(end <= unix_ms() + 1000);
    expect(client, "[[\"a\" 2 \"body\" 2]]", "Q.CLAIM mail BLOCK 60s");
}

static void extend_keeps_a_job_from_others(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    expect(client, "[[\"a\" 1 *]]", "Q.CLAIM mail LEASE 2s");
    ask_integer(client, "Q.EXTEND mail a 1 1h");
    expect(client, "nil", "Q.CLAIM mail BLOCK 2500");
    expect(client, "1", "Q.ACK mail a 1");
}

static void extend_wants_a_duration_and_a_job(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    expect(client, "!ERR wrong number of arguments for 'q.extend' command",
           "Q.EXTEND mail a 1");
    expect(client, "!ERR *", "Q.EXTEND mail a 1 soon");
    expect(client, "!ERR value is not an integer or out of range", "Q.EXTEND mail a x 1s");
    expect(client, "!NOJOB *", "Q.EXTEND mail none 1 1s");
    expect(client, "!STALE *", "Q.EXTEND mail a 1 1s"); /* never claimed */
}

static void a_nack_with_delay_comes_back_then(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    int64_t token = claim(client, "mail", "a");
    expect(client, "\"delayed\"", "Q.NACK mail a %lld DELAY 60", (long long)token);
    expect_field(client, "attempt", "1", "Q.GET mail a");
    expect(client, "[[\"a\" 2 \"body\" 2]]", "Q.CLAIM mail BLOCK 60s");
}

static void a_nacked_token_is_spent(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    int64_t token = claim(client, "mail", "a");
    expect(client, "\"delayed\"", "Q.NACK mail a %lld DELAY 1h", (long long)token);
    expect(client, "!STALE *", "Q.ACK mail a %lld", (long long)token);
    expect(client, "!STALE *", "Q.NACK mail a %lld", (long long)token);
    expect(client, "!STALE *", "Q.EXTEND mail a %lld 1s", (long long)token);
    expect(client, "1", "Q.LEN mail delayed");
}

static void a_nack_keeps_the_error_text(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    int64_t token = claim(client, "mail", "a");
    expect_field(client, "error", "nil", "Q.GET mail a");
    expect(client, "\"ready\"", "Q.NACK mail a %lld DELAY 0 ERROR %s", (long long)token,
           "smtp: 451 try\r\nlater");
    expect_field(client, "error", "\"smtp: 451 try\\r\\nlater\"", "Q.GET mail a");
    token = claim(client, "mail", "a");
    expect(client, "\"dead\"", "Q.NACK mail a %lld DEAD ERROR gone", (long long)token);
    expect_field(client, "error", "\"gone\"", "Q.GET mail a");
}

static void an_error_text_of_any_length_is_taken(void **state)
{
    redisContext *client = served_client(state);
    static char text[100001];
    memset(text, 'e', sizeof(text) - 1);
    expect(client, "*", "Q.PUSH mail body ID a");
    int64_t token = claim(client, "mail", "a");
    expect(client, "\"ready\"", "Q.NACK mail a %lld DELAY 0 ERROR %s", (long long)token, text);
    expect_field(client, "error", "\"eeee*\"", "Q.GET mail a");
}

static void a_job_past_its_retries_is_dead(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a RETRIES 2");
    expect(client, "\"ready\"", "Q.NACK mail a %lld DELAY 0",
           (long long)claim(client, "mail", "a"));
    expect(client, "\"ready\"", "Q.NACK mail a %lld DELAY 0",
           (long long)claim(client, "mail", "a"));
    expect(client, "\"dead\"", "Q.NACK mail a %lld DELAY 0",
           (long long)claim(client, "mail", "a"));
    expect_field(client, "state", "\"dead\"", "Q.GET mail a");
    expect_field(client, "attempt", "3", "Q.GET mail a");
    expect(client, "[]", "Q.CLAIM mail");
    expect(client, "1", "Q.LEN mail dead");
}

static void without_retries_the_first_failure_is_the_last(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a RETRIES 0");
    expect(client, "\"dead\"", "Q.NACK mail a %lld", (long long)claim(client, "mail", "a"));
}

static void backoff_doubles_up_to_its_maximum(void **state)
{
    static const int64_t expected[] = {10000, 20000, 40000, 60000, 60000};
    redisContext *client = served_client(state);
    for (int id = 0; id < 5; id++) {
        int64_t now = 0;
        expect(client, "*", "Q.PUSH mail body ID %d BACKOFF 10s 60s", id);
        for (int attempt = 0; attempt <= id; attempt++) {
            char name[16];
            snprintf(name, sizeof(name), "%d", id);
            long long token = claim(client, "mail", name);
            now = unix_ms();
            if (attempt < id)
                expect(client, "\"ready\"", "Q.NACK mail %d %lld DELAY 0", id, token);
            else
                expect(client, "\"delayed\"", "Q.NACK mail %d %lld", id, token);
        }
        int64_t delay = ask_field(client, "due", "Q.GET mail %d", id) - now;
        assert_in_range(delay, expected[id] * 7 / 10, expected[id] * 13 / 10 + 1000);
    }
}

static void nack_wants_good_options(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    claim(client, "mail", "a");
    expect(client, "!ERR wrong number of arguments for 'q.nack' command", "Q.NACK mail a");
    expect(client, "!ERR value is not an integer or out of range", "Q.NACK mail a x");
    expect(client, "!ERR syntax error", "Q.NACK mail a 1 FOO");
    expect(client, "!ERR syntax error", "Q.NACK mail a 1 DELAY");
    expect(client, "!ERR syntax error", "Q.NACK mail a 1 ERROR");
    expect(client, "!ERR *", "Q.NACK mail a 1 DELAY soon");
    expect(client, "!NOJOB *", "Q.NACK mail none 1");
    expect(client, "!NOJOB *", "Q.NACK nowhere a 1");
    expect_field(client, "state", "\"claimed\"", "Q.GET mail a");
}

static void an_unclaimed_job_past_its_ttl_is_dead_not_gone(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a TTL 20");
    expect(client, "*", "Q.PUSH mail body ID b TTL 20 DELAY 20");
    expect(client, "*", "Q.PUSH mail body ID c TTL 1h");
    await_state(client, "a", "dead");
    await_state(client, "b", "dead");
    expect_field(client, "body", "\"body\"", "Q.GET mail a");
    expect(client, "[[\"c\" *]]", "Q.CLAIM mail COUNT 10");
}

static void a_ttl_does_not_touch_a_job_in_hand(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a TTL 1500");
    int64_t token = claim(client, "mail", "a");
    sleep_ms(1600);
    expect_field(client, "state", "\"claimed\"", "Q.GET mail a");
    expect(client, "1", "Q.ACK mail a %lld", (long long)token);
}

static void configured_defaults_are_taken(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "OK", "CONFIG SET queue-lease 90s queue-retries 0");
    expect(client, "*", "Q.PUSH mail body ID a");
    int64_t before = unix_ms();
    int64_t token = claim(client, "mail", "a");
    assert_true(ask_field(client, "due", "Q.GET mail a") >= before + 89000);
    expect(client, "\"dead\"", "Q.NACK mail a %lld", (long long)token);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(an_acked_job_is_gone),
        served_test(several_acks_count_those_that_held),
        served_test(acks_come_in_pairs_of_id_and_number),
        served_test(a_token_from_before_the_last_claim_is_stale),
        served_test(a_late_ack_with_nobody_in_between_is_accepted),
        served_test(expired_leases_have_a_limit_of_their_own),
        served_test(extend_moves_the_end_of_the_lease),
        served_test(extend_keeps_a_job_from_others),
        served_test(extend_wants_a_duration_and_a_job),
        served_test(a_nack_with_delay_comes_back_then),
        served_test(a_nacked_token_is_spent),
        served_test(a_nack_keeps_the_error_text),
        served_test(an_error_text_of_any_length_is_taken),
        served_test(a_job_past_its_retries_is_dead),
        served_test(without_retries_the_first_failure_is_the_last),
        served_test(backoff_doubles_up_to_its_maximum),
        served_test(nack_wants_good_options),
        served_test(an_unclaimed_job_past_its_ttl_is_dead_not_gone),
        served_test(a_ttl_does_not_touch_a_job_in_hand),
        served_test(configured_defaults_are_taken),
    };
    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
