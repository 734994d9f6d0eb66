/* kill -9 while workers claim jobs of serial groups (ROUNDS): no two jobs of a group are
 * claimed at a time, none passes another one of its group, and none is lost, across all kills.
 */
#include "tests/support/client/client.h"
#include "tests/support/dice.h"
#include "tests/support/faults/sigkill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { GROUPS = 7, HELD_MAX = 32, LOAD_MS = 150 };

/* What replies have told: numbers of a group's jobs count up. */
static struct {
    struct server_process *server;
    redisContext *client;
    struct dice dice;
    long pushed[GROUPS]; /* the last one that was accepted, or may have been */
    long done[GROUPS];   /* the last one that was acked, or may have been */
    bool unsure[GROUPS]; /* a push had no reply */
    struct held {
        int group;
        long number;
        long long token;
    } held[HELD_MAX];
    size_t held_count;
} test;

/* NULL: the server has ended. */
static redisReply *send_line(const char *line)
{
    return redisCommand(test.client, line);
}

static bool push(int group)
{
    char line[160];
    redisReply *reply;

    snprintf(line, sizeof(line), "Q.PUSH t x ID %d-%ld GROUP g%d", group,
             test.pushed[group] + 1, group);
    test.pushed[group]++;
    test.unsure[group] = true;
    reply = send_line(line);
    if (reply == NULL)
        return false;
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    test.unsure[group] = false;
    freeReplyObject(reply);
    return true;
}

static void note_claim(const redisReply *job)
{
    struct held *held = &test.held[test.held_count];

    assert_int_equal(sscanf(job->element[0]->str, "%d-%ld", &held->group, &held->number), 2);
    held->token = job->element[1]->integer;
    for (size_t i = 0; i < test.held_count; i++)
        assert_int_not_equal(test.held[i].group, held->group);
    assert_int_equal(held->number, test.done[held->group] + 1);
    test.held_count++;
}

static bool claim_one(void)
{
    redisReply *reply = send_line("Q.CLAIM t LEASE 1h");
    bool any;

    if (reply == NULL)
        return false;
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    any = reply->elements == 1;
    if (any)
        note_claim(reply->element[0]);
    freeReplyObject(reply);
    return true;
}

static bool end(const char *how)
{
    size_t at = dice_roll(&test.dice, test.held_count);
    struct held held = test.held[at];
    redisReply *reply;
    char line[120];

    snprintf(line, sizeof(line), "%s t %d-%ld %lld%s", how, held.group, held.number, held.token,
             strcmp(how, "Q.NACK") == 0 ? " DELAY 5ms" : "");
    test.held[at] = test.held[--test.held_count];
    reply = send_line(line);
    if (strcmp(how, "Q.ACK") == 0)
        test.done[held.group] = held.number;
    if (reply == NULL)
        return false;
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
    return true;
}

static bool step(void)
{
    uint64_t roll = dice_roll(&test.dice, 10);

    if (roll < 4)
        return push((int)dice_roll(&test.dice, GROUPS));
    if (roll < 7 && test.held_count < HELD_MAX)
        return claim_one();
    if (test.held_count > 0)
        return end(roll == 9 ? "Q.NACK" : "Q.ACK");
    return true;
}

/* After a kill: what had no reply may have been done or not. */
static void look(void)
{
    test.held_count = 0;
    for (int group = 0; group < GROUPS; group++) {
        char line[64];

        if (test.unsure[group]) {
            redisReply *reply;

            snprintf(line, sizeof(line), "Q.GET t %d-%ld", group, test.pushed[group]);
            reply = send_line(line);
            test.pushed[group] -= reply->type == REDIS_REPLY_NIL;
            test.unsure[group] = false;
            freeReplyObject(reply);
        }
        for (long number = test.done[group]; number <= test.pushed[group]; number++) {
            redisReply *reply;

            if (number == 0)
                continue;
            snprintf(line, sizeof(line), "Q.GET t %d-%ld", group, number);
            reply = send_line(line);
            if (number == test.done[group] && reply->type != REDIS_REPLY_NIL)
                test.done[group]--; /* its ack had no reply, and was not done */
            else if (number > test.done[group])
                assert_int_not_equal(reply->type, REDIS_REPLY_NIL);
            freeReplyObject(reply);
        }
    }
}

/* Workers of before are gone: their jobs are given back. Those of one group are never two. */
static void give_back(void)
{
    redisReply *scan = ask(test.client, "Q.SCAN t 0 STATE claimed COUNT 1000");
    bool claimed[GROUPS] = {false};

    for (size_t i = 0; i < scan->element[1]->elements; i++) {
        const char *id = scan->element[1]->element[i]->element[1]->str;
        int group = atoi(id);

        assert_false(claimed[group]);
        claimed[group] = true;
        freeReplyObject(ask(test.client, "Q.NACK t %s %lld SILENT", id,
                            (long long)ask_field(test.client, "token", "Q.GET t %s", id)));
    }
    freeReplyObject(scan);
}

static void drain(void)
{
    long left = 0;

    for (int group = 0; group < GROUPS; group++)
        left += test.pushed[group] - test.done[group];
    while (left > 0) {
        size_t before = test.held_count;

        assert_true(claim_one());
        if (test.held_count == before)
            continue; /* a backoff of 5 ms */
        assert_true(end("Q.ACK"));
        left--;
    }
    expect(test.client, "0", "Q.LEN t");
}

static void serial_groups_survive_kills(void **state)
{
    long rounds = dice_setting("ROUNDS", 20);

    (void)state;
    dice_begin(&test.dice);
    test.server = server_process_start("");
    test.client = client_open(test.server);
    expect(test.client, "OK", "Q.CONFIG SET t group-mode serial retries 1000000");
    for (long round = 0; round < rounds; round++) {
        sigkill_within(test.server, &test.dice, LOAD_MS);
        while (step())
            continue;
        sigkill_await(test.server);
        client_close(test.client);
        sigkill_choose_sizes(test.server, &test.dice);
        server_process_run(test.server);
        test.client = client_open(test.server);
        look();
        give_back();
    }
    drain();
    server_process_stop(test.server);
    server_process_check(test.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(serial_groups_survive_kills)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
