/* Users on the real server: the ACL file, the configuration file, restarts. */
#include "tests/support/client/client.h"
#include "tests/support/client/raw_client.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

#define DEFAULT_LINE "user default on nopass ~* &* +@all"

static int cleanup(void **state)
{
    (void)state;
    client_cleanup();
    server_process_cleanup();
    return 0;
}

#define test(function) cmocka_unit_test_setup_teardown(function, NULL, cleanup)

static char *read_whole(const char *path)
{
    char *text = calloc(1, 4 << 20);
    FILE *file = fopen(path, "r");
    assert_non_null(text);
    assert_non_null(file);
    size_t size = fread(text, 1, (4 << 20) - 1, file);
    text[size] = '\0';
    fclose(file);
    return text;
}

/* A server that does not run yet, with that file. */
static struct server_process *server_with(const char *text, char **ret_path)
{
    struct server_process *server = server_process_new();
    *ret_path = server_process_path(server, "users.acl");
    if (text != NULL)
        write_file(*ret_path, text);
    server_process_option(server, "aclfile", *ret_path);
    return server;
}

static void a_file_gives_the_users_and_gets_them(void **state)
{
    char *path;
    (void)state;
    struct server_process *server = server_with(
        "user default on nopass ~* &* +@all\n\n  user w on >pw ~jobs* +@queue (+get ~x)  \n",
        &path);
    server_process_run(server);
    redisContext *client = client_open(server), *worker = client_open(server);
    expect(worker, "OK", "AUTH w pw");
    expect(worker, "\"*\"", "Q.PUSH jobs body");
    expect(worker, "!NOPERM *", "Q.PUSH other body");
    expect(client, "OK", "ACL SETUSER v on >v +get %s", "~a\"b");
    expect(client, "OK", "ACL SAVE");
    server_process_stop(server);
    server_process_run(server);
    client = client_open(server);
    expect(client,
           "[\"" DEFAULT_LINE
           "\" \"user v on #* ~a\\\"b resetchannels -@all +get\" \"user w on "
           "#30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4 ~jobs* "
           "resetchannels -@all +@queue (~x resetchannels -@all +get)\"]",
           "ACL LIST");
    free(path);
}

static void a_bad_file_changes_nothing(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"user x on\nuser x off\n",
         "!ERR WARNING: Duplicate user 'x' found on line 2. WARNING: "
         "ACL errors detected, no change to the previously active "
         "ACL rules was performed"},
        {"user default on\nuser default off\n", "!ERR WARNING: Duplicate user 'default' *"},
        {"user y bogus\nfoo bar\n",
         "!ERR */users.acl:1: Syntax error. */users.acl:2 should start with user keyword "
         "followed by the username. WARNING: *"},
        {"# comment\n", "!ERR */users.acl:1 should start with user keyword *"},
        {"user\n", "!ERR */users.acl:1 should start with user keyword *"},
        {"user z on (+get ~a\n",
         "!ERR */users.acl:1: Unmatched parenthesis in selector definition.WARNING: *"},
        {"user z +nosuch +bad ~* ~x\n",
         "!ERR */users.acl:1: Error in applying operation '+nosuch': Unknown command or "
         "category name in ACL. */users.acl:1: Error in applying operation '+bad': * "
         "*/users.acl:1: Adding a pattern after the * pattern * WARNING: *"}};
    char *path;
    (void)state;
    struct server_process *server = server_with(DEFAULT_LINE "\nuser w on +get\n", &path);
    server_process_run(server);
    redisContext *client = client_open(server);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_file(path, cases[i].text);
        expect(client, cases[i].error, "ACL LOAD");
        expect(client, "[\"" DEFAULT_LINE "\" \"user w on resetchannels -@all +get\"]",
               "ACL LIST");
    }
    unlink(path);
    expect(client, "!ERR Error loading ACLs, opening file '*': No such file or directory",
           "ACL LOAD");
    assert_int_equal(mkdir(path, 0700), 0);
    expect(client, "!ERR There was an error trying to save the ACLs. *", "ACL SAVE");
    rmdir(path);
    expect(client, "[* *]", "ACL LIST");
    free(path);
}

/* Each byte of a file is overwritten in turn: the file is read as it is then, or refused as a
 * whole. */
static void a_damaged_file_is_read_or_refused(void **state)
{
    static const char whole[] = DEFAULT_LINE
        "\nuser w on #30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4 "
        "~a %R~b &c +@read -get +config|get +select|0 (~x +set)\n";
    static const char bytes[] = {'\0', ' ', '\n', '(', ')', '\xff', '@', 'x'};
    char *path, text[sizeof(whole)];
    (void)state;
    struct server_process *server = server_with(whole, &path);
    server_process_run(server);
    redisContext *client = client_open(server);
    for (size_t at = 0; at < sizeof(whole) - 1; at++) {
        memcpy(text, whole, sizeof(whole));
        text[at] = bytes[at % sizeof(bytes)];
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fwrite(text, 1, sizeof(whole) - 1, file);
        fclose(file);
        if (at < sizeof(DEFAULT_LINE))
            continue; /* the default user may be locked out then */
        char *reply = ask_text(client, "ACL LOAD");
        assert_true(strcmp(reply, "OK") == 0 || strncmp(reply, "!ERR ", 5) == 0);
        free(reply);
        expect(client, "[*" DEFAULT_LINE "*]", "ACL LIST");
    }
    assert_true(server_process_alive(server));
    free(path);
}

static void a_bad_start_is_refused(void **state)
{
    static const char *const files[] = {"user x bogus\n", "user x on\nuser x on\n", NULL};
    char *path;
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct server_process *server = server_with(files[i], &path);
        server_process_launch(server);
        assert_int_equal(server_process_wait(server), 1);
        char *log = server_process_log(server);
        assert_non_null(strstr(log, "Aborting start because of ACL errors"));
        free(log);
        free(path);
    }
}

/* Clients of loaded users are cut off as in Redis; the default user's stay. */
static void a_load_cuts_off_the_clients_of_users(void **state)
{
    char *path;
    (void)state;
    struct server_process *server =
        server_with(DEFAULT_LINE "\nuser w on nopass +@all ~*\n", &path);
    server_process_run(server);
    redisContext *client = client_open(server), *worker = client_open(server);
    redisContext *blocked = client_open(server), *self = client_open(server);
    expect(worker, "OK", "AUTH w x");
    expect(blocked, "OK", "AUTH w x");
    say(blocked, "BLPOP l 0");
    await_blocked(client, 1);
    expect(client, "OK", "ACL LOAD");
    expect_closed(worker);
    expect_closed(blocked);
    expect(client, "\"default\"", "ACL WHOAMI");
    expect(self, "OK", "AUTH w x");
    expect(self, "OK", "ACL LOAD");
    expect_closed(self);
    free(path);
}

static void a_save_that_is_killed_leaves_a_whole_file(void **state)
{
    char *path;
    (void)state;
    struct server_process *server = server_with(DEFAULT_LINE "\n", &path);
    server_process_run(server);
    for (int round = 0; round < 8; round++) {
        redisContext *client = client_open(server);
        for (int i = 0; i < 300; i++)
            expect(client, "OK", "ACL SETUSER user-%d-%d on nopass ~key:%d:* +@all", round, i,
                   i);
        expect(client, "OK", "ACL SAVE");
        for (int i = 0; i < 5; i++)
            say(client, "ACL SAVE");
        expect_reply(client, "OK");
        server_process_kill(server);
        server_process_run(server); /* it would refuse half a file */
        client_close(client);
        client = client_open(server);
        assert_int_equal(ask_integer(client, "ACL DELUSER user-%d-299 user-%d-0", round, round),
                         2);
        client_close(client);
    }
    char *text = read_whole(path);
    assert_non_null(strstr(text, "user user-7-299 on nopass ~key:299:* resetchannels +@all\n"));
    free(text);
    free(path);
}

static void the_configuration_file_has_users(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    char *path = server_process_path(server, "dueq.conf");
    write_file(path,
               "# users\nuser a on >x ~* +@all -get\nmaxclients 77\nuser b on (+get ~c)\n");
    server_process_option(server, "config", path);
    server_process_run(server);
    redisContext *client = client_open(server);
    expect(client, "OK", "AUTH a x");
    expect(client, "!NOPERM *", "GET k");
    expect(client, "OK", "ACL SETUSER b ~%s", "q\"'x");
    expect(client, "OK", "ACL SETUSER d");
    expect(client, "1", "ACL DELUSER d");
    expect(client, "OK", "CONFIG REWRITE");
    char *list = ask_text(client, "ACL LIST");
    server_process_stop(server);
    server_process_run(server);
    client = client_open(server);
    expect(client, list, "ACL LIST");
    char *text = read_whole(path);
    assert_non_null(strstr(text, "# users\nuser a on #"));
    assert_non_null(strstr(text, "\nmaxclients 77\n"));
    assert_null(strstr(text, "???"));
    free(text);
    free(list);
    free(path);
}

/* Anyone may do everything then, whatever requirepass says. */
static void a_password_without_effect_is_warned_of(void **state)
{
    static const char warning[] = "requirepass has no effect";
    char *path;
    (void)state;
    struct server_process *server = server_with("user a on >x ~* +@all\n", &path);
    server_process_option(server, "requirepass", "secret");
    server_process_run(server);
    redisContext *client = client_open(server);
    char *log = server_process_log(server);
    assert_non_null(strstr(log, warning));
    free(log);
    expect(client, "OK", "ACL LOAD");
    write_file(path, "user default on >secret ~* +@all\n");
    expect(client, "OK", "ACL LOAD");
    log = server_process_log(server);
    char *second = strstr(strstr(log, warning) + 1, warning);
    assert_non_null(second);
    assert_null(strstr(second + 1, warning));
    free(log);
    free(path);
}

static void users_in_two_places_are_refused(void **state)
{
    static const char *const lines[] = {
        "user a on\naclfile /nowhere\n", "user a on\nuser a off\n", "user a bogus\n",
        "user a (+get ~b\n", "user default on\nuser default on\n"};
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct server_process *server = server_process_new();
        char *path = server_process_path(server, "dueq.conf");
        write_file(path, lines[i]);
        server_process_option(server, "config", path);
        server_process_launch(server);
        assert_int_equal(server_process_wait(server), 1);
        free(path);
    }
}

static void ten_thousand_users_log_in(void **state)
{
    char *path;
    (void)state;
    struct server_process *server = server_with(DEFAULT_LINE "\n", &path);
    server_process_run(server);
    redisContext *client = client_open(server);
    for (int i = 0; i < 10000; i++)
        redisAppendCommand(client, "ACL SETUSER u%d on >p%d ~t%d:* +@queue", i, i, i);
    for (int i = 0; i < 10000; i++)
        expect_reply(client, "OK");
    expect(client, "OK", "ACL SAVE");
    expect(client, "OK", "ACL LOAD");
    redisContext *worker = client_open(server);
    expect(worker, "OK", "AUTH u9999 p9999");
    expect(worker, "\"*\"", "Q.PUSH t9999:x body");
    expect(worker, "!NOPERM *", "Q.PUSH t999:x body");
    free(path);
}

/* Its requests wait with it; those of others do not, wherever they come from. */
static void one_that_guesses_waits_alone(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server), *guesser = client_open(server);
    expect(client, "OK", "CONFIG SET auth-delay 60000");
    expect(client, "OK", "ACL SETUSER u on >right ~* +@all");
    for (int i = 0; i < 5; i++)
        say(guesser, "AUTH u wrong");
    say(guesser, "SET guessed 1");
    for (int i = 0; i < 3; i++)
        expect_reply(guesser, "!WRONGPASS *");
    await_blocked(client, 1);
    expect(client, "\"*acl_access_denied_auth:4*acl_delayed_auth:1*\"", "INFO stats");
    redisContext *worker = client_open(server);
    expect(worker, "OK", "AUTH u right");
    expect(worker, "nil", "GET guessed");
    client_close(guesser);
    await_blocked(client, 0);
    expect(worker, "nil", "GET guessed");
}

/* More rules than a user may have, and a parenthesis that is never closed. */
static void huge_rules_are_refused(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server);
    char *rule = malloc((10 << 20) + 1);
    assert_non_null(rule);
    memset(rule, 'a', 10 << 20);
    rule[10 << 20] = '\0';
    rule[0] = '~';
    expect(client, "!ERR The rules of a user are too long or too many", "ACL SETUSER x %s",
           rule);
    rule[0] = '(';
    expect(client, "!ERR The rules of a user are too long or too many", "ACL SETUSER x %s",
           rule);
    expect(client, "nil", "ACL GETUSER x");
    free(rule);
}

/* ACL SETUSER x with so many rules, each the word and its number modulo `modulo`; every other
 * one is `other`, if there is such. */
static void expect_rules(redisContext *client, const char *pattern, int count, const char *word,
                         const char *other, int modulo)
{
    enum { ROOM = 24 };
    const char **words = calloc((size_t)count + 3, sizeof(*words));
    char *space = calloc((size_t)count + 3, ROOM);
    assert_non_null(words);
    assert_non_null(space);
    words[0] = "ACL";
    words[1] = "SETUSER";
    words[2] = "x";
    for (int i = 0; i < count; i++) {
        char *rule = space + (size_t)i * ROOM;
        if (other == NULL || i % 2 == 0)
            snprintf(rule, ROOM, "%s%d", word, i % modulo);
        words[i + 3] = other == NULL || i % 2 == 0 ? rule : other;
    }
    assert_int_equal(redisAppendCommandArgv(client, count + 3, words, NULL), REDIS_OK);
    expect_reply(client, pattern);
    free(space);
    free(words);
}

/* It was seconds for ninety thousand rules, in which nobody else was served. */
static void rules_have_a_most_of_steps(void **state)
{
    enum { MANY = 90000, PATTERNS = 8192 };
    static const char too_much[] = "!ERR *The rules of a user are too long or too many";
    (void)state;
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server);
    expect_rules(client, "OK", 126, "+select|", NULL, 126);
    expect_rules(client, too_much, MANY, "+get|", "-get", 10);
    expect_rules(client, too_much, MANY, "~", "resetkeys", 1);
    expect_rules(client, too_much, MANY, "~", NULL, MANY);
    expect(client, "[* \"user x off resetchannels -@all +select|0 *\"]", "ACL LIST");
    expect_rules(client, "OK", PATTERNS, "~", NULL, PATTERNS - 126 - 126);
    expect(client, too_much, "ACL SETUSER x &more");
    expect(client, "OK", "ACL SETUSER x resetkeys &more");
    char *selector = malloc(MANY * 5 + 2);
    assert_non_null(selector);
    for (int i = 0; i < MANY; i++)
        memcpy(selector + i * 5, "+get ", 6);
    selector[0] = '(';
    selector[MANY * 5 - 1] = ')';
    expect(client, too_much, "ACL SETUSER x %s", selector);
    free(selector);
}

/* Each client, of a user that is deleted or no longer in the file, is cut off before the reply
 * comes, and does nothing meanwhile. */
static void many_clients_of_users_that_go_are_cut_off(void **state)
{
    enum { CLIENTS = 300, USERS = 3 };
    redisContext *clients[CLIENTS];
    char *path;
    (void)state;
    struct server_process *server = server_with(DEFAULT_LINE "\n", &path);
    server_process_run(server);
    redisContext *client = client_open(server);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < USERS; i++)
            expect(client, "OK", "ACL SETUSER u%d on nopass ~* &* +@all", i);
        for (int i = 0; i < CLIENTS; i++) {
            clients[i] = client_open(server);
            expect(clients[i], "OK", "AUTH u%d x", i % USERS);
            if (i % 3 == 0)
                expect(clients[i], "[*]", "SUBSCRIBE c");
            else if (i % 3 == 1)
                say(clients[i], "BLPOP list 0");
        }
        await_blocked(client, CLIENTS / 3);
        if (round == 0)
            expect(client, "3", "ACL DELUSER u0 u1 nobody u2 u0");
        else if (round == 1)
            expect(client, "OK", "ACL LOAD");
        else {
            expect(client, "OK", "MULTI");
            expect(client, "QUEUED", "ACL DELUSER u0 u1 u2");
            expect(client, "[3]", "EXEC");
        }
        expect(client, "0", "PUBLISH c x");
        expect(client, "1", "RPUSH list x");
        expect(client, "\"x\"", "LPOP list");
        assert_int_equal(ask_info(client, "clients", "blocked_clients"), 0);
        for (int i = 0; i < CLIENTS; i++) {
            expect_closed(clients[i]);
            client_close(clients[i]);
        }
        expect(client, "[\"default\"]", "ACL USERS");
    }
    /* one of them asks itself: its reply leaves first */
    expect(client, "OK", "ACL SETUSER u0 on nopass ~* &* +@all");
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = client_open(server);
        expect(clients[i], "OK", "AUTH u0 x");
    }
    expect(clients[CLIENTS - 1], "1", "ACL DELUSER u0");
    for (int i = 0; i < CLIENTS; i++)
        expect_closed(clients[i]);
    free(path);
}

/* Who asks goes in the middle of it; two ask at once; one of the users comes back at once. */
static void users_go_though_nobody_waits_for_it(void **state)
{
    enum { CLIENTS = 300, LINES = 3000 };
    redisContext *clients[CLIENTS];
    char *path, *text = calloc(LINES + 1, 64), *end = text;
    (void)state;
    assert_non_null(text);
    end += sprintf(end, DEFAULT_LINE "\n");
    for (int i = 0; i < LINES; i++)
        end += sprintf(end, "user v%d on >p%d ~%d:* +@read\n", i, i, i);
    struct server_process *server = server_with(text, &path);
    server_process_run(server);
    redisContext *client = client_open(server);
    for (int round = 0; round < 4; round++) {
        expect(client, "OK", "ACL SETUSER u on nopass ~* &* +@all");
        for (int i = 0; i < CLIENTS; i++) {
            clients[i] = client_open(server);
            expect(clients[i], "OK", "AUTH u x");
        }
        redisContext *asker = client_open(server), *other = client_open(server);
        say(asker, round % 2 == 0 ? "ACL DELUSER u" : "ACL LOAD");
        say(other, "ACL LOAD");
        say(client, "ACL SETUSER u on nopass resetkeys ~x");
        if (round < 2)
            client_close(asker);
        expect_reply(client, "OK");
        expect_reply(other, "OK");
        expect(client, "[*]", "ACL LIST");
        for (int i = 0; i < CLIENTS; i++) {
            expect_closed(clients[i]);
            client_close(clients[i]);
        }
    }
    redisReply *users = ask(client, "ACL USERS");
    assert_in_range(users->elements, LINES + 1, LINES + 2);
    freeReplyObject(users);
    expect(client, "OK", "ACL LOAD");
    expect(client_open(server), "OK", "AUTH v2999 p2999");
    free(text);
    free(path);
}

enum { MANY = 3000 };

/* *ret_path: of its file, which the caller frees. */
static struct server_process *server_with_many(char **ret_path)
{
    char *text = calloc(MANY + 1, 64), *end = text;
    assert_non_null(text);
    end += sprintf(end, DEFAULT_LINE "\n");
    for (int i = 0; i < MANY; i++)
        end += sprintf(end, "user v%d on >p%d ~%d:* +@read\n", i, i, i);
    struct server_process *server = server_with(text, ret_path);
    server_process_run(server);
    free(text);
    return server;
}

static bool names_user(const redisReply *users, const char *name)
{
    char line[64];
    snprintf(line, sizeof(line), "user %s ", name);
    for (size_t i = 0; i < users->elements; i++)
        if (strncmp(users->element[i]->str, line, strlen(line)) == 0)
            return true;
    return false;
}

/* They come and go together, while the list is made bit by bit. */
static void a_list_and_a_file_are_of_one_moment(void **state)
{
    enum { ROUNDS = 40 };
    char *path, text[64];
    (void)state;
    struct server_process *server = server_with_many(&path);
    redisContext *client = client_open(server), *lister = client_open(server),
                 *saver = client_open(server), *leaver = client_open(server);
    for (int i = 0; i < ROUNDS; i++) {
        say(lister, "ACL LIST");
        say(saver, "ACL SAVE");
    }
    say(leaver, "ACL SAVE");
    client_close(leaver);
    for (int i = 0; i < ROUNDS; i++) {
        expect(client, "OK", "MULTI");
        expect(client, "QUEUED", i % 2 == 0 ? "ACL SETUSER a on" : "ACL DELUSER a");
        expect(client, "QUEUED", i % 2 == 0 ? "ACL SETUSER z on" : "ACL DELUSER z");
        expect(client, "[* *]", "EXEC");
    }
    for (int i = 0; i < ROUNDS; i++) {
        redisReply *users = NULL;
        assert_int_equal(redisGetReply(lister, (void **)&users), REDIS_OK);
        bool both = names_user(users, "a");
        assert_int_equal(names_user(users, "z"), both);
        assert_int_equal(users->elements, MANY + 1 + 2 * both);
        freeReplyObject(users);
        expect_reply(saver, "OK");
    }
    expect(client, "OK", "ACL SETUSER a on");
    expect(saver, "OK", "ACL SAVE");
    expect(client, "OK", "ACL SETUSER a off");
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "ACL LIST");
    expect(client, "[[*]]", "EXEC");
    expect(client, "OK", "ACL LOAD");
    redisReply *users = ask(client, "ACL LIST");
    snprintf(text, sizeof(text), "user a on ");
    assert_int_equal(strncmp(users->element[0]->str, text, strlen(text)), 0);
    assert_int_equal(users->elements, MANY + 2);
    freeReplyObject(users);
    free(path);
}

static void await_log(const struct server_process *server, const char *words)
{
    for (bool there = false; !there; sleep_ms(1)) {
        char *log = server_process_log(server);
        there = strstr(log, words) != NULL;
        free(log);
    }
}

/* A hundred lines a turn. */
static void a_reload_reads_users_in_several_turns(void **state)
{
    char *path;
    (void)state;
    struct server_process *server = server_with_many(&path);
    redisContext *client = client_open(server);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs("user a on nopass\n", file);
    fclose(file);
    int64_t before = ask_info(client, "stats", "turns");
    for (int i = 0; i < 3; i++) /* the last one begins anew */
        assert_int_equal(kill(server->pid, SIGHUP), 0);
    await_log(server, "The users were read again");
    assert_true(ask_info(client, "stats", "turns") - before >= MANY / 100);
    assert_int_equal(kill(server->pid, SIGHUP), 0);
    server_process_stop(server); /* in the midst of it */
    free(path);
}

/* Deletes the user "old" and saves, as one transaction, while a file of before is read. */
static void delete_and_save(redisContext *client)
{
    for (int i = 0; i < 2; i++) /* the reading has begun */
        expect(client, "PONG", "PING");
    say(client, "MULTI");
    say(client, "ACL DELUSER old");
    say(client, "ACL SAVE");
    say(client, "EXEC");
    expect_reply(client, "OK");
    expect_reply(client, "QUEUED");
    expect_reply(client, "QUEUED");
    expect_reply(client, "[1 OK]");
}

/* A user that is deleted and saved meanwhile does not come back. */
static void what_is_read_is_not_older_than_what_was_saved(void **state)
{
    char *path;
    (void)state;
    struct server_process *server = server_with_many(&path);
    redisContext *client = client_open(server), *loader = client_open(server);
    expect(client, "OK", "ACL SETUSER old on nopass +@all");
    expect(client, "OK", "ACL SAVE");
    say(loader, "ACL LOAD");
    delete_and_save(client);
    expect_reply(loader, "OK");
    expect(client, "nil", "ACL GETUSER old");

    expect(client, "OK", "ACL SETUSER old on nopass +@all");
    expect(client, "OK", "ACL SAVE");
    assert_int_equal(kill(server->pid, SIGHUP), 0);
    delete_and_save(client);
    await_log(server, "all is read again");
    expect(client, "nil", "ACL GETUSER old");
    free(path);
}

/* The thread computes slow hashes first. */
static void a_save_in_a_transaction_overtakes_none(void **state)
{
    enum { SLOW = 8 };
    char *path, *text;
    (void)state;
    struct server_process *server = server_with(DEFAULT_LINE "\n", &path);
    redisContext *client, *saver, *slow[SLOW];
    server_process_run(server);
    client = client_open(server);
    saver = client_open(server);
    redisReply *reply = ask(client, "CONFIG SET acl-password-hash argon2id");
    bool is_there = reply->type != REDIS_REPLY_ERROR;
    freeReplyObject(reply);
    if (!is_there)
        skip(); /* built without libargon2 */
    expect(client, "OK", "ACL SETUSER slow on >pw");
    expect(client, "OK", "ACL SETUSER old on nopass +@all");
    for (int i = 0; i < SLOW; i++) {
        slow[i] = client_open(server);
        say(slow[i], "AUTH slow pw");
    }
    say(saver, "ACL SAVE");
    delete_and_save(client);
    text = read_whole(path);
    assert_null(strstr(text, "user old"));
    free(text);
    expect_reply(saver, "OK");
    for (int i = 0; i < SLOW; i++)
        expect_reply(slow[i], "OK");
    text = read_whole(path);
    assert_null(strstr(text, "user old"));
    free(text);
    expect(client, "OK", "ACL SETUSER late on");
    assert_int_equal(kill(server->pid, SIGHUP), 0); /* the file has not changed */
    await_log(server, "all is read again");
    expect(client, "[*]", "ACL GETUSER late");
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_file_gives_the_users_and_gets_them),
        test(a_bad_file_changes_nothing),
        test(a_damaged_file_is_read_or_refused),
        test(a_bad_start_is_refused),
        test(a_load_cuts_off_the_clients_of_users),
        test(a_save_that_is_killed_leaves_a_whole_file),
        test(the_configuration_file_has_users),
        test(a_password_without_effect_is_warned_of),
        test(users_in_two_places_are_refused),
        test(a_list_and_a_file_are_of_one_moment),
        test(a_reload_reads_users_in_several_turns),
        test(what_is_read_is_not_older_than_what_was_saved),
        test(a_save_in_a_transaction_overtakes_none),
        test(ten_thousand_users_log_in),
        test(one_that_guesses_waits_alone),
        test(huge_rules_are_refused),
        test(rules_have_a_most_of_steps),
        test(many_clients_of_users_that_go_are_cut_off),
        test(users_go_though_nobody_waits_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
