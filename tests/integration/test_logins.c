/* Passwords that are slow to check, and those who guess: on the real server. */
#include "tests/support/client/client.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

/* Of "right": quick, middling, and so slow that another client is certainly served meanwhile.
 */
#define QUICK                                                                                  \
    "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$"                                       \
    "K5m+XLU6ak0TjZnpnvxyUy9h2cjvw3LNL2iQfiiYqbE"
#define MIDDLING                                                                               \
    "$argon2id$v=19$m=4096,t=3,p=1$c29tZXNhbHRzb21lc2FsdA$"                                    \
    "HogdkRfAE/zSKc1ey3M6bmcArH7vaoYJy/u+GLiZ19U"
#define SLOW                                                                                   \
    "$argon2id$v=19$m=65536,t=4,p=1$c29tZXNhbHRzb21lc2FsdA$"                                   \
    "NFOXuQzbDJ1qzc1r5/A1YYJhe1zzRIwPNBg/D73ZDuU"
#define MADE                                                                                   \
    "#$argon2id$v=19$m=19456,t=2,p=1$"                                                         \
    "??????????????????????$???????????????????????????????????????????"
#define WRONG "!WRONGPASS invalid username-password pair or user is disabled."

enum { CROWD = 400, GUESSERS = 100, LOGIN_AT_ONCE = 8, GOING = 40 };

static struct server_process *server;

/* The first client of a server without auth-delay. */
static redisContext *start(const char *options)
{
    redisContext *client;

    server = server_process_start(options);
    client = client_open(server);
    expect(client, "OK", "CONFIG SET auth-delay 0");
    return client;
}

static redisContext *another(void)
{
    return client_open(server);
}

static int cleanup(void **state)
{
    (void)state;
    client_cleanup();
    server_process_cleanup();
    return 0;
}

#define test(function) cmocka_unit_test_teardown(function, cleanup)

/* ---- slow passwords */

static void a_slow_hash_lets_in_who_knows_the_password(void **state)
{
    redisContext *client = start(""), *worker = another();

    (void)state;
    expect(client, "OK", "ACL SETUSER u on #%s ~* +@all", QUICK);
    expect(worker, WRONG, "AUTH u wrong");
    expect(worker, WRONG, "AUTH u %b", "right\0", (size_t)6);
    expect(worker, WRONG, "AUTH u %b", "", (size_t)0);
    expect(worker, WRONG, "AUTH nobody right");
    expect(worker, "\"default\"", "ACL WHOAMI");
    expect(worker, "OK", "AUTH u right");
    expect(worker, "\"u\"", "ACL WHOAMI");
    worker = another();
    expect(worker, WRONG, "HELLO 2 AUTH u wrong SETNAME w");
    expect(worker, "[*]", "HELLO 2 AUTH u right SETNAME w");
    expect(worker, "\"w\"", "CLIENT GETNAME");
    expect(client, "OK", "ACL SETUSER u off");
    expect(another(), WRONG, "AUTH u right");
    expect(client, "OK", "ACL SETUSER u on !%s", QUICK);
    expect(another(), WRONG, "AUTH u right");
    expect(client, "OK", "ACL SETUSER u >quick #%s", QUICK);
    expect(another(), "OK", "AUTH u quick");
    expect(another(), "OK", "AUTH u right");
    expect(client, "OK", "ACL SETUSER default #%s", QUICK);
    expect(another(), "!NOAUTH *", "PING");
    expect(another(), "OK", "AUTH right");
}

static void odd_hashes_are_refused(void **state)
{
    static const char *const odd[] = {
        "$argon2id$v=19$m=65537,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$" /* too much memory */
        "K5m+XLU6ak0TjZnpnvxyUy9h2cjvw3LNL2iQfiiYqbE",
        "$argon2id$v=19$m=65536,t=5,p=1$c29tZXNhbHRzb21lc2FsdA$"
        "K5m+XLU6ak0TjZnpnvxyUy9h2cjvw3LNL2iQfiiYqbE",
        "$argon2id$v=19$m=8,t=999999,p=1$c29tZXNhbHRzb21lc2FsdA$"
        "K5m+XLU6ak0TjZnpnvxyUy9h2cjvw3LNL2iQfiiYqbE",
        "$argon2id$v=19$m=4294967304,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$"
        "K5m+XLU6ak0TjZnpnvxyUy9h2cjvw3LNL2iQfiiYqbE",
        "$argon2id$v=19$m=8,t=0,p=1$c29tZXNhbHRzb21lc2FsdA$"
        "K5m+XLU6ak0TjZnpnvxyUy9h2cjvw3LNL2iQfiiYqbE",
        "$argon2id$v=19$m=16,t=1,p=2$c29tZXNhbHRzb21lc2FsdA$" /* threads */
        "K5m+XLU6ak0TjZnpnvxyUy9h2cjvw3LNL2iQfiiYqbE",
        "$argon2i$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$"
        "K5m+XLU6ak0TjZnpnvxyUy9h2cjvw3LNL2iQfiiYqbE",
        "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$",
        "$argon2id$v=19$m=8,t=1,p=1$$K5m+XLU6ak0TjZnpnvxyUy9h2cjvw3LNL2iQfiiYqbE",
        QUICK "$",
        QUICK " ",
        QUICK "=",
        "$argon2id$",
        "$"};
    redisContext *client = start("");

    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        expect(client,
               "!ERR Error in ACL SETUSER modifier '#*': The password hash must be exactly 64 "
               "characters and contain only lowercase hexadecimal characters",
               "ACL SETUSER u #%s", odd[i]);
    expect(client, "!ERR Error in ACL SETUSER modifier '!$argon*': The password you are *",
           "ACL SETUSER u !%s", QUICK);
    expect(client, "nil", "ACL GETUSER u");
}

static void setuser_makes_slow_hashes_when_told(void **state)
{
    redisContext *client = start("");
    char *text;

    (void)state;
    expect(client, "OK", "CONFIG SET acl-password-hash argon2id");
    expect(client, "OK", "ACL SETUSER u on >one ~* +@all >two");
    text = ask_text(client, "ACL LIST");
    assert_non_null(strstr(text, "user u on #$argon2id$v=19$m=19456,t=2,p=1$"));
    assert_null(strstr(text, "one"));
    free(text);
    expect_field(client, "passwords", "[*$argon2id$*$argon2id$*]", "ACL GETUSER u");
    expect(another(), "OK", "AUTH u one");
    expect(another(), "OK", "AUTH u two");
    expect(another(), WRONG, "AUTH u three");
    expect(client, "OK", "ACL SETUSER u resetpass >three");
    expect(another(), WRONG, "AUTH u one");
    expect(another(), "OK", "AUTH u three");
    expect(client, "!ERR The rules of a user are too long or too many",
           "ACL SETUSER u >a >b >c >d >e");
    expect(client, "!ERR Error in ACL SETUSER modifier '#$argon*': The rules of a user are *",
           "ACL SETUSER u >a >b >c >d");
    expect(client, "!ERR Error in ACL SETUSER modifier 'bogus': Syntax error",
           "ACL SETUSER u >four bogus");
    expect(another(), WRONG, "AUTH u four");
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "ACL SETUSER u >five");
    expect(client, "QUEUED", "ACL SETUSER u ~x");
    expect(client,
           "[!ERR a password with acl-password-hash argon2id cannot be * "
           "!ERR Error in ACL SETUSER modifier '~x': *]",
           "EXEC");
    expect(client, "OK", "CONFIG SET acl-password-hash sha256");
    expect(client, "OK", "ACL SETUSER u >six");
    expect(another(), "OK", "AUTH u six");
}

static void slow_hashes_outlast_a_restart(void **state)
{
    redisContext *client;
    char *path;
    FILE *file;

    (void)state;
    server = server_process_new();
    path = server_process_path(server, "users.acl");
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "user default on nopass ~* &* +@all\nuser u on #%s ~* +@all\n", QUICK);
    fclose(file);
    server_process_option(server, "aclfile", path);
    server_process_option(server, "acl-password-hash", "argon2id");
    server_process_run(server);
    expect(client_open(server), "OK", "AUTH u right");
    client = client_open(server);
    expect(client, "OK", "ACL SETUSER v on >made ~* +@all");
    expect(client, "OK", "ACL SAVE");
    expect(client, "OK", "ACL LOAD");
    expect(client_open(server), "OK", "AUTH u right");
    server_process_stop(server);
    server_process_run(server);
    expect(client_open(server), "OK", "AUTH u right");
    expect(client_open(server), "OK", "AUTH v made");
    expect(client_open(server), WRONG, "AUTH v right");
    free(path);
}

/* Who does not exist is told as late as who does: by as many checks. */
static void the_loop_serves_others_meanwhile(void **state)
{
    redisContext *client = start(""), *worker = another(), *nobody = another();

    (void)state;
    expect(client, "OK", "ACL SETUSER u on #%s ~* +@all", SLOW);
    say(worker, "AUTH u right");
    say(worker, "ACL WHOAMI");
    await_blocked(client, 1); /* and is served, while the check goes on */
    say(nobody, "AUTH nobody right");
    await_blocked(client, 2);
    expect_reply(worker, "OK");
    expect_reply(worker, "\"u\"");
    expect_reply(nobody, WRONG);
    assert_true(ask_info(client, "stats", "long_turns") >= 0);
}

static void what_changes_during_a_check_counts(void **state)
{
    static const char *const changes[] = {"ACL SETUSER u off", "ACL SETUSER u resetpass",
                                          "ACL DELUSER u"};
    redisContext *client = start("");

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        redisContext *worker = another();

        expect(client, "OK", "ACL SETUSER u reset on #%s ~* +@all", SLOW);
        say(worker, "AUTH u right");
        await_blocked(client, 1);
        expect(client, "*", changes[i]);
        expect_reply(worker, WRONG);
    }
}

static void clients_that_go_leave_nothing(void **state)
{
    redisContext *client = start("");
    int64_t id;

    (void)state;
    expect(client, "OK", "ACL SETUSER u on #%s ~* +@all", SLOW);
    for (int i = 0; i < GOING; i++) {
        redisContext *worker = another();

        say(worker, i % 2 == 0 ? "AUTH u right" : "HELLO 3 AUTH u wrong");
        if (i == 0)
            await_blocked(client, 1);
        client_close(worker);
    }
    await_blocked(client, 0);
    redisContext *worker = another();
    id = ask_integer(worker, "CLIENT ID");
    say(worker, "AUTH u right");
    await_blocked(client, 1);
    expect(client, "1", "CLIENT UNBLOCK %lld", (long long)id); /* the check goes on */
    expect_reply(worker, "OK");
    worker = another();
    id = ask_integer(worker, "CLIENT ID");
    say(worker, "AUTH u right");
    await_blocked(client, 1);
    expect(client, "1", "CLIENT UNBLOCK %lld ERROR", (long long)id);
    expect_reply(worker, "!UNBLOCKED *");
    expect(worker, "\"default\"", "ACL WHOAMI");
    say(worker, "AUTH u right");
    await_blocked(client, 1);
    expect(client, "1", "CLIENT KILL ID %lld", (long long)id);
    await_blocked(client, 0);
    say(another(), "AUTH u right");
    await_blocked(client, 1);
    expect(client, "PONG", "PING"); /* and the server ends in the middle of it */
}

/* More than may wait: some are put off, and all are answered. */
static void a_crowd_is_checked_in_time(void **state)
{
    redisContext *client = start(""), *crowd[CROWD];

    (void)state;
    expect(client, "OK", "ACL SETUSER u on #%s ~* +@all", MIDDLING);
    for (int i = 0; i < CROWD; i++)
        crowd[i] = another();
    for (int i = 0; i < CROWD; i++)
        say(crowd[i], i % 8 == 0 ? "AUTH u wrong" : "AUTH u right");
    expect(client, "PONG", "PING");
    for (int i = 0; i < CROWD; i++)
        expect_reply(crowd[i], i % 8 == 0 ? WRONG : "OK");
    await_blocked(client, 0);
}

static void a_transaction_cannot_wait_for_a_check(void **state)
{
    redisContext *client = start("");

    (void)state;
    expect(client, "OK", "ACL SETUSER u on #%s >quick ~* +@all", QUICK);
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "AUTH u right");
    expect(client, "QUEUED", "AUTH nobody right");
    expect(client, "QUEUED", "AUTH u quick");
    expect(client,
           "[!ERR a login is not possible within a transaction * "
           "!ERR a login is not possible within a transaction * OK]",
           "EXEC");
    expect(client, "\"u\"", "ACL WHOAMI");
}

static void no_log_shows_a_password(void **state)
{
    redisContext *client = start("loglevel debug"), *monitor = another();
    char *text;

    (void)state;
    expect(client, "OK", "CONFIG SET slowlog-log-slower-than 0 acl-password-hash argon2id");
    expect(monitor, "OK", "MONITOR");
    expect(client, "OK", "ACL SETUSER u on >topsecret ~* +@all");
    expect(another(), "OK", "AUTH u topsecret");
    expect(another(), WRONG, "AUTH u topsecrets");
    expect(another(), "[*]", "HELLO 2 AUTH u topsecret");
    text = ask_text(client, "SLOWLOG GET 100");
    assert_null(strstr(text, "topsecret"));
    free(text);
    text = ask_text(client, "ACL LOG");
    assert_null(strstr(text, "topsecret"));
    free(text);
    text = server_process_log(server);
    assert_null(strstr(text, "topsecret"));
    free(text);
    expect(client, "OK", "SET end 1");
    do {
        redisReply *line;

        assert_int_equal(redisGetReply(monitor, (void **)&line), REDIS_OK);
        assert_null(strstr(line->str, "topsecret"));
        text = strstr(line->str, "\"end\"");
        freeReplyObject(line);
    } while (text == NULL);
}

/* ---- those who guess */

static bool has_reply(const redisContext *client)
{
    struct pollfd event = {.fd = client->fd, .events = POLLIN};

    return poll(&event, 1, 0) == 1;
}

/* Eight guesses of one address are looked at in one auth-delay, whatever its connections. */
static void many_connections_guess_no_faster(void **state)
{
    redisContext *client, *guessers[GUESSERS];
    size_t answered;
    char *path;

    (void)state;
    server = server_process_new();
    path = server_process_path(server, "socket");
    server_process_option(server, "unixsocket", path);
    server_process_option(server, "auth-delay", "60000");
    server_process_run(server);
    client = client_open(server);
    expect(client, "OK", "ACL SETUSER u on >right ~* +@all");
    for (int i = 0; i < 3; i++)
        expect(client, WRONG, "AUTH u wrong");
    for (int i = 0; i < GUESSERS; i++) {
        guessers[i] = another();
        say(guessers[i], "AUTH u wrong%d", i);
    }
    await_blocked(client, LOGIN_AT_ONCE + 1); /* one is put off, for 7.5 s */
    do {
        answered = 0;
        for (int i = 0; i < GUESSERS; i++)
            answered += has_reply(guessers[i]);
    } while (answered < GUESSERS - LOGIN_AT_ONCE - 1);
    for (int i = 0; i < GUESSERS; i++)
        if (has_reply(guessers[i]))
            expect_reply(guessers[i],
                         "!ERR too many failed logins from this address, try again later");
    assert_true(ask_info(client, "stats", "acl_access_denied_auth") <= 3 + LOGIN_AT_ONCE + 1);
    expect(client_open_unix(path), "OK", "AUTH u right");
    free(path);
}

/* Who knows the password may log in as often as it likes, also from an address that fails. */
static void who_is_right_takes_no_turn(void **state)
{
    redisContext *client = start("");

    (void)state;
    expect(client, "OK", "CONFIG SET auth-delay 60000");
    expect(client, "OK", "ACL SETUSER u on >right ~* +@all");
    for (int i = 0; i < 3; i++)
        expect(client, WRONG, "AUTH u wrong");
    for (int i = 0; i < GUESSERS; i++)
        expect(another(), "OK", "AUTH u right");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_slow_hash_lets_in_who_knows_the_password),
        test(odd_hashes_are_refused),
        test(setuser_makes_slow_hashes_when_told),
        test(slow_hashes_outlast_a_restart),
        test(the_loop_serves_others_meanwhile),
        test(what_changes_during_a_check_counts),
        test(clients_that_go_leave_nothing),
        test(a_crowd_is_checked_in_time),
        test(a_transaction_cannot_wait_for_a_check),
        test(no_log_shows_a_password),
        test(many_connections_guess_no_faster),
        test(who_is_right_takes_no_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
