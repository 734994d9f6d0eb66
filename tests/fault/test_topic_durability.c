/* Topics with a durability of their own, on a disk whose syncs are held or fail: what is
 * answered before the sync, and what only after it. */
#include "tests/support/client/client.h"
#include "tests/support/faults/faulty_disk.h"

#include <setjmp.h>
#include <cmocka.h>

enum { SILENCE_MS = 50 };

/* Topics `strict*` have the durability always, topics `loose*` interval; others have the
 * server's. */
static struct server_process *start(const char *durability)
{
    struct server_process *server = server_process_new();
    faulty_disk_prepare(server, 0);
    server_process_option(server, "durability", durability);
    server_process_run(server);
    redisContext *client = client_open(server);
    expect(client, "OK", "Q.CONFIG SET strict* durability always");
    expect(client, "OK", "Q.CONFIG SET loose* durability interval");
    client_close(client);
    return server;
}

static void hold(const struct server_process *server)
{
    faulty_disk_break(server, "fdatasync HOLD");
}

/* A client whose command waits for the sync that is held. */
static redisContext *held(const struct server_process *server, const char *command)
{
    redisContext *client = client_open(server);
    say(client, command);
    expect_silence(client, SILENCE_MS);
    return client;
}

/* Lets the syncs go: the reply of each of these clients comes. */
static void expect_released(const struct server_process *server, redisContext **clients,
                            const char *const *patterns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_silence(clients[i], 1);
    faulty_disk_repair(server);
    for (size_t i = 0; i < count; i++)
        expect_reply(clients[i], patterns[i]);
}

static void an_interval_topic_is_answered_before_the_sync(void **state)
{
    (void)state;
    struct server_process *server = start("always");
    redisContext *client = client_open(server), *waiting[3];
    const char *const replies[] = {"\"s\"", "OK", "\"t\""};
    hold(server);
    expect(client, "\"a\"", "Q.PUSH loose body ID a");
    expect(client, "nil", "GET key"); /* shows nothing of it, so waits for nothing */
    expect(client, "[\"0\" []]", "Q.SCAN strict 0");
    waiting[0] = held(server, "Q.PUSH strict body ID s");
    waiting[1] = held(server, "SET key value");
    waiting[2] = held(server, "Q.PUSH other body ID t");
    expect(client, "\"b\"", "Q.PUSH loose body ID b");
    expect(client, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM loose");
    expect(client, "1", "Q.ACK loose a 1");
    expect_field(client, "body", "\"body\"", "Q.GET loose b");
    expect(client, "nil", "Q.GET loose a");
    expect_field(client, "ready", "1", "Q.STATS loose");
    expect_released(server, waiting, replies, 3);
}

static void what_follows_on_a_connection_keeps_its_order(void **state)
{
    (void)state;
    struct server_process *server = start("always");
    redisContext *client = client_open(server);
    hold(server);
    expect(client, "\"a\"", "Q.PUSH loose body ID a");
    say(client, "Q.PUSH strict body ID s");
    expect_silence(client, SILENCE_MS);
    say(client, "Q.PUSH loose body ID b");
    expect_silence(client, SILENCE_MS);
    faulty_disk_repair(server);
    expect_reply(client, "\"s\"");
    expect_reply(client, "\"b\"");
}

/* They come in one write, so that they run in one turn. */
static void what_precedes_in_a_pipeline_does_not_wait(void **state)
{
    (void)state;
    struct server_process *server = start("always");
    redisContext *client = client_open(server);
    for (int i = 0; i < 2; i++) {
        hold(server);
        redisAppendCommand(client, "Q.PUSH loose body ID a%d", i);
        redisAppendCommand(client, "PING");
        redisAppendCommand(client, "Q.LEN loose");
        redisAppendCommand(client, "Q.PUSH %s body ID s%d", i == 0 ? "strict" : "other", i);
        say(client, "Q.PUSH loose body ID b%d", i);
        expect_reply(client, i == 0 ? "\"a0\"" : "\"a1\"");
        expect_reply(client, "PONG");
        expect_reply(client, i == 0 ? "1" : "3");
        expect_silence(client, SILENCE_MS);
        faulty_disk_repair(server);
        expect_reply(client, i == 0 ? "\"s0\"" : "\"s1\"");
        expect_reply(client, i == 0 ? "\"b0\"" : "\"b1\"");
    }
}

static void a_transaction_waits_as_its_strictest_command(void **state)
{
    (void)state;
    struct server_process *server = start("always");
    redisContext *client = client_open(server);
    hold(server);
    held(server, "Q.PUSH strict body ID s");
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "Q.PUSH loose body ID a");
    expect(client, "QUEUED", "Q.PUSH loose2 body ID b");
    expect(client, "[\"a\" \"b\"]", "EXEC");
    for (int first = 0; first < 2; first++) {
        const char *topics[] = {"strict", "loose"};
        expect(client, "OK", "MULTI");
        expect(client, "QUEUED", "Q.PUSH %s body", topics[first]);
        expect(client, "QUEUED", "Q.PUSH %s body", topics[!first]);
        say(client, "EXEC");
        expect_silence(client, SILENCE_MS);
        faulty_disk_repair(server);
        expect_reply(client, "[* *]");
        hold(server);
    }
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "SET key value");
    expect(client, "QUEUED", "Q.PUSH loose body");
    say(client, "EXEC");
    expect_silence(client, SILENCE_MS);
    faulty_disk_repair(server);
    expect_reply(client, "[OK *]");
}

static void a_waiter_is_answered_as_its_topic_says(void **state)
{
    (void)state;
    struct server_process *server = start("always");
    redisContext *client = client_open(server), *loose = client_open(server),
                 *strict = client_open(server), *waiting[2];
    const char *const replies[] = {"\"s\"", "[[\"s\" 1 \"body\" 1]]"};
    say(loose, "Q.CLAIM loose BLOCK 0");
    say(strict, "Q.CLAIM strict BLOCK 0");
    await_blocked(client, 2);
    hold(server);
    expect(client, "\"a\"", "Q.PUSH loose body ID a");
    expect_reply(loose, "[[\"a\" 1 \"body\" 1]]");
    waiting[0] = held(server, "Q.PUSH strict body ID s");
    waiting[1] = strict;
    expect_released(server, waiting, replies, 2);
}

static void the_end_of_a_job_is_told_when_it_is_durable(void **state)
{
    (void)state;
    struct server_process *server = start("interval 3600000");
    redisContext *client = client_open(server), *waiting[2];
    const char *const replies[] = {"1", "[[\"s\" \"done\" nil]]"};
    waiting[1] = client_open(server);
    expect(client, "\"s\"", "Q.PUSH strict body ID s");
    expect(client, "[[\"s\" 1 \"body\" 1]]", "Q.CLAIM strict");
    say(waiting[1], "Q.WAIT strict s BLOCK 0");
    await_blocked(client, 1);
    hold(server);
    waiting[0] = held(server, "Q.ACK strict s 1");
    expect_released(server, waiting, replies, 2);
}

/* The acks of its claim are done, and are durable when it is told that the wait is over. */
static void a_wait_that_is_ended_has_its_acks_synced(void **state)
{
    static const char *const ends[] = {"TIMEOUT", "ERROR"};
    static const char *const replies[] = {"nil", "!UNBLOCKED *"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct server_process *server = start("none");
        redisContext *client = client_open(server), *worker = client_open(server);
        int64_t id = ask_integer(worker, "CLIENT ID");
        expect(client, "\"s\"", "Q.PUSH strict body ID s");
        expect(client, "[[\"s\" 1 \"body\" 1]]", "Q.CLAIM strict");
        hold(server);
        say(worker, "Q.CLAIM strict BLOCK 0 ACK s 1");
        await_blocked(client, 1);
        expect(client, "1", "CLIENT UNBLOCK %lld %s", (long long)id, ends[i]);
        expect_silence(worker, SILENCE_MS);
        faulty_disk_repair(server);
        expect_reply(worker, replies[i]);
        client_cleanup();
        server_process_cleanup();
    }
}

/* The strictest of the topics that a command is about. */
static void what_moves_between_topics_waits_for_both(void **state)
{
    (void)state;
    static const char *const commands[][2] = {
        {"Q.ACK loose a 1 THEN PUSH strict body ID n", "[\"n\"]"},
        {"Q.MOVE loose b strict", "1"},
        {"Q.NACK loose c 3 FATAL", "\"dead\""},
        {"Q.DEAD loose2 REDRIVE TO strict", "*"},
        {"Q.MCLAIM 2 loose strict", "*"}};
    struct server_process *server = start("always");
    redisContext *client = client_open(server), *waiting[5];
    const char *replies[5];
    const char *const ids[] = {"a", "b", "c"};
    expect(client, "OK", "Q.CONFIG SET loose dead-topic strict-dead");
    for (int i = 0; i < 3; i++)
        expect(client, "*", "Q.PUSH loose body ID %s", ids[i]);
    expect(client, "*", "Q.CLAIM loose COUNT 3");
    expect(client, "\"*\"", "Q.NACK loose b 2");
    expect(client, "*", "Q.PUSH loose2 body ID d");
    expect(client, "*", "Q.CLAIM loose2");
    expect(client, "\"dead\"", "Q.NACK loose2 d 1 FATAL");
    hold(server);
    for (int i = 0; i < 5; i++) {
        waiting[i] = held(server, commands[i][0]);
        replies[i] = commands[i][1];
    }
    expect(client, "*", "Q.PUSH loose body");
    expect_released(server, waiting, replies, 5);
}

/* The sync does not wait for the interval, which is an hour. */
static void an_always_topic_waits_for_a_sync_on_any_server(void **state)
{
    static const char *const modes[] = {"interval 3600000", "none"};
    static const char *const shown[] = {"[\"durability\" [\"interval\" \"server\"]]",
                                        "[\"durability\" [\"none\" \"server\"]]"};
    const char *const replies[] = {"\"s\"", "[\"0\" [[\"id\" \"s\" *]]]", "*", "1"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct server_process *server = start(modes[i]);
        redisContext *client = client_open(server), *waiting[4];
        expect(client, shown[i], "Q.CONFIG GET other durability");
        hold(server);
        expect(client, "\"a\"", "Q.PUSH other body ID a");
        expect(client, "\"b\"", "Q.PUSH loose body ID b");
        waiting[0] = held(server, "Q.PUSH strict body ID s");
        waiting[1] = held(server, "Q.SCAN strict 0"); /* shows what is not durable yet */
        waiting[2] = held(server, "Q.TOPICS");        /* so may this */
        waiting[3] = held(server, "Q.PURGE strict");
        expect(client, "OK", "SET key value");
        expect(client, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM other");
        expect_released(server, waiting, replies, 4);
        hold(server);
        expect(client, "[\"0\" []]", "Q.SCAN strict 0"); /* all of it is synced */
        waiting[0] = held(server, "FLUSHALL");
        expect_released(server, waiting, (const char *const[]){"OK"}, 1);
        client_cleanup();
        server_process_cleanup();
    }
}

static void each_command_has_the_setting_of_its_moment(void **state)
{
    (void)state;
    struct server_process *server = start("always");
    redisContext *client = client_open(server), *waiting[2];
    const char *const replies[] = {"\"a\"", "*"};
    expect(client, "OK", "Q.CONFIG SET loose-but-strict durability always");
    expect(client, "[\"durability\" [\"always\" \"topic\"]]",
           "Q.CONFIG GET loose-but-strict durability");
    expect(client, "[\"durability\" [\"interval\" \"loose*\"]]",
           "Q.CONFIG GET loose1 durability");
    expect(client, "[\"durability\" [\"always\" \"server\"]]", "Q.CONFIG GET other durability");
    hold(server);
    expect(client, "*", "Q.PUSH loose1 body");
    waiting[0] = held(server, "Q.PUSH loose-but-strict body ID a");
    waiting[1] = held(server, "Q.PUSH other body");
    expect_released(server, waiting, replies, 2);
    expect(client, "OK", "Q.CONFIG RESET loose* durability");
    expect(client, "OK", "Q.CONFIG SET other durability interval");
    hold(server);
    expect(client, "*", "Q.PUSH other body");
    waiting[0] = held(server, "Q.PUSH loose1 body ID a");
    /* what was written before the change is durable when the change is */
    waiting[1] = held(server, "Q.CONFIG SET other durability always");
    expect_released(server, waiting, replies, 2);
}

/* Each of them alone would cause a sync on this server. */
static void an_interval_topic_causes_no_syncs_of_its_own(void **state)
{
    enum { PUSHES = 300 };
    (void)state;
    struct server_process *server = start("always");
    redisContext *client = client_open(server);
    int64_t syncs = ask_info(client, "journal", "journal_syncs");
    for (int i = 0; i < PUSHES; i++)
        expect(client, "*", "Q.PUSH strict body");
    assert_true(ask_info(client, "journal", "journal_syncs") >= syncs + PUSHES);
    syncs = ask_info(client, "journal", "journal_syncs");
    for (int i = 0; i < PUSHES; i++)
        expect(client, "*", "Q.PUSH loose body");
    assert_true(ask_info(client, "journal", "journal_syncs") < syncs + PUSHES / 2);
}

/* Also on a server that never syncs by itself: the records of others are synced with it. */
static void what_an_interval_topic_has_written_is_synced_later(void **state)
{
    static const char *const modes[] = {"always", "none"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct server_process *server = start(modes[i]);
        redisContext *client = client_open(server);
        int64_t lsn;
        expect(client, "*", "Q.PUSH loose body");
        lsn = ask_info(client, "journal", "journal_lsn");
        while (ask_info(client, "journal", "journal_synced_lsn") < lsn)
            sleep_ms(10);
        client_cleanup();
        server_process_cleanup();
    }
}

static void a_kill_loses_nothing_of_an_interval_topic(void **state)
{
    enum { JOBS = 500 };
    (void)state;
    struct server_process *server = start("always");
    redisContext *client = client_open(server);
    hold(server);
    for (int i = 0; i < JOBS; i++)
        expect(client, "*", "Q.PUSH loose body ID %d", i);
    expect(client, "[[\"0\" 1 \"body\" 1]]", "Q.CLAIM loose");
    expect(client, "1", "Q.ACK loose 0 1");
    server_process_kill(server);
    faulty_disk_repair(server);
    client_close(client);
    server_process_run(server);
    client = client_open(server);
    expect(client, "nil", "Q.GET loose 0");
    for (int i = 1; i < JOBS; i++)
        expect_field(client, "body", "\"body\"", "Q.GET loose %d", i);
}

/* A sync that fails takes the store down. What waited for it is not acknowledged. */
static void a_failed_sync_acknowledges_nothing_of_an_always_topic(void **state)
{
    static const char *const modes[] = {"always", "interval 3600000", "none"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct server_process *server = start(modes[i]);
        redisContext *client = client_open(server), *waiting, *reader;
        hold(server);
        expect(client, "\"a\"", "Q.PUSH loose body ID a");
        waiting = held(server, "Q.PUSH strict body ID s");
        reader = held(server, "Q.GET strict s");
        faulty_disk_break(server, "fdatasync EIO");
        expect_closed(waiting);
        expect_closed(reader);
        faulty_disk_repair(server);
        server_process_kill(server);
        client_close(client);
        server_process_run(server);
        expect_field(client_open(server), "body", "\"body\"", "Q.GET loose a");
        client_cleanup();
        server_process_cleanup();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(an_interval_topic_is_answered_before_the_sync),
        serving_test(what_follows_on_a_connection_keeps_its_order),
        serving_test(what_precedes_in_a_pipeline_does_not_wait),
        serving_test(a_transaction_waits_as_its_strictest_command),
        serving_test(a_waiter_is_answered_as_its_topic_says),
        serving_test(the_end_of_a_job_is_told_when_it_is_durable),
        serving_test(a_wait_that_is_ended_has_its_acks_synced),
        serving_test(what_moves_between_topics_waits_for_both),
        serving_test(an_always_topic_waits_for_a_sync_on_any_server),
        serving_test(each_command_has_the_setting_of_its_moment),
        serving_test(an_interval_topic_causes_no_syncs_of_its_own),
        serving_test(what_an_interval_topic_has_written_is_synced_later),
        serving_test(a_kill_loses_nothing_of_an_interval_topic),
        serving_test(a_failed_sync_acknowledges_nothing_of_an_always_topic)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
