/* `dueq export --layout`: topics into the queues of a real Redis, and what `dueq import` has
 * read there back again. */
#include "tests/support/client/client.h"
#include "tests/support/client/foreign_server.h"
#include "tests/support/client/program_process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { DONE = 0, CUT_OFF = 1, NOT_BEGUN = 2, PARTLY = 3, MANY = 20000 };

static char output[20000];
static struct foreign_server old_server, new_server;
static redisContext *old_redis, *redis;

static int set_up(void **state)
{
    served_setup(state);
    redis_server_start(&old_server, NULL);
    redis_server_start(&new_server, NULL);
    old_redis = foreign_server_client(&old_server);
    redis = foreign_server_client(&new_server);
    return 0;
}

static int tear_down(void **state)
{
    redisFree(old_redis);
    redisFree(redis);
    foreign_server_cleanup();
    return served_teardown(state);
}

#define layout_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static int import(void **state, const char *arguments)
{
    return run_shell(output, sizeof(output),
                     "%s import redis://127.0.0.1:%d --to 127.0.0.1:%d --layout %s",
                     server_binary(), old_server.port, served_server(state)->port, arguments);
}

static int export(void **state, const char *arguments)
{
    return run_shell(output, sizeof(output),
                     "%s export redis://127.0.0.1:%d --from 127.0.0.1:%d --layout %s",
                     server_binary(), new_server.port, served_server(state)->port, arguments);
}

/* The export, a second one that does nothing. */
#define export_all(state, arguments, found)                                                    \
    do {                                                                                       \
        int status_ = export(state, arguments " --verify all");                                \
                                                                                               \
        if (status_ != DONE)                                                                   \
            fail_msg("exit status %d: %s", status_, output);                                   \
        expect_said(output, found " jobs found, " found " written, 0 were there already");     \
        expect_said(output, "verified: " found " of " found " jobs; 0 differ");                \
        assert_int_equal(export(state, arguments), DONE);                                      \
        expect_said(output, found " jobs found, 0 written, " found " were there already");     \
    } while (0)

/* Both servers reply the same. */
static void expect_equal(const char *command)
{
    char *before = ask_text(old_redis, command), *after = ask_text(redis, command);

    if (strcmp(before, after) != 0)
        fail_msg("%s: %s, and before: %s", command, after, before);
    free(before);
    free(after);
}

#define ZSET(name) "ZRANGE " name " 0 -1 WITHSCORES"
#define LIST(name) "LRANGE " name " 0 -1"

/* ---- there and back */

static void laravels_keys_come_back(void **state)
{
    expect(old_redis, "3", "RPUSH app_queues:mail %s %s %s", "{\"uuid\":\"u1\",\"attempts\":0}",
           "{\"id\":\"i2\", \"n\": 1.0}", "{\"id\":\"i3\"}");
    expect(old_redis, "2", "ZADD app_queues:mail:delayed 4102444800 %s 4102444800.123 %s",
           "{\"job\":{\"id\":\"j4\",\"data\":\"O:28\"}}", "{\"id\":\"i5\"}");
    assert_int_equal(import(state, "laravel"), DONE);
    export_all(state, "laravel --prefix app_", "5");
    expect_equal(LIST("app_queues:mail"));
    expect_equal(ZSET("app_queues:mail:delayed"));
    expect(redis, "[\"1\" \"1\" \"1\"]", "LRANGE app_queues:mail:notify 0 -1");
}

static void sidekiqs_keys_come_back(void **state)
{
    expect(old_redis, "2", "LPUSH queue:mail %s %s", "{\"jid\":\"1\",\"queue\":\"mail\"}",
           "{\"jid\":\"2\",\"queue\":\"mail\",\"created_at\":1700000000.25}");
    expect(old_redis, "1", "ZADD schedule 4102444800.25 %s",
           "{\"jid\":\"3\",\"queue\":\"low\"}");
    expect(old_redis, "1", "ZADD retry 4102444900 %s",
           "{\"jid\":\"4\",\"queue\":\"mail\",\"failed_at\":1}");
    expect(old_redis, "1", "ZADD dead 1700000000 %s",
           "{\"jid\":\"5\",\"queue\":\"mail\",\"error_class\":\"E\",\"error_message\":\"no\"}");
    assert_int_equal(import(state, "sidekiq"), DONE);
    export_all(state, "sidekiq", "5");
    expect_equal(LIST("queue:mail"));
    expect_equal(ZSET("schedule"));
    expect_equal(ZSET("retry"));
    expect_equal("ZRANGE dead 0 -1");
    expect(redis, "[\"mail\"]", "SMEMBERS queues");
}

#define MESSAGE(id, eta)                                                                       \
    "{\"body\":\"W10=\",\"headers\":{\"id\":\"" id "\",\"eta\":" eta                           \
    "},\"properties\":{\"delivery_info\":{\"routing_key\":\"celery\"}}}"

static void celerys_messages_come_back(void **state)
{
    expect(old_redis, "2", "LPUSH celery %s %s", MESSAGE("t1", "null"),
           MESSAGE("t2", "\"2100-01-01T00:00:00.123456+00:00\""));
    expect(old_redis, "1", "LPUSH %b %s",
           "celery\x06\x16"
           "3",
           (size_t)9, MESSAGE("t3", "null"));
    assert_int_equal(import(state, "celery"), DONE);
    export_all(state, "celery", "3");
    expect_equal(LIST("celery"));
    expect_equal(LIST("celery\x06\x16"
                      "3"));
}

static void ids_and_bodies_come_back(void **state)
{
    expect(old_redis, "2", "ZADD orders:z 4102444800 a 1 b");
    expect(old_redis, "2", "HSET orders:h a body-a b %b", "\0\n", (size_t)2);
    assert_int_equal(import(state, "zset-hash"), DONE);
    export_all(state, "zset-hash", "2");
    expect(redis, "\"4102444800\"", "ZSCORE orders:z a");
    expect(redis, "\"\\x00\\n\"", "HGET orders:h b");
    assert_int_equal(export(state, "zset-hash --names delay_queue:*=task_meta_data:* "
                                   "--scores ms"),
                     DONE);
    expect_said(output, "2 jobs found, 2 written");
    expect(redis, "\"4102444800000\"", "ZSCORE delay_queue:orders a");
    expect(redis, "\"body-a\"", "HGET task_meta_data:orders a");
}

static void what_is_delayed_and_what_is_ready_come_back(void **state)
{
    expect(old_redis, "1", "ZADD calls:delay 4102444800 later");
    expect(old_redis, "3", "LPUSH calls:ready first second first");
    assert_int_equal(import(state, "zset-list"), DONE);
    export_all(state, "zset-list", "4");
    expect_equal(LIST("calls:ready"));
    expect_equal(ZSET("calls:delay"));
}

static void bodies_by_time_come_back(void **state)
{
    expect(old_redis, "2", "ZADD race 4102444800 job-1 4102444801 job-2");
    assert_int_equal(import(state, "zset"), DONE);
    export_all(state, "zset", "2");
    expect_equal(ZSET("race"));
}

/* ---- what has happened here meanwhile */

static void a_claimed_job_is_due_when_its_lease_ends(void **state)
{
    redisContext *client = served_client(state);
    int64_t end;
    char *score;

    expect(client, "\"a\"", "Q.PUSH mail {\"id\":\"a\"} ID a");
    expect(client, "[[\"a\" * * *]]", "Q.CLAIM mail LEASE 1h");
    end = ask_field(client, "due", "Q.GET mail a");
    assert_int_equal(export(state, "laravel"), DONE);
    expect_said(output, "1 of them are with workers here");
    score = ask_string(redis, "ZSCORE queues:mail:reserved {\"id\":\"a\"}");
    assert_int_equal((int64_t)(strtod(score, NULL) * 1000 + 0.5), end);
    free(score);
    assert_int_equal(export(state, "zset-list"), DONE);
    expect(redis, "1", "ZCARD mail:delay");
}

static void a_dead_job_keeps_its_error_where_there_is_a_place(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"a\"", "Q.PUSH mail {\"jid\":\"a\"} ID a");
    expect(client, "\"dead\"", "Q.NACK mail a %lld FATAL ERROR %s",
           (long long)claim(client, "mail", "a"), "smtp: 550");
    assert_int_equal(export(state, "laravel"), PARTLY);
    expect_said(output, "1 jobs found, 0 written");
    expect_said(output, "1 jobs left out; of the last one: it is dead");
    assert_int_equal(export(state, "sidekiq --verify all"), DONE);
    expect(
        redis,
        "[\"{\\\"jid\\\":\\\"a\\\",\\\"queue\\\":\\\"mail\\\",\\\"error_class\\\":\\\"dueq\\\","
        "\\\"error_message\\\":\\\"smtp: 550\\\"}\"]",
        "ZRANGE dead 0 -1");
}

static void what_cannot_be_there_is_left_out_and_told(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"a\"", "Q.PUSH mail same ID a AT 4102444800000");
    expect(client, "\"b\"", "Q.PUSH mail same ID b AT 4102444900000");
    expect(client, "\"c\"", "Q.PUSH mail other ID c AFTER a");
    assert_int_equal(export(state, "zset"), PARTLY);
    expect_said(output, "3 jobs found, 1 written");
    expect_said(output, "2 jobs left out");
    assert_int_equal(export(state, "sidekiq"), PARTLY);
    expect_said(output, "3 jobs found, 0 written");
    assert_int_equal(export(state, "celery"), PARTLY);
    expect_said(output, "3 jobs found, 0 written");
    expect(redis, "1", "ZCARD mail");
}

static void a_moved_job_goes_to_the_queue_where_it_is(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"a\"", "Q.PUSH low %s ID a AT 4102444800000",
           "{\"jid\":\"a\",\"queue\":\"high\"}");
    expect(client, "\"b\"", "Q.PUSH low %s ID b AT 4102444800000 PRIORITY 200",
           MESSAGE("b", "null"));
    assert_int_equal(export(state, "sidekiq"), PARTLY);
    expect(redis, "[\"{\\\"jid\\\":\\\"a\\\",\\\"queue\\\":\\\"low\\\"}\"]",
           "ZRANGE schedule 0 -1");
    assert_int_equal(export(state, "celery"), PARTLY);
    expect(redis, "\"*\\\"eta\\\":\\\"2100-01-01T00:00:00.000Z\\\"*\"", "LINDEX %b 0",
           "low\x06\x16"
           "9",
           (size_t)6);
}

static void the_most_urgent_one_is_taken_first(void **state)
{
    redisContext *client = served_client(state);

    for (int i = 0; i < 5; i++)
        expect(client, "\"*\"", "Q.PUSH calls job-%d PRIORITY %d", i, 130 - i % 3);
    assert_int_equal(export(state, "zset-list"), DONE);
    expect(redis, "\"job-2\"", "RPOP calls:ready");
    expect(redis, "\"job-1\"", "RPOP calls:ready");
    expect(redis, "\"job-4\"", "RPOP calls:ready");
    expect(redis, "\"job-0\"", "RPOP calls:ready");
    expect(redis, "\"job-3\"", "RPOP calls:ready");
}

/* ---- the command line */

static void one_topic_comes_alone(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"*\"", "Q.PUSH mail:in one");
    expect(client, "\"*\"", "Q.PUSH mail:out two");
    expect(client, "\"*\"", "Q.PUSH other three");
    assert_int_equal(export(state, "zset-list --topic other"), DONE);
    expect_said(output, "1 jobs found, 1 written");
    assert_int_equal(export(state, "zset-list --pattern mail:*"), DONE);
    expect_said(output, "2 jobs found, 2 written");
    expect(redis, "1", "LLEN mail:in:ready");
}

static void a_dry_run_says_what_would_be_done(void **state)
{
    expect(served_client(state), "\"*\"", "Q.PUSH mail one");
    expect(redis, "1", "LPUSH mail:ready before");
    assert_int_equal(export(state, "zset-list --dry-run"), DONE);
    expect_said(output, "zset-list: mail:ready: 1 jobs; 1 elements were there before");
    expect_said(output, "1 jobs found, 1 would be written");
    expect(redis, "1", "LLEN mail:ready");
    expect(redis, "1", "DBSIZE");
}

static void a_key_of_another_type_is_told_before_it_is_written(void **state)
{
    expect(served_client(state), "\"*\"", "Q.PUSH mail one");
    expect(redis, "OK", "SET mail:ready text");
    assert_int_equal(export(state, "zset-list"), CUT_OFF);
    expect_said(output, "mail:ready is a string there, and should be a list: remove it");
    expect(redis, "1", "DBSIZE");
    expect(redis, "1", "DEL mail:ready");
    assert_int_equal(export(state, "zset-list"), DONE);
    expect_said(output, "1 jobs found, 1 written");
}

static void what_is_remembered_can_be_forgotten(void **state)
{
    expect(served_client(state), "\"*\"", "Q.PUSH mail one");
    assert_int_equal(export(state, "zset-list --window 0"), DONE);
    expect(redis, "0", "EXISTS dueq:exported");
    assert_int_equal(export(state, "zset-list --window 1h"), DONE);
    expect(redis, "2", "LLEN mail:ready");
    assert_in_range(ask_integer(redis, "PTTL dueq:exported"), 3500000, 3600000);
}

static void a_difference_is_told(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "\"a\"", "Q.PUSH mail one ID a AT 4102444800000");
    expect(client, "\"b\"", "Q.PUSH mail two ID b");
    assert_int_equal(export(state, "zset-list"), DONE);
    expect(redis, "\"two\"", "RPOP mail:ready");
    expect(redis, "0", "ZADD mail:delay 1 one");
    assert_int_equal(export(state, "zset-list --verify none"), DONE);
    expect(client, "\"c\"", "Q.PUSH mail three ID c");
    expect(client, "\"d\"", "Q.PUSH mail four ID d AT 4102444800000");
    assert_int_equal(export(state, "zset-list"), PARTLY);
    expect_said(output, "differs: job b: it is not there");
    expect_said(output, "differs: job a: the due time");
    expect_said(output, "4 jobs; 2 differ");
}

static void counts_may_be_json(void **state)
{
    expect(old_redis, "2", "RPUSH queues:mail {\"id\":\"1\"} {\"id\":\"2\"}");
    assert_int_equal(import(state, "laravel --json 2>/dev/null"), DONE);
    assert_string_equal(output,
                        "{\"found\":2,\"moved\":2,\"there\":0,\"left_out\":0,\"changed\":0,"
                        "\"compared\":2,\"different\":0,\"status\":0}\n");
    assert_int_equal(export(state, "laravel --json 2>/dev/null"), DONE);
    assert_string_equal(output,
                        "{\"found\":2,\"moved\":2,\"there\":0,\"claimed\":0,\"left_out\":0,"
                        "\"compared\":2,\"different\":0,\"status\":0}\n");
    expect(redis, "OK", "FLUSHALL");
    expect(redis, "OK", "SET queues:mail text");
    assert_int_equal(export(state, "laravel --json 2>/dev/null"), CUT_OFF);
    assert_non_null(strstr(output, "\"status\":1}\n"));
}

static void usage_is_refused_in_words(void **state)
{
    static const char *const wrong[][2] = {
        {"nonsense", "there is no such layout"},
        {"auto", "--layout auto is for import"},
        {"zset --scores days", "--scores is s, ms, us or ns"},
        {"laravel --scores ms", "--scores is of"},
        {"laravel --names *:a=*:b", "--names is of zset-hash and zset-list"},
        {"zset-hash --names *:a=b", "each with a * for the topic"},
        {"zset-hash --names a=*:b", "each with a * for the topic"},
        {"zset --window soon", "--window is a duration"},
        {"zset --replace", "is for keys"},
        {"zset --topic ''", "a name has 1 to 200 bytes"}};
    char prefix[600] = "zset --prefix ";

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(export(state, wrong[i][0]), NOT_BEGUN);
        expect_said(output, wrong[i][1]);
    }
    memset(prefix + strlen(prefix), 'x', 500);
    assert_int_equal(export(state, prefix), NOT_BEGUN);
    expect_said(output, "--prefix has at most 400 bytes");
}

/* ---- cut off, and two at once */

static void push_many(void **state)
{
    redisContext *client = served_client(state);

    for (int i = 0; i < MANY; i++)
        say(client, "Q.PUSH mail job-%d ID %d %s %lld", i, i, i % 4 == 0 ? "AT" : "PRIORITY",
            i % 4 == 0 ? 4102444800000LL + i : 128LL);
    for (int i = 0; i < MANY; i++)
        expect_reply(client, "*");
}

static void expect_each_once(void)
{
    redisReply *list = ask(redis, LIST("mail:ready"));
    char *met = calloc(MANY, 1);

    assert_int_equal(list->elements, MANY / 4 * 3);
    for (size_t i = 0; i < list->elements; i++) {
        int number = atoi(list->element[i]->str + 4);

        if (met[number]++ != 0)
            fail_msg("job %d is there twice", number);
    }
    expect(redis, "5000", "ZCARD mail:delay");
    freeReplyObject(list);
    free(met);
}

static pid_t begin_export(void **state)
{
    char from[64], to[64];

    snprintf(to, sizeof(to), "redis://127.0.0.1:%d", new_server.port);
    snprintf(from, sizeof(from), "127.0.0.1:%d", served_server(state)->port);
    return program_begin(
        (const char *const[]){"export", to, "--from", from, "--layout", "zset-list", NULL});
}

static void an_export_that_is_killed_goes_on_without_loss_or_doubles(void **state)
{
    push_many(state);
    for (int i = 1; i < 4; i++) {
        pid_t pid = begin_export(state);

        while (ask_integer(redis, "SCARD dueq:exported") < i * 2000)
            sleep_ms(1);
        kill(pid, SIGKILL);
        assert_int_equal(program_end(pid), -SIGKILL);
    }
    assert_int_equal(export(state, "zset-list --verify all"), DONE);
    expect_said(output, "verified: 20000 of 20000 jobs; 0 differ");
    expect_each_once();
}

static void two_exports_at_once_bring_each_job_once(void **state)
{
    pid_t first, second;

    push_many(state);
    first = begin_export(state);
    second = begin_export(state);
    assert_int_equal(program_end(first), DONE);
    assert_int_equal(program_end(second), DONE);
    expect_each_once();
}

static void large_bodies_and_odd_names_come_over(void **state)
{
    redisContext *client = served_client(state);
    char *body = malloc(3000000), name[255];

    memset(body, 'b', 3000000);
    memset(name, 'n', sizeof(name));
    for (int i = 0; i < 5; i++)
        expect(client, "\"*\"", "Q.PUSH %b %b", "new\n*line", (size_t)9, body, (size_t)3000000);
    expect(client, "\"*\"", "Q.PUSH %b x", name, sizeof(name));
    export_all(state, "zset-list", "6");
    expect(redis, "5", "LLEN %b", "new\n*line:ready", (size_t)15);
    free(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        layout_test(laravels_keys_come_back),
        layout_test(sidekiqs_keys_come_back),
        layout_test(celerys_messages_come_back),
        layout_test(ids_and_bodies_come_back),
        layout_test(what_is_delayed_and_what_is_ready_come_back),
        layout_test(bodies_by_time_come_back),
        layout_test(a_claimed_job_is_due_when_its_lease_ends),
        layout_test(a_dead_job_keeps_its_error_where_there_is_a_place),
        layout_test(what_cannot_be_there_is_left_out_and_told),
        layout_test(a_moved_job_goes_to_the_queue_where_it_is),
        layout_test(the_most_urgent_one_is_taken_first),
        layout_test(one_topic_comes_alone),
        layout_test(a_dry_run_says_what_would_be_done),
        layout_test(a_key_of_another_type_is_told_before_it_is_written),
        layout_test(what_is_remembered_can_be_forgotten),
        layout_test(a_difference_is_told),
        layout_test(counts_may_be_json),
        layout_test(usage_is_refused_in_words),
        layout_test(an_export_that_is_killed_goes_on_without_loss_or_doubles),
        layout_test(two_exports_at_once_bring_each_job_once),
        layout_test(large_bodies_and_odd_names_come_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
