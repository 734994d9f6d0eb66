/* Q.CLAIM and Q.MCLAIM without waiting: which job, in what order, the form of the reply. */
#include "tests/support/client/client.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

static void a_claim_is_id_token_body_attempt(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "\"a\"", "Q.PUSH mail hello ID a");
    expect(client, "[[\"a\" 1 \"hello\" 1]]", "Q.CLAIM mail");
}

static void nothing_due_is_an_empty_array(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "[]", "Q.CLAIM nowhere");
    expect(client, "*", "Q.PUSH mail later DELAY 1h");
    expect(client, "[]", "Q.CLAIM mail");
    expect(client, "[]", "Q.CLAIM mail COUNT 5");
    expect(client, "[]", "Q.MCLAIM 2 mail nowhere");
}

static void a_claimed_job_is_not_given_out_again(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "\"a\"", "Q.PUSH mail body ID a");
    expect(client, "[[\"a\" *]]", "Q.CLAIM mail");
    expect(client, "[]", "Q.CLAIM mail");
    expect(client, "1", "Q.LEN mail claimed");
}

static void equals_come_in_order_of_arrival(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 50; i++)
        expect(client, "*", "Q.PUSH mail body ID %d AT 1000", 99 - i);
    for (int i = 0; i < 50; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%d", 99 - i);
        claim(client, "mail", id);
    }
}

static void the_earlier_due_comes_first(void **state)
{
    redisContext *client = served_client(state);
    long long now = unix_ms();
    expect(client, "\"third\"", "Q.PUSH mail body ID third AT %lld", now - 1000);
    expect(client, "\"first\"", "Q.PUSH mail body ID first AT %lld", now - 3600000);
    expect(client, "\"second\"", "Q.PUSH mail body ID second AT %lld", now - 60000);
    /* An AT in the past is now, so these three arrive in this order. */
    expect(client, "[[\"third\" *] [\"first\" *] [\"second\" *]]", "Q.CLAIM mail COUNT 3");
    expect(client, "\"late\"", "Q.PUSH mail body ID late DELAY 1000");
    expect(client, "\"early\"", "Q.PUSH mail body ID early DELAY 500");
    sleep_ms(1100);
    expect(client, "[[\"early\" *] [\"late\" *]]", "Q.CLAIM mail COUNT 3");
}

static void priority_goes_before_due_time(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "\"normal\"", "Q.PUSH mail body ID normal");
    expect(client, "\"lazy\"", "Q.PUSH mail body ID lazy PRIORITY 255");
    expect(client, "\"urgent\"", "Q.PUSH mail body ID urgent PRIORITY 0");
    expect(client, "\"keen\"", "Q.PUSH mail body ID keen PRIORITY 127");
    expect(client, "\"also\"", "Q.PUSH mail body ID also PRIORITY 128");
    expect(client, "[[\"urgent\" *] [\"keen\" *] [\"normal\" *] [\"also\" *] [\"lazy\" *]]",
           "Q.CLAIM mail COUNT 10");
}

static void an_urgent_job_that_is_not_due_waits(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "\"urgent\"", "Q.PUSH mail body ID urgent PRIORITY 0 DELAY 1h");
    expect(client, "\"lazy\"", "Q.PUSH mail body ID lazy PRIORITY 255");
    expect(client, "[[\"lazy\" *]]", "Q.CLAIM mail COUNT 2");
}

static void count_limits_what_is_given(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 10; i++)
        expect(client, "*", "Q.PUSH mail body ID job%d", i);
    expect(client, "[[\"job0\" *]]", "Q.CLAIM mail");
    expect(client, "[[\"job1\" *] [\"job2\" *] [\"job3\" *]]", "Q.CLAIM mail COUNT 3");
    redisReply *reply = ask(client, "Q.CLAIM mail COUNT 1000");
    assert_int_equal(reply->elements, 6);
    freeReplyObject(reply);
}

static void tokens_grow_with_each_claim(void **state)
{
    redisContext *client = served_client(state);
    int64_t previous = 0;
    expect(client, "*", "Q.PUSH mail body ID a RETRIES 100");
    for (int i = 1; i <= 20; i++) {
        redisReply *reply = ask(client, "Q.CLAIM mail");
        const redisReply *job = reply->element[0];
        assert_true(job->element[1]->integer > previous);
        assert_int_equal(job->element[3]->integer, i);
        previous = job->element[1]->integer;
        freeReplyObject(reply);
        expect(client, "\"ready\"", "Q.NACK mail a %lld DELAY 0", (long long)previous);
    }
}

static void tokens_grow_past_a_deleted_job_of_the_same_id(void **state)
{
    redisContext *client = served_client(state);
    int64_t previous = 0;
    for (int i = 0; i < 5; i++) {
        expect(client, "*", "Q.PUSH mail body ID a");
        int64_t token = claim(client, "mail", "a");
        assert_true(token > previous);
        previous = token;
        expect(client, "1", "Q.DEL mail a");
    }
}

static void a_claims_own_lease_goes_before_the_jobs(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a LEASE 1h");
    expect(client, "*", "Q.PUSH mail body ID b LEASE 1h");
    int64_t before = unix_ms();
    expect(client, "[[\"a\" *]]", "Q.CLAIM mail");
    expect(client, "[[\"b\" *]]", "Q.CLAIM mail LEASE 10m");
    assert_true(ask_field(client, "due", "Q.GET mail a") >= before + 3599000);
    assert_true(ask_field(client, "due", "Q.GET mail b") >= before + 599000);
    assert_true(ask_field(client, "due", "Q.GET mail b") < before + 3599000);
}

static void bad_options_claim_nothing(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    expect(client, "!ERR wrong number of arguments for 'q.claim' command", "Q.CLAIM");
    expect(client, "!ERR syntax error", "Q.CLAIM mail FOO");
    expect(client, "!ERR syntax error", "Q.CLAIM mail COUNT");
    expect(client, "!ERR syntax error", "Q.CLAIM mail LEASE");
    expect(client, "!ERR syntax error", "Q.CLAIM mail BLOCK");
    expect(client, "!ERR *", "Q.CLAIM mail COUNT 0");
    expect(client, "!ERR *", "Q.CLAIM mail COUNT -1");
    expect(client, "!ERR *", "Q.CLAIM mail COUNT 10001");
    expect(client, "!ERR value is not an integer or out of range", "Q.CLAIM mail COUNT x");
    expect(client, "!ERR *", "Q.CLAIM mail LEASE -1");
    expect(client, "!ERR *", "Q.CLAIM mail LEASE soon");
    expect(client, "!ERR *", "Q.CLAIM mail BLOCK -1");
    expect(client, "!ERR *", "Q.CLAIM mail BLOCK 1.5");
    expect(client, "!ERR *", "Q.CLAIM %s", "");
    expect(client, "1", "Q.LEN mail ready");
}

static void mclaim_names_the_topic_and_takes_first_topics_first(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH low l1 ID l1 PRIORITY 0");
    expect(client, "*", "Q.PUSH high h1 ID h1 PRIORITY 255");
    expect(client, "*", "Q.PUSH high h2 ID h2 PRIORITY 255");
    expect(client, "[[\"high\" \"h1\" 1 \"h1\" 1]]", "Q.MCLAIM 2 high low");
    expect(client, "[[\"high\" \"h2\" 2 \"h2\" 1] [\"low\" \"l1\" 1 \"l1\" 1]]",
           "Q.MCLAIM 3 high none low COUNT 10");
    expect(client, "[]", "Q.MCLAIM 3 high none low COUNT 10");
}

static void mclaim_fills_its_count_and_stops(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 4; i++) {
        expect(client, "*", "Q.PUSH one body ID a%d", i);
        expect(client, "*", "Q.PUSH two body ID b%d", i);
    }
    redisReply *reply = ask(client, "Q.MCLAIM 2 one two COUNT 6 LEASE 5m");
    assert_int_equal(reply->elements, 6);
    freeReplyObject(reply);
    expect(client, "0", "Q.LEN one ready");
    expect(client, "2", "Q.LEN two ready");
}

static void mclaim_counts_its_topics(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "!ERR wrong number of arguments for 'q.mclaim' command", "Q.MCLAIM 1");
    expect(client, "!ERR *", "Q.MCLAIM 0 mail");
    expect(client, "!ERR *", "Q.MCLAIM -1 mail");
    expect(client, "!ERR *", "Q.MCLAIM x mail");
    expect(client, "!ERR *", "Q.MCLAIM 3 mail sms");
    expect(client, "!ERR *", "Q.MCLAIM 9223372036854775807 mail");
    expect(client, "!ERR syntax error", "Q.MCLAIM 1 mail sms");
    expect(client, "!ERR syntax error", "Q.MCLAIM 1 mail COUNT");
}

static void a_topic_named_like_an_option_is_a_topic(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH COUNT body ID a");
    expect(client, "[[\"COUNT\" \"a\" 1 \"body\" 1]]", "Q.MCLAIM 2 BLOCK COUNT COUNT 1");
}

/* Jobs that do not fit into the reply are not claimed. */
static void jobs_that_the_reply_has_no_room_for_stay(void **state)
{
    (void)state;
    enum { BODY = 300000 };
    struct server_process *server =
        server_process_start("client-output-buffer-limit normal 1mb 0 0");
    redisContext *client = client_open(server), *other = client_open(server);
    static char body[BODY];
    memset(body, 'b', sizeof(body));
    for (int i = 0; i < 5; i++)
        expect(client, "*", "Q.PUSH mail %b ID %d RETRIES 0", body, sizeof(body), i);
    sleep_ms(5); /* what is given back is due at that moment, so after what was pushed before */
    expect(client, "[[\"0\" 1 *] [\"1\" 2 *] [\"2\" 3 *]]", "Q.CLAIM mail COUNT 5");
    expect(client, "3", "Q.LEN mail claimed");
    expect(client, "2", "Q.LEN mail ready");
    expect(other, "[[\"mail\" \"4\" * * 1] [\"mail\" \"3\" * * 1]]", "Q.MCLAIM 1 mail COUNT 5");
    expect(client, "5", "Q.LEN mail claimed");
}

static void a_job_too_large_for_any_reply_fails(void **state)
{
    (void)state;
    enum { BODY = 2000000 };
    struct server_process *server =
        server_process_start("client-output-buffer-limit normal 1mb 0 0");
    redisContext *client = client_open(server), *worker = client_open(server);
    static char body[BODY];
    memset(body, 'b', sizeof(body));
    say(worker, "Q.CLAIM mail BLOCK 0");
    await_blocked(client, 1);
    expect(client, "*", "Q.PUSH mail %b ID large RETRIES 1 BACKOFF 1ms", body, sizeof(body));
    expect_closed(worker);
    expect(client, "0", "Q.LEN mail claimed");
    sleep_ms(20);
    worker = client_open(server);
    say(worker, "Q.CLAIM mail");
    expect_closed(worker);
    expect(client, "1", "Q.LEN mail dead");
}

static void elements_that_the_reply_has_no_room_for_stay(void **state)
{
    (void)state;
    enum { VALUE = 300000 };
    struct server_process *server =
        server_process_start("client-output-buffer-limit normal 1mb 0 0");
    redisContext *client = client_open(server), *greedy = client_open(server);
    static char value[VALUE];
    memset(value, 'v', sizeof(value));
    for (int i = 1; i <= 5; i++) {
        char number[16];
        snprintf(number, sizeof(number), "%d", i);
        expect(client, number, "RPUSH list %b", value, sizeof(value));
    }
    say(greedy, "LPOP list 5");
    expect_closed(greedy);
    expect(client, "5", "LLEN list");
    greedy = client_open(server);
    say(greedy, "LMPOP 1 list LEFT COUNT 5");
    expect_closed(greedy);
    expect(client, "5", "LLEN list");
    expect(client, "[\"vv*\" *]", "LPOP list 2");
    expect(client, "3", "LLEN list");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(a_claim_is_id_token_body_attempt),
        served_test(nothing_due_is_an_empty_array),
        served_test(a_claimed_job_is_not_given_out_again),
        served_test(equals_come_in_order_of_arrival),
        served_test(the_earlier_due_comes_first),
        served_test(priority_goes_before_due_time),
        served_test(an_urgent_job_that_is_not_due_waits),
        served_test(count_limits_what_is_given),
        served_test(tokens_grow_with_each_claim),
        served_test(tokens_grow_past_a_deleted_job_of_the_same_id),
        served_test(a_claims_own_lease_goes_before_the_jobs),
        served_test(bad_options_claim_nothing),
        served_test(mclaim_names_the_topic_and_takes_first_topics_first),
        served_test(mclaim_fills_its_count_and_stops),
        served_test(mclaim_counts_its_topics),
        served_test(a_topic_named_like_an_option_is_a_topic),
        serving_test(jobs_that_the_reply_has_no_room_for_stay),
        serving_test(a_job_too_large_for_any_reply_fails),
        serving_test(elements_that_the_reply_has_no_room_for_stay),
    };
    return cmocka_run_group_tests_name("claim", tests, NULL, NULL);
}
