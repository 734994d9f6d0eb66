/* kill -9 while jobs that wait for others are pushed and those others end (ROUNDS): no job
 * comes before what it waits for, none is lost, and none waits when all that comes first is
 * done, across all kills. */
#include "tests/support/client/client.h"
#include "tests/support/dice.h"
#include "tests/support/faults/sigkill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { JOBS_MAX = 100000, AFTER_MAX = 3, NEAR = 40, FAN = 150, LOAD_MS = 150, LOOKED_AT = 300 };
enum { LINE_SIZE = 400 };

/* What replies have told. Jobs are numbered as they are pushed, and wait for earlier ones. */
static struct {
    struct server_process *server;
    redisContext *client;
    struct dice dice;
    struct job {
        enum { THERE, ACKED } state;
        bool unsure; /* what made it so had no reply */
        bool held;
        long long token;
        long after[AFTER_MAX];
        int after_count;
    } jobs[JOBS_MAX];
    long count;
} test;

/* NULL: the server has ended. */
static redisReply *send_line(const char *line)
{
    return redisCommand(test.client, line);
}

/* Even numbers are in one topic, odd ones in the other. */
static const char *topic_of(long number)
{
    return number % 2 == 0 ? "even" : "odd";
}

static long earlier(void)
{
    long most = test.count < NEAR ? test.count : NEAR;

    return test.count - 1 - (long)dice_roll(&test.dice, (uint64_t)most);
}

/* Many wait for one: the number of a multiple of FAN. */
static bool push(void)
{
    long number = test.count;
    struct job *job = &test.jobs[number];
    int wanted = number == 0 ? 0 : (int)dice_roll(&test.dice, AFTER_MAX + 1);
    char line[LINE_SIZE];
    int size = snprintf(line, sizeof(line), "Q.PUSH %s x ID %ld%s", topic_of(number), number,
                        wanted > 0 ? " AFTER" : "");
    redisReply *reply;

    for (int i = 0; i < wanted; i++) {
        job->after[i] = i == 0 ? number - 1 - (number - 1) % FAN : earlier();
        size += snprintf(line + size, sizeof(line) - (size_t)size, " %s:%ld",
                         topic_of(job->after[i]), job->after[i]);
    }
    job->after_count = wanted;
    job->state = THERE;
    job->unsure = true;
    test.count++;
    reply = send_line(line);
    if (reply == NULL)
        return false;
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    job->unsure = false;
    freeReplyObject(reply);
    return true;
}

static void note_claim(const redisReply *claimed)
{
    struct job *job = &test.jobs[atol(claimed->element[0]->str)];

    for (int i = 0; i < job->after_count; i++)
        assert_int_not_equal(test.jobs[job->after[i]].state, THERE);
    assert_int_equal(job->state, THERE);
    job->held = true;
    job->token = claimed->element[1]->integer;
}

/* *ret_number: the claimed job; -1: there is none. */
static bool claim_one(long *ret_number)
{
    redisReply *reply = send_line(dice_roll(&test.dice, 2) == 0 ? "Q.CLAIM even LEASE 1h"
                                                                : "Q.CLAIM odd LEASE 1h");

    if (reply == NULL)
        return false;
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    *ret_number = -1;
    if (reply->elements == 1) {
        note_claim(reply->element[0]);
        *ret_number = atol(reply->element[0]->element[0]->str);
    }
    freeReplyObject(reply);
    return true;
}

static bool ack(long number)
{
    struct job *job = &test.jobs[number];
    char line[LINE_SIZE];
    redisReply *reply;

    snprintf(line, sizeof(line), "Q.ACK %s %ld %lld", topic_of(number), number, job->token);
    job->state = ACKED;
    job->unsure = true;
    reply = send_line(line);
    if (reply == NULL)
        return false;
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    job->unsure = job->held = false;
    freeReplyObject(reply);
    return true;
}

static bool step(void)
{
    long number = -1;

    if (dice_roll(&test.dice, 5) < 3 && test.count < JOBS_MAX)
        return push();
    return claim_one(&number) && (number < 0 || ack(number));
}

/* After a kill: what had no reply may have been done or not; the worker of before is gone. */
static void look_at(long number)
{
    struct job *job = &test.jobs[number];
    redisReply *reply = ask(test.client, "Q.GET %s %ld", topic_of(number), number);
    bool is_there = reply->type != REDIS_REPLY_NIL;

    freeReplyObject(reply);
    if (!job->unsure) {
        assert_int_equal(is_there, job->state == THERE);
    } else if (job->state == ACKED) {
        job->state = is_there ? THERE : ACKED;
    } else if (!is_there) {
        assert_int_equal(number, test.count - 1);
        test.count--;
        *job = (struct job){.state = THERE};
        return;
    }
    job->unsure = false;
    if (job->state == THERE && job->held)
        freeReplyObject(ask(test.client, "Q.NACK %s %ld %lld DELAY 1ms SILENT",
                            topic_of(number), number, job->token));
    job->held = false;
}

/* A claim without a reply is known to the server alone. */
static void give_back(const char *topic)
{
    redisReply *scan = ask(test.client, "Q.SCAN %s 0 STATE claimed COUNT 1000", topic);

    for (size_t i = 0; i < scan->element[1]->elements; i++) {
        const char *id = scan->element[1]->element[i]->element[1]->str;

        freeReplyObject(
            ask(test.client, "Q.NACK %s %s %lld DELAY 1ms SILENT", topic, id,
                (long long)ask_field(test.client, "token", "Q.GET %s %s", topic, id)));
    }
    freeReplyObject(scan);
}

static long left(void)
{
    return (long)(ask_integer(test.client, "Q.LEN even") +
                  ask_integer(test.client, "Q.LEN odd"));
}

static void drain(void)
{
    while (left() > 0) {
        long number = -1;

        assert_true(claim_one(&number));
        if (number >= 0)
            assert_true(ack(number));
    }
    for (long number = 0; number < test.count; number++)
        assert_int_equal(test.jobs[number].state, ACKED);
}

static void jobs_that_wait_survive_kills(void **state)
{
    long rounds = dice_setting("ROUNDS", 20);

    (void)state;
    dice_begin(&test.dice);
    test.server = server_process_start("");
    test.client = client_open(test.server);
    for (long round = 0; round < rounds; round++) {
        sigkill_within(test.server, &test.dice, LOAD_MS);
        while (step())
            continue;
        sigkill_await(test.server);
        client_close(test.client);
        sigkill_choose_sizes(test.server, &test.dice);
        server_process_run(test.server);
        test.client = client_open(test.server);
        for (long number = test.count; number-- > 0;)
            if (test.jobs[number].unsure || test.jobs[number].held ||
                number > test.count - LOOKED_AT)
                look_at(number);
        give_back("even");
        give_back("odd");
    }
    drain();
    client_close(test.client);
    server_process_stop(test.server);
    server_process_check(test.server);
}

/* ---- amid the end of one that ten thousand wait for */

enum { MANY = 10000, SOON_US = 30000 };

static void push_many(redisContext *client)
{
    expect(client, "\"first\"", "Q.PUSH fan x ID first");
    for (int i = 0; i < MANY; i++)
        say(client, "Q.PUSH fan x ID %d AFTER first", i);
    for (int i = 0; i < MANY; i++)
        expect_reply(client, "*");
}

/* The end had its reply: it is told to all. */
static void await_all(redisContext *client, bool dies)
{
    for (int tries = 0; tries < 3000 && ask_integer(client, "Q.LEN fan waiting") > 0; tries++)
        sleep_ms(10);
    expect(client, "0", "Q.LEN fan waiting");
    expect(client, dies ? "10001" : "10000", "Q.LEN fan %s", dies ? "dead" : "ready");
}

static void a_kill_amid_the_end_of_one_loses_nobody(void **state)
{
    long rounds = dice_setting("ROUNDS", 20) / 2;
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server);

    (void)state;
    dice_begin(&test.dice);
    for (long round = 0; round < rounds; round++) {
        bool dies = round % 2 == 1;
        long long token;

        push_many(client);
        token = (long long)claim(client, "fan", "first");
        expect(client, "*", dies ? "Q.NACK fan first %lld FATAL" : "Q.ACK fan first %lld",
               token);
        usleep((useconds_t)dice_roll(&test.dice, SOON_US));
        server_process_kill(server);
        client_close(client);
        server_process_run(server);
        client = client_open(server);
        await_all(client, dies);
        expect(client, "1", "Q.DROP fan");
    }
    client_close(client);
    server_process_stop(server);
    server_process_check(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_that_wait_survive_kills),
        cmocka_unit_test(a_kill_amid_the_end_of_one_loses_nobody)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
