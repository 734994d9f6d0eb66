/* `dueq export` and `dueq import FILE`: what goes out comes in again, the same. */
#include "tests/support/client/client.h"
#include "tests/support/client/foreign_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { DONE = 0, FAILED = 1, NOT_BEGUN = 2, PARTLY = 3, MANY = 3000 };

static char output[20000];

static int tear_down(void **state)
{
    foreign_server_cleanup();
    return served_teardown(state);
}

#define export_test(function) cmocka_unit_test_setup_teardown(function, served_setup, tear_down)

static int run(void **state, const char *words)
{
    const char *binary = server_binary();

    return run_shell(output, sizeof(output), "cd %s && %s%s %s --port %d",
                     served_server(state)->directory, binary[0] == '/' ? "" : "$OLDPWD/",
                     binary, words, served_server(state)->port);
}

static void fill(redisContext *client)
{
    expect(client, "\"a\"", "Q.PUSH mail %b ID a AT 4102444800000 PRIORITY 3 GROUP g WEIGHT 5",
           "\0\xff", (size_t)2);
    expect(client, "\"b\"", "Q.PUSH mail body ID b RETRIES 2 BACKOFF STEPS 1s 2s TTL 900000");
    expect(client, "\"c\"", "Q.PUSH %b x ID c", "new\nline", (size_t)8);
    expect(client, "\"d\"", "Q.PUSH dying x ID d");
    expect(client, "\"dead\"", "Q.NACK dying d %lld FATAL",
           (long long)claim(client, "dying", "d"));
    expect(client, "OK", "SET string %b PXAT 4102444800000", "\xfe", (size_t)1);
    expect(client, "3", "RPUSH list x y x");
    expect(client, "1", "SADD set m");
    expect(client, "2", "ZADD zset -inf a 0.1 b");
    for (int i = 0; i < MANY; i++)
        say(client, "HSET hash %d %d", i, i * i);
    for (int i = 0; i < MANY; i++)
        expect_reply(client, "1");
}

static void expect_all(redisContext *client)
{
    expect_field(client, "body", "\"\\x00\\xff\"", "Q.GET mail a");
    expect_field(client, "due", "4102444800000", "Q.GET mail a");
    expect_field(client, "priority", "3", "Q.GET mail a");
    expect_field(client, "group", "\"g\"", "Q.GET mail a");
    expect_field(client, "weight", "5", "Q.GET mail a");
    expect_field(client, "retries", "2", "Q.GET mail b");
    expect_field(client, "steps", "[1000 2000]", "Q.GET mail b");
    expect_field(client, "ttl", "900000", "Q.GET mail b");
    expect(client, "1", "Q.LEN %b", "new\nline", (size_t)8);
    expect_field(client, "state", "\"dead\"", "Q.GET dying:dead d");
    expect(client, "\"\\xfe\"", "GET string");
    expect(client, "4102444800000", "PEXPIRETIME string");
    expect(client, "[\"x\" \"y\" \"x\"]", "LRANGE list 0 -1");
    expect(client, "[\"m\"]", "SMEMBERS set");
    expect(client, "[\"a\" \"-inf\" \"b\" \"0.1*\"]", "ZRANGE zset 0 -1 WITHSCORES");
    expect(client, "3000", "HLEN hash");
    expect(client, "\"8994001\"", "HGET hash 2999");
    expect(client, "5", "DBSIZE");
}

static void what_goes_out_comes_in_again(void **state)
{
    redisContext *client = served_client(state);

    fill(client);
    assert_int_equal(run(state, "export - >lines"), DONE);
    expect_said(output, "4 jobs, 5 keys");
    expect(client, "OK", "FLUSHALL");
    expect(client, "*", "Q.DROP mail");
    expect(client, "*", "Q.DROP %b", "new\nline", (size_t)8);
    expect(client, "*", "Q.DROP dying");
    assert_int_equal(run(state, "import lines --dry-run"), DONE);
    expect_said(output, "4 jobs and 5 keys found");
    expect(client, "0", "DBSIZE");
    assert_int_equal(run(state, "import - <lines"), DONE);
    expect_said(output, "9 moved, 0 were there already");
    expect_all(client);
    assert_int_equal(run(state, "import lines"), DONE);
    expect_said(output, "0 moved, 9 were there already");
    expect_all(client);
}

static void one_topic_comes_alone(void **state)
{
    fill(served_client(state));
    assert_int_equal(run(state, "export - --topic mail >lines"), DONE);
    expect_said(output, "2 jobs, 0 keys");
    assert_int_equal(run(state, "import lines --topic other"), DONE);
    expect(served_client(state), "2", "Q.LEN other");
}

/* ---- jobs that wait for others */

static void drop_all(redisContext *client)
{
    static const char *const topics[] = {"mail", "mail:dead", "sums", "zz", "zz:dead"};

    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
        expect(client, "*", "Q.DROP %s", topics[i]);
}

/* The first topic waits for the last one, and for itself in an order that is none of the file.
 */
static void jobs_wait_for_others_again(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"a:1\"", "Q.PUSH zz x ID a:1");
    expect(client, "*", "Q.PUSH mail x ID z PRIORITY 9 ON-DEAD RUN AFTER zz:a:1");
    expect(client, "*", "Q.PUSH mail x ID b DELAY 1h PRIORITY 1 ON-DEAD WAIT AFTER z zz:a:1");
    expect(client, "*", "Q.PUSH mail x ID %b AT 4102444800000 AFTER b", "\xff:", (size_t)2);
    assert_int_equal(run(state, "export - >lines"), DONE);
    expect_said(output, "4 jobs, 0 keys");
    drop_all(client);
    assert_int_equal(run(state, "import lines --dry-run"), DONE);
    expect_said(output, "4 jobs and 0 keys found");
    assert_int_equal(run(state, "import - <lines"), DONE);
    expect_said(output, "4 moved, 0 were there already");
    expect_field(client, "after", "[[\"zz\" \"a:1\" \"ready\"]]", "Q.GET mail z");
    expect_field(client, "on-dead", "\"run\"", "Q.GET mail z");
    expect_field(client, "awaits", "2", "Q.GET mail b");
    expect_field(client, "on-dead", "\"wait\"", "Q.GET mail b");
    expect_field(client, "delay", "3600000", "Q.GET mail b");
    expect_field(client, "at", "4102444800000", "Q.GET mail %b", "\xff:", (size_t)2);
    assert_int_equal(run(state, "import lines"), DONE);
    expect_said(output, "0 moved, 4 were there already");
    claim(client, "zz", "a:1");
    expect(client, "1", "Q.ACK zz a:1 1");
    claim(client, "mail", "z");
    expect(client, "1", "Q.ACK mail z 1");
    expect_field(client, "state", "\"delayed\"", "Q.GET mail b");
    expect(client, "1", "Q.RUN mail b");
    claim(client, "mail", "b");
    expect(client, "1", "Q.ACK mail b 2");
    expect_field(client, "due", "4102444800000", "Q.GET mail %b", "\xff:", (size_t)2);
}

/* A dead one is in another topic there, and is waited for in that. */
static void they_wait_for_dead_jobs_and_removed_ones(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"a\"", "Q.PUSH zz x ID a");
    expect(client, "*", "Q.PUSH mail x ID b ON-DEAD WAIT AFTER a zz:a");
    expect(client, "*", "Q.PUSH sums x ID gone");
    expect(client, "*", "Q.PUSH mail x ID c ON-DEAD WAIT AFTER sums:gone");
    expect(client, "*", "Q.PUSH mail x ID d AFTER c");
    expect(client, "\"dead\"", "Q.NACK zz a %lld FATAL", (long long)claim(client, "zz", "a"));
    expect(client, "1", "Q.DEL sums gone");
    assert_int_equal(run(state, "export - >lines"), DONE);
    drop_all(client);
    assert_int_equal(run(state, "import lines"), PARTLY);
    expect_said(output, "1 jobs wait for removed ones, and are dead here");
    expect_field(client, "after", "[[\"zz:dead\" \"a\" \"dead\"]]", "Q.GET mail b");
    expect_field(client, "state", "\"dead\"", "Q.GET mail:dead c");
    expect_field(client, "error", "\"after: a job of another topic is dead\"", "Q.GET mail d");
    expect(client, "[1 0]", "Q.DEAD zz:dead REDRIVE");
    expect(client, "[[\"a\" \"x\"]]", "Q.POP zz:dead");
    expect(client, "[[\"b\" \"x\"]]", "Q.POP mail");
}

/* More than a look shows, a row of many, and what is done by the time of the import. */
static void many_wait_for_others_again(void **state)
{
    redisContext *client = served_client(state);
    const char *words[MANY + 6] = {"Q.PUSH", "sums", "x", "ID", "all", "AFTER"};
    static char ids[MANY][24];

    for (int i = 0; i < MANY; i++) {
        snprintf(ids[i], sizeof(ids[i]), "mail:%d", i);
        words[6 + i] = ids[i];
        say(client, "Q.PUSH mail x ID %d PRIORITY %d AFTER %d", i, i % 7, i - 1);
    }
    for (int i = 0; i < MANY; i++)
        expect_reply(client, "*");
    redisAppendCommandArgv(client, MANY + 6, words, NULL);
    expect_reply(client, "\"all\"");
    assert_int_equal(run(state, "export - >lines"), DONE);
    drop_all(client);
    assert_int_equal(run(state, "import lines"), DONE);
    expect_said(output, "3001 moved");
    expect(client, "2999", "Q.LEN mail waiting");
    expect_field(client, "awaits", "3000", "Q.GET sums all");
    for (int i = 0; i < MANY; i++)
        say(client, "Q.POP mail BLOCK 30s");
    for (int i = 0; i < MANY; i++)
        expect_reply(client, "[*]");
    expect(client, "[[\"all\" \"x\"]]", "Q.POP sums BLOCK 30s");
}

static void write_after(void **state, const char *head, const char *lines)
{
    char *path = server_process_path(served_server(state), "lines");
    FILE *file = fopen(path, "w");

    fputs(head, file);
    fputs(lines, file);
    fclose(file);
    free(path);
}

static void write_lines(void **state, const char *jobs)
{
    write_after(state, "{\"dueq_export\":1}\n", jobs);
}

#define WAITS(id, after)                                                                       \
    "{\"job\":\"t\",\"seq\":1,\"id\":\"" id "\",\"body\":\"x\",\"after\":" after "}\n"

static void a_job_of_a_file_waits_for_what_is_there(void **state)
{
    static const char *const wrong[] = {"[\"a\"]", "[[\"t\"]]", "[[\"t\",7]]", "[[\"\",\"a\"]]",
                                        "[[\"t\",\"\"]]"};
    redisContext *client = served_client(state);
    char line[256];

    /* Done by now: it counts as done. In the file it is waited for, also by the one before it.
     */
    write_lines(state,
                WAITS("c", "[[\"t\",\"b\"]]") WAITS("b", "[[\"t\",\"done\"]]") "{\"end\":3}\n");
    assert_int_equal(run(state, "import lines --topic u"), DONE);
    expect(client, "[[\"b\" \"x\"]]", "Q.POP u");
    expect(client, "[[\"c\" \"x\"]]", "Q.POP u");
    write_lines(state,
                WAITS("c", "[[\"t\",\"b\"]]") WAITS("b", "[[\"t\",\"c\"]]") "{\"end\":3}\n");
    assert_int_equal(run(state, "import lines"), FAILED);
    expect_said(output, "jobs wait for each other in a circle");
    write_lines(state, WAITS("c", "[[\"t\",\"b\"]]")); /* cut off: b may be in the rest */
    assert_int_equal(run(state, "import lines"), FAILED);
    expect(client, "0", "Q.LEN t");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        snprintf(line, sizeof(line), WAITS("c", "%s") "{\"end\":2}\n", wrong[i]);
        write_lines(state, line);
        assert_int_equal(run(state, "import lines"), FAILED);
        expect_said(output, "line 2: this is no job");
    }
}

static void what_is_not_in_the_export_is_told(void **state)
{
    redisContext *client = served_client(state);
    char *path = server_process_path(served_server(state), "pw");
    FILE *file = fopen(path, "w");

    fputs("pw\n", file);
    fclose(file);
    free(path);
    expect(client, "\"a\"", "Q.PUSH secret x ID a");
    expect(client, "\"b\"", "Q.PUSH mail x ID b AFTER secret:a");
    expect(client, "\"c\"", "Q.PUSH mail x ID c AFTER b");
    assert_int_equal(run(state, "export - --topic mail 2>&1 >lines"), PARTLY);
    expect_said(output, "1 of the jobs wait for others in topics that are not exported");
    expect(client, "OK", "ACL SETUSER u on >pw +@all ~mail");
    assert_int_equal(
        run(state, "export - --topic mail --user u --password-file pw 2>&1 >lines"), PARTLY);
    expect_said(output, "1 of the jobs wait for others in topics that are not exported");
    drop_all(client);
    assert_int_equal(run(state, "import lines"), DONE);
    expect(client, "1", "Q.LEN mail waiting");
    expect(client, "[[\"b\" \"x\"]]", "Q.POP mail");
}

static void a_dump_of_a_stopped_server_comes_in(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);

    expect(client, "\"a\"", "Q.PUSH mail body ID a AT 4102444800000");
    expect(client, "\"b\"", "Q.PUSH mail body ID b DELAY 1d");
    expect(client, "OK", "SET key value");
    server_process_stop(server);
    assert_int_equal(run(state, "dump data >lines; true"), DONE);
    server_process_run(server);
    client = client_open(server);
    expect(client, "*", "Q.DROP mail");
    expect(client, "OK", "FLUSHALL");
    assert_int_equal(run(state, "import lines"), DONE);
    expect_field(client, "due", "4102444800000", "Q.GET mail a");
    expect_field(client, "state", "\"delayed\"", "Q.GET mail b");
    expect(client, "\"value\"", "GET key");
}

/* Its server's wall clock was set on by an hour; the queue's clock did not follow. */
static void a_dump_of_a_stepped_clock_comes_in_time(void **state)
{
    redisContext *client = served_client(state);

    write_after(state,
                "{\"dueq_dump\":1,\"time\":1,\"seed\":1,\"topics\":{},"
                "\"timeline\":{\"ahead\":3600000,\"since_boot\":0,\"boot\":\"\"}}\n",
                "{\"job\":\"mail\",\"seq\":1,\"id\":\"a\",\"body\":\"x\","
                "\"due\":4102441200000}\n"
                "{\"key\":\"k\",\"db\":0,\"type\":\"string\",\"encoding\":\"raw\","
                "\"expires\":4102441200000}\n"
                "{\"add\":\"k\",\"db\":0,\"elements\":[\"v\"]}\n"
                "{\"end\":4}\n");
    assert_int_equal(run(state, "import lines"), DONE);
    expect_field(client, "due", "4102444800000", "Q.GET mail a");
    expect(client, "4102444800000", "PEXPIRETIME k");
}

static void lines_that_are_none_are_told(void **state)
{
    static const char *const wrong[] = {"x",
                                        "{}",
                                        "[]",
                                        "{\"job\":\"mail\"}",
                                        "{\"dueq_export\":2}",
                                        "{\"dueq_export\":1}",
                                        "{\"dueq_export\":1}\n{\"job\":\"mail\"}",
                                        "{\"dueq_export\":1}\n{\"key\":\"k\",\"db\":0}",
                                        "{\"dueq_export\":1}\n{\"add\":\"k\",\"db\":0}",
                                        "{\"dueq_export\":1}\n{\"end\":7}"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char *path = server_process_path(served_server(state), "lines");
        FILE *file = fopen(path, "w");

        fprintf(file, "%s\n", wrong[i]);
        fclose(file);
        free(path);
        if (run(state, "import lines") != FAILED)
            fail_msg("%s: %s", wrong[i], output);
        expect_said(output, "line ");
    }
    assert_int_equal(run(state, "import /"), FAILED);
    expect_said(output, "Is a directory");
    assert_int_equal(run(state, "import missing"), NOT_BEGUN);
    assert_int_equal(run(state, "export missing"), NOT_BEGUN);
}

static void a_key_comes_whole_or_not_at_all(void **state)
{
    redisContext *client = served_client(state);
    char *path = server_process_path(served_server(state), "lines");
    FILE *file = fopen(path, "w");

    fputs("{\"dueq_export\":1}\n{\"key\":\"z\",\"db\":0,\"type\":\"zset\"}\n"
          "{\"add\":\"z\",\"db\":0,\"elements\":[\"a\",1]}\n"
          "{\"add\":\"z\",\"db\":0,\"elements\":[\"b\",\"x\"]}\n{\"end\":4}\n",
          file);
    fclose(file);
    free(path);
    assert_int_equal(run(state, "import lines"), FAILED);
    expect_said(output, "not a valid float");
    expect(client, "0", "EXISTS z");
}

/* Of another server, which has more of them. */
static void keys_of_a_database_that_is_not_there_go_nowhere(void **state)
{
    write_lines(state, "{\"key\":\"k\",\"db\":16,\"type\":\"string\",\"encoding\":\"raw\"}\n"
                       "{\"add\":\"k\",\"db\":16,\"elements\":[\"v\"]}\n"
                       "{\"end\":3}\n");
    assert_int_equal(run(state, "import lines"), FAILED);
    expect_said(output, "DB index is out of range");
    expect(served_client(state), "0", "DBSIZE");
}

static void a_dry_run_leaves_the_jobs_that_are_there(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"d\"", "Q.PUSH dying x ID d");
    expect(client, "\"dead\"", "Q.NACK dying d %lld FATAL",
           (long long)claim(client, "dying", "d"));
    assert_int_equal(run(state, "export - >lines --topic dying"), DONE);
    expect(client, "\"d\"", "Q.PUSH dying:dead x ID d");
    assert_int_equal(run(state, "import lines --dry-run"), DONE);
    expect_said(output, "1 jobs and 0 keys found");
    expect_field(client, "state", "\"ready\"", "Q.GET dying:dead d");
    expect_field(client, "attempt", "0", "Q.GET dying:dead d");
}

static void an_output_that_is_closed_is_told(void **state)
{
    fill(served_client(state));
    assert_int_equal(run(state, "export - >&-"), FAILED);
    assert_int_equal(run(state, "import - <&-"), FAILED);
    expect_said(output, "Bad file descriptor");
}

static void what_is_said_of_tls_holds_in_any_order(void **state)
{
    char words[200];

    snprintf(words, sizeof(words), "export - --tls --cacert missing --from 127.0.0.1:%d",
             served_server(state)->port);
    assert_int_equal(run(state, words), NOT_BEGUN);
    expect_said(output, "TLS");
}

static void keys_go_into_a_redis(void **state)
{
    struct foreign_server redis;
    redisContext *other;
    char words[64];

    fill(served_client(state));
    redis_server_start(&redis, NULL);
    snprintf(words, sizeof(words), "export redis://127.0.0.1:%d --verify all", redis.port);
    assert_int_equal(run(state, words), DONE);
    expect_said(output, "5 keys found, 5 moved");
    expect_said(output, "0 differ");
    other = foreign_server_client(&redis);
    expect(other, "\"8994001\"", "HGET hash 2999");
    expect(other, "[\"x\" \"y\" \"x\"]", "LRANGE list 0 -1");
    redisFree(other);
}

/* As the other clients of a server; an option wins. */
static void the_environment_says_where_the_server_is(void **state)
{
    const struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    const char *binary = server_binary(), *up = binary[0] == '/' ? "" : "$OLDPWD/";

    expect(client, "\"a\"", "Q.PUSH mail body ID a");
    expect(client, "OK", "CONFIG SET requirepass secret");
    assert_int_equal(run_shell(output, sizeof(output),
                               "cd %s && DUEQ_PORT=%d DUEQ_PASSWORD=secret %s%s export -",
                               server->directory, server->port, up, binary),
                     DONE);
    expect_said(output, "\"body\"");
    assert_int_equal(run_shell(output, sizeof(output),
                               "cd %s && echo secret >word && DUEQ_PORT=1 DUEQ_PASSWORD=wrong "
                               "%s%s export - --port %d --password-file word",
                               server->directory, up, binary, server->port),
                     DONE);
    expect_said(output, "\"body\"");
    assert_int_equal(run_shell(output, sizeof(output),
                               "cd %s && DUEQ_PORT=%d DUEQ_PASSWORD=wrong %s%s export - 2>&1",
                               server->directory, server->port, up, binary),
                     NOT_BEGUN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        export_test(what_goes_out_comes_in_again),
        export_test(one_topic_comes_alone),
        export_test(jobs_wait_for_others_again),
        export_test(they_wait_for_dead_jobs_and_removed_ones),
        export_test(many_wait_for_others_again),
        export_test(a_job_of_a_file_waits_for_what_is_there),
        export_test(what_is_not_in_the_export_is_told),
        export_test(a_dump_of_a_stopped_server_comes_in),
        export_test(a_dump_of_a_stepped_clock_comes_in_time),
        export_test(lines_that_are_none_are_told),
        export_test(a_key_comes_whole_or_not_at_all),
        export_test(keys_of_a_database_that_is_not_there_go_nowhere),
        export_test(a_dry_run_leaves_the_jobs_that_are_there),
        export_test(an_output_that_is_closed_is_told),
        export_test(what_is_said_of_tls_holds_in_any_order),
        export_test(the_environment_says_where_the_server_is),
        export_test(keys_go_into_a_redis),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
