/* Jobs that wait for others, with real clients: blocked claims, restarts, many. */
#include "tests/support/client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

enum { MANY = 10000 };

static void blocked_claims_wake_when_the_last_one_is_done(void **state)
{
    redisContext *client = served_client(state), *waiting;

    expect(client, "\"a\"", "Q.PUSH t body ID a");
    expect(client, "\"b\"", "Q.PUSH other body ID b");
    expect(client, "\"c\"", "Q.PUSH next body ID c AFTER t:a other:b");
    waiting = served_waiter(state, 1, "Q.CLAIM next BLOCK 0");
    expect(client, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM t");
    expect(client, "[[\"b\" 1 \"body\" 1]]", "Q.CLAIM other");
    expect(client, "1", "Q.ACK t a 1");
    expect_silence(waiting, 50);
    expect(client,
           "[\"id\" \"c\" \"state\" \"waiting\" \"reason\" \"waiting\" \"since\" * "
           "\"awaits\" 1 \"on-dead\" \"fail\" \"after\" [[\"other\" \"b\" \"claimed\"]] "
           "\"text\" \"waits for 1 other job, since *\"]",
           "Q.EXPLAIN next c");
    expect(client, "1", "Q.ACK other b 1");
    expect_reply(waiting, "[[\"c\" 1 \"body\" 1]]");
}

static void a_death_is_told_to_all_that_wait(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"a\"", "Q.PUSH t body ID a");
    expect(client, "\"f\"", "Q.PUSH t body ID f AFTER a");
    expect(client, "\"g\"", "Q.PUSH t body ID g AFTER f");
    expect(client, "\"r\"", "Q.PUSH t body ID r ON-DEAD RUN AFTER a");
    expect(client, "\"w\"", "Q.PUSH t body ID w ON-DEAD WAIT AFTER a");
    expect(client, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM t");
    expect(client, "\"dead\"", "Q.NACK t a 1 FATAL");
    expect_field(client, "error", "\"after: t:a is dead\"", "Q.GET t f");
    expect_field(client, "error", "\"after: t:f is dead\"", "Q.GET t g");
    expect_field(client, "state", "\"ready\"", "Q.GET t r");
    expect_field(client, "after", "[[\"t\" \"a\" \"dead\"]]", "Q.GET t w");
    expect(client, "[[\"r\" 2 \"body\" 1]]", "Q.CLAIM t");
    expect(client, "[1 0]", "Q.DEAD t REDRIVE MATCH a");
    expect(client, "[[\"a\" 3 \"body\" 1]]", "Q.CLAIM t");
    expect(client, "1", "Q.ACK t a 3");
    expect(client, "[[\"w\" 4 \"body\" 1]]", "Q.CLAIM t");
}

static void jobs_wait_across_a_restart(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"a\"", "Q.PUSH t body ID a");
    expect(client, "\"b\"", "Q.PUSH t body ID b DELAY 1h AFTER a");
    expect(client, "\"c\"", "Q.PUSH t body ID c AFTER b");
    client_close(client);
    server_process_stop(served_server(state));
    server_process_run(served_server(state));
    client = client_open(served_server(state));
    expect(client, "2", "Q.LEN t waiting");
    expect(client, "[[\"a\" \"body\"]]", "Q.POP t");
    expect(client, "1", "Q.LEN t delayed");
    expect(client, "1", "Q.RUN t b");
    expect(client, "[[\"b\" \"body\"]]", "Q.POP t");
    expect(client, "[[\"c\" \"body\"]]", "Q.POP t");
    expect(client, "0", "Q.LEN t");
}

static void what_follows_from_an_ack_waits_across_a_kill(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"a\"", "Q.PUSH t body ID a");
    expect(client, "\"b\"", "Q.PUSH u body ID b");
    expect(client, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM t");
    expect(client, "[\"x\" \"y\"]",
           "Q.ACK t a 1 THEN PUSH v body ID x AFTER t:a u:b THEN PUSH v body ID y AFTER x");
    client_close(client);
    server_process_kill(served_server(state));
    server_process_run(served_server(state));
    client = client_open(served_server(state));
    expect(client, "!STALE *", "Q.ACK t a 1 THEN PUSH v body AFTER u:b");
    expect(client, "2", "Q.LEN v waiting");
    expect(client, "[[\"b\" \"body\"]]", "Q.POP u");
    expect(client, "[[\"x\" \"body\"]]", "Q.POP v");
    expect(client, "[[\"y\" \"body\"]]", "Q.POP v");
}

/* Of all that follow together; nothing happens when there are more. */
static void what_follows_has_the_bound_of_one(void **state)
{
    enum { HALF = 5000, HEAD = 9 };
    static const char *const head[HEAD] = {"Q.ACK", "t", "a", "1",    "THEN",
                                           "PUSH",  "u", "x", "AFTER"};
    static const char *words[2 * (HEAD + HALF) + 1];
    redisContext *client = served_client(state);
    int count = 0;

    expect(client, "\"a\"", "Q.PUSH t body ID a");
    expect(client, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM t");
    for (int part = 0; part < 2; part++) {
        for (int i = part == 0 ? 0 : 4; i < HEAD; i++)
            words[count++] = head[i];
        for (int i = 0; i < HALF; i++)
            words[count++] = "none";
    }
    words[count] = "one-more";
    redisAppendCommandArgv(client, count + 1, words, NULL);
    expect_reply(client, "!ERR AFTER takes 1 to 10000 jobs");
    expect(client, "1", "Q.LEN t claimed");
    redisAppendCommandArgv(client, count, words, NULL);
    expect_reply(client, "[* *]");
    expect(client, "2", "Q.LEN u ready");
}

static void push_all(redisContext *client)
{
    for (int i = 0; i < MANY; i++)
        say(client, "Q.PUSH t x ID %d", i);
    for (int i = 0; i < MANY; i++)
        expect_reply(client, "*");
}

/* The words of a push that waits for the first `count` of them. */
static void push_after(redisContext *client, int count, const char *pattern)
{
    static const char *words[MANY + 7] = {"Q.PUSH", "t", "x", "ID", "last", "AFTER"};
    static char ids[MANY + 1][12];

    for (int i = 0; i < count; i++) {
        snprintf(ids[i], sizeof(ids[i]), "%d", i);
        words[6 + i] = ids[i];
    }
    redisAppendCommandArgv(client, 6 + count, words, NULL);
    expect_reply(client, pattern);
}

/* A name of 511 bytes can be taken apart at 509 places, and each is a search. */
static void names_of_colons_are_bounded(void **state)
{
    enum { NAMES = 100, COLONS = 500 };
    static const char *words[4 + NAMES + 1] = {"Q.PUSH", "t", "x", "AFTER"};
    static char name[COLONS + 1];
    redisContext *client = served_client(state);

    memset(name, ':', COLONS);
    for (int i = 0; i <= NAMES; i++)
        words[4 + i] = name;
    redisAppendCommandArgv(client, 4 + NAMES + 1, words, NULL);
    expect_reply(client, "!ERR the names of AFTER have more than 50000 colons");
    expect(client, "[]", "Q.TOPICS");
    redisAppendCommandArgv(client, 4 + NAMES, words, NULL);
    expect_reply(client, "*");
    expect(client, "1", "Q.LEN t ready");
    expect(client, "[*]", "Q.CLAIM t");
}

/* Those of all pushes of a command. */
static void names_of_colons_are_bounded_behind_an_ack(void **state)
{
    enum { NAMES = 51, COLONS = 500, HEAD = 5 };
    static const char *const head[HEAD] = {"THEN", "PUSH", "u", "x", "AFTER"};
    static const char *words[4 + 2 * (HEAD + NAMES)] = {"Q.ACK", "t", "a", "1"};
    static char name[COLONS + 1];
    redisContext *client = served_client(state);
    int count = 4;

    memset(name, ':', COLONS);
    expect(client, "\"a\"", "Q.PUSH t body ID a");
    expect(client, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM t");
    for (int part = 0; part < 2; part++) {
        for (int i = 0; i < HEAD; i++)
            words[count++] = head[i];
        for (int i = 0; i < NAMES; i++)
            words[count++] = name;
    }
    redisAppendCommandArgv(client, count, words, NULL);
    expect_reply(client, "!ERR the names of AFTER have more than 50000 colons");
    expect(client, "1", "Q.LEN t claimed");
    redisAppendCommandArgv(client, count - 2, words, NULL);
    expect_reply(client, "[* *]");
}

static void a_job_waits_for_ten_thousand(void **state)
{
    redisContext *client = served_client(state);

    push_all(client);
    push_after(client, MANY + 1, "!ERR AFTER takes 1 to 10000 jobs");
    push_after(client, MANY, "\"last\"");
    expect_field(client, "awaits", "10000", "Q.GET t last");
    for (int i = 0; i < MANY / 1000 - 1; i++)
        freeReplyObject(ask(client, "Q.POP t COUNT 1000"));
    freeReplyObject(ask(client, "Q.POP t COUNT 999"));
    expect_field(client, "awaits", "1", "Q.GET t last");
    expect(client, "[[\"9999\" \"x\"]]", "Q.POP t");
    expect(client, "[[\"last\" \"x\"]]", "Q.POP t BLOCK 30s");
}

static void jobs_that_come_together_have_the_bound_of_one(void **state)
{
    redisContext *client = served_client(state);
    const char *words[3 + 101 + 1 + 100] = {"Q.MPUSH", "t", "101"};
    int count = 3;

    for (int i = 0; i < 101; i++)
        words[count++] = "x";
    words[count++] = "AFTER";
    for (int i = 0; i < 100; i++)
        words[count++] = "none";
    redisAppendCommandArgv(client, count, words, NULL);
    expect_reply(client, "!ERR all jobs together can wait for others 10000 times at most");
    redisAppendCommandArgv(client, count - 1, words, NULL);
    expect_reply(client, "[*]");
    expect(client, "101", "Q.LEN t ready");
}

static void a_chain_of_ten_thousand_runs_in_order(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"0\"", "Q.PUSH t x ID 0");
    for (int i = 1; i < MANY; i++)
        say(client, "Q.PUSH t x ID %d AFTER %d", i, i - 1);
    for (int i = 1; i < MANY; i++)
        expect_reply(client, "*");
    expect(client, "9999", "Q.LEN t waiting");
    for (int i = 0; i < MANY; i++)
        say(client, "Q.POP t BLOCK 30s");
    for (int i = 0; i < MANY; i++) {
        char pattern[32];

        snprintf(pattern, sizeof(pattern), "[[\"%d\" \"x\"]]", i);
        expect_reply(client, pattern);
    }
}

/* All of them are told, however many turns it takes. */
static void a_death_goes_through_a_chain_of_ten_thousand(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"0\"", "Q.PUSH t x ID 0");
    for (int i = 1; i < MANY; i++)
        say(client, "Q.PUSH t x ID %d AFTER %d", i, i - 1);
    for (int i = 1; i < MANY; i++)
        expect_reply(client, "*");
    expect(client, "\"cancelled\"", "Q.CANCEL t 0");
    for (int tries = 0; tries < 3000 && ask_integer(client, "Q.LEN t dead") < MANY - 1; tries++)
        sleep_ms(10);
    expect(client, "9999", "Q.LEN t dead");
    expect_field(client, "error", "\"after: t:9998 is dead\"", "Q.GET t 9999");
}

static void jobs_of_topics_that_a_user_may_not_read_have_no_names(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"a\"", "Q.PUSH t x ID a");
    expect(client, "\"b\"", "Q.PUSH other x ID b");
    expect(client, "\"d\"", "Q.PUSH other x ID d");
    expect(client, "\"e\"", "Q.PUSH t x ID e");
    expect(client, "\"c\"", "Q.PUSH next x ID c AFTER t:a other:b other:d t:e");
    expect(client, "OK", "ACL SETUSER u on nopass +@all ~t ~next");
    expect(client, "OK", "AUTH u x");
    for (int i = 0; i < 2; i++)
        expect_field(client, "after",
                     "[[\"t\" \"a\" \"ready\"] [\"t\" \"e\" \"ready\"] [nil nil nil] "
                     "[nil nil nil]]",
                     i == 0 ? "Q.GET next c" : "Q.GET next c WITHAFTER");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(blocked_claims_wake_when_the_last_one_is_done),
        served_test(jobs_of_topics_that_a_user_may_not_read_have_no_names),
        served_test(a_death_is_told_to_all_that_wait),
        served_test(jobs_wait_across_a_restart),
        served_test(what_follows_from_an_ack_waits_across_a_kill),
        served_test(what_follows_has_the_bound_of_one),
        served_test(names_of_colons_are_bounded),
        served_test(names_of_colons_are_bounded_behind_an_ack),
        served_test(a_job_waits_for_ten_thousand),
        served_test(jobs_that_come_together_have_the_bound_of_one),
        served_test(a_chain_of_ten_thousand_runs_in_order),
        served_test(a_death_goes_through_a_chain_of_ten_thousand),
    };
    return cmocka_run_group_tests_name("after", tests, NULL, NULL);
}
