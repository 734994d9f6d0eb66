/* A user with many patterns sends commands with many names: the check takes many turns. */
#include "tests/support/client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { NAMES = 10000, PATTERNS = 5000, WORD = 16, WORDS_MOST = 10, AWAITED = 2000 };

/* Sends WORDS k0 k1 ... LAST, of which NAMES - 1 are names of the first kind. */
static void say_names(redisContext *client, const char *words, const char *last)
{
    static char space[NAMES][WORD];
    const char *all[NAMES + WORDS_MOST] = {NULL};
    char copy[64], *rest = NULL;
    int count = 0;

    snprintf(copy, sizeof(copy), "%s", words);
    for (char *word = strtok_r(copy, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest))
        all[count++] = word;
    for (int i = 0; i < NAMES; i++) {
        snprintf(space[i], WORD, "k%d", i);
        all[count++] = i == NAMES - 1 ? last : space[i];
    }
    assert_int_equal(redisAppendCommandArgv(client, count, all, NULL), REDIS_OK);
    for (int done = 0; !done;)
        assert_int_equal(redisBufferWrite(client, &done), REDIS_OK);
}

/* The user u, whose last pattern allows k*. */
static void set_user(redisContext *client)
{
    static char space[PATTERNS][WORD];
    const char *words[PATTERNS + 7] = {"ACL", "SETUSER", "u", "on", "nopass", "+@all"};

    for (int i = 0; i < PATTERNS; i++) {
        snprintf(space[i], WORD, "~p%d*", i);
        words[i + 6] = space[i];
    }
    words[PATTERNS + 6] = "~k*";
    assert_int_equal(redisAppendCommandArgv(client, PATTERNS + 7, words, NULL), REDIS_OK);
    expect_reply(client, "OK");
}

/* Sends WORDS and names of five colons, at each of which a topic may end. */
static void say_names_to_wait_for(redisContext *client, const char *words, const char *last)
{
    static char space[AWAITED][2 * WORD];
    const char *all[AWAITED + WORDS_MOST] = {NULL};
    char copy[64], *rest = NULL;
    int count = 0;

    snprintf(copy, sizeof(copy), "%s", words);
    for (char *word = strtok_r(copy, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest))
        all[count++] = word;
    for (int i = 0; i < AWAITED; i++) {
        snprintf(space[i], sizeof(space[i]), "k%d:a:b:c:d:e", i);
        all[count++] = i == AWAITED - 1 ? last : space[i];
    }
    assert_int_equal(redisAppendCommandArgv(client, count, all, NULL), REDIS_OK);
    for (int done = 0; !done;)
        assert_int_equal(redisBufferWrite(client, &done), REDIS_OK);
}

static redisContext *begin(redisContext **ret_user)
{
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server);

    set_user(client);
    *ret_user = client_open(server);
    expect(*ret_user, "OK", "AUTH u x");
    return client;
}

static void expect_nils(redisContext *client)
{
    redisReply *reply = NULL;

    assert_int_equal(redisGetReply(client, (void **)&reply), REDIS_OK);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_int_equal(reply->elements, NAMES);
    freeReplyObject(reply);
}

static void others_are_served_between_its_slices(void **state)
{
    redisContext *user, *client = begin(&user);
    (void)state;

    say_names(user, "MGET", "k");
    for (int i = 0; i < 20; i++)
        expect(client, "PONG", "PING");
    expect_silence(user, 0);
    expect_nils(user);
    say_names(user, "MGET", "other");
    expect_reply(user, "!NOPERM *keys*");
    expect(client, "[[* \"object\" \"other\" *]]", "ACL LOG");
    expect(client, "\"*cmdstat_mget:calls=1,*rejected_calls=1,*\"", "INFO commandstats");
    expect(user, "PONG", "PING");
}

static void rules_that_change_meanwhile_count(void **state)
{
    redisContext *user, *client = begin(&user);
    (void)state;

    say_names(user, "MGET", "k");
    expect(client, "OK", "ACL SETUSER u resetkeys ~k1*");
    expect_reply(user, "!NOPERM *keys*");
    set_user(client);
    say_names(user, "MGET", "other");
    expect(client, "OK", "ACL SETUSER u allkeys");
    expect_nils(user);
    expect(client, "OK", "ACL SETUSER u resetkeys");
    set_user(client);
    say_names(user, "MGET", "k");
    expect(client, "1", "ACL DELUSER u");
    expect_closed(user);
    expect(client, "PONG", "PING");
}

static void who_goes_meanwhile_leaves_nothing(void **state)
{
    redisContext *user, *client = begin(&user);
    (void)state;

    say_names(user, "DEL", "k");
    expect(client, "PONG", "PING");
    client_close(user);
    for (int i = 0; i < 20; i++)
        expect(client, "PONG", "PING");
    while (ask_info(client, "clients", "connected_clients") > 1)
        sleep_ms(10);
}

static void a_transaction_is_checked_again_after_a_change(void **state)
{
    redisContext *user, *client = begin(&user);
    (void)state;

    expect(user, "OK", "MULTI");
    say_names(user, "MGET", "k");
    expect_reply(user, "QUEUED");
    expect(user, "QUEUED", "SET k1 v");
    expect(user, "[[*] OK]", "EXEC");
    expect(user, "OK", "MULTI");
    say_names(user, "MGET", "other");
    expect_reply(user, "!NOPERM *keys*");
    expect(user, "!EXECABORT *", "EXEC");
    expect(user, "OK", "MULTI");
    expect(user, "QUEUED", "GET k1");
    expect(user, "QUEUED", "SET k2 v");
    expect(client, "OK", "ACL SETUSER u resetkeys %%R~k*");
    expect(user, "[\"v\" !NOPERM *]", "EXEC");
    expect(user, "OK", "MULTI");
    expect(user, "QUEUED", "GET k1");
    expect(user, "QUEUED", "AUTH w x");
    expect(user, "QUEUED", "GET k1");
    expect(client, "OK", "ACL SETUSER w on nopass +@all ~other");
    expect(user, "[\"v\" OK !NOPERM *]", "EXEC");
}

static void a_dry_run_lets_others_go_on(void **state)
{
    redisContext *user, *client = begin(&user);
    (void)state;

    expect(user, "RESET", "RESET");
    say_names(user, "ACL DRYRUN u MGET", "k");
    for (int i = 0; i < 20; i++)
        expect(client, "PONG", "PING");
    expect_silence(user, 0);
    expect_reply(user, "OK");
    say_names(user, "ACL DRYRUN u MGET", "other");
    expect_reply(user, "\"This user has no permissions to access the 'other' key\"");
    say_names(user, "ACL DRYRUN u MGET", "k");
    expect(client, "1", "ACL DELUSER u");
    expect_reply(user, "!ERR User 'u' not found");
    expect(user, "OK", "MULTI");
    set_user(client);
    say_names(user, "ACL DRYRUN u MGET", "k");
    expect_reply(user, "QUEUED");
    expect(user, "[OK]", "EXEC");
}

static void one_that_waits_is_checked_when_it_is_woken(void **state)
{
    redisContext *user, *client = begin(&user);
    (void)state;

    for (int changes = 0; changes < 2; changes++) {
        say(user, "BLPOP k1 k2 0");
        await_blocked(client, 1);
        if (changes == 1)
            expect(client, "OK", "ACL SETUSER u resetkeys ~k1");
        expect(client, "1", "RPUSH k2 v");
        if (changes == 0)
            expect_reply(user, "[\"k2\" \"v\"]");
        else
            expect_reply(user, "!NOPERM *keys*");
    }
}

static void expect_turns(redisContext *client, redisContext *user)
{
    for (int i = 0; i < 20; i++)
        expect(client, "PONG", "PING");
    expect_silence(user, 0);
}

static void names_to_wait_for_are_checked_between_the_slices_of_others(void **state)
{
    redisContext *user, *client = begin(&user);
    (void)state;

    say_names_to_wait_for(user, "Q.PUSH k x ID a AFTER", "k");
    expect_turns(client, user);
    expect_reply(user, "\"a\"");
    say_names_to_wait_for(user, "Q.MPUSH k 1 y AFTER", "k");
    expect_turns(client, user);
    expect_reply(user, "[*]");
    expect(user, "[[\"a\" 1 \"x\" 1]]", "Q.CLAIM k");
    say_names_to_wait_for(user, "Q.ACK k a 1 THEN PUSH k x AFTER", "k");
    expect_turns(client, user);
    expect_reply(user, "[*]");
    expect(user, "OK", "MULTI");
    say_names_to_wait_for(user, "Q.PUSH k x ID c AFTER", "k");
    expect_reply(user, "QUEUED");
    say(user, "EXEC");
    expect_turns(client, user);
    expect_reply(user, "[\"c\"]");
}

/* A name that no topic but a foreign one can have is refused, whatever is there. */
static void what_is_awaited_elsewhere_is_refused_as_before(void **state)
{
    redisContext *user, *client = begin(&user);
    (void)state;

    say_names_to_wait_for(user, "Q.PUSH k x ID a AFTER", "other:a");
    expect_reply(user, "!NOPERM *keys*");
    expect(client, "[[* \"object\" \"other\" *]]", "ACL LOG");
    expect(client, "0", "Q.LEN k");
    say_names_to_wait_for(user, "Q.PUSH k x ID a AFTER", "k:k");
    expect(client, "OK", "ACL SETUSER u resetkeys ~k");
    expect_reply(user, "!NOPERM *keys*");
    expect(client, "0", "Q.LEN k");
    set_user(client);
    say_names_to_wait_for(user, "Q.PUSH k x ID a AFTER", "k:k");
    expect(client, "1", "ACL DELUSER u");
    expect_closed(user);
    expect(client, "0", "Q.LEN k");
}

/* What was an id of the topic when the command began, and is gone when it goes on, can mean a
 * job of another topic, whose rights are then yet to be asked for. */
static void a_job_that_ends_meanwhile_lets_its_name_be_asked_for(void **state)
{
    redisContext *user, *client = begin(&user);
    (void)state;

    for (int allowed = 0; allowed < 2; allowed++) {
        const char *name = allowed ? "k9:b" : "other:b";

        expect(client, "*", "Q.PUSH k body ID %s", name);
        expect(client, "*", "Q.PUSH k9 body ID b DELAY 1h");
        say_names_to_wait_for(user, "Q.PUSH k x ID a AFTER", name);
        expect(client, "1", "Q.DEL k %s", name);
        expect_silence(user, 0);
        if (!allowed)
            expect_reply(user, "!NOPERM *keys*");
    }
    expect_reply(user, "\"a\"");
    expect_field(user, "after", "[[\"k9\" \"b\" \"delayed\"]]", "Q.GET k a");
}

/* ---- what is awaited in thousands of topics */

/* The job w of k waits for one job of each of them, and of a topic that u may not read. */
static void push_one_that_waits(redisContext *client)
{
    static char space[AWAITED][2 * WORD];
    const char *words[AWAITED + 6] = {"Q.PUSH", "k", "body", "ID", "w", "AFTER"};

    for (int i = 0; i < AWAITED; i++) {
        const char *kind = i == 0 ? "other" : "k";

        snprintf(space[i], sizeof(space[i]), "%s%d:a", kind, i);
        words[i + 6] = space[i];
        redisAppendCommand(client, "Q.PUSH %s%d body ID a DELAY 1h", kind, i);
    }
    for (int i = 0; i < AWAITED; i++)
        expect_reply(client, "\"a\"");
    assert_int_equal(redisAppendCommandArgv(client, AWAITED + 6, words, NULL), REDIS_OK);
    expect_reply(client, "\"w\"");
}

/* Of the jobs that the map names, how many have a name. */
static size_t count_named(const redisReply *map)
{
    const redisReply *after = map->element[map->elements - 1];
    size_t count = 0;

    assert_int_equal(after->elements, AWAITED);
    for (size_t i = 0; i < after->elements; i++)
        count += after->element[i]->element[0]->type == REDIS_REPLY_STRING;
    return count;
}

static void expect_named(redisContext *user, size_t count, bool in_exec)
{
    redisReply *reply = NULL;

    assert_int_equal(redisGetReply(user, (void **)&reply), REDIS_OK);
    assert_int_equal(count_named(in_exec ? reply->element[0] : reply), count);
    freeReplyObject(reply);
}

static void topics_of_what_is_awaited_are_checked_in_slices(void **state)
{
    redisContext *user, *client = begin(&user);
    (void)state;

    push_one_that_waits(client);
    say(user, "Q.GET k w WITHAFTER");
    for (int i = 0; i < 5; i++)
        expect(client, "PONG", "PING");
    expect_silence(user, 0);
    expect_named(user, AWAITED - 1, false);
    expect(user, "OK", "MULTI");
    expect(user, "QUEUED", "Q.GET k w WITHAFTER");
    say(user, "EXEC");
    for (int i = 0; i < 5; i++)
        expect(client, "PONG", "PING");
    expect_silence(user, 0);
    expect_named(user, AWAITED - 1, true);
    expect_field(user, "reason", "\"waiting\"", "Q.EXPLAIN k w");
    expect_field(user, "after", "[[nil nil nil] [\"k1\" \"a\" \"delayed\"] *]", "Q.GET k w");
}

static void what_changes_while_topics_are_checked_counts(void **state)
{
    redisContext *user, *client = begin(&user);
    (void)state;

    push_one_that_waits(client);
    say(user, "Q.GET k w WITHAFTER");
    expect(client, "OK", "ACL SETUSER u resetkeys ~k ~k7 ~other*");
    expect_named(user, 2, false);
    set_user(client);
    expect(client, "OK", "ACL SETUSER u ~k*");
    say(user, "Q.GET k w WITHAFTER");
    expect(client, "1", "Q.DEL k w");
    expect_reply(user, "nil");
    expect(client, "OK", "FLUSHALL");
    push_one_that_waits(client);
    say(user, "Q.GET k w WITHAFTER");
    expect(client, "PONG", "PING");
    client_close(user);
    while (ask_info(client, "clients", "connected_clients") > 1)
        sleep_ms(10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(others_are_served_between_its_slices),
        serving_test(rules_that_change_meanwhile_count),
        serving_test(who_goes_meanwhile_leaves_nothing),
        serving_test(a_transaction_is_checked_again_after_a_change),
        serving_test(a_dry_run_lets_others_go_on),
        serving_test(one_that_waits_is_checked_when_it_is_woken),
        serving_test(names_to_wait_for_are_checked_between_the_slices_of_others),
        serving_test(what_is_awaited_elsewhere_is_refused_as_before),
        serving_test(a_job_that_ends_meanwhile_lets_its_name_be_asked_for),
        serving_test(topics_of_what_is_awaited_are_checked_in_slices),
        serving_test(what_changes_while_topics_are_checked_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
