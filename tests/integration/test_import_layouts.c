/* `dueq import --layout`: queues of a real Redis, as other programs lay them out, in topics. */
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
static struct foreign_server redis;
static redisContext *source;

static int set_up(void **state)
{
    served_setup(state);
    redis_server_start(&redis, NULL);
    source = foreign_server_client(&redis);
    return 0;
}

static int tear_down(void **state)
{
    redisFree(source);
    foreign_server_cleanup();
    return served_teardown(state);
}

#define layout_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static int import(void **state, const char *arguments)
{
    return run_shell(output, sizeof(output),
                     "%s import redis://127.0.0.1:%d --to 127.0.0.1:%d --layout %s",
                     server_binary(), redis.port, served_server(state)->port, arguments);
}

/* The import, a second one that does nothing, and a last look. */
#define import_all(state, arguments, found)                                                    \
    do {                                                                                       \
        int status_ = import(state, arguments " --verify all");                                \
                                                                                               \
        if (status_ != DONE)                                                                   \
            fail_msg("exit status %d: %s", status_, output);                                   \
        expect_said(output, found " jobs found, " found " pushed, 0 were there already");      \
        expect_said(output, "verified: " found " of " found " jobs; 0 differ");                \
        assert_int_equal(import(state, arguments), DONE);                                      \
        expect_said(output, found " jobs found, 0 pushed, " found " were there already");      \
    } while (0)

/* ---- the layouts */

static void ids_in_a_zset_find_their_bodies_in_a_hash(void **state)
{
    redisContext *client = served_client(state);

    expect(source, "2", "ZADD orders:0:z 4102444800 a 1 b");
    expect(source, "2", "HSET orders:0:h a body-a b %b", "\0\n", (size_t)2);
    expect(source, "1", "ZADD orders:1:z 4102444800.5 c");
    expect(source, "1", "HSET orders:1:h c body-c");
    expect(source, "1", "ZADD delay_queue:mail 4102444800123 m");
    expect(source, "1", "ZADD unack_queue:mail 4102444800456 n");
    expect(source, "2", "HSET task_meta_data:mail m body-m n body-n");
    import_all(state, "zset-hash", "5");
    expect_field(client, "due", "4102444800000", "Q.GET orders a");
    expect_field(client, "body", "\"body-a\"", "Q.GET orders a");
    expect_field(client, "state", "\"ready\"", "Q.GET orders b");
    expect_field(client, "body", "\"\\x00\\n\"", "Q.GET orders b");
    expect_field(client, "due", "4102444800500", "Q.GET orders c");
    expect_field(client, "due", "4102444800123", "Q.GET mail m");
    expect_field(client, "due", "4102444800456", "Q.GET mail n");
}

static void an_id_without_a_body_is_left_out_and_told(void **state)
{
    expect(source, "2", "ZADD q:z 4102444800 a 4102444800 b");
    expect(source, "1", "HSET q:h a body");
    assert_int_equal(import(state, "zset-hash"), PARTLY);
    expect_said(output, "2 jobs found, 1 pushed");
    expect_said(output, "1 jobs left out; of the last one: the id has no body");
}

static void names_of_a_pair_can_be_given(void **state)
{
    expect(source, "1", "ZADD later/mail/x 4102444800 a");
    expect(source, "1", "HSET text/mail a body");
    import_all(state, "zset-hash --names 'later/*/x=text/*'", "1");
    expect_field(served_client(state), "body", "\"body\"", "Q.GET mail a");
}

static void what_is_delayed_and_what_is_ready_meet_in_a_topic(void **state)
{
    redisContext *client = served_client(state);

    expect(source, "1", "ZADD calls:delay 4102444800 later");
    expect(source, "3", "LPUSH calls:ready first second first");
    import_all(state, "zset-list", "4");
    expect(client, "[[\"*\" 1 \"first\" 1]]", "Q.CLAIM calls");
    expect(client, "[[\"*\" 2 \"second\" 1]]", "Q.CLAIM calls");
    expect(client, "[[\"*\" 3 \"first\" 1]]", "Q.CLAIM calls");
    expect(client, "4", "Q.LEN calls");
}

static void members_of_one_zset_are_bodies_and_ids(void **state)
{
    expect(source, "1", "ZADD race 4102444800 job-1");
    import_all(state, "zset --pattern race", "1");
    expect_field(served_client(state), "body", "\"job-1\"", "Q.GET race job-1");
}

static void laravels_three_keys_are_a_topic(void **state)
{
    redisContext *client = served_client(state);

    expect(source, "2", "RPUSH app_queues:mail %s %s", "{\"uuid\":\"u1\",\"attempts\":0}",
           "{\"id\":\"i2\"}");
    expect(source, "1", "ZADD app_queues:mail:delayed 4102444800 %s",
           "{\"job\":{\"id\":\"j3\",\"data\":\"O:28\"}}");
    expect(source, "1", "ZADD app_queues:mail:reserved 4102444900 {\"id\":\"r4\"}");
    expect(source, "1", "RPUSH app_queues:mail:notify 1");
    import_all(state, "laravel", "4");
    expect(client, "[[\"u1\" 1 \"*\" 1]]", "Q.CLAIM mail");
    expect(client, "[[\"i2\" 2 \"*\" 1]]", "Q.CLAIM mail");
    expect_field(client, "due", "4102444800000", "Q.GET mail j3");
    expect_field(client, "due", "4102444900000", "Q.GET mail r4");
}

static void sidekiqs_sets_go_to_the_queues_of_their_jobs(void **state)
{
    redisContext *client = served_client(state);

    expect(source, "2", "LPUSH queue:mail %s %s", "{\"jid\":\"1\",\"queue\":\"mail\"}",
           "{\"jid\":\"2\",\"queue\":\"mail\"}");
    expect(source, "1", "ZADD schedule 4102444800.25 %s", "{\"jid\":\"3\",\"queue\":\"low\"}");
    expect(source, "1", "ZADD retry 4102444900 %s", "{\"jid\":\"4\",\"queue\":\"mail\"}");
    expect(source, "1", "ZADD dead 1700000000 %s",
           "{\"jid\":\"5\",\"queue\":\"mail\",\"error_class\":\"E\",\"error_message\":\"no\"}");
    import_all(state, "sidekiq", "5");
    expect(client, "[[\"1\" 1 \"*\" 1]]", "Q.CLAIM mail");
    expect_field(client, "due", "4102444800250", "Q.GET low 3");
    expect_field(client, "due", "4102444900000", "Q.GET mail 4");
    expect_field(client, "state", "\"dead\"", "Q.GET mail:dead 5");
    expect_field(client, "error", "\"E: no\"", "Q.GET mail:dead 5");
    expect(client, "[1 0]", "Q.DEAD mail:dead REDRIVE TO mail");
    expect_field(client, "state", "\"ready\"", "Q.GET mail 5");
}

#define MESSAGE(id, eta)                                                                       \
    "{\"body\":\"W10=\",\"headers\":{\"id\":\"" id "\",\"eta\":" eta                           \
    "},\"properties\":{\"delivery_info\":{\"routing_key\":\"celery\"}}}"

static void celerys_messages_keep_their_eta_and_their_priority(void **state)
{
    redisContext *client = served_client(state);

    expect(source, "2", "LPUSH celery %s %s", MESSAGE("t1", "null"),
           MESSAGE("t2", "\"2100-01-01T00:00:00.123456+00:00\""));
    expect(source, "1", "LPUSH %b %s",
           "celery\x06\x16"
           "3",
           (size_t)9, MESSAGE("t3", "null"));
    expect(source, "1", "HSET unacked tag %s",
           "[" MESSAGE("t4", "\"2100-01-01T00:00:00\"") ",\"\",\"celery\"]");
    expect(source, "1", "ZADD unacked_index 1700000000 tag");
    expect(source, "1", "RPUSH other plain");
    import_all(state, "celery", "4");
    expect(client, "[[\"t1\" 1 \"*\" 1]]", "Q.CLAIM celery");
    expect_field(client, "due", "4102444800123", "Q.GET celery t2");
    expect_field(client, "priority", "131", "Q.GET celery t3");
    expect_field(client, "due", "4102444800000", "Q.GET celery t4");
    expect(client, "[\"celery\"]", "Q.TOPICS");
}

static void auto_says_what_it_finds(void **state)
{
    expect(source, "1", "LPUSH queue:mail %s", "{\"jid\":\"1\"}");
    expect(source, "1", "RPUSH queues:web {\"id\":\"2\"}");
    expect(source, "1", "LPUSH celery %s", MESSAGE("t1", "null"));
    expect(source, "1", "ZADD orders:z 4102444800 a");
    expect(source, "1", "HSET orders:h a body");
    expect(source, "1", "ZADD calls:delay 4102444800 b");
    expect(source, "1", "ZADD %b 4102444800 c", "new\nline", (size_t)8);
    expect(source, "1", "ZADD scores 17 player");
    expect(source, "1", "RPUSH plain list");
    expect(source, "OK", "SET string 1");
    assert_int_equal(import(state, "auto --dry-run"), DONE);
    expect(served_client(state), "[]", "Q.TOPICS");
    import_all(state, "auto", "6");
    expect_said(output, "sidekiq: queue:mail: 1 ready, to topic mail");
    expect_said(output, "laravel: queues:web: 1 ready, to topic web");
    expect_said(output, "celery: celery: 1 ready, to topic celery");
    expect_said(output, "zset-hash: orders:z: 1 by their times, to topic orders");
    expect_said(output, "zset-list: calls:delay: 1 by their times, to topic calls");
    expect_said(output, "zset: new\\x0aline: 1 by their times, to topic new\\x0aline");
    expect(served_client(state), "1", "Q.LEN %b", "new\nline", (size_t)8);
}

/* ---- what does not fit */

static void a_key_of_another_type_than_its_name_says_is_told(void **state)
{
    expect(source, "OK", "SET queues:odd 1");
    expect(source, "1", "RPUSH queues:web x");
    assert_int_equal(import(state, "laravel"), PARTLY);
    expect_said(output, "1 keys are named like the layout, but are something else");
    expect_said(output, "1 jobs found, 1 pushed");
}

static void two_jobs_of_one_id_stay_two(void **state)
{
    redisContext *client = served_client(state);

    expect(source, "3",
           "RPUSH queues:web {\"id\":\"1\"} {\"id\":\"1\",\"x\":2} {\"id\":\"1\"}");
    import_all(state, "laravel", "3");
    expect(client, "3", "Q.LEN web");
    expect_field(client, "state", "\"ready\"", "Q.GET web 1#3");
}

static void a_job_that_was_done_here_does_not_come_again(void **state)
{
    redisContext *client = served_client(state);

    expect(source, "1", "RPUSH queues:web {\"id\":\"1\"}");
    assert_int_equal(import(state, "laravel"), DONE);
    expect(client, "1", "Q.ACK web 1 %lld", (long long)claim(client, "web", "1"));
    assert_int_equal(import(state, "laravel"), DONE);
    expect(client, "[]", "Q.PEEK web");
}

static void long_names_and_large_bodies_come_over(void **state)
{
    redisContext *client = served_client(state);
    char name[400], *body = malloc(3000000);

    memset(name, 'n', sizeof(name));
    memset(body, 'b', 3000000);
    expect(source, "1", "ZADD short 4102444800 %b", name, sizeof(name));
    expect(source, "1", "ZADD %b 4102444800 a", name, (size_t)300);
    expect(source, "1", "RPUSH queues:web %b", body, (size_t)3000000);
    assert_int_equal(import(state, "zset"), PARTLY);
    expect_said(output, "1 jobs left out; of the last one: its topic has no name");
    expect(client, "1", "Q.LEN short");
    assert_int_equal(import(state, "laravel --topic big --verify all"), DONE);
    expect(client, "1", "Q.LEN big");
    free(body);
}

static void many_jobs_of_one_time_all_come(void **state)
{
    for (int i = 0; i < MANY; i++)
        say(source, "ZADD later %d job-%d", i < MANY / 2 ? 2000000000 : 2000000000 + i, i);
    for (int i = 0; i < MANY; i++)
        expect_reply(source, "1");
    import_all(state, "zset", "20000");
    expect(served_client(state), "20000", "Q.LEN later");
}

static void usage_is_refused_in_words(void **state)
{
    static const char *const wrong[] = {"nonsense", "zset-hash --names x=y", "zset --replace"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(import(state, wrong[i]), NOT_BEGUN);
}

/* ---- cut off */

/* Begins an import of everything and returns its pid. */
static pid_t begin_import(void **state)
{
    char from[64], to[64];

    snprintf(from, sizeof(from), "redis://127.0.0.1:%d", redis.port);
    snprintf(to, sizeof(to), "127.0.0.1:%d", served_server(state)->port);
    return program_begin(
        (const char *const[]){"import", from, "--to", to, "--layout", "auto", NULL});
}

static void an_import_that_is_killed_goes_on_without_loss_or_doubles(void **state)
{
    redisContext *client = served_client(state);

    for (int i = 0; i < MANY; i++)
        say(source, "RPUSH queues:web same-%d", i / 2);
    for (int i = 0; i < MANY; i++)
        expect_reply(source, "*");
    for (int i = 0; i < 3; i++) {
        pid_t pid = begin_import(state);

        while (ask_integer(client, "Q.LEN web") < 100)
            sleep_ms(1);
        kill(pid, SIGKILL);
        program_end(pid);
    }
    assert_int_equal(import(state, "auto --verify all"), DONE);
    expect_said(output, "verified: 20000 of 20000 jobs; 0 differ");
    expect(client, "20000", "Q.LEN web");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        layout_test(ids_in_a_zset_find_their_bodies_in_a_hash),
        layout_test(an_id_without_a_body_is_left_out_and_told),
        layout_test(names_of_a_pair_can_be_given),
        layout_test(what_is_delayed_and_what_is_ready_meet_in_a_topic),
        layout_test(members_of_one_zset_are_bodies_and_ids),
        layout_test(laravels_three_keys_are_a_topic),
        layout_test(sidekiqs_sets_go_to_the_queues_of_their_jobs),
        layout_test(celerys_messages_keep_their_eta_and_their_priority),
        layout_test(auto_says_what_it_finds),
        layout_test(a_key_of_another_type_than_its_name_says_is_told),
        layout_test(two_jobs_of_one_id_stay_two),
        layout_test(a_job_that_was_done_here_does_not_come_again),
        layout_test(long_names_and_large_bodies_come_over),
        layout_test(many_jobs_of_one_time_all_come),
        layout_test(usage_is_refused_in_words),
        layout_test(an_import_that_is_killed_goes_on_without_loss_or_doubles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
