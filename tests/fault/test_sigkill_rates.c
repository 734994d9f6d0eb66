/* kill -9 while workers claim and pop as fast as they can (ROUNDS): in all the time, across all
 * kills, no more jobs are taken than the rates of the topic and of its groups let. */
#include "tests/support/client/client.h"
#include "tests/support/dice.h"
#include "tests/support/faults/sigkill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/cmocka.h"

enum {
    GROUPS = 3,
    JOBS = 4000,
    LOAD_MS = 150,
    COUNT = 10,
    BURST = 20,
    GROUP_COUNT = 4,
    GROUP_BURST = 9
};

static struct {
    struct server_process *server;
    redisContext *client;
    struct dice dice;
    int64_t begin;
    long pushed, taken, taken_of[GROUPS];
} test;

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A try has no more permits than came back since the first one, in ms that may have begun. */
static void check_rates(void)
{
    int64_t ms = now_ms() - test.begin + 2;

    assert_true(test.taken <= BURST + 1 + ms * COUNT / 1000);
    for (int group = 0; group < GROUPS; group++)
        assert_true(test.taken_of[group] <= GROUP_BURST + 1 + ms * GROUP_COUNT / 1000);
}

static bool take(const char *command)
{
    redisReply *reply = redisCommand(test.client, command);

    if (reply == NULL)
        return false;
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    for (size_t i = 0; i < reply->elements; i++) {
        test.taken++;
        test.taken_of[atoi(reply->element[i]->element[0]->str) % GROUPS]++;
    }
    freeReplyObject(reply);
    return true;
}

static bool step(void)
{
    return take(dice_once_in(&test.dice, 2) ? "Q.POP t COUNT 2" : "Q.CLAIM t COUNT 3 LEASE 1d");
}

static void rates_survive_kills(void **state)
{
    long rounds = dice_setting("ROUNDS", 20);

    (void)state;
    dice_begin(&test.dice);
    test.server = server_process_start("");
    test.client = client_open(test.server);
    expect(test.client, "OK", "Q.CONFIG SET t rate %s group-rate %s", "10/1s burst 20",
           "4/1s burst 9");
    for (; test.pushed < JOBS; test.pushed++)
        expect(test.client, "\"*\"", "Q.PUSH t body ID %ld GROUP g%ld", test.pushed,
               test.pushed % GROUPS);
    test.begin = now_ms();
    for (long round = 0; round < rounds; round++) {
        sigkill_within(test.server, &test.dice, LOAD_MS);
        while (step())
            continue;
        sigkill_await(test.server);
        client_close(test.client);
        sigkill_choose_sizes(test.server, &test.dice);
        server_process_run(test.server);
        test.client = client_open(test.server);
        check_rates();
    }
    assert_true(test.taken >= BURST);
    server_process_stop(test.server);
    server_process_check(test.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rates_survive_kills)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
