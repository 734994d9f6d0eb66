/* server/containers/small_blocks: what clients leave in small blocks goes back to the system.
 */
#include "server/containers/small_blocks.h"
#include "server/containers/heap_return.h"
#include "server/containers/spent.h"
#include "server/net/client_memory.h"
#include "server/session/pubsub.h"
#include "tests/support/client/command_runner.h"

#include "tests/support/cmocka.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 128, BLOCKS = (16 << 20) / 128 };

static void *blocks[BLOCKS];

static void make_blocks(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = small_block_new(BLOCK);
        assert_non_null(blocks[i]);
    }
}

/* Frees each `step`th of them, from `first` on. */
static void free_blocks(int first, int end, int step)
{
    for (int i = first; i < end; i += step) {
        small_block_free(blocks[i], BLOCK);
        blocks[i] = NULL;
    }
}

static bool gives_back(struct server *server)
{
    server->clock.last.monotonic += 4;
    return client_memory_turn(server);
}

static void blocks_are_zeroed_and_counted(void **state)
{
    size_t held = small_blocks_held(), freed = small_blocks_freed();
    uint8_t *block = small_block_new(BLOCK);

    (void)state;
    assert_non_null(block);
    for (int i = 0; i < BLOCK; i++)
        assert_int_equal(block[i], 0);
    assert_int_equal(small_blocks_held(), held + BLOCK);
    small_block_free(block, BLOCK);
    assert_int_equal(small_blocks_held(), held);
    assert_in_range(small_blocks_freed(), freed, freed + BLOCK);
    small_blocks_given_back();
    assert_int_equal(small_blocks_freed(), 0);
}

/* 8 MiB at a time. */
static void freed_blocks_are_given_back_bit_by_bit(void **state)
{
    struct command_runner *runner = *state;
    struct server *server = &runner->server;
    int half = BLOCKS / 2;

    server->clock.last.monotonic += 1000;
    make_blocks();
    free_blocks(0, half - 1, 1);
    assert_false(gives_back(server));
    free_blocks(half - 1, half, 1);
    assert_true(gives_back(server));
    free_blocks(half, BLOCKS, 1);
    assert_false(client_memory_turn(server)); /* some ms have to pass */
    assert_true(gives_back(server));
    assert_int_equal(small_blocks_freed(), 0);
}

/* Between blocks that stay there is nothing to give back, so that is not tried again and again,
 * but the memory is not forgotten. */
static void holes_are_given_back_when_little_stays_between_them(void **state)
{
    struct command_runner *runner = *state;
    struct server *server = &runner->server;
    int part = BLOCKS / 8;

    make_blocks();
    free_blocks(0, BLOCKS, 2);
    assert_true(gives_back(server));
    assert_true(server->client_memory.holes > 0);
    assert_false(server->client_memory.gives_the_rest);
    assert_false(gives_back(server));
    free_blocks(1, BLOCKS / 2 - part, 2); /* 3 of the 8 MiB that stayed */
    assert_false(gives_back(server));
    free_blocks(BLOCKS / 2 - part + 1, BLOCKS / 2 + part, 2); /* 2 more */
    assert_true(gives_back(server));
    free_blocks(BLOCKS / 2 + part + 1, BLOCKS, 2);
}

static void new_blocks_fill_holes(void **state)
{
    struct command_runner *runner = *state;
    struct server *server = &runner->server;

    make_blocks();
    free_blocks(0, BLOCKS, 2);
    assert_true(gives_back(server));
    for (int i = 0; i < BLOCKS; i += 2)
        blocks[i] = small_block_new(BLOCK);
    assert_int_equal(small_blocks_freed(), 0);
    assert_false(gives_back(server));
    free_blocks(0, BLOCKS, 1);
    assert_true(gives_back(server));
    assert_int_equal(server->client_memory.holes, 0);
}

enum { TOPICS = 10000 };

static void run_for_each_topic(struct command_runner *runner, const char *command,
                               const char *rest)
{
    for (int i = 0; i < TOPICS; i++) {
        char line[64];

        snprintf(line, sizeof(line), "%s topic:%d%s", command, i, rest);
        runner_run(runner, runner->clients[0], line);
        buffer_clear(&runner->clients[0]->output);
    }
    runner_commit(runner);
}

/* At rest 1 MB of them is enough; a thousand stay. */
static void what_topics_leave_is_given_back(void **state)
{
    struct command_runner *runner = *state;
    struct server *server = &runner->server;

    small_blocks_given_back();
    server->clock.last.monotonic += 60000; /* it rests */
    run_for_each_topic(runner, "Q.PUSH", " body");
    client_memory_tick(server);
    assert_false(heap_return_runs());
    run_for_each_topic(runner, "Q.POP", "");
    client_memory_tick(server);
    assert_true(heap_return_runs());
    assert_true(server->client_memory.returns);
    while (heap_return_runs())
        spent_free_some();
    assert_false(gives_back(server));
    assert_false(server->client_memory.returns);
    client_memory_tick(server);
    assert_false(heap_return_runs()); /* there are no others */
}

static void assert_counted(struct command_runner *runner, const char *makes, const char *ends)
{
    struct connection *client = runner_connect(runner);
    size_t held = small_blocks_held();

    runner_run(runner, client, makes);
    assert_in_range(small_blocks_held(), held + 100, held + 1000);
    runner_run(runner, client, ends);
    assert_int_equal(small_blocks_held(), held);
}

static void what_clients_hold_in_small_blocks_is_counted(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    size_t held = small_blocks_held();

    assert_counted(runner, "WATCH k", "UNWATCH");
    assert_counted(runner, "SUBSCRIBE c", "UNSUBSCRIBE c");
    assert_counted(runner, "PSUBSCRIBE c*", "PUNSUBSCRIBE");
    runner_run(runner, client, "BLPOP k 0");
    assert_true(small_blocks_held() > held);
    session_leave(&runner->server, &client->session);
    assert_int_equal(small_blocks_held(), held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_zeroed_and_counted),
        runner_test(freed_blocks_are_given_back_bit_by_bit),
        runner_test(holes_are_given_back_when_little_stays_between_them),
        runner_test(what_topics_leave_is_given_back),
        runner_test(new_blocks_fill_holes),
        runner_test(what_clients_hold_in_small_blocks_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
