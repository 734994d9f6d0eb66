/* kill -9 while jobs are pushed, claimed and acked in a topic that keeps its events (ROUNDS):
 * there is an event if and only if there is its change, numbers have no hole, and on a full
 * disk what drains the store goes on without events. */
#include "tests/support/client/client.h"
#include "tests/support/dice.h"
#include "tests/support/faults/faulty_disk.h"
#include "tests/support/faults/full_disk.h"
#include "tests/support/faults/sigkill.h"

#include <string.h>

#include "tests/support/cmocka.h"

enum { LOAD_MS = 150 };

static struct dice dice;

/* What the events say. */
struct tally {
    long long last, pushed, claimed, acked, nacked, due, dropped;
};

static void count(struct tally *tally, const char *word)
{
    tally->pushed += strcmp(word, "pushed") == 0;
    tally->claimed += strcmp(word, "claimed") == 0;
    tally->acked += strcmp(word, "acked") == 0;
    tally->nacked += strcmp(word, "nacked") == 0;
    tally->due += strcmp(word, "due") == 0;
}

/* From the number that was seen last on. */
static void read_events(redisContext *client, struct tally *tally)
{
    bool more = true;

    while (more) {
        redisReply *reply = ask(client, "Q.EVENTS mail FROM %lld COUNT 10000", tally->last);

        more = reply->elements > 0;
        for (size_t i = 0; i < reply->elements; i++) {
            redisReply **event = reply->element[i]->element;
            bool is_gap = strcmp(event[1]->str, "dropped") == 0;
            long long numbers = is_gap ? event[2]->integer : 1;

            assert_int_equal(event[0]->integer, tally->last + numbers);
            tally->last = event[0]->integer;
            tally->dropped += is_gap ? numbers : 0;
            count(tally, event[1]->str);
        }
        freeReplyObject(reply);
    }
}

static void check(redisContext *client, const struct tally *tally)
{
    assert_int_equal(ask_field(client, "total-pushed", "Q.STATS mail"), tally->pushed);
    assert_int_equal(ask_field(client, "total-claimed", "Q.STATS mail"), tally->claimed);
    assert_int_equal(ask_field(client, "total-acked", "Q.STATS mail"), tally->acked);
    assert_int_equal(ask_field(client, "total-nacked", "Q.STATS mail"), tally->nacked);
}

/* Until the server is gone. */
static void load(redisContext *client)
{
    bool lives = true;

    while (lives) {
        redisReply *reply;
        int sent = 0;

        for (; sent < 20; sent++)
            redisAppendCommand(client, dice_once_in(&dice, 3)   ? "Q.POP mail COUNT 5"
                                       : dice_once_in(&dice, 5) ? "Q.PUSH mail x DELAY 5"
                                       : dice_once_in(&dice, 4) ? "Q.CLAIM mail LEASE 20ms"
                                                                : "Q.PUSH mail x");
        for (; lives && sent > 0; sent--) {
            lives = redisGetReply(client, (void **)&reply) == REDIS_OK;
            if (lives)
                freeReplyObject(reply);
        }
    }
}

static void an_event_is_there_if_and_only_if_its_change_is(void **state)
{
    long rounds = dice_setting("ROUNDS", 8);
    struct server_process *server = server_process_new();
    struct tally tally = {0};
    (void)state;

    dice_begin(&dice);
    sigkill_choose_sizes(server, &dice);
    server_process_run(server);
    expect(client_open(server), "OK", "Q.CONFIG SET mail events 1000000");
    for (long round = 0; round < rounds; round++) {
        redisContext *client = client_open(server);

        sigkill_within(server, &dice, LOAD_MS);
        load(client);
        sigkill_await(server);
        client_close(client);
        sigkill_recovery(server, &dice);
        server_process_run(server);
        client = client_open(server);
        expect(client, "OK", "Q.PAUSE mail");
        read_events(client, &tally);
        assert_int_equal(tally.dropped, 0);
        check(client, &tally);
        expect(client, "OK", "Q.RESUME mail");
        client_close(client);
    }
    assert_true(tally.acked > 0);
}

/* Claims and acks need the room: numbers go on, and a gap tells. */
static void a_full_disk_costs_events_and_no_claims(void **state)
{
    struct server_process *server = server_process_new();
    struct tally tally = {0};
    redisContext *client;
    int pushed;
    (void)state;

    faulty_disk_prepare(server, 0);
    server_process_run(server);
    client = client_open(server);
    expect(client, "OK", "Q.CONFIG SET mail events 1000000");
    expect(client, "*", "Q.PUSH early body");
    await_spare(server);
    faulty_disk_break(server, "grow ENOSPC");
    pushed = push_until_full(client, 0);
    assert_true(pushed > 0);
    for (int i = 0; i < pushed; i++)
        expect(client, "[[* *]]", "Q.POP mail");
    read_events(client, &tally);
    assert_int_equal(tally.last, 3LL * pushed);
    assert_int_equal(tally.pushed + tally.claimed + tally.acked + tally.dropped, tally.last);
    assert_true(tally.dropped > 0);
    faulty_disk_repair(server);
    await_room(client);
    expect(client, "\"again\"", "Q.PUSH mail body ID again");
    server_process_kill(server);
    client_close(client);
    server_process_run(server);
    client = client_open(server);
    read_events(client, &tally);
    assert_int_equal(tally.last, 3LL * pushed + 1);
    expect(client, "[[* \"pushed\" * \"again\" 0]]", "Q.EVENTS mail FROM %lld", tally.last - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(an_event_is_there_if_and_only_if_its_change_is),
        serving_test(a_full_disk_costs_events_and_no_claims)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
