/* `dueq import`: keys of a real Redis in a real dueq, whatever is cut off on the way. */
#include "tests/support/client/client.h"
#include "tests/support/client/foreign_server.h"
#include "tests/support/client/program_process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { DONE = 0, CUT_OFF = 1, NOT_BEGUN = 2, PARTLY = 3, LARGE = 12000 };

static char output[20000];
static struct foreign_server redis;
static redisContext *source;

static int tear_down(void **state)
{
    if (source != NULL)
        redisFree(source);
    source = NULL;
    foreign_server_cleanup();
    return served_teardown(state);
}

#define import_test(function) cmocka_unit_test_setup_teardown(function, served_setup, tear_down)

static void start_redis(void)
{
    redis_server_start(&redis, NULL);
    source = foreign_server_client(&redis);
}

static int import(void **state, const char *arguments)
{
    return run_shell(output, sizeof(output),
                     "%s import redis://127.0.0.1:%d --to 127.0.0.1:%d %s", server_binary(),
                     redis.port, served_server(state)->port, arguments);
}

#define import_all(state, arguments)                                                           \
    do {                                                                                       \
        int status_ = import(state, arguments);                                                \
                                                                                               \
        if (status_ != DONE)                                                                   \
            fail_msg("exit status %d: %s", status_, output);                                   \
    } while (0)

/* Elements 0 to count - 1; scores and values are their squares. */
static void fill(const char *command, const char *key, int count)
{
    bool scored = strcmp(command, "ZADD") == 0, paired = scored || strcmp(command, "HSET") == 0;

    for (int i = 0; i < count; i++) {
        if (paired)
            say(source, "%s %s %d %d", command, key, scored ? i * i : i, scored ? i : i * i);
        else
            say(source, "%s %s %d", command, key, i);
    }
    for (int i = 0; i < count; i++)
        expect_reply(source, "*");
}

/* ---- what comes over */

static void all_types_come_with_their_expiry_and_any_bytes(void **state)
{
    redisContext *client = served_client(state);

    start_redis();
    expect(source, "OK", "SET %b %b", "a\n\0b", (size_t)4, "\r\n\0\xff", (size_t)4);
    expect(source, "OK", "SET empty %b", "", (size_t)0);
    expect(source, "OK", "SET brief 1 PXAT 4102444800000");
    expect(source, "3", "RPUSH list c a c");
    expect(source, "2", "SADD set x %b", "\0", (size_t)1);
    expect(source, "3", "ZADD zset -inf low 0.1 mid +inf high");
    expect(source, "1", "HSET hash %b value", "", (size_t)0);
    expect(source, "1", "PEXPIREAT hash 4102444800000");
    import_all(state, "--verify all");
    expect_said(output, "7 keys found, 7 moved (3 string, 1 list, 1 set, 1 zset, 1 hash)");
    expect_said(output, "verified: 7 keys, the values of 5; 0 differ");
    expect(client, "7", "DBSIZE");
    expect(client, "\"\\r\\n\\x00\\xff\"", "GET %b", "a\n\0b", (size_t)4);
    expect(client, "\"\"", "GET empty");
    expect(client, "[\"c\" \"a\" \"c\"]", "LRANGE list 0 -1");
    expect(client, "1", "SISMEMBER set %b", "\0", (size_t)1);
    expect(client, "[\"low\" \"-inf\" \"mid\" \"0.1*\" \"high\" \"inf\"]",
           "ZRANGE zset 0 -1 WITHSCORES");
    expect(client, "[\"\" \"value\"]", "HGETALL hash");
    expect(client, "-1", "PTTL list");
    assert_in_range(ask_integer(client, "PEXPIRETIME brief"), 4102444790000, 4102444810000);
    assert_in_range(ask_integer(client, "PEXPIRETIME hash"), 4102444790000, 4102444810000);
}

static void large_collections_come_in_pages(void **state)
{
    redisContext *client = served_client(state);

    start_redis();
    fill("RPUSH", "list", LARGE);
    fill("SADD", "set", LARGE);
    fill("ZADD", "zset", LARGE);
    fill("HSET", "hash", LARGE);
    expect(source, "OK", "SET large %s", "x");
    expect(source, "20000000", "SETRANGE large 19999999 y");
    import_all(state, "--verify all");
    expect_said(output, "verified: 5 keys, the values of 5; 0 differ");
    expect(client, "12000", "LLEN list");
    expect(client, "\"11999\"", "LINDEX list -1");
    expect(client, "12000", "SCARD set");
    expect(client, "\"143976001\"", "ZSCORE zset 11999");
    expect(client, "\"143976001\"", "HGET hash 11999");
    expect(client, "20000000", "STRLEN large");
}

static void only_keys_of_the_pattern_and_the_database_come(void **state)
{
    redisContext *client = served_client(state);
    char *url;

    start_redis();
    expect(source, "OK", "MSET a:1 1 a:2 2 b:1 3");
    import_all(state, "--pattern 'a:*'");
    expect_said(output, "2 keys found, 2 moved (2 string)");
    expect(client, "2", "DBSIZE");
    expect(source, "OK", "SELECT 3");
    expect(source, "OK", "SET there 1");
    assert_true(asprintf(&url, "%s import redis://127.0.0.1:%d/3 --port %d", server_binary(),
                         redis.port, served_server(state)->port) > 0);
    assert_int_equal(run_shell(output, sizeof(output), "%s", url), DONE);
    free(url);
    expect(client, "2", "DBSIZE");
    expect(client, "OK", "SELECT 3");
    expect(client, "\"1\"", "GET there");
}

static void a_dry_run_counts_and_changes_nothing(void **state)
{
    start_redis();
    expect(source, "OK", "MSET a 1 b 2");
    expect(source, "1", "RPUSH list x");
    import_all(state, "--dry-run");
    expect_said(output, "3 keys found, 3 would be moved (2 string, 1 list)");
    expect(served_client(state), "0", "DBSIZE");
}

/* ---- what is there already */

static void a_key_that_is_there_stays_and_its_difference_is_told(void **state)
{
    redisContext *client = served_client(state);

    start_redis();
    expect(source, "OK", "MSET a 1 same 1");
    expect(source, "2", "RPUSH list x y");
    expect(client, "OK", "MSET a 2 same 1");
    expect(client, "1", "RPUSH list z");
    assert_int_equal(import(state, ""), PARTLY);
    expect_said(output, "3 keys found, 0 moved, 3 were there already");
    expect_said(output, "differs: a: the value");
    expect_said(output, "differs: list: the number of elements");
    expect(client, "\"2\"", "GET a");
    import_all(state, "--replace");
    expect(client, "\"1\"", "GET a");
    expect(client, "[\"x\" \"y\"]", "LRANGE list 0 -1");
    expect(client, "[]", "KEYS dueq:import:*");
}

static void what_dueq_has_no_type_for_is_told(void **state)
{
    start_redis();
    expect(source, "*", "XADD stream * a b");
    expect(source, "OK", "SET a 1");
    assert_int_equal(import(state, ""), PARTLY);
    expect_said(output, "2 keys found, 1 moved (1 string)");
    expect_said(output, "1 keys of type stream do not move");
    expect(served_client(state), "1", "DBSIZE");
}

/* ---- failures */

static void a_wrong_password_is_told_before_anything_begins(void **state)
{
    int port = served_server(state)->port;

    redis_server_start(&redis, "se@cret");
    assert_int_equal(import(state, ""), NOT_BEGUN);
    expect_said(output, "NOAUTH");
    assert_int_equal(run_shell(output, sizeof(output),
                               "%s import redis://:wrong@127.0.0.1:%d --port %d",
                               server_binary(), redis.port, port),
                     NOT_BEGUN);
    expect_said(output, "WRONGPASS");
    assert_int_equal(run_shell(output, sizeof(output),
                               "%s import redis://:se%%40cret@127.0.0.1:%d --port %d",
                               server_binary(), redis.port, port),
                     DONE);
    assert_int_equal(run_shell(output, sizeof(output),
                               "DUEQ_OTHER_PASSWORD=se@cret %s import "
                               "redis://default@127.0.0.1:%d --port %d",
                               server_binary(), redis.port, port),
                     DONE);
}

static void usage_is_refused_in_words(void **state)
{
    static const char *const wrong[] = {"",
                                        "redis://",
                                        "redis://host:port",
                                        "redis://host:70000",
                                        "redis://host/x",
                                        "redis://a%4:b@host",
                                        "http://host",
                                        "redis://host --nonsense",
                                        "redis://host --verify some",
                                        "redis://host --pattern",
                                        "redis://host redis://other"};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(
            run_shell(output, sizeof(output), "%s import %s", server_binary(), wrong[i]),
            NOT_BEGUN);
        expect_said(output, "Usage: dueq import");
    }
}

/* Begins an import of everything and returns its pid. */
static pid_t begin_import(void **state)
{
    char from[64], to[64];

    snprintf(from, sizeof(from), "redis://127.0.0.1:%d", redis.port);
    snprintf(to, sizeof(to), "127.0.0.1:%d", served_server(state)->port);
    return program_begin((const char *const[]){"import", from, "--to", to, NULL});
}

static void fill_many(void)
{
    for (int i = 0; i < LARGE; i++)
        say(source, "RPUSH list:%d %d %d", i, i, i);
    for (int i = 0; i < LARGE; i++)
        expect_reply(source, "2");
    fill("RPUSH", "large", LARGE);
}

static void await_some(redisContext *client)
{
    while (ask_integer(client, "DBSIZE") < 100)
        sleep_ms(1);
}

static void an_import_that_is_killed_goes_on_without_loss_or_doubles(void **state)
{
    redisContext *client = served_client(state);

    start_redis();
    fill_many();
    for (int i = 0; i < 3; i++) {
        pid_t pid = begin_import(state);

        await_some(client);
        kill(pid, SIGKILL);
        program_end(pid);
    }
    import_all(state, "--verify all");
    expect_said(output, "12001 keys found");
    expect_said(output, "verified: 12001 keys, the values of 12001; 0 differ");
    expect(client, "12001", "DBSIZE");
}

static void two_imports_at_once_do_not_mix_what_they_bring(void **state)
{
    redisContext *client = served_client(state);
    char name[32];

    start_redis();
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "large:%d", i);
        fill("RPUSH", name, LARGE);
    }
    for (int i = 0; i < 3; i++) {
        pid_t first = begin_import(state), second = begin_import(state);

        assert_int_equal(program_end(first), DONE);
        assert_int_equal(program_end(second), DONE);
        import_all(state, "--verify all");
        expect_said(output, "20 keys found, 0 moved, 20 were there already");
        expect_said(output, "the values of 20; 0 differ");
        expect(client, "20", "DBSIZE");
        expect(client, "OK", "FLUSHALL");
    }
}

static void the_beginning_of_a_large_key_does_not_stay_for_ever(void **state)
{
    redisContext *client = served_client(state);
    redisReply *parts;
    pid_t pid;

    start_redis();
    fill("RPUSH", "large", 20 * LARGE);
    pid = begin_import(state);
    while (ask_integer(client, "DBSIZE") == 0)
        sleep_ms(1);
    kill(pid, SIGSTOP);
    parts = ask(client, "KEYS dueq:import:part:*");
    if (parts->elements == 1) /* else the import has come to its end */
        assert_in_range(ask_integer(client, "PTTL %s", parts->element[0]->str), 1, 3600000);
    freeReplyObject(parts);
    kill(pid, SIGKILL);
    program_end(pid);
}

/* On a busy machine an import may come to its end before the kill: then once more. */
static void a_redis_that_goes_away_ends_the_import(void **state)
{
    int status = DONE;

    while (status == DONE) {
        pid_t pid;

        expect(served_client(state), "OK", "FLUSHALL");
        start_redis();
        fill_many();
        pid = begin_import(state);
        await_some(served_client(state));
        foreign_server_kill(&redis);
        status = program_end(pid);
        redisFree(source);
        source = NULL;
    }
    assert_int_equal(status, CUT_OFF);
}

static void a_dueq_that_restarts_ends_the_import_and_a_second_one_goes_on(void **state)
{
    struct server_process *server = served_server(state);
    int status = DONE;

    start_redis();
    fill_many();
    while (status == DONE) {
        redisContext *client = client_open(server);
        pid_t pid;

        expect(client, "OK", "FLUSHALL");
        pid = begin_import(state);
        await_some(client);
        server_process_kill(server);
        status = program_end(pid);
        server_process_run(server);
    }
    assert_int_equal(status, CUT_OFF);
    import_all(state, "--verify all");
    expect(client_open(server), "12001", "DBSIZE");
}

/* Answers as a Redis with one hash, whose last field has no value. */
static const char lying_redis[] =
    "import socketserver, subprocess, sys, threading\n"
    "class Redis(socketserver.StreamRequestHandler):\n"
    "    says = {b\"SCAN\": b\"*2\\r\\n+0\\r\\n*2\\r\\n+h\\r\\n+i\\r\\n\", b\"TYPE\": "
    "b\"+hash\\r\\n\",\n"
    "            b\"PTTL\": b\":-1\\r\\n\", b\"HLEN\": b\":2\\r\\n\", b\"DBSIZE\": "
    "b\":1\\r\\n\",\n"
    "            b\"TIME\": b\"*2\\r\\n+1\\r\\n+0\\r\\n\",\n"
    "            b\"HGETALL\": b\"*3\\r\\n$1\\r\\na\\r\\n$1\\r\\n1\\r\\n$1\\r\\nb\\r\\n\"}\n"
    "    def handle(self):\n"
    "        for line in self.rfile:\n"
    "            words = []\n"
    "            for _ in range(int(line[1:])):\n"
    "                size = int(self.rfile.readline()[1:])\n"
    "                words.append(self.rfile.read(size + 2)[:-2])\n"
    "            self.wfile.write(self.says.get(words[0].upper(), b\"+OK\\r\\n\"))\n"
    "server = socketserver.ThreadingTCPServer((\"127.0.0.1\", 0), Redis)\n"
    "server.daemon_threads = True\n"
    "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
    "sys.exit(subprocess.call([sys.argv[1], \"import\", \"--verify\", \"all\", \"--to\",\n"
    "         sys.argv[2], \"redis://127.0.0.1:%d\" % server.server_address[1]]))\n";

/* A word too many would begin a request of its own. */
static void a_source_that_lies_says_nothing_to_the_target(void **state)
{
    expect(served_client(state), "2", "HSET h a 1 b 2");
    expect(served_client(state), "2", "HSET i a 1 b 2");
    if (run_shell(output, sizeof(output), "python3 -c '%s' %s 127.0.0.1:%d", lying_redis,
                  server_binary(), served_server(state)->port) != PARTLY)
        fail_msg("%s", output);
    expect_said(output, "differs: h: the value");
    expect_said(output, "differs: i: the value");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        import_test(all_types_come_with_their_expiry_and_any_bytes),
        import_test(a_source_that_lies_says_nothing_to_the_target),
        import_test(large_collections_come_in_pages),
        import_test(only_keys_of_the_pattern_and_the_database_come),
        import_test(a_dry_run_counts_and_changes_nothing),
        import_test(a_key_that_is_there_stays_and_its_difference_is_told),
        import_test(what_dueq_has_no_type_for_is_told),
        import_test(a_wrong_password_is_told_before_anything_begins),
        import_test(usage_is_refused_in_words),
        import_test(an_import_that_is_killed_goes_on_without_loss_or_doubles),
        import_test(two_imports_at_once_do_not_mix_what_they_bring),
        import_test(the_beginning_of_a_large_key_does_not_stay_for_ever),
        import_test(a_redis_that_goes_away_ends_the_import),
        import_test(a_dueq_that_restarts_ends_the_import_and_a_second_one_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
