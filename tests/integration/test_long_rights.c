/* A user with many patterns sends commands with many names: the check takes many turns. */
#include "tests/support/client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { NAMES = 10000, PATTERNS = 5000, WORD = 16, WORDS_MOST = 8 };

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(others_are_served_between_its_slices),
        serving_test(rules_that_change_meanwhile_count),
        serving_test(who_goes_meanwhile_leaves_nothing),
        serving_test(a_transaction_is_checked_again_after_a_change),
        serving_test(a_dry_run_lets_others_go_on),
        serving_test(one_that_waits_is_checked_when_it_is_woken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
